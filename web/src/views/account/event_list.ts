// The account's events, newest first. The service numbers them without gaps and gives them oldest first:
// so the newest window is read, older ones on request, and what follows as it happens.
import { focusManager } from '@tanstack/preact-query';
import { BerthError, type Item } from 'berth-client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { asError, client } from '../../api';

export type AccountEvent = Item<'list_events'>;
const [window, everyMs] = [50n, 5_000];

interface State {
    events: AccountEvent[];
    /** Everything after `low` and up to `through` is here. */
    low: bigint;
    through: bigint;
    oldest: bigint;
}

const greater = (one: bigint, other: bigint) => one > other ? one : other;

function merged(known: AccountEvent[], found: AccountEvent[]): AccountEvent[] {
    const all = new Map([...known, ...found].map((event) => [event.sequence, event]));
    return [...all.values()].sort((one, other) => BigInt(one.sequence) < BigInt(other.sequence) ? 1 : -1);
}

async function read(after: bigint, types: string | undefined, signal: AbortSignal) {
    return await client.call('list_events',
        { query: { after: String(after), limit: 100, ...(types && { types }) }, signal });
}

async function begin(types: string | undefined, signal: AbortSignal): Promise<State> {
    const bounds = await client.call('list_events', { query: { limit: 1 }, signal });
    const [oldest, newest] = [BigInt(bounds.oldest), BigInt(bounds.newest)];
    const low = greater(greater(oldest - 1n, newest - window), 0n);
    const page = await read(low, types, signal);
    return { events: merged([], page.items), low, through: BigInt(page.through), oldest };
}

export function useEvents(types: string | undefined) {
    const [state, setState] = useState<State>();
    const [error, setError] = useState<BerthError>();
    const [isLoadingMore, setIsLoadingMore] = useState(false);
    const [turn, setTurn] = useState(0);
    const latest = useRef<State | undefined>(undefined);
    const ended = useRef<AbortController | undefined>(undefined);
    const keep = (next: State) => {
        latest.current = next;
        setState(next);
        setError(undefined);
    };

    useEffect(() => {
        const controller = new AbortController();
        ended.current = controller;
        const { signal } = controller;
        latest.current = undefined;
        setState(undefined);
        setError(undefined);
        const failed = (fault: unknown) => {
            if (signal.aborted) return;
            const told = asError(fault);
            // The numbers began anew: what is known is of before.
            if (told.code === 'EVENTS_EXPIRED') setTurn(turn + 1);
            else if (!latest.current) setError(told);
        };
        begin(types, signal).then(keep, failed);
        const timer = setInterval(() => {
            const known = latest.current;
            if (!known || !focusManager.isFocused()) return;
            read(known.through, types, signal).then((page) => {
                const now = latest.current ?? known;
                keep({ ...now, events: merged(now.events, page.items), through: BigInt(page.through) });
            }, failed);
        }, everyMs);
        return () => {
            clearInterval(timer);
            controller.abort();
        };
    }, [types, turn]);

    async function more() {
        const known = latest.current;
        const signal = ended.current?.signal;
        if (!known || !signal) return;
        setIsLoadingMore(true);
        try {
            const low = greater(greater(known.oldest - 1n, known.low - window), 0n);
            const page = await read(low, types, signal);
            const now = latest.current ?? known;
            keep({ ...now, events: merged(now.events, page.items), low });
        } catch (fault) {
            if (!signal.aborted) setError(asError(fault));
        }
        setIsLoadingMore(false);
    }

    const hasMore = state !== undefined && state.low > 0n && state.low >= state.oldest;
    return { items: state?.events, error, isLoading: !state && !error, hasMore, isLoadingMore,
        more: () => void more(), refetch: () => setTurn(turn + 1) };
}
