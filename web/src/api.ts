// Reads that stay current and changes that happen once: all that views ask of the server.
import { QueryCache, QueryClient, useInfiniteQuery, useQuery, type Query } from '@tanstack/preact-query';
import { BerthError, Client, randomUuid, type Answer, type Given, type Item, type OperationName, type PagedName }
    from 'berth-client';
import { useRef, useState } from 'preact/hooks';
import { noteServerTime } from './clock';
import { askSignIn } from './sign_in_again';
import { askStepUp } from './step_up';

let isLeaving = false;

/** The page is loaded again, and asks for nothing more: what stands on it is another's, or nobody's. */
export function beginAnew(): void {
    isLeaving = true;
    location.reload();
}

async function timed(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    if (isLeaving) return await new Promise<never>(() => {});
    const answer = await fetch(input, init);
    noteServerTime(answer.headers.get('date'));
    return answer;
}

export const client = new Client({ fetch: timed });

const longestPauseMs = 60_000;

/** A read that is refused for want of a session says that it has ended. */
function noticeEnd(fault: unknown): void {
    const isOut = fault instanceof BerthError && fault.status === 401;
    if (isOut && reads.getQueryData(['session'])) void reads.invalidateQueries({ queryKey: ['session'] });
}

export const reads: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError: noticeEnd }),
    // The client itself tries again; a read that failed is asked for at its next turn.
    defaultOptions: { queries: { retry: false, staleTime: 1_000, refetchOnWindowFocus: 'always' } },
});

export interface ReadOptions {
    /** Seconds between two looks while the page is seen. */
    every?: number | undefined;
    enabled?: boolean | undefined;
    /** The answer has a secret, and is forgotten when the view is left. */
    isSecret?: boolean | undefined;
}

interface Tally { answers: number; faults: number }
/** What a read had counted when it last succeeded: it counts answers and faults for ever. */
const tallies = new WeakMap<object, Tally>();

function faultsInARow(query: Query<any, any, any, any>): number {
    const { dataUpdateCount: answers, errorUpdateCount: faults } = query.state;
    const last = tallies.get(query);
    if (last?.answers === answers) return faults - last.faults;
    tallies.set(query, { answers, faults });
    return 0;
}

/** A busy or broken server is asked less often. */
function pauseAfter(everyS: number | undefined) {
    return (query: Query<any, any, any, any>): number | false => {
        if (everyS === undefined) return false;
        const usualMs = everyS * 1_000;
        return Math.max(usualMs, Math.min(usualMs * 2 ** Math.min(faultsInARow(query), 6), longestPauseMs));
    };
}

export interface Read<T> {
    data: T | undefined;
    error: BerthError | undefined;
    isLoading: boolean;
    /** What is shown is from before, and asking again failed. */
    isStale: boolean;
    updatedAt: number;
    refetch: () => void;
}

export function useRead<Name extends OperationName>(
    name: Name, given?: Partial<Given<Name>>, options: ReadOptions = {},
): Read<Answer<Name>> {
    const query = useQuery({
        queryKey: [name, given ?? {}],
        queryFn: ({ signal }: { signal: AbortSignal }) => calling(name, { ...given, signal }),
        refetchInterval: pauseAfter(options.every),
        enabled: options.enabled ?? true,
        ...options.isSecret && { gcTime: 0 },
    });
    const error = query.error as BerthError | null;
    return {
        data: query.data as Answer<Name> | undefined,
        error: query.data === undefined ? error ?? undefined : undefined,
        isLoading: query.isLoading,
        isStale: query.data !== undefined && error !== null,
        updatedAt: query.dataUpdatedAt,
        refetch: () => void query.refetch(),
    };
}

export interface Listed<T> {
    items: T[] | undefined;
    error: BerthError | undefined;
    isLoading: boolean;
    /** What is shown is from before, and asking again failed. */
    isStale: boolean;
    hasMore: boolean;
    isLoadingMore: boolean;
    more: () => void;
    refetch: () => void;
}

interface Page { items: unknown[]; next_cursor: string | null }

export function usePages<Name extends PagedName>(
    name: Name, given?: Partial<Given<Name>>, options: ReadOptions = {},
): Listed<Item<Name>> {
    const query = useInfiniteQuery({
        queryKey: [name, 'pages', given ?? {}],
        queryFn: async ({ pageParam, signal }: { pageParam: string | null; signal: AbortSignal }) => {
            const asked = { ...given, signal, query: { ...(given as { query?: object })?.query, cursor: pageParam ?? undefined } };
            return await calling(name, asked) as unknown as Page;
        },
        initialPageParam: null as string | null,
        getNextPageParam: (page: Page) => page.next_cursor,
        refetchInterval: pauseAfter(options.every),
        enabled: options.enabled ?? true,
    });
    const pages = query.data?.pages as Page[] | undefined;
    return {
        items: pages?.flatMap((page) => page.items) as Item<Name>[] | undefined,
        error: pages === undefined ? (query.error as BerthError | null) ?? undefined : undefined,
        isLoading: query.isLoading,
        isStale: pages !== undefined && query.error !== null,
        hasMore: query.hasNextPage,
        isLoadingMore: query.isFetchingNextPage,
        more: () => void query.fetchNextPage(),
        refetch: () => void query.refetch(),
    };
}

/** Every read of these operations is asked for again. */
export function refresh(...names: OperationName[]): Promise<void> {
    return reads.invalidateQueries({ predicate: ({ queryKey }) => names.includes(queryKey[0] as OperationName) });
}

export interface Change<Name extends OperationName> {
    /** The answer; undefined where it failed, and `error` says why. */
    run: (given: Given<Name>) => Promise<Answer<Name> | undefined>;
    busy: boolean;
    error: BerthError | undefined;
    reset: () => void;
}

/** The same wish keeps its key until its outcome is known: pressing twice, or again after the line broke,
 * makes it once. A step-up or a session that is missing is asked for, and the same
 * request goes on. */
export function useChange<Name extends OperationName>(
    name: Name, options: { refresh?: OperationName[]; done?: (answer: Answer<Name>) => void } = {},
): Change<Name> {
    const [state, setState] = useState<{ busy: boolean; error: BerthError | undefined }>(
        { busy: false, error: undefined });
    const wish = useRef<{ text: string; key: string } | undefined>(undefined);
    const isRunning = useRef(false);

    async function run(given: Given<Name>): Promise<Answer<Name> | undefined> {
        if (isRunning.current) return undefined;
        isRunning.current = true;
        setState({ busy: true, error: undefined });
        try {
            const text = JSON.stringify(given);
            if (wish.current?.text !== text) wish.current = { text, key: await randomUuid() };
            const answer = await steppingUp(name, { ...given, idempotencyKey: wish.current.key });
            wish.current = undefined;
            await refresh(...options.refresh ?? []);
            setState({ busy: false, error: undefined });
            options.done?.(answer);
            return answer;
        } catch (fault) {
            const error = asError(fault);
            if (!error.mayHaveHappened) wish.current = undefined;
            setState({ busy: false, error });
            return undefined;
        } finally {
            isRunning.current = false;
        }
    }
    return { run, ...state, reset: () => setState({ busy: false, error: undefined }) };
}

async function steppingUp<Name extends OperationName>(name: Name, given: object): Promise<Answer<Name>> {
    for (;;) {
        try {
            return await calling(name, given);
        } catch (fault) {
            if (!(fault instanceof BerthError) || !await isMended(name, fault)) throw fault;
        }
    }
}

const signingIn = new Set<OperationName>(['start_sign_in', 'verify_sign_in', 'give_second_factor', 'sign_out']);

/** Whether the person has given what was missing: a step-up, or a session that had ended. */
async function isMended(name: OperationName, { stepUp, status, member }: BerthError): Promise<boolean> {
    if (member === 'header.X-CSRF-Token') void reads.invalidateQueries({ queryKey: ['session'] }); // another's by now
    if (stepUp !== null) return await askStepUp(stepUp);
    return status === 401 && !signingIn.has(name) && await askSignIn();
}

/** What is given was typed where the caller gave it. */
function calling<Name extends OperationName>(name: Name, given: object): Promise<Answer<Name>> {
    return (client.call as (name: Name, given: object) => Promise<Answer<Name>>).call(client, name, given);
}

export function asError(fault: unknown): BerthError {
    return fault instanceof BerthError ? fault : new BerthError('UNEXPECTED_ANSWER', String(fault));
}

/** What the server says of one member, without repeating its name; members within it count. */
export function fieldError(error: BerthError | undefined, member: string): string | undefined {
    if (!error?.member || !(error.member === member || error.member.startsWith(`${member}.`)
        || error.member.startsWith(`${member}[`))) return undefined;
    return error.message.slice(error.member.length + 2);
}
