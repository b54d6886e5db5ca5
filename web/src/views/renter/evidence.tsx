// Who said what about a rental, with the proof of it.
import { useEffect, useState } from 'preact/hooks';
import { usePages, useRead } from '../../api';
import { dateText, duration, Id, plural, timeText, When } from '../../format';
import {
    Badge, Button, Code, Facts, Failure, Empty, Line, Loading, More, Notice, Page, Panel, Sheet, Table, type Column,
} from '../../kit';
import { useParams } from '../../router';
import { jobState } from '../../words';
import { sampleOf, useChain, type Chain, type Sample } from './chain';
import type { Evidence } from './proofs';
import { visible } from './visible';

const loadedMax = 1_000;
const pollMax = 300;

const kinds: Record<string, string> = {
    ACK: 'The machine took an order', STATE: 'The rental moved on', STARTED: 'The container started',
    PROGRESS: 'Progress of the start', READY: 'It answers', READY_REFUSED: 'Its being ready was refused',
    USAGE: 'Running time', STOP: 'The renter stopped it', OPERATOR_STOP: 'The operator stopped it',
    PREEMPT_NOTICE: 'The host asked for the machine back', EXITED: 'The program ended', STOPPED: 'It stopped',
    CLEANED: 'Everything was wiped', GPU_LOST: 'A GPU was lost', GPU_BACK: 'The GPU is back',
};

type Payload = Record<string, unknown>;

const spoken: Record<string, (value: string) => string> = {
    reason: (value) => value.replaceAll('_', ' '), runtime_ms: (value) => duration(value), step: (value) => value,
    engine: (value) => `engine ${value}`, code: (value) => value, why: (value) => value,
    exit_code: (value) => `exit code ${value}`,
};

/** The telling part of what was said, in one line. */
function gist({ kind, payload }: Evidence): string {
    const said = payload as Payload;
    const text = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');
    if (kind === 'STATE') {
        const move = [said['from'], said['to']].map((state) => jobState(text(state)).word).join(' → ');
        return visible(`${text(said['event']).replaceAll('_', ' ')}: ${move}`);
    }
    if (kind === 'ACK') return visible([text(said['kind']), text((said['ack'] as Payload)?.['result'])].join(', '));
    const parts = Object.entries(spoken).flatMap(([name, say]) => (text(said[name]) ? [say(text(said[name]))] : []));
    return visible(parts.slice(0, 3).join(', ')).slice(0, 120);
}

/** To the second: much is said within a minute. */
function Stamp({ at }: { at: string }) {
    const isToday = new Date(at).toDateString() === new Date().toDateString();
    return <time class="num nowrap" dateTime={at} title={`${at} (UTC)`}>
        {isToday ? '' : `${dateText(at)} `}{timeText(at, true)}</time>;
}

function Mark({ record, chain }: { record: Evidence; chain: Chain }) {
    const checked = chain.of(record);
    if (!checked) return <span class="muted">{chain.cannot ? 'not checked' : 'checking'}</span>;
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
        return <Notice role="status" title={`Checking ${plural(records.length, 'record')}.`} />;
    }
    const isNamed = head && records.some(({ hash }) => hash === head);
    return <Notice tone="go" role="status" title={`${plural(records.length, 'record')}, one chain without a gap.`}>
        <p>{plural(chain.signatures, 'signature')} of the machine hold. Checked in your browser.
            {isNamed && ' The signed receipt names this chain.'}
            {!isAll && ' There are more: load them to check the rest.'}</p>
    </Notice>;
}

function Charts({ records }: { records: Evidence[] }) {
    const samples = records.map(sampleOf).filter((each): each is Sample => each !== undefined);
    const of = (pick: (sample: Sample) => number | undefined) => samples.flatMap((sample): [number, number][] => {
        const value = pick(sample);
        return value === undefined ? [] : [[sample.at, value]];
    });
    const [heat, power] = [of(({ heatC }) => heatC), of(({ powerW }) => powerW)];
    if (heat.length < 2 && power.length < 2) return null;
    const range = (points: [number, number][], unit: string) => {
        const values = points.map(([, value]) => value);
        return `between ${Math.round(Math.min(...values))} and ${Math.round(Math.max(...values))} ${unit}`;
    };
    return <div class="two">
        {heat.length >= 2 && <Panel title="Heat of the hottest GPU"
            footer={`It was ${range(heat, '°C')}, as the machine signed it.`}>
            <Line points={heat} unit="°C" label={`Temperature of the hottest GPU, ${range(heat, '°C')}`} />
        </Panel>}
        {power.length >= 2 && <Panel title="Power of all GPUs"
            footer={`It was ${range(power, 'W')}, as the machine signed it.`}>
            <Line points={power} unit="W" label={`Power of all GPUs, ${range(power, 'W')}`} />
        </Panel>}
    </div>;
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
    const [isShort, setShort] = useState(true);
    const list = usePages('list_job_evidence', { path: { id }, query: { limit: 100 } },
        { every: isShort ? 30 : undefined });
    const records = list.items;
    const count = records?.length ?? 0;
    useEffect(() => setShort(count <= pollMax), [count]);
    useEffect(() => {
        // One that failed is asked for by hand, or after the next look.
        if (list.hasMore && !list.isLoadingMore && !list.isStale && count < loadedMax) list.more();
    }, [count, list.hasMore, list.isLoadingMore, list.isStale]);
    const chain = useChain(records);
    const receipt = useRead('show_receipt', { path: { job: id }, query: { signed: true } }, { enabled: count > 0 });
    return <Page title="Evidence" crumbs={[['Rentals', '/rentals'], ['Rental', `/rentals/${id}`]]}
        facts={<><Id value={id} what="rental id" /><span>Everything that host and service said about it</span></>}
        actions={<Button href={`/rentals/${id}/receipt`}>Receipt</Button>}>
        {!records ? list.error ? <Failure error={list.error} retry={list.refetch} /> : <Loading rows={8} />
            : records.length === 0
            ? <Empty title="Nothing was said yet.">The first record comes when the machine takes the order.</Empty>
            : <div class="stack">
                <Verdict chain={chain} records={records} isAll={!list.hasMore} head={receipt.data?.evidence_head} />
                <Charts records={records} />
                <Records records={records} chain={chain} />
                {(count >= loadedMax || list.isStale) && <More list={list} />}
            </div>}
    </Page>;
}
