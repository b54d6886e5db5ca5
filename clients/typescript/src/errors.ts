// One class of error. Codes of the server pass as they are; the library has a few of its own.
export type ErrorCode = 'NETWORK' | 'TIMEOUT' | 'REDIRECTED' | 'UNEXPECTED_ANSWER' | 'WAIT_TIMEOUT'
    | 'RENTAL_FAILED' | 'RENTAL_ENDED' | 'RENTAL_LEFT' | 'SIGNATURE_INVALID' | 'UNAUTHENTICATED' | 'FORBIDDEN'
    | 'NOT_FOUND' | 'INVALID_INPUT' | 'ADMISSION_PAUSED' | 'AUTHORIZATION_INVALID' | 'IDEMPOTENCY_CONFLICT'
    | 'CONFLICT' | 'VERSION_CONFLICT' | 'STALE_VERSION' | 'QUOTE_EXPIRED' | 'INSUFFICIENT_FUNDS'
    | 'STOP_IRREVERSIBLE' | 'EVENTS_EXPIRED' | 'UNAVAILABLE' | (string & {});

export class BerthError extends Error {
    override readonly name = 'BerthError';
    /** Of the answer; null when there was none. */
    readonly status: number | null = null;
    /** For the operator of the server, who finds it in the log. */
    readonly requestId: string | null = null;
    /** Whether the same request may succeed later. */
    readonly retryable: boolean = false;
    /** The whole answer, with siblings of `error` such as `current`. */
    readonly body: unknown = undefined;
    readonly retryAfterMs: number | null = null;
    /** False when the server says that another try cannot help. */
    readonly shouldRetry: boolean = true;
    /** The purpose of the step-up that is missing. */
    readonly stepUp: string | null = null;
    /** The connection was never made. */
    readonly neverSent: boolean = false;
    /** Of a change: the same call with this key goes on with it, and never does it twice. */
    readonly idempotencyKey: string | null = null;
    /** A change that may have been made although no answer says so. */
    readonly mayHaveHappened: boolean = false;
    /** The rental that this is about. */
    readonly jobId: string | null = null;

    constructor(readonly code: ErrorCode, message: string, facts: Partial<BerthError> = {}, cause?: unknown) {
        super(message, cause === undefined ? undefined : { cause });
        Object.assign(this, facts);
    }

    /** The member that the message names first, such as `body.budget_micro`. */
    get member(): string | null {
        return /^((?:body|query|path|header)\b[^:\s]*): /.exec(this.message)?.[1] ?? null;
    }

    /** Whether it says for certain that the change was not made: a key that had made it would be known. */
    get isSettled(): boolean {
        return [404, 409, 413, 422].includes(this.status ?? 0);
    }

    /** Whether it is over by itself: a restart, a limit, the network. */
    get passes(): boolean {
        return this.code === 'NETWORK' || this.code === 'TIMEOUT' || this.status === 429 || (this.status ?? 0) >= 500;
    }
}

/** `Retry-After` is seconds or a date; null when it is neither. */
function waitOf(value: string | null): number | null {
    if (value === null) return null;
    const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
    return Number.isNaN(ms) ? null : Math.max(0, ms);
}

/** The error that an answer with a bad status is. */
export function refusal({ status, headers }: Response, text: string): BerthError {
    let body: unknown = text;
    try { body = JSON.parse(text); } catch { /* somebody else's page */ }
    const told = (body as { error?: Record<string, unknown> } | null)?.error;
    const retryAfterMs = waitOf(headers.get('retry-after'));
    const facts = { status, body, retryAfterMs, stepUp: headers.get('berth-step-up'),
        shouldRetry: headers.get('x-should-retry') !== 'false', requestId: headers.get('x-request-id') };
    if (typeof told?.['code'] === 'string') {
        const requestId = typeof told['request_id'] === 'string' ? told['request_id'] : facts.requestId;
        return new BerthError(told['code'], String(told['message']),
            { ...facts, requestId, retryable: told['retryable'] === true });
    }
    // The server never sends Retry-After: a proxy in front of it does, and says in this way to come again.
    return new BerthError('UNEXPECTED_ANSWER', `the server answered ${status} without saying why`,
        { ...facts, retryable: retryAfterMs !== null });
}
