// What the machine of a rental signed: whether it holds, what it measured, and what happened when.
import { plural, visible } from '../../format';
import { Badge, Empty, Failure, Line, Loading, Panel, Timeline } from '../../kit';
import { jobState, type Tone } from '../../words';
import { useChain, type Chain } from '../renter/chain';
import type { Evidence } from '../renter/proofs';
import { gist, kinds, measured, rangeText, useRecords } from '../renter/records';

const shownMax = 10;
const everyMinute = ['USAGE', 'ACK', 'PROGRESS'];
const tones: Record<string, Tone> = { READY: 'go', CLEANED: 'go', PREEMPT_NOTICE: 'lamp', GPU_LOST: 'stop',
    READY_REFUSED: 'stop' };

export function Signed({ job }: { job: string }) {
    const list = useRecords(job);
    const chain = useChain(list.items);
    const records = list.items;
    return <Panel title="What the machine signed" footer={<a href={`/rentals/${job}/evidence`}>All records</a>}
        aside={records && records.length > 0 && <Holds chain={chain} count={records.length} />}>
        {list.error ? <Failure error={list.error} retry={list.refetch} /> : !records ? <Loading rows={6} />
            : records.length === 0 ? <Empty title="Nothing yet.">The first record comes when the machine takes the order.</Empty>
            : <><Measured records={records} /><Story records={records} /></>}
    </Panel>;
}

function Holds({ chain, count }: { chain: Chain; count: number }) {
    if (chain.cannot) return <Badge tone="lamp">not checked: {chain.cannot}</Badge>;
    if (chain.faults.length > 0) return <Badge tone="stop">{chain.faults[0]}</Badge>;
    if (chain.checked < count)
        return <span data-settling><Badge tone="way">{plural(count, 'record')}, being checked</Badge></span>;
    return <Badge tone="go">{plural(count, 'record')}, chain unbroken, checked here</Badge>;
}

function Measured({ records }: { records: Evidence[] }) {
    const { heat, power } = measured(records);
    if (power.length < 2) return null;
    const words = [`Power of all GPUs, ${rangeText(power, 'W')}`,
        ...heat.length < 2 ? [] : [`heat of the hottest (dashed), ${rangeText(heat, '°C')}`]].join('; ');
    return <figure>
        <Line points={power} second={heat} unit="W, °C" label={words} />
        <figcaption class="small muted">{words}. From the heartbeats that the machine signed.</figcaption>
    </figure>;
}

/** A rental that moved on is told by where it came to. */
function titleOf({ kind, payload }: Evidence): string {
    const to = kind === 'STATE' ? (payload as Record<string, unknown>)['to'] : undefined;
    return typeof to === 'string' ? jobState(to).word : kinds[kind] ?? visible(kind);
}

/** What moved it on: the beginning, and how it ended. */
function Story({ records }: { records: Evidence[] }) {
    const all = records.filter(({ kind }) => !everyMinute.includes(kind));
    // Some states are one to people.
    const told = all.filter((each, at) => each.kind !== 'STATE' || at === 0 || titleOf(all[at - 1]!) !== titleOf(each));
    const shown = told.length <= shownMax ? told : [...told.slice(0, shownMax / 2), ...told.slice(-shownMax / 2)];
    return <Timeline items={shown.map((record) => ({ at: record.at, tone: tones[record.kind], children: <>
        {titleOf(record)} <span class="muted">{[record.kind === 'STATE' ? '' : gist(record),
            record.signed ? 'signed' : 'by the service'].filter(Boolean).join(', ')}</span>
    </> }))} />;
}
