// The form to rent one offer: what it runs, what it may cost, and the button that names the amount.
import type { BerthError } from 'berth-client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { duration, moneyText, useNow } from '../../format';
import { AmountInput, Button, Check, Failure, Field, Loading, Notice, Select, TextInput } from '../../kit';
import { go } from '../../router';
import { sessionChanged, useSession } from '../../session';
import { awaited } from '../renter/job';
import { templateChoices } from './catalog_filters';
import { offerHref } from './catalog_rows';
import { microOf } from './filters';
import { exactRate, smallestModel, startOf, type Offer, type Template } from './market';
import { Funds, useMissing } from './rent_funds';
import { bodyOf, firstBudget, lasts, limitOf, limits, ownImage, useDryRun, type Wished } from './rent_wish';
import { SignInForm } from './sign_in_form';

export interface RentFormProps {
    offer: Offer;
    /** The slug of the template that is chosen at first. */
    run?: string | undefined;
}

export function RentForm(props: RentFormProps) {
    const { data, error, refetch } = useRead('list_templates', { query: { limit: 100 } }, { every: 60 });
    const fitting = useRead('show_offer', { path: { id: props.offer.offer_id }, query: { fits_for: 'all' } });
    if (error) return <Failure error={error} retry={refetch} />;
    if (fitting.error) return <RentError error={fitting.error} />;
    if (!data || !fitting.data) return <Loading rows={5} />;
    const ids = new Set(fitting.data.fits_template_ids ?? []);
    return <Form {...props} templates={data.items.filter((each) => ids.has(each.id))} />;
}

function Form({ offer, run, templates }: RentFormProps & { templates: Template[] }) {
    const session = useSession();
    const [wished, setWished] = useState<Wished>(() => ({ run: first(templates, run, offer), image: '', limit: '',
        most: firstBudget(offer), asset: 'USDC', key: '', useHubToken: false }));
    const [isSigningIn, setSigningIn] = useState(false);
    const template = templates.find((each) => each.template_id === wished.run);
    const back = offerHref(offer, template);
    const nowMs = useNow(30_000);
    const body = bodyOf(wished, offer, template, nowMs);
    const dry = useDryRun(body, !!session);
    const missing = useMissing(body?.budget_micro, wished.asset);
    const rent = useRent(dry.quote?.machine_rate_micro_per_hour ?? offer.total_rate_micro_per_hour);
    const error = rent.error ?? dry.error;
    useEffect(() => {
        if (error?.code !== 'UNAUTHENTICATED') return;
        sessionChanged();
        setSigningIn(true);
    }, [error]);
    const needsKey = wished.run !== '' && template?.kind !== 'model';
    const isWhole = body !== undefined && (!needsKey || wished.key.trim() !== '');

    const endSigningIn = () => {
        if (!rent.isOpen) rent.reset();
        setSigningIn(false);
    };
    if (isSigningIn && !session) return <div class="stack">
        <p class="soft">{error?.code === 'UNAUTHENTICATED'
            ? 'Your session has ended. Sign in; what you chose is still here.'
            : `Sign in to rent this for at most ${wished.most} ${wished.asset}. Your choices stay.`}</p>
        <SignInForm onDone={() => { sessionChanged(); endSigningIn(); }} />
        <Button kind="quiet" onClick={endSigningIn}>Back to the offer</Button>
    </div>;
    if (rent.isOpen) return <Unsettled rent={rent} />;
    if (templates.length === 0 && !offer.accepts_custom_images)
        return <p class="soft">No template of this service fits this machine.</p>;

    const send = (event: Event) => {
        event.preventDefault();
        if (!isWhole) return;
        if (!session) setSigningIn(true);
        else void rent.run(body, { ...(needsKey ? { ssh_public_key: wished.key.trim() } : {}),
            ...(template?.gated && wished.useHubToken ? { use_hub_token: true } : {}) });
    };
    return <form class="stack" onSubmit={send}>
        <What {...{ offer, templates, template, wished, setWished, error }} />
        <Cost {...{ offer, wished, setWished, error }} />
        {needsKey && <Field label="Your public SSH key" hint="One line, as in ~/.ssh/id_ed25519.pub."
            error={fieldError(error, 'body.ssh_public_key')}>
            {(ids) => <TextInput {...ids} value={wished.key} onInput={(key) => setWished({ ...wished, key })}
                placeholder="ssh-ed25519 AAAA…" mono />}</Field>}
        <Terms {...{ offer, wished, template, nowMs }} rate={rent.rate} />
        {BigInt(rent.rate) > BigInt(offer.total_rate_micro_per_hour) && <Notice tone="lamp" role="alert"
            title="The price has changed. Nothing was held.">
            {`It is ${moneyText(rent.rate, 4)} ${wished.asset} an hour now. Go on if that suits you.`}</Notice>}
        {error && !isBesideAField(error) && error.code !== 'INSUFFICIENT_FUNDS' && <RentError error={error} />}
        {session && missing !== undefined && missing !== '0' && <Funds missing={missing} asset={wished.asset}
            back={back} />}
        {error?.code === 'INSUFFICIENT_FUNDS' && (missing === undefined || missing === '0') &&
            <Notice tone="lamp" title="Your balance does not cover it."
                actions={<Button small href={`/money/add?${new URLSearchParams({ asset: wished.asset, back })}`}>Add money
                </Button>} />}
        <Button kind="primary" wide type="submit" busy={rent.busy} disabled={!isWhole || offer.readiness !== 'ready'
            || (missing !== undefined && missing !== '0')}>
            Rent, at most {exact(body?.budget_micro ?? microOf(wished.most) ?? '0')} {wished.asset}</Button>
    </form>;
}

/** What is held is never shown as less. */
function exact(micro: string): string {
    return moneyText(micro, BigInt(micro) % 10_000n === 0n ? 2 : 6);
}

function first(templates: Template[], run: string | undefined, offer: Offer): string {
    return (templates.find((each) => each.template_id === run) ?? smallestModel(templates) ?? templates[0])
        ?.template_id ?? (offer.accepts_custom_images ? ownImage : '');
}

const members = ['body.template_id', 'body.image', 'body.budget_micro', 'body.duration_limit_s', 'body.asset',
    'body.ssh_public_key', 'body.use_hub_token'];

function isBesideAField(error: BerthError): boolean {
    return members.some((member) => fieldError(error, member) !== undefined);
}

interface PartProps {
    offer: Offer; wished: Wished; setWished: (wished: Wished) => void; error: BerthError | undefined;
}

function What({ offer, templates, template, wished, setWished, error }: PartProps & { templates: Template[];
    template: Template | undefined }) {
    const choices = templateChoices(templates);
    if (offer.accepts_custom_images) choices.push([ownImage, 'An image of your own']);
    return <>
        <Field label="What it runs" error={fieldError(error, 'body.template_id')}>
            {(ids) => <Select {...ids} value={wished.run} onChange={(run) => setWished({ ...wished, run })}
                options={choices} />}</Field>
        {wished.run === ownImage && <Field label="Image" hint="With its registry and digest: registry/name@sha256:…"
            error={fieldError(error, 'body.image')}>
            {(ids) => <TextInput {...ids} value={wished.image} onInput={(image) => setWished({ ...wished, image })}
                placeholder="ghcr.io/name/image@sha256:…" mono />}</Field>}
        {template?.gated && <Check checked={wished.useHubToken}
            onChange={(useHubToken) => setWished({ ...wished, useHubToken })} label="Hand it my token of the model hub"
            hint="Its weights are given out by the hub to those who accepted its licence." />}
    </>;
}

function Cost({ offer, wished, setWished, error }: PartProps) {
    const budget = microOf(wished.most);
    const bad = wished.most.trim() === '' ? undefined : budget === undefined || budget === '0'
        ? 'An amount above zero, such as 2.00.' : undefined;
    return <>
        <Field label="It may cost at most" error={bad ?? fieldError(error, 'body.budget_micro')}
            hint={budget && budget !== '0'
                ? `Lasts ${duration(lasts(budget, offer) * 1000)} at this price.` : undefined}>
            {(ids) => <AmountInput {...ids} value={wished.most} onInput={(most) => setWished({ ...wished, most })}
                unit={wished.asset} />}</Field>
        <div class="two">
            <Field label="Time limit" error={fieldError(error, 'body.duration_limit_s')}>
                {(ids) => <Select {...ids} value={wished.limit} onChange={(limit) => setWished({ ...wished, limit })}
                    options={limits} />}</Field>
            <Field label="Paid in" error={fieldError(error, 'body.asset')}>
                {(ids) => <Select {...ids} value={wished.asset} onChange={(asset) => setWished({ ...wished, asset })}
                    options={[['USDC', 'USDC'], ['USDT', 'USDT']] as const} />}</Field>
        </div>
    </>;
}

function Terms({ offer, wished, template, nowMs, rate }: { offer: Offer; wished: Wished; template: Template | undefined;
    nowMs: number; rate: string }) {
    const budget = microOf(wished.most);
    if (!budget || budget === '0') return null;
    const seconds = Math.min(limitOf(wished, offer, nowMs), lasts(budget, offer));
    const start = template && startOf(template);
    return <p class="small soft">
        At most <span class="strong num">{exact(budget)} {wished.asset}</span>,
        about {duration(seconds * 1000)} at <span class="num" title={exactRate(rate)}>
            {moneyText(rate, 4)}</span> an hour.
        Nothing is charged until it answers{start ? `, mostly after ${duration(start)}` : ''}; what you do not use is
        yours again.
        {offer.availability_class === 'interruptible' &&
            ' The host may take this machine back; from the notice on it costs nothing.'}
    </p>;
}

interface Rent {
    run: (body: NonNullable<ReturnType<typeof bodyOf>>,
        order: { ssh_public_key?: string; use_hub_token?: boolean }) => Promise<void>;
    again: () => Promise<void>;
    busy: boolean;
    error: BerthError | undefined;
    reset: () => void;
    /** It may have been rented, and no answer says so. */
    isOpen: boolean;
    /** What it costs an hour, as far as is known. A quote above it is left unused, and tells a new one. */
    rate: string;
}

/** A quote and its reservation. Where the answer to the reservation was lost the same one is sent again: a second
 * quote would be a second rental. */
function useRent(shownRate: string): Rent {
    const [dearer, setDearer] = useState<string>();
    const rate = dearer ?? shownRate;
    const quote = useChange('create_quote');
    const job = useChange('create_job', { refresh: ['list_jobs', 'show_balances'] });
    const [isBusy, setBusy] = useState(false);
    const sent = useRef<Parameters<typeof job.run>[0] | undefined>(undefined);
    const reserve = async () => {
        setBusy(true);
        const made = sent.current && await job.run(sent.current);
        setBusy(false);
        if (!made) return;
        awaited.add(made.job_id);
        go(`/rentals/${made.job_id}`);
    };
    const begin: Rent['run'] = async (body, order) => {
        setBusy(true);
        job.reset();
        const made = await quote.run({ body } as Parameters<typeof quote.run>[0]);
        setBusy(false);
        if (!made?.quote_id) return;
        if (BigInt(made.machine_rate_micro_per_hour) > BigInt(rate)) {
            setDearer(made.machine_rate_micro_per_hour);
            return;
        }
        sent.current = { body: { quote_id: made.quote_id, ...order } };
        await reserve();
    };
    // A second quote would take the place of the one that is being reserved.
    const isRunning = useRef(false);
    const run: Rent['run'] = async (body, order) => {
        if (isRunning.current) return;
        isRunning.current = true;
        await begin(body, order).finally(() => { isRunning.current = false; });
    };
    const reset = () => {
        quote.reset();
        job.reset();
    };
    return { run, again: reserve, busy: isBusy, error: quote.error ?? job.error, reset, rate,
        isOpen: job.error?.mayHaveHappened === true };
}

function Unsettled({ rent }: { rent: Rent }) {
    return <Notice tone="lamp" role="alert" title="No answer came" actions={<>
        <Button kind="primary" busy={rent.busy} onClick={() => void rent.again()}>Ask again</Button>
        <Button href="/rentals">See your rentals</Button>
    </>}>It may have been rented or not. Asking again finds out, and never rents a second one.</Notice>;
}

/** The sentences of what goes wrong most. */
export function RentError({ error }: { error: BerthError }) {
    if (error.code === 'ADMISSION_PAUSED')
        return <Notice role="alert" tone="lamp" title="New rentals are paused.">What runs goes on.</Notice>;
    if (error.code === 'NOT_FOUND')
        return <Notice role="alert" tone="lamp" title="Gone: rented or taken back."
            actions={<Button small href="/">See the others</Button>}>Nothing was held.</Notice>;
    if (error.code === 'QUOTE_EXPIRED' || error.code === 'STALE_VERSION'
        || (error.code === 'CONFLICT' && /available|quote/.test(error.message)))
        return <Notice role="alert" tone="lamp" title="Somebody was faster. Nothing was held."
            actions={<Button small href="/">See the others</Button>}>{error.message}</Notice>;
    return <Failure error={error} />;
}
