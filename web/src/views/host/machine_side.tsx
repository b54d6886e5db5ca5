// Beside a machine's page: its price, its offer and its name.
import { useState } from 'preact/hooks';
import { fieldError, useRead } from '../../api';
import { duration, moneyText, now, percent, plural, Rate, When } from '../../format';
import { Badge, Button, Facts, Failure, Field, Panel, TextInput, toast } from '../../kit';
import { availabilityClass, offerState, reach } from '../../words';
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

/** Known once a test was passed. */
export function ReachPanel({ machine }: { machine: Machine }) {
    if (!machine.reach_why) return null;
    return <Panel title="How renters reach it" aside={<Badge tone="go">{reach(machine.reach)}</Badge>}
        footer={machine.reach === 'gate' ? 'Nothing has to be opened here. A port that answers is quicker: it is tried '
            + 'at the next test.' : undefined}>
        <p class="small soft">{machine.reach_why}</p>
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
