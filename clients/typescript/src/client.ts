// One request, tried until its answer is known: the same bytes and the same key in every attempt.
import { BerthError, refusal } from './errors.js';
import { Events } from './events.js';
import { operations } from './generated/operations.js';
import { Deadline, pause, randomUuid, type Pause } from './platform.js';
import { Rentals, type Rental, type RentOptions } from './rentals.js';
import type { AnyGiven, Answer, Arguments, Given, Item, Operation, OperationName, PagedName } from './types.js';
import * as webhooks from './webhooks.js';

export interface ClientOptions {
    /** Where the server is; in a browser the page's own origin. */
    baseUrl?: string;
    /** Without one the browser's session is used. */
    apiKey?: string;
    /** After the first attempt; 2. */
    retries?: number;
    /** For each attempt; a minute. */
    timeoutMs?: number;
    fetch?: typeof fetch;
    pause?: Pause;
}

interface Sent { operation: Operation; url: string; headers: Headers; body: string | null; key: string | null }
type Read<T> = (answer: Response) => Promise<T>;

const [firstDelayMs, longestDelayMs, longestRetryAfterMs] = [500, 8_000, 60_000];
const csrfHeader = 'X-CSRF-Token';
const sessionPlaces = /^\/api\/v1\/(auth|account)\//; // what engines answer is passed on elsewhere
// Faults of Node's fetch before anything was sent; browsers do not tell.
const connecting = new Set<unknown>(['connect', 'getaddrinfo', 'ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT']);

export class Client {
    readonly events = new Events(this);
    readonly rentals = new Rentals(this);
    readonly webhooks = webhooks;
    readonly pause: Pause;
    private readonly baseUrl: string;
    private readonly fetch: typeof fetch;
    private csrfToken: string | undefined;
    /** Whose session it is. */
    private account: string | undefined;
    private sessionRead: Promise<boolean> | undefined;

    constructor(private readonly options: ClientOptions = {}) {
        const origin = options.baseUrl ?? (globalThis as { location?: { origin?: string } }).location?.origin;
        if (!origin) throw new TypeError('baseUrl: says where the server is');
        this.baseUrl = new URL(origin).href.replace(/\/$/, '');
        // Browsers refuse a fetch that is called as another object's.
        this.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
        this.pause = options.pause ?? pause;
    }

    /** Calls an operation of openapi.json by its name. */
    async call<Name extends OperationName>(name: Name, ...given: Arguments<Given<Name>>): Promise<Answer<Name>> {
        return await this.request(operations[name], given[0] as AnyGiven) as Answer<Name>;
    }

    /** The answer itself, its body unread, for what is streamed; a bad status is an error here, too. */
    open<Name extends OperationName>(name: Name, ...given: Arguments<Given<Name>>): Promise<Response> {
        return this.openRequest(operations[name], given[0] as AnyGiven);
    }

    /** Quotes, reserves and waits until it runs; what does not come to run is stopped. */
    rent(wish: Given<'create_quote'>['body'] & RentOptions): Promise<Rental> {
        return this.rentals.rent(wish);
    }

    async *pages<Name extends PagedName>(name: Name, ...given: Arguments<Given<Name>>): AsyncGenerator<Answer<Name>> {
        let wanted = (given[0] ?? {}) as AnyGiven;
        for (const seen = new Set<string>(); ;) {
            const page = await this.request(operations[name], wanted) as { next_cursor?: string | null };
            yield page as Answer<Name>;
            const cursor = page.next_cursor;
            if (cursor === null || cursor === undefined) return;
            if (seen.has(cursor)) throw new BerthError('UNEXPECTED_ANSWER', 'the server gives the same page again');
            seen.add(cursor);
            wanted = { ...wanted, query: { ...wanted.query, cursor, after: undefined } }; // the cursor knows `after`
        }
    }

    async *items<Name extends PagedName>(name: Name, ...given: Arguments<Given<Name>>): AsyncGenerator<Item<Name>> {
        for await (const page of this.pages(name, ...given)) yield* (page as { items: Item<Name>[] }).items;
    }

    /** As `call`, for what this library's table does not have yet. */
    request(operation: Operation, given: AnyGiven = {}): Promise<unknown> {
        return this.run(operation, given, false, (answer) => this.read(answer, operation));
    }

    openRequest(operation: Operation, given: AnyGiven = {}): Promise<Response> {
        return this.run(operation, given, true, async (answer) => answer);
    }

    private async run<T>(operation: Operation, given: AnyGiven, stays: boolean, read: Read<T>): Promise<T> {
        const sent = await this.prepare(operation, given);
        const retries = given.retries ?? this.options.retries ?? 2;
        for (let [tried, isRenewed, isOpen] = [0, false, false]; ;) {
            try {
                return await this.attempt(sent, given, stays, read);
            } catch (error) {
                if (!(error instanceof BerthError)) throw error;
                if (!isRenewed && !this.options.apiKey && error.member === `header.${csrfHeader}`) {
                    isRenewed = true;
                    if (!await this.renewSession()) throw error;
                } else {
                    isOpen ||= error.mayHaveHappened; // one attempt is enough
                    Object.assign(error, { mayHaveHappened: isOpen && !error.isSettled });
                    if (tried >= retries || !mayRepeat(sent, error)) throw error;
                    await this.pause(delayMs(tried++, error.retryAfterMs), given.signal);
                }
            }
        }
    }

    private async prepare(operation: Operation, given: AnyGiven): Promise<Sent> {
        const headers = new Headers({ Accept: 'application/json', ...given.headers });
        if (this.options.apiKey) headers.set('Authorization', `Bearer ${this.options.apiKey}`);
        const key = operation.keyed ? given.idempotencyKey ?? await randomUuid() : null;
        if (key !== null) headers.set('Idempotency-Key', key);
        const body = given.body === undefined ? null : JSON.stringify(given.body);
        if (body !== null) headers.set('Content-Type', 'application/json');
        return { operation, url: this.baseUrl + filled(operation.path, given), headers, body, key };
    }

    private async attempt<T>(sent: Sent, given: AnyGiven, stays: boolean, read: Read<T>): Promise<T> {
        const { operation: { method }, headers, body } = sent;
        const { apiKey, timeoutMs = 60_000 } = this.options;
        if (!apiKey && this.csrfToken) headers.set(csrfHeader, this.csrfToken);
        const deadline = new Deadline(given.signal, given.timeoutMs ?? timeoutMs);
        let end = () => deadline.end();
        try {
            // A redirect could carry the key to somebody else, or make a read out of a change.
            const answer = await this.fetch(sent.url, { method, headers, body, signal: deadline.controller.signal,
                cache: 'no-store', redirect: 'manual', credentials: apiKey ? 'omit' : 'same-origin' });
            await check(answer);
            const result = await read(answer);
            if (stays) end = () => deadline.lift();
            return result;
        } catch (fault) {
            if (given.signal?.aborted) throw given.signal.reason;
            throw explained(fault, sent, deadline.isOver);
        } finally {
            end();
        }
    }

    private async read(answer: Response, { path }: Operation): Promise<unknown> {
        if (answer.status === 204) return undefined;
        const kind = answer.headers.get('content-type') ?? 'nothing known';
        const text = await answer.text();
        if (!/^application\/([\w.-]+\+)?json\b/.test(kind)) {
            throw new BerthError('UNEXPECTED_ANSWER', `the answer is ${kind}, not JSON: is this a Berth server?`,
                { status: answer.status, body: text, requestId: answer.headers.get('x-request-id') });
        }
        const body: unknown = JSON.parse(text); // a half is a broken connection
        if (!sessionPlaces.test(path)) return body;
        const { csrf_token: token, account_id: account } = (body ?? {}) as Record<string, unknown>;
        if (typeof token === 'string') this.csrfToken = token;
        if (typeof token === 'string' && typeof account === 'string') this.account = account;
        return body;
    }

    /** A step-up in another tab changes everybody's token; many requests at once read it once. False where somebody
     * else has signed in there: what one account asked for is not sent as another. */
    private renewSession(): Promise<boolean> {
        const { account, csrfToken } = this;
        this.sessionRead ??= this.call('show_session').then(() => {
            if (account === undefined || account === this.account) return true;
            Object.assign(this, { account, csrfToken });
            return false;
        }).finally(() => { this.sessionRead = undefined; });
        return this.sessionRead;
    }
}

/** Doubling, with jitter so that those who failed together do not come back together. */
function delayMs(tried: number, atLeastMs: number | null): number {
    return (atLeastMs ?? 0) + Math.min(firstDelayMs * 2 ** tried, longestDelayMs) * (0.5 + Math.random() / 2);
}

function filled(path: string, { path: values = {}, query = {} }: AnyGiven): string {
    const place = path.replace(/\{(\w+)\}/g, (_, name: string) => {
        const value = String(values[name] ?? '');
        // Such a part would make it another route.
        if (/^\.{0,2}$/.test(value)) throw new TypeError(`path.${name}: is missing`);
        return encodeURIComponent(value);
    });
    const wanted = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const text = new URLSearchParams(wanted.map(([name, value]) => [name, String(value)])).toString();
    return text ? `${place}?${text}` : place;
}

async function check(answer: Response): Promise<void> {
    if (answer.ok) return;
    // Browsers hide where a redirect leads, and its status.
    if (answer.type !== 'opaqueredirect' && Math.floor(answer.status / 100) !== 3) {
        throw refusal(answer, await answer.text());
    }
    void answer.body?.cancel();
    throw new BerthError('REDIRECTED', 'the server answers with a redirect, which is not followed; '
        + 'give its own address', { status: answer.status || 302 });
}

function explained(fault: unknown, { operation, key }: Sent, isOver: boolean): BerthError {
    const cause = (fault as { cause?: { code?: string; syscall?: string } } | null)?.cause;
    const neverSent = connecting.has(cause?.syscall) || connecting.has(cause?.code);
    const error = isOver ? new BerthError('TIMEOUT', 'no answer in time', { retryable: true }, fault)
        : fault instanceof BerthError ? fault
        : new BerthError('NETWORK', 'the server cannot be reached, or the connection broke',
            { retryable: true, neverSent }, fault);
    // A good status that cannot be read, none at all, and the server's own faults leave it open.
    const isOpen = !error.neverSent && (error.status === null || error.status < 300 || error.status >= 500);
    return Object.assign(error, { idempotencyKey: key, mayHaveHappened: isOpen && operation.method !== 'GET' });
}

function mayRepeat({ operation, key }: Sent, error: BerthError): boolean {
    if (!error.shouldRetry || (error.retryAfterMs ?? 0) > longestRetryAfterMs) return false;
    // Without a key nobody would know that the second one is the first.
    if (operation.method !== 'GET' && key === null) return error.neverSent;
    if (error.code === 'NETWORK' || error.code === 'TIMEOUT') return true;
    if (error.status === 429 || error.status === 503) return error.retryable;
    // A proxy that lost the server is a fault of the network.
    return error.code === 'UNEXPECTED_ANSWER' && (error.status === 502 || error.status === 504);
}
