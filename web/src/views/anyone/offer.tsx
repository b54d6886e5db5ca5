// One offer: what it costs, what was measured, what fits, and the form to rent it.
import { useRead } from '../../api';
import { Ago, Money, Unknown, When, moneyText, now, percent, plural, visible } from '../../format';
import { Async, Badge, Button, Empty, Facts, Failure, Loading, Page, Panel, Stats } from '../../kit';
import { useParams, useQuery } from '../../router';
import { Market, noticeText, offerHref, useMedia } from './catalog_rows';
import { classOf, exactRate, gibText, gpuName, lineText, machineName, memoryOf, placeOf, recordOf, runtimeName,
    type Offer, type Template } from './market';
import { RentForm } from './rent_form';
import { useCatalog, type CatalogOffer } from './soon';

export default function OfferPage() {
    const { id = '' } = useParams();
    const [query] = useQuery();
    const read = useRead('show_offer', { path: { id }, query: { fits_for: 'all' } }, { every: 10 });
    const isNarrow = useMedia('(max-width: 1080px)');
    const offer = read.data;
    // An offer that goes while one looks at it answers 404 from then on; what is shown is then of the past.
    const isGone = read.error?.status === 404 || read.error?.status === 422;
    const crumbs: [string, string][] = [['Offers', '/']];
    if (!offer) return <Page title="Offer" crumbs={crumbs}>
        {isGone ? <Gone run={query['run']} /> : read.error ? <Failure error={read.error} retry={read.refetch} />
            : <Loading rows={8} />}
    </Page>;
    return <Page title={machineName(offer)} crumbs={crumbs} facts={<>
        <span><span class="strong num" title={exactRate(offer.total_rate_micro_per_hour)}>
            {moneyText(offer.total_rate_micro_per_hour, 4)} USDC</span> an hour</span>
        {placeOf(offer) && <span>{placeOf(offer)}</span>}<span>{classOf(offer)}</span>
        <span>seen <Ago at={now() - (Date.now() - read.updatedAt) - offer.last_seen_age_s * 1000} /></span>
    </>} actions={<>{offer.readiness === 'ready' ? <Badge tone="go">Can be rented</Badge>
        : <Badge tone="lamp">Not tested yet</Badge>}{isNarrow && <Button small onClick={toForm}>Rent it</Button>}</>}>
        {read.isStale && <StaleOffer run={query['run']} />}
        <div class="split">
            <div class="stack">
                <Price offer={offer} />
                <Measured offer={offer} />
                <Fitting offer={offer} run={query['run']} />
            </div>
            <aside class="panel" id="rent" aria-label="Rent it"><header><h2>Rent it</h2></header>
                <div class="body stack"><RentForm key={offer.offer_id} offer={offer} run={query['run']} /></div></aside>
        </div>
    </Page>;
}

/** Where there is one column the form stands below everything else. */
function toForm(): void {
    const form = document.getElementById('rent');
    form?.scrollIntoView();
    form?.querySelector<HTMLElement>('select, input')?.focus({ preventScroll: true });
}

/** The next one that is like it, where there is one. */
function Gone({ run }: { run: string | undefined }) {
    const templates = useRead('list_templates', { query: { limit: 100 } });
    const template = templates.data?.items.find((each) => each.template_id === run);
    const nearest = useCatalog({ template_id: template?.id, fits_only: template ? 'true' : undefined, limit: '1' },
        { enabled: templates.data !== undefined });
    const other = nearest.data?.items[0];
    return <Empty title="Gone: rented or taken back." action={other
        ? <Button kind="primary" href={offerHref(other, template)}>Rent that</Button>
        : <Button kind="primary" href="/">See the others</Button>}>
        <p class="soft">{other ? <>The nearest is {machineName(other)} for <span class="num">
            {moneyText(other.total_rate_micro_per_hour, 4)}</span> USDC an hour.</>
            : 'Others may suit you as well.'}</p>
    </Empty>;
}

function StaleOffer({ run }: { run: string | undefined }) {
    return <div class="notice" data-tone="lamp" role="status">
        <div><p class="title">This offer does not answer any more.</p>
        <p>It may have been rented just now. What you see is how it was.</p></div>
        <div class="actions">
            <Button small href={run ? `/?run=${encodeURIComponent(run)}` : '/'}>See the others</Button></div></div>;
}

function Price({ offer }: { offer: Offer }) {
    const catalog = useCatalog({ model: offer.model ?? undefined, limit: '100' },
        { every: 60, enabled: offer.model !== null });
    const same = catalog.data?.items.find((each) => each.offer_id === offer.offer_id);
    const usual = same?.market_price_micro_per_gpu_hour
        ?? catalog.data?.gpu_models.find(({ model }) => model === offer.model)?.market_price_micro_per_gpu_hour ?? null;
    const priced: CatalogOffer = { ...offer, market_price_micro_per_gpu_hour: usual };
    const count = offer.gpu_count ?? 1;
    return <Panel title="Price">
        <Stats items={[
            ['Per GPU-hour', <Money micro={offer.rate_micro_per_gpu_hour} places={4} />],
            count > 1 && ['The whole machine', <Money micro={offer.total_rate_micro_per_hour} places={4} />,
                `${plural(count, 'GPU')}, rented together`],
            [`Others with this GPU`,
                usual ? <Money micro={usual} places={4} /> : <span class="muted">too few to say</span>,
                usual ? <>This one: <Market offer={priced} /></> : undefined],
        ]} />
        <Facts items={[
            ['You pay', 'by the millisecond, from the first answer on'],
            ['Fee of the service', `${offer.platform_fee_bps / 100} %, within the price`],
            ['Included', `${offer.included_quotas.included_disk_gib} GiB disk, ${
                offer.included_quotas.included_egress_gib} GiB traffic out`],
            ['Every rental ends by', <When at={offer.available_until} />],
        ]} />
        <Interruptions offer={offer} />
    </Panel>;
}

function Interruptions({ offer }: { offer: Offer }) {
    if (offer.availability_class !== 'interruptible')
        return <p class="small soft">Dedicated: the host cannot take it back while you rent it.</p>;
    const known = offer.interruption;
    return <p class="small soft">Interruptible: the host may take it back, with {noticeText(offer.preemption_notice_s)}.
        From the notice on it costs nothing. {known
            ? <>In 90 days {known.uninterrupted} of {plural(known.runs, 'such rental')} ran {known.horizon_h} h
                undisturbed.</>
            : 'No such rental of it could be counted yet.'}</p>;
}

function Measured({ offer }: { offer: Offer }) {
    const memory = memoryOf(offer);
    const record = recordOf(offer);
    const known = (value: number | undefined, text: (value: number) => string) =>
        value === undefined ? <Unknown /> : text(value);
    return <Panel title="Measured" aside={offer.verification_level === 'manually_verified' ? 'checked by people, too'
        : offer.verification_level === 'auto_verified' ? 'by its test' : 'its test is still to come'}>
        <div class="two">
            <Facts items={[
                ['GPU', offer.model === null ? <Unknown /> : visible(offer.model)],
                ['GPU memory', memory ? `${gibText(memory)}${(offer.gpu_count ?? 1) > 1
                    ? `, ${gibText(offer.vram_bytes!)} each` : ''}` : <Unknown />],
                ['Memory bandwidth', known(offer.gpu_mem_bw_gbps, (value) => `${Math.round(value)} GB/s`)],
                ['32-bit computing', known(offer.tflops, (value) => `${value.toFixed(1)} TFLOPS`)],
                ['Answers', known(offer.ai_speed_tok_s, (value) => `${Math.round(value)} tok/s`)],
                ['Driver', offer.driver_version ? visible(offer.driver_version) : <Unknown />],
                ['Programmed with', `${offer.backends.map(runtimeName).join(', ')}${offer.cuda_max
                    ? ` (up to ${visible(offer.cuda_max)})` : ''}`],
            ]} />
            <Facts items={[
                ['Cores', known(offer.cpu_cores, String)],
                ['Memory', offer.ram_bytes ? gibText(offer.ram_bytes) : <Unknown />],
                ['Free disk', offer.disk_bytes ? gibText(offer.disk_bytes) : <Unknown />],
                ['Download', lineText(offer.download_mbps) ?? <Unknown />],
                ['Upload', lineText(offer.upload_mbps) ?? <Unknown />],
                ['Track record', `${record.share}, ${record.rentals}`],
                ['Heard from in 30 days',
                    offer.uptime_bps === undefined ? <Unknown /> : percent(offer.uptime_bps / 10_000)],
            ]} />
        </div>
    </Panel>;
}

function Fitting({ offer, run }: { offer: Offer; run: string | undefined }) {
    const read = useRead('list_templates', { query: { limit: 100 } }, { every: 60 });
    const ids = new Set(offer.fits_template_ids ?? []);
    return <Panel title="What fits" aside={`on ${gpuName(offer.model)}`}>
        <Async read={read}>{({ items }) => {
            const fitting = items.filter((each) => ids.has(each.id));
            if (fitting.length === 0) return <p class="soft">None of the templates here fits this machine.</p>;
            return <ul class="row">{fitting.map((each) => <li key={each.id}><FittingTemplate template={each}
                isChosen={each.template_id === run} /></li>)}</ul>;
        }}</Async>
        {offer.accepts_custom_images && <p class="small soft">It also runs images of your own.</p>}
    </Panel>;
}

function FittingTemplate({ template, isChosen }: { template: Template; isChosen: boolean }) {
    return <a class="chip" href={`/templates/${encodeURIComponent(template.template_id)}`}
        aria-current={isChosen || undefined}>{template.name}</a>;
}
