// Who said what about a rental, with the proof of it.
import { useState } from 'preact/hooks';
import { useRead } from '../../api';
import { dateText, Id, plural, timeText, When, visible } from '../../format';
import {
    Badge, Button, Code, Facts, Failure, Empty, Loading, More, Notice, Page, Panel, Sheet, Table, type Column,
} from '../../kit';
import { useParams } from '../../router';
import { useChain, type Chain } from './chain';
import type { Evidence } from './proofs';
import { Charts, gist, kinds, loadedMax, useRecords } from './records';

/** To the second: much is said within a minute. */
function Stamp({ at }: { at: string }) {
    const isToday = new Date(at).toDateString() === new Date().toDateString();
    return <time class="num nowrap" dateTime={at} title={`${at} (UTC)`}>
        {isToday ? '' : `${dateText(at)} `}{timeText(at, true)}</time>;
}

function Mark({ record, chain }: { record: Evidence; chain: Chain }) {
    const checked = chain.of(record);
    if (!checked) return chain.cannot ? <span class="muted">not checked</span>
        : <span class="muted checking" data-settling>checking</span>;
    if (checked.whole === 'bad' || checked.signed === 'bad') return <Badge tone="stop">does not hold</Badge>;
    return <Badge tone="go">{checked.signed ? 'whole and signed' : 'whole'}</Badge>;
}

function Verdict({ chain, records, isAll, head }: {
    chain: Chain; records: Evidence[]; isAll: boolean; head: string | null | undefined;
}) {
    if (chain.cannot) return <Notice tone="lamp" role="status" title={chain.cannot} />;
    if (chain.faults.length > 0) {
        return <Notice tone="stop" role="alert" title="The chain does not hold.">
            <ul>{chain.faults.slice(0, 10).map((fault) => <li key={fault}>{fault}</li>)}</ul>
        </Notice>;
    }
    if (chain.checked < records.length) {
        return <Notice role="status" title={`Checking ${plural(records.length, 'record')}, one after the other.`}>
            <p>In your browser: that none is missing, none was altered, and the machine signed its own.</p></Notice>;
    }
    const isNamed = head && records.some(({ hash }) => hash === head);
    return <Notice tone="go" role="status" title={`${plural(records.length, 'record')}, one chain without a gap.`}>
        <p>{plural(chain.signatures, 'signature')} of the machine hold. Checked in your browser.
            {isNamed && ' The signed receipt names this chain.'}
            {!isAll && ' There are more: load them to check the rest.'}</p>
    </Notice>;
}

function Details({ record, onClose }: { record: Evidence | undefined; onClose: () => void }) {
    return <Sheet title={record ? `Record ${record.sequence}: ${kinds[record.kind] ?? record.kind}` : ''}
        open={record !== undefined} onClose={onClose}>
        {record && <>
            <Facts items={[
                ['When', <When at={record.at} />],
                ['Said by', record.source === 'machine' ? 'the machine' : 'the service'],
                ['Kind', <code>{record.kind}</code>],
                ['Hash', <Id value={record.hash} what="hash" />],
                ['Record before', <Id value={record.previous_hash} what="hash before" />],
                record.signed ? ['Key of the machine', <Id value={record.signed.public_key} what="key" />] : null,
            ]} />
            <Code wrap text={visible(JSON.stringify(record.payload, null, 2))} label="what was said" />
        </>}
    </Sheet>;
}

function Records({ records, chain }: { records: Evidence[]; chain: Chain }) {
    const [chosen, setChosen] = useState<Evidence>();
    const columns: Column<Evidence>[] = [
        { head: 'What', cell: (record) =>
            <>{kinds[record.kind] ?? visible(record.kind)}<small>{gist(record)}</small></> },
        { head: 'Number', cell: (record) => record.sequence, right: true },
        { head: 'When', cell: (record) => <Stamp at={record.at} /> },
        { head: 'Who', cell: (record) => (record.source === 'machine' ? 'Machine' : 'Service') },
        { head: 'Checked', cell: (record) => <Mark record={record} chain={chain} /> },
        { head: <span class="sr">More</span>, right: true, cell: (record) => <Button small kind="quiet"
            label={`Show record ${record.sequence}`} onClick={() => setChosen(record)}>Show</Button> },
    ];
    return <Panel title="Records" flush>
        <Table caption="Records of evidence, oldest first" columns={columns} rows={records} dense
            keyOf={(record) => record.sequence} />
        <Details record={chosen} onClose={() => setChosen(undefined)} />
    </Panel>;
}

export default function EvidencePage() {
    const { id = '' } = useParams();
    const list = useRecords(id);
    const records = list.items;
    const count = records?.length ?? 0;
    const chain = useChain(records);
    const receipt = useRead('show_receipt', { path: { job: id }, query: { signed: true } }, { enabled: count > 0 });
    return <Page title="Evidence" crumbs={[['Rentals', '/rentals'], ['Rental', `/rentals/${id}`]]}
        facts={<><Id value={id} what="rental id" /><span>Everything that host and service said about it</span></>}
        actions={<Button href={`/rentals/${id}/receipt`}>Receipt</Button>}>
        {!records ? list.error ? <Failure error={list.error} retry={list.refetch} /> : <Loading rows={8} />
            : records.length === 0
            ? <Empty title="Nothing was said yet.">The first record comes when the machine takes the order.</Empty>
            : <div class="stack">
                {receipt.isLoading && <span hidden data-settling />}
                <Verdict chain={chain} records={records} isAll={!list.hasMore} head={receipt.data?.evidence_head} />
                <Charts records={records} />
                <Records records={records} chain={chain} />
                {(count >= loadedMax || list.isStale) && <More list={list} />}
            </div>}
    </Page>;
}
