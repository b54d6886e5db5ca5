// Offers as a table where there is room, else as cards.
import { useEffect, useState } from 'preact/hooks';
import { Ago, dateText, moneyText, now, Unknown } from '../../format';
import { Badge } from '../../kit';
import { againstMarket, classOf, exactRate, gibText, lineText, machineName, memoryAndPlace, memoryOf, misfit, placeOf, recordOf,
    type Template } from './market';
import type { CatalogOffer } from './soon';
import type { SteadyRow } from './steady';

export interface RowsProps {
    rows: SteadyRow[];
    template: Template | undefined;
    order: string;
    /** When the figures were read, by this device's clock. */
    readAt: number;
    onRent: (offer: CatalogOffer) => void;
}

export function useMedia(media: string): boolean {
    const [isMet, setMet] = useState(() => matchMedia(media).matches);
    useEffect(() => {
        const query = matchMedia(media);
        const change = () => setMet(query.matches);
        change();
        query.addEventListener('change', change);
        return () => query.removeEventListener('change', change);
    }, [media]);
    return isMet;
}

export function offerHref(offer: CatalogOffer, template: Template | undefined): string {
    return `/offers/${offer.offer_id}${template ? `?run=${encodeURIComponent(template.template_id)}` : ''}`;
}

export function canRent({ offer, isGone }: SteadyRow): boolean {
    return !isGone && offer.readiness === 'ready' && offer.fit?.fits !== false;
}

function Fit({ offer, isGone, template }: { offer: CatalogOffer; isGone: boolean; template: Template | undefined }) {
    if (isGone) return <Badge tone="slack">Gone</Badge>;
    if (offer.readiness !== 'ready') return <Badge tone="lamp">Not tested</Badge>;
    if (!offer.fit) return <span class="muted">–</span>;
    if (!offer.fit.fits) return <><Badge tone="slack">Does not fit</Badge><small>{misfit(offer, template)}</small></>;
    return <><Badge tone="go">Fits</Badge><small>{gibText(offer.fit.headroom_bytes)} to spare</small></>;
}

export function Market({ offer }: { offer: CatalogOffer }) {
    const difference = againstMarket(offer, offer.market_price_micro_per_gpu_hour);
    if (!difference) return <span class="muted">too few to say</span>;
    const usual = exactRate(offer.market_price_micro_per_gpu_hour!);
    return <span class={difference.isLower ? 'good' : 'soft'} title={`The same GPU mostly costs ${usual}`}>
        {difference.text}</span>;
}

function RentButton({ row, onRent }: { row: SteadyRow; onRent: (offer: CatalogOffer) => void }) {
    // A press that begins at one offer must not end at another that has taken its row.
    return <button key={row.offer.offer_id} class={canRent(row) ? 'btn small tint' : 'btn small'} type="button"
        disabled={!canRent(row)}
        aria-label={`Rent ${machineName(row.offer)}`} onClick={() => onRent(row.offer)}>Rent</button>;
}

function Price({ offer }: { offer: CatalogOffer }) {
    return <>
        <span class="strong num" title={exactRate(offer.rate_micro_per_gpu_hour)}>
            {moneyText(offer.rate_micro_per_gpu_hour, 4)}</span>
        {(offer.gpu_count ?? 1) > 1 && <small>{moneyText(offer.total_rate_micro_per_hour, 4)} for all</small>}
    </>;
}

function seenAt(offer: CatalogOffer, readAt: number): number {
    return now() - (Date.now() - readAt) - offer.last_seen_age_s * 1000;
}

function TableRow({ row, template, readAt, onRent }: RowsProps & { row: SteadyRow }) {
    const { offer } = row;
    const record = recordOf(offer);
    return <tr class={canRent(row) ? undefined : 'off'}>
        <td><a class="strong" href={offerHref(offer, template)} data-row-link>{machineName(offer)}</a>
            <small>{memoryAndPlace(offer)}</small></td>
        <td><Fit offer={offer} isGone={row.isGone} template={template} /></td>
        <td class="r"><Price offer={offer} /></td>
        <td><Market offer={offer} /></td>
        <td class="r nowrap">
            {offer.ai_speed_tok_s === undefined ? <Unknown /> : `${Math.round(offer.ai_speed_tok_s)} tok/s`}
            <small>{offer.download_mbps === undefined ? 'line not measured'
                : `${lineText(offer.download_mbps)} down`}</small></td>
        <td class="nowrap">{record.share}<small>{record.rentals}</small></td>
        <td class="nowrap">{classOf(offer)}<small>{offer.availability_class === 'interruptible'
            ? noticeText(offer.preemption_notice_s) : `until ${dateText(offer.available_until)}`}</small></td>
        <td class="r muted nowrap"><Ago at={seenAt(offer, readAt)} /></td>
        <td class="r"><RentButton row={row} onRent={onRent} /></td>
    </tr>;
}

export function noticeText(seconds: number | undefined): string {
    if (seconds === undefined) return 'without notice';
    return seconds < 120 ? `${seconds} s notice` : `${Math.floor(seconds / 60)} min notice`;
}

const arrows: Record<string, 'ascending' | 'descending'> = { price_asc: 'ascending', price_desc: 'descending' };

function OfferTable(props: RowsProps) {
    const arrow = arrows[props.order];
    return <table class="table has-cards">
        <caption class="sr">Offers that can be rented</caption>
        <thead><tr>
            <th scope="col">Machine</th>
            <th scope="col">{props.template ? `Runs ${shortName(props.template.name)}` : 'Runs'}</th>
            <th scope="col" class="r" aria-sort={arrow}>
                USDC per GPU-hour{arrow && (arrow === 'ascending' ? ' ↑' : ' ↓')}</th>
            <th scope="col">Market</th>
            <th scope="col" class="r">Speed</th>
            <th scope="col">Track record</th>
            <th scope="col">Class</th>
            <th scope="col" class="r">Seen</th>
            <th scope="col"><span class="sr">Rent</span></th>
        </tr></thead>
        <tbody>{props.rows.map((row, at) => <TableRow key={at} {...props} row={row} />)}</tbody>
    </table>;
}

/** The head of a column has room for two words. */
function shortName(name: string): string {
    return name.split(' ').slice(0, 2).join(' ');
}

function Card({ row, template, readAt, onRent }: RowsProps & { row: SteadyRow }) {
    const { offer } = row;
    const memory = memoryOf(offer);
    return <li class={canRent(row) ? 'offer-card' : 'offer-card off'}>
        <div><a class="strong" href={offerHref(offer, template)} data-row-link>{machineName(offer)}</a>
            <div class="tiny muted">{[memory ? gibText(memory) : 'memory not measured', placeOf(offer), '']
                .filter((each) => each !== undefined).join(' · ')}<Ago
                at={seenAt(offer, readAt)} /></div></div>
        <div class="right"><span class="strong num" title={exactRate(offer.rate_micro_per_gpu_hour)}>
            {moneyText(offer.rate_micro_per_gpu_hour, 4)}</span><div class="tiny muted">USDC per GPU-hour</div></div>
        {(offer.fit || row.isGone || offer.readiness !== 'ready') && <div class="wide row tiny muted">
            <Fit offer={offer} isGone={row.isGone} template={template} /></div>}
        <div class="wide row spread"><span class="tiny soft"><Market offer={offer} />
            {offer.ai_speed_tok_s !== undefined && ` · ${Math.round(offer.ai_speed_tok_s)} tok/s`}
            {` · ${classOf(offer).toLowerCase()}`}</span><RentButton row={row} onRent={onRent} /></div>
    </li>;
}

/** Rows keep their place while one reads, so that another answer only changes what stands in them. */
export function OfferRows(props: RowsProps) {
    const isWide = useMedia('(min-width: 1181px)');
    if (isWide) return <OfferTable {...props} />;
    return <ul class="cards">{props.rows.map((row, at) => <Card key={at} {...props} row={row} />)}</ul>;
}
