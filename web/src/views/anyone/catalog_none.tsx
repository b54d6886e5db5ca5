// Nothing passes: what each filter takes away, and what is nearest.
import type { Given } from 'berth-client';
import { useRead } from '../../api';
import { moneyText, plural } from '../../format';
import { Async, Badge, Button } from '../../kit';
import { cleared, filtersOf, type Patch } from './filters';
import { continents, exactRate, gibText, gpuName, lineText, machineName, memoryAndPlace, placeOf, runtimeName, type Offer,
    type Template } from './market';
import type { Wish } from './soon';
import { offerHref } from './catalog_rows';

interface Props { wish: Wish; set: (patch: Patch) => void; template: Template | undefined }

/** What an offer has where the filter asks for something else, and the change that lets it in. */
function missed(filter: string, offer: Offer, wish: Wish): { words: string; act: string; patch: Patch } {
    switch (filter) {
        case 'gpu_count': return {
            words: `Has ${plural(offer.gpu_count ?? 1, 'GPU')}; you ask for ${wish['gpu_count']}`,
            act: `Take ${plural(offer.gpu_count ?? 1, 'GPU')}`, patch: { gpus: String(offer.gpu_count ?? 1) } };
        case 'continent': return { words: `${placeOf(offer) ?? 'Place not known'}; you ask for ${
            continents.find(([key]) => key === wish['continent'])?.[1] ?? 'elsewhere'}`,
            act: 'Look anywhere', patch: { where: undefined } };
        case 'max_rate_micro_per_hour': {
            const rate = moneyText(offer.total_rate_micro_per_hour, 4);
            return { words: `${rate} an hour for all of it; you allow ${moneyText(wish[filter], 4)}`,
                act: `Allow ${rate}`, patch: { max: allowed(offer.total_rate_micro_per_hour) } };
        }
        case 'model': return { words: `Another GPU: ${gpuName(offer.model)}`,
            act: 'Take any GPU', patch: { gpu: undefined } };
        case 'min_bandwidth_mbps': return { words: `${lineText(offer.download_mbps) ?? 'Line not measured'} down`,
            act: 'Take any line', patch: { down: undefined } };
        case 'min_vram_gib': return {
            words: offer.vram_bytes ? `${gibText(offer.vram_bytes)} a GPU` : 'Memory not measured',
            act: 'Take less memory', patch: { vram: undefined } };
        case 'class': return { words: offer.availability_class === 'interruptible' ? 'The host may take it back'
            : 'It is dedicated', act: 'Take either', patch: { class: undefined } };
        case 'backend': return { words: `It has ${offer.backends.map(runtimeName).join(', ')}`, act: 'Take any',
            patch: { backend: undefined } };
        case 'tier': return { words: offer.tier === 'inference' ? 'It serves models only' : 'It runs containers',
            act: 'Take either', patch: { tier: undefined } };
        case 'fits_only': return { words: 'It does not fit',
            act: 'Show what does not fit', patch: { fits: undefined } };
        default: return { words: 'Tested by its own test only', act: 'Take tested ones', patch: { trust: undefined } };
    }
}

/** The rate as it is typed, never rounded below it. */
function allowed(micro: string): string {
    const cents = (BigInt(micro) + 9_999n) / 10_000n;
    return `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
}

export function NoOffers({ wish, set, template }: Props) {
    const query = wish as unknown as Given<'explain_offers'>['query'];
    const read = useRead('explain_offers', { query }, { every: 30 });
    return <Async read={read} rows={6}>{(found) => {
        const words = new Map(filtersOf(wish).map((filter) => [filter.name, filter]));
        const takers = [...found.removed_by].filter((each) => each.count > 0).sort((a, b) => b.count - a.count);
        return <div class="two" id="why">
            <section class="stack">
                <div class="tight"><h2>What takes them away</h2>
                    <p class="soft">
                        {plural(found.listed, 'offer')} on the market. Each filter by itself removes:</p></div>
                <ul class="why">
                    {takers.map(({ filter, count }) => <li key={filter}>
                        <span>{words.get(filter)?.words ?? 'Tested machines only'}</span>
                        <span class="num muted">takes away {count}</span>
                        {words.has(filter) ?
                            <Button small onClick={() => set(words.get(filter)!.without)}>Drop it</Button>
                            : <span class="small muted">stays: untested ones cannot be rented</span>}
                    </li>)}
                </ul>
                {words.size > 0 &&
                    <div class="row"><Button onClick={() => set(cleared)}>Drop all filters</Button></div>}
                {template && <p class="soft">{template.name} needs {gibText(template.vram_fit.min_vram_bytes)} of memory
                    on {template.min_gpu_count > 1 ? `each of ${template.min_gpu_count} GPUs` : 'a GPU'}.</p>}
            </section>
            {found.nearest.length > 0 && <section class="panel flush">
                <header><h2>One filter away</h2>
                    <span class="small muted">{plural(found.nearest.length, 'offer')}</span></header>
                <ul>{found.nearest.map(({ filter, offer }) => <Near key={offer.offer_id}
                    {...{ offer, wish, set, template }} filter={filter} />)}</ul>
            </section>}
        </div>;
    }}</Async>;
}

function Near({ offer, filter, wish, set, template }: Props & { offer: Offer; filter: string }) {
    const { words, act, patch } = missed(filter, offer, wish);
    return <li class="offer-card">
        <div><a class="strong" href={offerHref(offer, template)} data-row-link>{machineName(offer)}</a>
            <div class="tiny muted">{memoryAndPlace(offer)}</div></div>
        <div class="right"><span class="strong num" title={exactRate(offer.rate_micro_per_gpu_hour)}>
            {moneyText(offer.rate_micro_per_gpu_hour, 4)}</span><div class="tiny muted">USDC per GPU-hour</div></div>
        {offer.fit && <div class="wide row"><Badge tone={offer.fit.fits ? 'go' : 'slack'}>
            {offer.fit.fits ? 'Fits' : 'Does not fit'}</Badge><span class="tiny muted">{template?.name}</span></div>}
        <div class="wide row spread"><span class="warn small">{words}</span>
            <Button small onClick={() => set(patch)}>{act}</Button></div>
    </li>;
}
