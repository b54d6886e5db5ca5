// The records of a rental, for whoever reads them: all of them, in words, and what the machine measured.
import { useEffect, useState } from 'preact/hooks';
import { usePages, type Listed } from '../../api';
import { duration, visible } from '../../format';
import { Line, Panel } from '../../kit';
import { jobState } from '../../words';
import { sampleOf, type Sample } from './chain';
import type { Evidence } from './proofs';

export const loadedMax = 1_000;
const pollMax = 300;

export const kinds: Record<string, string> = {
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
export function gist({ kind, payload }: Evidence): string {
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

/** All of them, page after page, and again while they are few. */
export function useRecords(id: string): Listed<Evidence> {
    const [isShort, setShort] = useState(true);
    const list = usePages('list_job_evidence', { path: { id }, query: { limit: 100 } },
        { every: isShort ? 30 : undefined });
    const count = list.items?.length ?? 0;
    useEffect(() => setShort(count <= pollMax), [count]);
    useEffect(() => {
        // One that failed is asked for by hand, or after the next look.
        if (list.hasMore && !list.isLoadingMore && !list.isStale && count < loadedMax) list.more();
    }, [count, list.hasMore, list.isLoadingMore, list.isStale]);
    return list;
}

export type Points = [ms: number, value: number][];

/** What the machine signed of its GPUs, by time. */
export function measured(records: Evidence[]): { heat: Points; power: Points } {
    const samples = records.map(sampleOf).filter((each): each is Sample => each !== undefined);
    const of = (pick: (sample: Sample) => number | undefined) => samples.flatMap((sample): Points => {
        const value = pick(sample);
        return value === undefined ? [] : [[sample.at, value]];
    });
    return { heat: of(({ heatC }) => heatC), power: of(({ powerW }) => powerW) };
}

export function rangeText(points: Points, unit: string): string {
    const values = points.map(([, value]) => value);
    return `between ${Math.round(Math.min(...values))} and ${Math.round(Math.max(...values))} ${unit}`;
}

export function Charts({ records }: { records: Evidence[] }) {
    const { heat, power } = measured(records);
    if (heat.length < 2 && power.length < 2) return null;
    return <div class="two">
        {heat.length >= 2 && <Panel title="Heat of the hottest GPU"
            footer={`It was ${rangeText(heat, '°C')}, as the machine signed it.`}>
            <Line points={heat} unit="°C" label={`Temperature of the hottest GPU, ${rangeText(heat, '°C')}`} />
        </Panel>}
        {power.length >= 2 && <Panel title="Power of all GPUs"
            footer={`It was ${rangeText(power, 'W')}, as the machine signed it.`}>
            <Line points={power} unit="W" label={`Power of all GPUs, ${rangeText(power, 'W')}`} />
        </Panel>}
    </div>;
}
