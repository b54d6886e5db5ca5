// What the form to rent asks for, reckoned the way the server does.
import { money, type Given } from 'berth-client';
import { useEffect, useState } from 'preact/hooks';
import type { BerthError, Answer } from 'berth-client';
import { asError, client } from '../../api';
import { microOf } from './filters';
import type { Offer, Template } from './market';

export type QuoteBody = Given<'create_quote'>['body'];
export type Quote = Answer<'create_quote'>;

const hour = 3_600;
const [shortestS, longestS] = [60, 365 * 24 * hour];
const settleMs = 300;
const ownImage = 'own-image';

export const limits: [string, string][] = [['', 'While it lasts'], ['1800', '30 min'], [String(hour), '1 h'],
    [String(2 * hour), '2 h'], [String(4 * hour), '4 h'], [String(8 * hour), '8 h'], [String(24 * hour), '1 day'],
    [String(72 * hour), '3 days'], [String(168 * hour), '1 week'], [String(720 * hour), '30 days']];

export interface Wished {
    run: string;
    image: string;
    most: string;
    limit: string;
    asset: 'USDC' | 'USDT';
    key: string;
    useHubToken: boolean;
}

export { ownImage };

/** One unit, or two hours of a dear machine in whole halves. */
export function firstBudget(offer: Offer): string {
    const two = money.micro(offer.total_rate_micro_per_hour) * 2n;
    const halves = (two + 499_999n) / 500_000n;
    return money.toUnits(String((halves < 2n ? 2n : halves) * 500_000n), 2);
}

/** How long an amount lasts, in seconds. */
export function lasts(budget: string, offer: Offer): number {
    const rate = money.micro(offer.total_rate_micro_per_hour);
    return rate === 0n ? longestS : Number(money.micro(budget) * BigInt(hour) / rate);
}

/** The rental's end at the latest: what was chosen, or as long as the offer lasts. The budget ends it sooner, and
 * can be raised. */
export function limitOf(wished: Wished, offer: Offer, nowMs: number): number {
    if (wished.limit) return Number(wished.limit);
    const untilEnd = Math.floor((Date.parse(offer.available_until) - nowMs) / 1000) - shortestS;
    return Math.max(shortestS, Math.min(untilEnd, longestS));
}

/** The quote to ask for; undefined while something is missing. */
export function bodyOf(
    wished: Wished, offer: Offer, template: Template | undefined, nowMs: number): QuoteBody | undefined {
    const budget = microOf(wished.most);
    if (budget === undefined || budget === '0') return undefined;
    const image = wished.image.trim();
    const what = wished.run === ownImage ? (image ? { image } : undefined)
        : template ? { template_id: template.id } : undefined;
    if (!what) return undefined;
    return { offer_id: offer.offer_id, ...what, asset: wished.asset, budget_micro: budget,
        duration_limit_s: limitOf(wished, offer, nowMs) };
}

export interface DryRun { quote: Quote | undefined; error: BerthError | undefined }

/** What the server would say to it, asked a moment after the last change; holds nothing. */
export function useDryRun(body: QuoteBody | undefined, isOpen: boolean): DryRun {
    const [state, setState] = useState<DryRun>({ quote: undefined, error: undefined });
    // The limit follows the clock; a minute does not make it another question.
    const key = JSON.stringify(body && { ...body, duration_limit_s: Math.floor(body.duration_limit_s / 60) });
    useEffect(() => {
        if (!body || !isOpen) { setState({ quote: undefined, error: undefined }); return; }
        const ended = new AbortController();
        const timer = setTimeout(() => {
            client.call('create_quote', { query: { dry_run: true }, body, signal: ended.signal, retries: 0 })
                .then((quote) => setState({ quote, error: undefined }))
                .catch((fault: unknown) => {
                    if (!ended.signal.aborted) setState({ quote: undefined, error: asError(fault) });
                });
        }, settleMs);
        return () => {
            clearTimeout(timer);
            ended.abort();
        };
    }, [key, isOpen]);
    return state;
}
