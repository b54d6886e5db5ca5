// Reads whose types are narrower here than in the description of the API.
import { useRead, type Read, type ReadOptions } from '../../api';
import type { Offer } from './market';

export interface CatalogOffer extends Offer { market_price_micro_per_gpu_hour?: string | null }

export interface CatalogPage {
    items: CatalogOffer[];
    next_cursor: string | null;
    total: number;
    total_listed: number;
    lowest_rate_micro_per_gpu_hour: string | null;
    gpu_models: { model: string; count: number; median_rate_micro_per_gpu_hour?: string | null }[];
}

export interface Mail { subject: string; text: string; sent_at: string }

type AnyRead = <T>(name: string, given: unknown, options?: ReadOptions) => Read<T>;
const readAny = useRead as unknown as AnyRead;

export type Wish = Record<string, string | undefined>;

export const catalogName = 'show_catalog';

export function useCatalog(query: Wish, options?: ReadOptions): Read<CatalogPage> {
    return readAny<CatalogPage>(catalogName, { query }, options);
}

/** Whether this is a box with play money, where mail can be read here. */
export function useIsBox(): boolean {
    const { data } = useRead('public_status', undefined, { every: 60 });
    return (data as { simulated?: boolean } | undefined)?.simulated === true;
}

export function useBoxMail(to: string, isOpen: boolean): Read<{ items: Mail[] }> {
    return readAny<{ items: Mail[] }>('show_simulated_mail', { query: { to } }, { every: 2, enabled: isOpen });
}
