// What others ask for a machine like this one.
import { useRead } from '../../api';
import type { Machine } from './later';

export interface Market {
    /** Per GPU and hour, as all of them. */
    median: bigint;
    lowest: bigint | undefined;
    highest: bigint | undefined;
    /** How many offers stand behind it; 0 where public list prices do. */
    offers: number;
    basis: string | undefined;
}

/** Fewer say less than public prices do. */
const offersMin = 3;

function medianOf(sorted: readonly bigint[]): bigint {
    const middle = Math.floor(sorted.length / 2);
    const upper = sorted[middle] ?? 0n;
    return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2n;
}

/** Undefined where nobody has a price for such a GPU. The machine's own offer does not count. */
export function useMarket(machine: Machine, ownOffer: string | undefined): Market | undefined {
    const model = machine.gpu_model ?? undefined;
    const { data } = useRead('list_offers', { query: { model, sort: 'price_asc', limit: 100 } },
        { enabled: model !== undefined, every: 60 });
    const rates = (data?.items ?? []).filter((offer) => offer.model === model && offer.offer_id !== ownOffer)
        .map((offer) => BigInt(offer.rate_micro_per_gpu_hour)).sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
    const found = { lowest: rates[0], highest: rates.at(-1), offers: rates.length };
    const suggested = machine.market_price;
    if (suggested && rates.length < offersMin) {
        return { ...found, median: BigInt(suggested.median_micro_per_gpu_hour), basis: suggested.basis };
    }
    return rates.length === 0 ? undefined : { ...found, median: medianOf(rates), basis: undefined };
}
