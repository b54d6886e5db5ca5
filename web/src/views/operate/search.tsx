// One field for everything that has a name: ids, addresses, hashes, mails.
import type { Answer } from 'berth-client';
import { useEffect, useState } from 'preact/hooks';
import { useRead } from '../../api';
import { visible } from '../../format';
import { Async, Badge, Empty, Field, Notice, Page, Panel, Table, TextInput } from '../../kit';
import { useQuery } from '../../router';
import { searchKind } from '../../words';

type Found = Answer<'search'>['items'][number];
const calmMs = 250;

const places: Record<string, (found: Found) => string | undefined> = {
    account: ({ id }) => `/operate/users/${id}`,
    agent: ({ id, account_id }) => `/operate/users/${account_id ?? id}`,
    machine: ({ id }) => `/operate/machines/${id}`,
    rental: ({ id }) => `/operate/rentals/${id}`,
    dispute: ({ id }) => `/operate/disputes/${id}`,
    pending_action: () => '/operate/pending',
    ticket: ({ id }) => `/help/${id}`,
    deposit: () => '/operate/suspense',
};

function placeOf(found: Found): string {
    const own = places[found.kind]?.(found);
    return own ?? (found.account_id ? `/operate/users/${found.account_id}` : '/operate/search');
}

export default function Search() {
    const [query, setQuery] = useQuery();
    const [text, setText] = useState(query['q'] ?? '');
    useEffect(() => {
        const timer = setTimeout(() => { if (text !== (query['q'] ?? '')) setQuery({ q: text }, { replace: true }); }, calmMs);
        return () => clearTimeout(timer);
    });
    return <Page title="Search" facts="A mail address, a wallet, an id or its beginning, a hash of a transaction.">
        <Field label="Find">{(ids) => <TextInput {...ids} value={text} onInput={setText} filter mono autoFocus />}</Field>
        {query['q'] ? <Results q={query['q']} /> : <Empty title="Nothing is looked for yet." />}
    </Page>;
}

function Results({ q }: { q: string }) {
    const read = useRead('search', { query: { q } });
    return <Panel title="Found" flush><Async read={read}>{({ items, complete }) => items.length === 0
        ? <Empty title="Nothing has this name.">Beginnings are found for ids, addresses and mails.</Empty>
        : <>
            {!complete && <Notice title="There is more than is shown">Write more of it.</Notice>}
            <Table caption="Found" dense rows={items} keyOf={({ kind, id }) => kind + id} href={placeOf} columns={[
                { head: 'What', cell: ({ kind }) => <Badge plain>{searchKind(kind)}</Badge> },
                { head: 'Name', cell: ({ label, id }) => <><span class="strong wraps">{visible(label ?? id)}</span>{label && <small class="mono">{id}</small>}</> },
            ]} />
        </>}</Async></Panel>;
}
