// What the agent measured: now, and since the page was opened.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Ago, bytes, duration } from '../../format';
import { Empty, Facts, Line, Panel } from '../../kit';
import type { Machine } from './later';

type Telemetry = NonNullable<Machine['telemetry']>;
interface Sample { at: number; util: number | undefined; heat: number | undefined; power: number | undefined }

const samplesMax = 180;

/** What came in while the page was open; the server keeps the last one. */
function useSamples(telemetry: Telemetry | null | undefined): Sample[] {
    const samples = useRef<Sample[]>([]);
    const [, setCount] = useState(0);
    useEffect(() => {
        if (!telemetry) return;
        const at = Date.parse(telemetry.observed_at);
        if (samples.current.at(-1)?.at === at) return;
        const gpus = telemetry.gpus ?? [];
        const greatest = (values: (number | undefined)[]) => {
            const known = values.filter((each) => each !== undefined);
            return known.length > 0 ? Math.max(...known) : undefined;
        };
        samples.current = [...samples.current, {
            at, util: greatest(gpus.map(({ util_pct }) => util_pct)),
            heat: greatest(gpus.map(({ temperature_c }) => temperature_c)),
            power: gpus.some(({ power_w }) => power_w !== undefined)
                ? gpus.reduce((sum, { power_w }) => sum + (power_w ?? 0), 0) : undefined,
        }].slice(-samplesMax);
        setCount((count) => count + 1);
    }, [telemetry?.observed_at]);
    return samples.current;
}

function pointsOf(samples: Sample[], member: 'util' | 'heat' | 'power'): [number, number][] {
    return samples.flatMap((sample): [number, number][] => {
        const value = sample[member];
        return value === undefined ? [] : [[sample.at, value]];
    });
}

const whole = (value: number) => Math.round(value).toLocaleString('en');

function gpuText(gpu: NonNullable<Telemetry['gpus']>[number]): string {
    return [
        gpu.util_pct === undefined ? undefined : `${whole(gpu.util_pct)} %`,
        gpu.temperature_c === undefined ? undefined : `${whole(gpu.temperature_c)} °C`,
        gpu.power_w === undefined ? undefined : `${whole(gpu.power_w)} W`,
        gpu.throttle?.length ? `slowed: ${gpu.throttle.join(', ')}` : undefined,
    ].filter(Boolean).join(', ') || 'not measured';
}

function amountOf(used: string | undefined, total: string | undefined): string | undefined {
    if (used === undefined || total === undefined) return undefined;
    return `${bytes(used).replace(' GiB', '')} of ${bytes(total)}`;
}

export function RightNow({ machine }: { machine: Machine }) {
    const { telemetry } = machine;
    if (!telemetry) {
        return <Panel title="Right now">
            <Empty title="Not heard yet.">Heat, power and load stand here once the agent runs.</Empty>
        </Panel>;
    }
    return <Panel title="Right now" aside={<span class="live"><Ago at={telemetry.observed_at} /></span>}
        footer={telemetry.uptime_ms === undefined ? undefined : `Up ${duration(telemetry.uptime_ms)}.`}>
        <Facts items={[
            ...(telemetry.gpus ?? []).map((gpu, at) => [`GPU ${at}`, gpuText(gpu)] as const),
            telemetry.cpu_util_pct !== undefined && ['Processor', `${whole(telemetry.cpu_util_pct)} %`],
            ['Memory', amountOf(telemetry.ram_used_bytes, telemetry.ram_total_bytes)],
            ['Disk', amountOf(telemetry.disk_used_bytes, telemetry.disk_total_bytes)],
            telemetry.net_rx_mbps !== undefined && telemetry.net_tx_mbps !== undefined
                && ['Line', `${telemetry.net_rx_mbps.toFixed(1)} down, ${telemetry.net_tx_mbps.toFixed(1)} Mb/s up`],
        ]} />
    </Panel>;
}

const charts = [['util', 'Busiest GPU', '%'], ['heat', 'Warmest GPU', '°C'],
    ['power', 'Power of all GPUs', 'W']] as const;

/** Drawn out of what came in since the page was opened. */
export function TelemetryCharts({ machine }: { machine: Machine }) {
    const samples = useSamples(machine.telemetry);
    const lines = charts.map(([member, label, unit]) => ({ label, unit, points: pointsOf(samples, member) }))
        .filter(({ points }) => points.length > 2);
    if (lines.length === 0) return null;
    return <Panel title="GPUs" aside="since you opened this page">
        {lines.map(({ label, unit, points }) => <Line key={label} points={points} unit={`${label}, ${unit}`}
            label={`${label} since this page was opened, now ${whole(points.at(-1)?.[1] ?? 0)} ${unit}`} />)}
    </Panel>;
}
