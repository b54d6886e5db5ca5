// What moved the balance, a movement a row, in words.
import type { Item } from 'berth-client';
import { usePages } from '../../api';
import { Money, When } from '../../format';
import { Button, Empty, Failure, Loading, More, Panel, Table } from '../../kit';
import { entryKind } from '../../words';

type Entry = Item<'list_entries'>;
interface Movement { id: string; entries: Entry[] }

const pockets: Record<string, string> = {
    available: 'spendable', held: 'held for rentals', payable: 'earnings', escrow: 'in dispute',
    reserved: 'on its way out', promotions: 'credits',
};

/** Entries of one transaction belong together; they come one after the other. */
export function movements(entries: readonly Entry[]): Movement[] {
    const found: Movement[] = [];
    for (const entry of entries) {
        const last = found.at(-1);
        const id = `${entry.transaction_id} ${entry.kind}`;
        if (last?.id === id) last.entries.push(entry);
        else found.push({ id, entries: [entry] });
    }
    return found;
}

export function Entries() {
    const list = usePages('list_entries', {}, { every: 15 });
    return <Panel title="What moved it" flush>
        {list.error && <Failure error={list.error} retry={list.refetch} />}
        {list.isLoading && <Loading rows={6} />}
        {list.items?.length === 0 && <Empty title="Nothing yet."
            action={<Button kind="primary" href="/money/add">Add money</Button>}>
            Each movement gets its row here: what came in, what a rental holds, what it cost in the end, what came back.
        </Empty>}
        {list.items && list.items.length > 0 && <>
            <Table caption="Movements of your money, newest first" dense rows={movements(list.items)}
                keyOf={({ id, entries }) => `${id} ${first(entries).entry_id}`} columns={[
                    { head: 'When', cell: ({ entries }) => <When at={first(entries).at} /> },
                    { head: 'What', cell: ({ entries }) => <What entry={first(entries)} /> },
                    { head: 'Change', right: true, cell: ({ entries }) => <Legs entries={entries} /> },
                ]} />
            <More list={list} />
        </>}
    </Panel>;
}

function first(entries: readonly Entry[]): Entry {
    return entries[0] as Entry;
}

function What({ entry }: { entry: Entry }) {
    const chain = entry.evidence_links.find((link) => /^https:\/\//.test(link));
    return <div>
        {entryKind(entry.kind)}
        <div class="small">
            {entry.job_id && <a href={`/rentals/${entry.job_id}/receipt`}>Receipt</a>}
            {!entry.job_id && chain && <a href={chain} target="_blank" rel="noreferrer">See it on the chain</a>}
        </div>
    </div>;
}

function Legs({ entries }: { entries: readonly Entry[] }) {
    return <div>
        {entries.map((entry) => <div key={entry.entry_id} class="nowrap">
            <Money micro={entry.direction === 'debit' ? `-${entry.amount_micro}` : entry.amount_micro}
                asset={entry.asset} sign /> <span class="small muted">{pockets[entry.pocket] ?? entry.pocket}</span>
        </div>)}
    </div>;
}
