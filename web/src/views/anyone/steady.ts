// Rows that stay where they are while one reads: figures change in place, and the order when one asks.
import { useMemo, useRef, useState } from 'preact/hooks';
import type { CatalogOffer, CatalogPage } from './soon';

interface Kept { key: string; order: string[]; known: Map<string, CatalogOffer> }
export interface SteadyRow { offer: CatalogOffer; isGone: boolean }
export interface Steady { rows: SteadyRow[]; fresh: number; gone: number; show: () => void }

/** `key` says what was asked for: another question, another order. `extra` are the pages after the first. The rows are
 * the same ones as long as nothing changed. */
export function useSteady(key: string, page: CatalogPage, extra: readonly CatalogOffer[]): Steady {
    const kept = useRef<Kept | undefined>(undefined);
    const [turn, setTurn] = useState(0);
    const show = () => {
        kept.current = undefined;
        setTurn((count) => count + 1);
    };
    const found = useMemo(() => {
        const items = [...page.items, ...extra];
        if (kept.current?.key !== key)
            kept.current = { key, order: items.map((each) => each.offer_id), known: new Map() };
        return settled(kept.current, page, items, extra);
    }, [key, page, extra, turn]);
    return { ...found, show };
}

function settled({ order, known }: Kept, page: CatalogPage, items: CatalogOffer[], extra: readonly CatalogOffer[]) {
    for (const each of items) known.set(each.offer_id, each);
    const ordered = new Set(order);
    for (const each of extra) if (!ordered.has(each.offer_id)) order.push(each.offer_id);
    const present = new Set(items.map((each) => each.offer_id));
    // Where there are more pages, what is not on this one may stand on the next.
    const isWhole = page.next_cursor === null;
    const rows = [...new Set(order)].flatMap((id) => {
        const offer = known.get(id);
        return offer ? [{ offer, isGone: isWhole && !present.has(id) }] : [];
    });
    const fresh = page.items.filter((each) => !order.includes(each.offer_id)).length;
    return { rows, fresh, gone: rows.filter((row) => row.isGone).length };
}
