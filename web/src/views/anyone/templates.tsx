// What can be run, what it needs, and what it costs at the least.
import { useMemo } from 'preact/hooks';
import { useRead } from '../../api';
import { Duration, Money, plural } from '../../format';
import { Async, Badge, Button, Empty, Page, Panel, Segmented, Table } from '../../kit';
import { useQuery } from '../../router';
import { gibText, startOf, type Offer, type Template } from './market';

const kinds: [string, string][] = [['', 'All'], ['model', 'Models'], ['classical', 'Tools'], ['custom', 'Own images']];

/** The cheapest machine for each template, out of one list of offers. */
export function cheapestFits(offers: Offer[]): Map<string, Offer> {
    const found = new Map<string, Offer>();
    const byPrice = [...offers].sort((one, other) =>
        Number(BigInt(one.total_rate_micro_per_hour) - BigInt(other.total_rate_micro_per_hour)));
    for (const offer of byPrice)
        for (const id of offer.fits_template_ids ?? [])
            if (!found.has(id)) found.set(id, offer);
    return found;
}

export const fitsHref = (template: Template) => `/?run=${encodeURIComponent(template.template_id)}&fits=1`;

export default function Templates() {
    const [query, set] = useQuery();
    const kind = kinds.some(([key]) => key === query['kind']) ? query['kind'] ?? '' : '';
    const read = useRead('list_templates', { query: { limit: 100 } }, { every: 60 });
    const offers = useRead('list_offers', { query: { fits_for: 'all', sort: 'price_asc', limit: 100 } }, { every: 60 });
    const cheapest = useMemo(() => cheapestFits(offers.data?.items ?? []), [offers.data]);
    return <Page title="Templates" facts={<span>Images and models that start by themselves. Choose one, then a machine
        that fits.</span>}
        actions={<Segmented label="Kind" value={kind} onChange={(value) => set({ kind: value }, { replace: true })}
            options={kinds} />}>
        <Async read={read} rows={8}>{({ items }) => {
            const shown = items.filter((each) => kind === '' || each.kind === kind);
            if (shown.length === 0) return <Empty title="None of this kind yet."
                action={<Button onClick={() => set({ kind: undefined })}>Show all</Button>}>
                Operators of this service publish them.</Empty>;
            return <Panel flush label="Templates">
                <TemplateTable {...{ cheapest }} rows={shown} isKnown={offers.data !== undefined} /></Panel>;
        }}</Async>
    </Page>;
}

function TemplateTable({ rows, cheapest, isKnown }: {
    rows: Template[]; cheapest: Map<string, Offer>; isKnown: boolean }) {
    return <Table caption="Templates" rows={rows} keyOf={(each) => each.id}
        href={(each) => `/templates/${encodeURIComponent(each.template_id)}`}
        columns={[
            { head: 'Name', cell: (each) => <>{each.name}<small>{each.engine}{each.quantization
                ? ` · ${each.quantization}` : ''}</small></> },
            { head: 'Needs', cell: (each) => <>{gibText(each.vram_fit.min_vram_bytes)}<small>{each.min_gpu_count > 1
                ? `on each of ${plural(each.min_gpu_count, 'GPU')}` : 'of GPU memory'}</small></> },
            { head: 'Answers after',
                cell: (each) => startOf(each) === undefined ? <span class="muted">not measured</span>
                : <Duration ms={startOf(each)!} /> },
            { head: 'Weights', narrow: 'hide',
                cell: (each) => each.gated ? <Badge tone="lamp">Need your hub token</Badge>
                : <span class="soft">free to fetch</span> },
            { head: 'Cheapest fit', right: true, cell: (each) => cheapest.has(each.id)
                ? <><Money micro={cheapest.get(each.id)!.total_rate_micro_per_hour} places={4} />
                    <small>an hour</small></>
                : <span class="muted">{isKnown ? 'none offered now' : ''}</span> },
        ]} />;
}
