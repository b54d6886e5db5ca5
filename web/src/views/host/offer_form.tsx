// The form of an offer: the price with its scale first, the rest below.
import { useState } from 'preact/hooks';
import { money, type Answer, type BerthError } from 'berth-client';
import { fieldError, useChange } from '../../api';
import { moneyText, now, Rate } from '../../format';
import { AmountInput, Button, Check, Choice, Failure, Field, Notice, Panel, TextInput, toast } from '../../kit';
import { go } from '../../router';
import type { Machine } from './later';
import { useMarket, type Market } from './market';
import { editOf, faultsOf, fieldsOf, type Faults, type Fields, type Version } from './offer_fields';
import { amountOf, keptOf, percentOfBps } from './parts';
import { compared, PriceScale } from './price_scale';

interface FormProps {
    id: string;
    machine: Machine;
    current: Version | undefined;
    feeBps: number;
    onConflict: () => void;
}

/** What each member of the wish is called in the form. */
const members: Record<keyof Fields, string> = {
    rate: 'body.rate_micro_per_hour', disk: 'body.included_disk_gib', egress: 'body.included_egress_gib',
    from: 'body.available_from', until: 'body.available_until', expires: 'body.listing_expires_at',
    shortest: 'body.min_duration_s', longest: 'body.max_duration_s', sold: 'body.availability_class',
    notice: 'body.preemption_notice_s',
};

export function OfferForm({ id, machine, current, feeBps, onConflict }: FormProps) {
    const count = BigInt(machine.gpu_count ?? 1);
    const suggested = machine.market_price ? BigInt(machine.market_price.median_micro_per_gpu_hour) * count : undefined;
    const [fields, setFields] = useState<Fields>(() => fieldsOf(current, suggested, now()));
    const [isTried, setTried] = useState(false);
    const [published, setPublished] = useState<Answer<'edit_offer'>>();
    // The version that the form was filled from: one that is read later must not pass for it.
    const [basis, setBasis] = useState(current?.offer_version ?? '0');
    const market = useMarket(machine, current?.offer_id);
    const publish = useChange('edit_offer', {
        refresh: ['show_machine', 'list_machines', 'list_offer_versions'],
        done: (answer) => { setPublished(answer); setBasis(answer.offer_version); },
    });
    const goOn = () => {
        const told = (publish.error?.body as { current?: Partial<Version> } | undefined)?.current;
        setBasis(told?.offer_version ?? current?.offer_version ?? '0');
        publish.reset();
        onConflict();
    };
    const faults = faultsOf(fields);
    const set = (patch: Partial<Fields>) => { setPublished(undefined); setFields({ ...fields, ...patch }); };
    const errorOf = (name: keyof Fields) =>
        (isTried ? faults[name] : undefined) ?? fieldError(publish.error, members[name]);
    const send = (event: Event) => {
        event.preventDefault();
        setTried(true);
        if (Object.keys(faults).length > 0) return;
        void publish.run({ path: { id }, body: editOf(fields, current, basis) });
    };
    const parts = { fields, set, errorOf };
    return <form class="stack" onSubmit={send} noValidate>
        <div class="cols">
            <div class="stack">
                <PricePart {...parts} market={market} count={count} feeBps={feeBps} />
                <TimePart {...parts} />
                <IncludedPart {...parts} machine={machine} />
                <ClassPart {...parts} />
                <MorePart {...parts} />
            </div>
            <aside class="stack" aria-label="What you keep">
                <KeepPanel rate={amountOf(fields.rate)} count={count} feeBps={feeBps} market={market} />
                <Images id={id} machine={machine} />
            </aside>
        </div>
        <Result error={publish.error} faults={isTried ? faults : {}} published={published} id={id} machine={machine}
            onConflict={goOn} />
        <div class="actions">
            <Button kind="primary" type="submit" busy={publish.busy}>
                {machine.current_offer?.state === 'listed' ? 'Publish, for new rentals at once' : 'Publish'}
            </Button>
            <Button href={`/host/machines/${id}`}>Back</Button>
        </div>
    </form>;
}

interface Parts {
    fields: Fields;
    set: (patch: Partial<Fields>) => void;
    errorOf: (name: keyof Fields) => string | undefined;
}

function PricePart({ fields, set, errorOf, market, count, feeBps }: Parts & {
    market: Market | undefined; count: bigint; feeBps: number;
}) {
    const rate = amountOf(fields.rate);
    const each = rate === undefined ? undefined : rate / count;
    return <Panel title="Price">
        <Field label={count > 1n ? `An hour of the whole machine, ${count} GPUs` : 'An hour of the machine'}
            error={errorOf('rate')}
            hint={rate !== undefined && count > 1n ? `${moneyText(each, 4)} per GPU-hour.` : undefined}>
            {(ids) => <AmountInput {...ids} value={fields.rate} unit="USDC" onInput={(text) => set({ rate: text })} />}
        </Field>
        {market ? <>
            <PriceScale mine={each} market={market} />
            <p class="small soft">{compared(each, market)}</p>
            <div class="row">
                <Button small onClick={() => set({ rate: money.toUnits(String(market.median * count), 4) })}>
                    Ask the median, keep {moneyText(keptOf(market.median * count, feeBps), 4)}
                </Button>
                {market.lowest !== undefined && market.lowest < market.median && <Button small
                    onClick={() => set({ rate: money.toUnits(String((market.lowest ?? 0n) * count), 4) })}>
                    Ask the lowest, keep {moneyText(keptOf(market.lowest * count, feeBps), 4)}
                </Button>}
            </div>
        </> : <p class="small muted">Nobody rents out such a GPU here, and no public price of it is known.</p>}
    </Panel>;
}

function TimePart({ fields, set, errorOf }: Parts) {
    return <Panel title="For rent">
        <div class="two">
            <Field label="From" error={errorOf('from')} hint="Your local time.">
                {(ids) => <TextInput {...ids} type="datetime-local" value={fields.from}
                    onInput={(from) => set({ from })} />}
            </Field>
            <Field label="Until" error={errorOf('until')} hint="Every rental ends then at the latest.">
                {(ids) => <TextInput {...ids} type="datetime-local" value={fields.until}
                    onInput={(until) => set({ until })} />}
            </Field>
        </div>
    </Panel>;
}

function IncludedPart({ fields, set, errorOf, machine }: Parts & { machine: Machine }) {
    const free = machine.disk_bytes ? Number(BigInt(machine.disk_bytes) / 1_073_741_824n) : undefined;
    return <Panel title="Included in the price">
        <div class="two">
            <Field label="Disk, GiB" error={errorOf('disk')}
                hint={free === undefined ? 'The test measures what is free.'
                    : `The test found ${free.toLocaleString('en')} GiB free.`}>
                {(ids) => <TextInput {...ids} inputMode="numeric" value={fields.disk}
                    onInput={(disk) => set({ disk })} />}
            </Field>
            <Field label="Outgoing traffic, GiB" error={errorOf('egress')} hint="Above it the line goes on at 10 Mb/s.">
                {(ids) => <TextInput {...ids} inputMode="numeric" value={fields.egress}
                    onInput={(egress) => set({ egress })} />}
            </Field>
        </div>
    </Panel>;
}

function ClassPart({ fields, set, errorOf }: Parts) {
    const error = errorOf('sold');
    return <Panel title="Class">
        <div class="stack" role="radiogroup" aria-label="Class">
            <Choice name="class" value="dedicated" checked={fields.sold === 'dedicated'} label="Dedicated"
                hint="A rental runs to its end." onChange={() => set({ sold: 'dedicated' })} />
            <Choice name="class" value="interruptible" checked={fields.sold === 'interruptible'} label="Interruptible"
                hint="You may take the machine back after a notice; from then on the renter pays nothing."
                onChange={() => set({ sold: 'interruptible' })} />
        </div>
        {error && <p class="error" role="alert">{error}</p>}
        {fields.sold === 'interruptible' && <Field label="Notice, seconds" error={errorOf('notice')}
            hint="0 to 3600. Between your word and the end.">
            {(ids) => <TextInput {...ids} inputMode="numeric" value={fields.notice}
                onInput={(notice) => set({ notice })} />}
        </Field>}
    </Panel>;
}

function MorePart({ fields, set, errorOf }: Parts) {
    const hint = 'Taken, and not kept by this service yet.';
    return <details class="figures">
        <summary>Less used</summary>
        <Panel label="Less used">
            <Field label="Take the offer down earlier" error={errorOf('expires')}
                hint="The earlier of this and the end above counts. Empty: the end above.">
                {(ids) => <TextInput {...ids} type="datetime-local" value={fields.expires}
                    onInput={(expires) => set({ expires })} />}
            </Field>
            <div class="two">
                <Field label="Shortest rental, hours" error={errorOf('shortest')} hint={hint}>
                    {(ids) => <TextInput {...ids} inputMode="decimal" value={fields.shortest}
                        onInput={(shortest) => set({ shortest })} />}
                </Field>
                <Field label="Longest rental, hours" error={errorOf('longest')} hint={hint}>
                    {(ids) => <TextInput {...ids} inputMode="decimal" value={fields.longest}
                        onInput={(longest) => set({ longest })} />}
                </Field>
            </div>
        </Panel>
    </details>;
}

function KeepPanel({ rate, count, feeBps, market }: {
    rate: bigint | undefined; count: bigint; feeBps: number; market: Market | undefined;
}) {
    const kept = rate === undefined ? undefined : keptOf(rate, feeBps);
    return <Panel title="You keep" footer={`The fee is ${percentOfBps(feeBps)}, taken out of the price.`}>
        {kept === undefined || rate === undefined ? <p class="soft">Give a price first.</p> : <div>
            <div class="figure" title={moneyText(kept, 6, 'USDC')}>{moneyText(kept, 4)} <small>an hour</small></div>
            <p class="small muted">You keep <Rate microPerHour={kept} /> an hour while it is rented,
                {' '}{moneyText(kept * 24n, 2, 'USDC')} a day, {moneyText(kept * 720n, 2, 'USDC')} in 30 days.</p>
        </div>}
        {market && rate !== undefined && rate / count > market.median * 3n / 2n
            && <p class="small warn">Far over the median: renters may pass it by.</p>}
    </Panel>;
}

/** Works at once and apart from the offer's versions. */
function Images({ id, machine }: { id: string; machine: Machine }) {
    const change = useChange('set_custom_images', { refresh: ['show_machine'] });
    return <Panel title="Images of renters">
        <Check checked={machine.accepts_custom_images ?? false} disabled={change.busy}
            label="Take public images of their own"
            hint="They run shut in as all others. Turning it off stops such a rental that does not run yet."
            onChange={(accept) => void change.run({ path: { id }, body: { accept } })} />
        {change.error && <Failure error={change.error} />}
    </Panel>;
}

function Result({ error, faults, published, id, machine, onConflict }: {
    error: BerthError | undefined; faults: Faults; published: Answer<'edit_offer'> | undefined; id: string;
    machine: Machine; onConflict: () => void;
}) {
    const list = useChange('list_machine', { refresh: ['show_machine', 'list_machines', 'list_offer_versions'] });
    if (Object.keys(faults).length > 0) return <p class="error" role="alert">Mend what is marked, then publish.</p>;
    if (error?.code === 'VERSION_CONFLICT') return <Conflict error={error} onConflict={onConflict} />;
    if (error) return <Failure error={error} />;
    if (!published) return null;
    const putUp = async () => {
        const answer = await list.run({ path: { id } });
        if (!answer) return;
        if (answer.decision === 'admitted') toast('For rent. Renters see it now.');
        go(`/host/machines/${id}`);
    };
    const isListed = published.state === 'listed';
    return <>
        <Notice tone="go" role="status" title={`Version ${published.offer_version} is published`}
            actions={isListed || machine.state === 'ALLOCATED'
                ? <Button href={`/host/machines/${id}`}>See the machine</Button>
                : <Button kind="primary" busy={list.busy} onClick={() => void putUp()}>Put up for rent</Button>}>
            {isListed ? 'It counts for new rentals. Those that run keep their price.'
                : 'Renters see it once you put the machine up.'}
            {published.ignored_fields.length > 0 && ` Not kept: ${published.ignored_fields.join(', ')}.`}
        </Notice>
        {list.error && <Failure error={list.error} />}
    </>;
}

/** Somebody published meanwhile: what is there is named, and the form stays as it is. */
function Conflict({ error, onConflict }: { error: BerthError; onConflict: () => void }) {
    const told = (error.body as { current?: Partial<Version> } | undefined)?.current;
    return <Notice tone="lamp" role="alert" title="It was published from elsewhere meanwhile"
        actions={<Button onClick={onConflict}>Go on from that version</Button>}>
        {told?.rate_micro_per_hour
            ? `Version ${told.offer_version} asks ${moneyText(told.rate_micro_per_hour, 4, 'USDC')} an hour. `
                + 'What you wrote stays here.'
            : 'Look at it again. What you wrote stays here.'}
    </Notice>;
}
