// Beside a machine's page: its price, how it is right now, its offer and its name.
import { useEffect, useRef, useState } from 'preact/hooks';
import { fieldError, useRead } from '../../api';
import { Ago, bytes, duration, moneyText, now, percent, plural, Rate, When } from '../../format';
import { Badge, Button, Empty, Facts, Failure, Field, Line, Panel, TextInput, toast } from '../../kit';
import { availabilityClass, offerState } from '../../words';
import { useRename, type Machine } from './later';
import { useMarket } from './market';
import type { NextStep } from './next_step';
import { keptOf } from './parts';
import { compared, PriceScale } from './price_scale';

/** The newest version, which the machine's own answer has only in part. */
function useCurrentVersion(id: string) {
    return useRead('list_offer_versions', { path: { id }, query: { limit: 1 } }, { every: 60 }).data?.items[0];
}

export function PricePanel({ id, machine }: { id: string; machine: Machine }) {
    const version = useCurrentVersion(id);
    const fee = useRead('show_earnings', {}, { every: 60 }).data?.fee_bps;
    const market = useMarket(machine, version?.offer_id);
    const rate = machine.current_offer ? BigInt(machine.current_offer.rate_micro_per_hour) : undefined;
    const count = BigInt(machine.gpu_count ?? 1);
    const each = rate === undefined ? undefined : rate / count;
    const edit = <a class="small" href={`/host/machines/${id}/offer`}>{rate === undefined ? 'Set' : 'Edit'}</a>;
    return <Panel title="Your price" aside={edit}>
        {rate === undefined
            ? <p class="soft">None yet.{market && ` Others ask ${moneyText(market.median, 4)} per GPU-hour.`}</p>
            : <div>
                <div class="figure" title={moneyText(each, 6, 'USDC')}>
                    {moneyText(each, 4)} <small>per GPU-hour</small></div>
                <p class="small muted">
                    {count > 1n && <><Rate microPerHour={rate} /> for {count === 2n ? 'both' : `all ${count}`}. </>}
                    {fee !== undefined
                        && <>You keep <Rate microPerHour={keptOf(rate, fee)} /> an hour after the fee.</>}
                </p>
            </div>}
        {market && <PriceScale mine={each} market={market} />}
        {market && <p class="small soft">
            {compared(each, market)}
            {fee !== undefined && each !== market.median
                && ` At ${moneyText(market.median, 4)} you would keep `
                    + `${moneyText(keptOf(market.median * count, fee), 4)} an hour.`}
        </p>}
    </Panel>;
}

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
    const samples = useSamples(telemetry);
    if (!telemetry) {
        return <Panel title="Right now">
            <Empty title="Not heard yet.">Heat, power and load stand here once the agent runs.</Empty>
        </Panel>;
    }
    const charts = [['util', 'Busiest GPU', '%'], ['heat', 'Warmest GPU', '°C'],
        ['power', 'Power of all GPUs', 'W']] as const;
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
        {charts.map(([member, label, unit]) => {
            const points = pointsOf(samples, member);
            const last = points.at(-1);
            return points.length > 2 && last && <Line key={member} points={points} unit={`${label}, ${unit}`}
                label={`${label} since this page was opened, now ${whole(last[1])} ${unit}`} />;
        })}
    </Panel>;
}

export function OfferPanel({ id, machine, step }: { id: string; machine: Machine; step: NextStep }) {
    const version = useCurrentVersion(id);
    if (!machine.current_offer) return null;
    const { word, tone } = offerState(machine.current_offer.state);
    const isWaiting = machine.current_offer.state === 'listed' && !step.isEarning;
    return <Panel title="Offer" aside={<Badge tone={isWaiting ? 'slack' : tone}>{isWaiting ? 'Waits' : word}</Badge>}
        footer={isWaiting ? 'It goes on the market by itself once nothing is in the way.' : undefined}>
        <Facts items={[
            version && ['For rent until', <When at={version.available_until} />],
            version && Date.parse(version.available_from) > now()
                && ['For rent from', <When at={version.available_from} />],
            version && ['Class', availabilityClass(version.availability_class)],
            version?.preemption_notice_s != null && ['Notice', duration(version.preemption_notice_s * 1000)],
            version && ['Disk included', `${version.included_disk_gib.toLocaleString('en')} GiB`],
            version && ['Traffic included', `${version.included_egress_gib.toLocaleString('en')} GiB`],
            ['Own images', machine.accepts_custom_images ? 'taken' : 'not taken'],
            ['Version', machine.current_offer.offer_version],
            machine.hours && ['Rented', `${duration(machine.hours.rented_ms)} in ${machine.hours.window_days} days`],
            machine.hours?.online_bps != null && ['Heard from', percent(machine.hours.online_bps / 10_000)],
        ]} />
    </Panel>;
}

const labelMax = 64;

/** What its owner calls it; nobody else sees it. */
export function Label({ id, machine }: { id: string; machine: Machine }) {
    const [text, setText] = useState<string>();
    const rename = useRename();
    const shown = text ?? machine.label ?? '';
    const save = async (event: Event) => {
        event.preventDefault();
        const answer = await rename.run({ path: { id }, body: { label: shown.trim() || null } });
        if (answer === undefined) return;
        setText(undefined);
        toast('Saved.');
    };
    const error = fieldError(rename.error, 'body.label');
    return <Panel title="Name">
        <form class="stack" onSubmit={(event) => void save(event)} noValidate>
            <Field label="What you call it" error={error}
                hint={`Up to ${plural(labelMax, 'character')}. Renters do not see it.`}>
                {(ids) => <TextInput {...ids} value={shown} maxLength={labelMax} onInput={setText} />}
            </Field>
            {rename.error && !error && <Failure error={rename.error} />}
            <Button type="submit" busy={rename.busy}
                disabled={text === undefined || shown.trim() === (machine.label ?? '')}>Save</Button>
        </form>
    </Panel>;
}
