// The account's events as an endless iteration that survives whatever cuts it off.
import type { Client } from './client.js';
import { BerthError } from './errors.js';
import { Deadline } from './platform.js';

export interface BerthEvent {
    event_id: string;
    /** Its number in the account's stream, 1 and up: what to go on after. */
    sequence: string;
    type: string;
    timestamp: string;
    subject: { kind: string; id: string };
    data: Record<string, unknown>;
}

export interface StreamOptions {
    /** Events that follow this number; without it those that happen from now on. */
    after?: string | undefined;
    /** Such as `rental.*`. */
    types?: readonly string[];
    /** The id of what they are about. */
    subject?: string;
    /** Operators' own events. */
    operators?: boolean;
    signal?: AbortSignal;
    /** Told of every place up to which nothing is missing, also where a filter left all of it out. */
    onPlace?: (sequence: string) => void;
}

export interface Frame { id?: string; event?: string; data?: string; retry?: number }

const silenceMs = 45_000; // the server says something every 15 s
const [usualDelayMs, shortestDelayMs, longestDelayMs] = [2_000, 100, 30_000];
const frameCharactersMax = 1024 * 1024;

export class Events {
    constructor(private readonly client: Client) {}

    /** Goes on at its number after a break, and drops what it has given. Ends with an error where the
     * server refuses: of EVENTS_EXPIRED `body.current` says where there is something to go on at. */
    async *stream(options: StreamOptions = {}): AsyncGenerator<BerthEvent, void, undefined> {
        let { after } = options;
        let retryMs = usualDelayMs;
        for (let [failures, isBegun] = [0, false]; ; ++failures) {
            const deadline = new Deadline(options.signal, silenceMs);
            try {
                const body = await this.connect(options, after, deadline.controller.signal);
                for await (const frame of frames(body, () => deadline.restart(silenceMs))) {
                    [failures, isBegun] = [0, true];
                    retryMs = Math.min(Math.max(frame.retry ?? retryMs, shortestDelayMs), longestDelayMs);
                    const event = eventOf(frame);
                    const sequence = event?.sequence ?? frame.id;
                    if (sequence === undefined || !isBeyond(sequence, after)) continue;
                    after = sequence;
                    deadline.lift(); // the reader takes its time
                    if (event) yield event;
                    options.onPlace?.(sequence);
                    deadline.restart(silenceMs);
                }
            } catch (fault) {
                if (options.signal?.aborted) throw options.signal.reason;
                if (fault instanceof BerthError && !fault.passes && !(isBegun && isStrange(fault))) throw fault;
            } finally {
                deadline.end();
                deadline.controller.abort(); // the connection of a reader who has had enough
            }
            const delayMs = Math.min(retryMs * 2 ** Math.min(failures, 10), longestDelayMs);
            await this.client.pause(delayMs * (0.5 + Math.random() / 2), options.signal);
        }
    }

    private async connect(options: StreamOptions, after: string | undefined, signal: AbortSignal) {
        const path = options.operators ? '/api/v1/admin/events/stream' : '/api/v1/events/stream';
        const query = { after, types: options.types?.join(','), subject: options.subject };
        const headers = { Accept: 'text/event-stream' };
        const answer = await this.client.openRequest({ method: 'GET', path }, { query, headers, signal, retries: 0 });
        const kind = answer.headers.get('content-type') ?? 'nothing known';
        if (answer.body && /^text\/event-stream\b/.test(kind)) return answer.body;
        throw new BerthError('UNEXPECTED_ANSWER', `the answer is ${kind}, not a stream of events`,
            { status: answer.status });
    }
}

/** Server-sent events by the rules of the HTML standard; a frame that is cut off is none. */
export async function* frames(body: ReadableStream<Uint8Array>, onBytes = () => {}): AsyncGenerator<Frame> {
    const reader = body.getReader();
    const decoder = new TextDecoder(); // drops a byte order mark
    let [rest, size, frame] = ['', 0, {} as Frame];
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) return;
            onBytes();
            // A carriage return at the end may be half of a line's end.
            const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
            rest = lines.pop()!;
            for (const line of lines) {
                size += line.length;
                if (line !== '') { addField(frame, line); continue; }
                if (Object.keys(frame).length > 0) yield frame;
                [size, frame] = [0, {}];
            }
            if (size + rest.length > frameCharactersMax) throw new BerthError('NETWORK', 'an event has no end');
        }
    } finally {
        await reader.cancel().catch(() => {});
    }
}

function addField(frame: Frame, line: string): void {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (name === 'data') frame.data = frame.data === undefined ? value : `${frame.data}\n${value}`;
    else if (name === 'event') frame.event = value;
    else if (name === 'id' && !value.includes('\0')) frame.id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) frame.retry = Number(value);
}

/** Undefined where a frame only moves the place, or says that the stream ends. */
function eventOf(frame: Frame): BerthEvent | undefined {
    if (frame.data === undefined || frame.event === 'end') return undefined;
    const event = JSON.parse(frame.data) as BerthEvent; // a spoilt one is a broken connection
    if (typeof event?.sequence === 'string' && typeof event.type === 'string') return event;
    throw new BerthError('NETWORK', 'an event has no number or no type');
}

function isBeyond(sequence: string, place: string | undefined): boolean {
    if (!/^\d{1,40}$/.test(sequence)) throw new BerthError('NETWORK', 'a place in the stream is no number');
    return place === undefined || BigInt(sequence) > BigInt(place);
}

/** A proxy's page while the server restarts is no answer to a stream that has been there. */
function isStrange({ code }: BerthError): boolean {
    return code === 'UNEXPECTED_ANSWER' || code === 'REDIRECTED';
}
