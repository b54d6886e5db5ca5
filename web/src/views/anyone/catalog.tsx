// What can be rented, and whether it runs what one has in mind.
import type { VNode } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { asError, client, useRead, type Read } from '../../api';
import { Ago, Money, duration, now, plural } from '../../format';
import { Button, Failure, Icon, Loading, Page, Select, Sheet } from '../../kit';
import { useQuery } from '../../router';
import { CatalogFilters, FurtherFilters, useFurther } from './catalog_filters';
import { NoOffers } from './catalog_none';
import { OfferRows } from './catalog_rows';
import { filtersOf, orders, wishOf, type Patch } from './filters';
import { LazyRentForm, preloadRentForm } from './lazy_rent_form';
import { gpuName, machineName, smallestModel, startOf, type Template } from './market';
import { catalogName, useCatalog, type CatalogOffer, type CatalogPage, type Wish } from './soon';
import { useSteady } from './steady';

const everyS = 10;
const pageSize = '25'; // a screen shows ten; more rows cost each letter that is typed their time

const none: CatalogOffer[] = [];

/** The pages after the first, for one question. */
function useNextPages(wish: Wish, key: string) {
    const [state, setState] = useState<{ key: string; items: CatalogOffer[]; cursor: string | null | undefined }>();
    const [busy, setBusy] = useState(false);
    const own = state?.key === key ? state : { key, items: none, cursor: undefined };
    const more = async (first: string | null) => {
        setBusy(true);
        try {
            const asked = { query: { ...wish, limit: pageSize, cursor: own.cursor ?? first } };
            const page = await client.call(catalogName as never, asked as never) as unknown as CatalogPage;
            setState({ key, items: [...own.items, ...page.items], cursor: page.next_cursor });
        } finally {
            setBusy(false);
        }
    };
    return { items: own.items, cursor: own.cursor, busy, more };
}

/** The last answer stays until the next one is there, and so does when it was read. */
function useKept({ data, updatedAt }: Read<CatalogPage>): { page: CatalogPage | undefined; readAt: number } {
    const last = useRef<{ page: CatalogPage | undefined; readAt: number }>({ page: undefined, readAt: 0 });
    if (data !== undefined) last.current = { page: data, readAt: updatedAt };
    return last.current;
}

export default function Catalog() {
    const [query, setQuery] = useQuery();
    const set = (patch: Patch) => setQuery(patch, { replace: true });
    const listed = useRead('list_templates', { query: { limit: 100 } }, { every: 60 });
    const templates = listed.data?.items ?? [];
    const template = query['run'] === 'any' ? undefined
        : templates.find((each) => each.template_id === query['run']) ?? smallestModel(templates);
    const wish = wishOf(query, template?.id);
    const [isPaused, setPaused] = useState(false);
    const isSettled = listed.data !== undefined || listed.error !== undefined;
    const read = useCatalog({ ...wish, limit: pageSize }, { every: isPaused ? undefined : everyS, enabled: isSettled });
    const { page, readAt } = useKept(read);
    const [isOpen, button] = useFurther(query);
    const props = { query, wish, set, templates, run: template?.template_id ?? '',
        gpus: [...new Set((page?.gpu_models ?? []).map(({ model }) => gpuName(model)))] };
    return <Page title="Rent a GPU" facts={<Summary page={page} isFiltered={filtersOf(wish).length > 0} />} actions={<>
        {readAt > 0 && <span class="live"><span>
            Updated <Ago at={now() - (Date.now() - readAt)} />{read.isStale && ', trying again'}</span></span>}
        <Button small onClick={() => setPaused(!isPaused)}><Icon name={isPaused ? 'play' : 'pause'} />
            {isPaused ? 'Go on' : 'Pause'}</Button>
    </>}>
        <CatalogFilters {...props} />
        <FurtherFilters {...props} isOpen={isOpen} button={button} />
        {/* What is shown then is the answer to an earlier question. */}
        {read.error && <Failure error={read.error} retry={read.refetch} />}
        {!page ? !read.error && <Loading rows={8} />
            : <Found {...{ page, readAt, wish, set, template, button }} order={query['sort'] ?? 'price_asc'}
                isCurrent={read.data !== undefined} />}
    </Page>;
}

function Summary({ page, isFiltered }: { page: CatalogPage | undefined; isFiltered: boolean }) {
    if (!page) return <span>Prices of the market, measured machines, paid by the millisecond.</span>;
    const { total, total_listed: all, lowest_rate_micro_per_gpu_hour: lowest } = page;
    if (all === 0) return <span>No machine is offered at the moment. This page looks again by itself.</span>;
    if (total === 0) return <span>{plural(all, 'offer')} on the market. None passes all of your filters.</span>;
    const counted = isFiltered ? `${total} of ${plural(all, 'offer')} pass your filters`
        : `${plural(total, 'offer')} can be rented now`;
    return <span>{counted}
        {lowest !== null && <>, from <span class="strong"><Money micro={lowest} places={4} /></span> an hour</>}.
        You pay by the millisecond, from the first answer on.</span>;
}

interface FoundProps {
    page: CatalogPage; wish: Wish; set: (patch: Patch) => void; template: Template | undefined; order: string;
    isCurrent: boolean; readAt: number; button: VNode;
}

function Found({ page, wish, set, template, order, isCurrent, readAt, button }: FoundProps) {
    const key = JSON.stringify(wish);
    const keyShown = useRef(key);
    if (isCurrent) keyShown.current = key;
    const further = useNextPages(wish, key);
    const steady = useSteady(keyShown.current, page, further.items);
    const [wanted, setWanted] = useState<CatalogOffer>();
    const [fault, setFault] = useState<unknown>();
    const cursor = further.cursor === undefined ? page.next_cursor : further.cursor;
    // Most of what is drawn at a letter that is typed: only what came of it is drawn again.
    const rows = useMemo(() => <OfferRows rows={steady.rows} {...{ template, order, readAt }} onRent={setWanted} />,
        [steady.rows, template, order, readAt]);
    if (page.total === 0 && steady.rows.length === 0) {
        return page.total_listed === 0 && filtersOf(wish).length === 0
            ? <p class="soft">Machines come and go by the minute. <a href="/host">Rent out one of your own</a>.</p>
            : <NoOffers {...{ wish, set, template }} />;
    }
    return <>
        <div class="row spread" id="bar">
            <p class="soft"><span class="strong">{steady.rows.length} of {page.total}</span> shown.
                {template && <StartTime template={template} />}</p>
            <div class="row">{filtersOf(wish).length === 0 && button}
                <label class="row small soft">Order <Select value={order} onChange={(value) => set({ sort: value })}
                    options={orders} /></label></div>
        </div>
        <section class="panel flush" aria-label="Offers" aria-busy={!isCurrent} onPointerEnter={preloadRentForm}>
            {rows}
            {(steady.fresh > 0 || steady.gone > 0) && <footer class="row spread" role="status">
                <span>{changesText(steady.fresh, steady.gone)} The order stays until you ask.</span>
                <Button small onClick={steady.show}>
                    {steady.fresh > 0 ? plural(steady.fresh, 'new offer') : 'Tidy up'}</Button>
            </footer>}
            {cursor !== null && <footer class="row"><Button small busy={further.busy}
                onClick={() => void further.more(page.next_cursor).then(() => setFault(undefined), setFault)}>
                Show more</Button></footer>}
        </section>
        {fault !== undefined && <Failure error={asError(fault)} />}
        <Sheet title={wanted ? `Rent ${machineName(wanted)}` : 'Rent'} open={wanted !== undefined}
            onClose={() => setWanted(undefined)}>
            {wanted && <LazyRentForm offer={wanted} run={template?.template_id} />}
        </Sheet>
    </>;
}

function StartTime({ template }: { template: Template }) {
    const ms = startOf(template);
    const parts = template.time_to_ready;
    if (ms === undefined || !parts) return <> How soon this answers was not measured yet.</>;
    return <> {template.kind === 'model' ? 'This model answers' : 'This is ready'} about <abbr title={
        `Median of past starts: fetching ${duration(parts.pull_ms)}, loading ${duration(parts.load_ms)}, first answer ${
            duration(parts.probe_ms)}`}>{duration(ms)}</abbr> after you rent.</>;
}

function changesText(fresh: number, gone: number): string {
    const came = fresh > 0 ? `${plural(fresh, 'offer')} came up` : '';
    const went = gone > 0 ? `${plural(gone, 'offer')} went` : '';
    return `${[came, went].filter(Boolean).join(', ')} while you were reading.`;
}
