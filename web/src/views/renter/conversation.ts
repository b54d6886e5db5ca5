// A conversation with the engine of a rental, as it streams through the relay. It is kept in memory only.
import { BerthError, frames } from 'berth-client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { asError, client } from '../../api';

export interface Exchange {
    asked: string;
    answer: string;
    state: 'waiting' | 'streaming' | 'done' | 'stopped' | 'broken';
    model: string;
    startedAt: number;
    firstAt?: number;
    endedAt?: number;
    tokens?: number;
    /** Why it broke, for people. */
    fault?: string;
    requestId?: string | undefined;
}

interface Chunk {
    choices?: { delta?: { content?: unknown }; message?: { content?: unknown }; text?: unknown }[];
    usage?: { completion_tokens?: unknown } | null;
    error?: { message?: unknown } | string | null;
}

export const lineBroke = 'The line broke. Send it again.';
const answerCharactersMax = 400_000;
const firstByteMs = 610_000; // the relay itself waits ten minutes
const paintEveryMs = 50;

/** By rental; gone with the tab. */
const kept = new Map<string, Exchange[]>();

class Broken extends Error {}

function textOf(chunk: Chunk): string {
    const choice = chunk.choices?.[0];
    const content = choice?.delta?.content ?? choice?.message?.content ?? choice?.text;
    return typeof content === 'string' ? content : '';
}

function faultOf(chunk: Chunk): string | undefined {
    if (!chunk.error) return undefined;
    const message = typeof chunk.error === 'string' ? chunk.error : chunk.error.message;
    return typeof message === 'string' && message ? message : 'The engine failed in the middle of its answer.';
}

function add(exchange: Exchange, chunk: Chunk): void {
    const fault = faultOf(chunk);
    if (fault) throw new Broken(fault);
    const piece = textOf(chunk);
    if (piece && exchange.firstAt === undefined) exchange.firstAt = performance.now();
    if (piece) exchange.state = 'streaming';
    exchange.answer += piece;
    if (exchange.answer.length > answerCharactersMax) throw new Broken('The answer has no end. It was cut here.');
    const tokens = chunk.usage?.completion_tokens;
    if (typeof tokens === 'number' && Number.isFinite(tokens)) exchange.tokens = tokens;
}

function parsed(text: string): Chunk | undefined {
    try {
        const value: unknown = JSON.parse(text);
        return typeof value === 'object' && value !== null ? value : undefined;
    } catch {
        return undefined;
    }
}

async function readStream(exchange: Exchange, body: ReadableStream<Uint8Array>, paint: () => void): Promise<void> {
    for await (const { data } of frames(body)) {
        if (data === undefined) continue;
        if (data.trim() === '[DONE]') return;
        const chunk = parsed(data);
        // An engine that does not speak the protocol is shown, not believed.
        add(exchange, chunk ?? { choices: [{ text: `${data}\n` }] });
        paint();
    }
    throw new Broken(lineBroke);
}

/** An answer in one piece; whatever it is, it is text. */
async function readWhole(exchange: Exchange, body: ReadableStream<Uint8Array>): Promise<void> {
    const [reader, decoder] = [body.getReader(), new TextDecoder()];
    let text = '';
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) break;
            text += decoder.decode(value, { stream: true });
            if (text.length > answerCharactersMax) break;
        }
    } finally {
        void reader.cancel().catch(() => {});
    }
    const chunk = parsed(text);
    const isSpoken = chunk?.choices !== undefined || chunk?.error !== undefined;
    add(exchange, isSpoken ? chunk : { choices: [{ text: text.slice(0, answerCharactersMax) }] });
}

function messagesOf(before: Exchange[], asked: string): { role: string; content: string }[] {
    const said = before.filter(({ state, answer }) => state === 'done' || answer !== '').flatMap((each) => [
        { role: 'user', content: each.asked }, { role: 'assistant', content: each.answer }]);
    return [...said, { role: 'user', content: asked }];
}

function end(exchange: Exchange, fault: unknown, isStopped: boolean): void {
    exchange.endedAt = performance.now();
    if (fault === undefined) {
        exchange.state = 'done';
    } else if (isStopped) {
        exchange.state = 'stopped';
    } else {
        const error = asError(fault);
        exchange.state = 'broken';
        // Whatever cuts a line in the middle of a body comes as a TypeError or DOMException.
        const isLine = error.code === 'NETWORK' || !(fault instanceof BerthError);
        exchange.fault = fault instanceof Broken ? fault.message : isLine ? lineBroke : error.message;
        exchange.requestId = error.requestId ?? undefined;
    }
}

export interface Conversation {
    exchanges: Exchange[];
    isBusy: boolean;
    send: (asked: string) => Promise<void>;
    /** Drops the last exchange and asks the same again. */
    sendAgain: () => Promise<void>;
    stop: () => void;
    clear: () => void;
}

export function useConversation(jobId: string, model: string): Conversation {
    const [, setPainted] = useState(0);
    const running = useRef<AbortController | undefined>(undefined);
    const exchanges = kept.get(jobId) ?? [];
    const paint = () => setPainted((count) => count + 1);
    useEffect(() => () => running.current?.abort(), [jobId]);

    async function send(asked: string): Promise<void> {
        if (running.current) return;
        const before = kept.get(jobId) ?? [];
        const exchange: Exchange = { asked, answer: '', state: 'waiting', model, startedAt: performance.now() };
        const controller = running.current = new AbortController();
        kept.set(jobId, [...before, exchange]);
        paint();
        let fault: unknown;
        try {
            await converse(jobId, exchange, messagesOf(before, asked), controller.signal, paint);
        } catch (thrown) {
            fault = thrown ?? new Broken(lineBroke);
        }
        end(exchange, fault, controller.signal.aborted);
        running.current = undefined;
        paint();
    }
    async function sendAgain(): Promise<void> {
        const last = (kept.get(jobId) ?? []).at(-1);
        if (!last || running.current) return;
        kept.set(jobId, (kept.get(jobId) ?? []).slice(0, -1));
        await send(last.asked);
    }
    return {
        exchanges, isBusy: running.current !== undefined, send, sendAgain,
        stop: () => running.current?.abort(),
        clear: () => { running.current?.abort(); kept.delete(jobId); paint(); },
    };
}

async function converse(
    jobId: string, exchange: Exchange, messages: { role: string; content: string }[], signal: AbortSignal,
    paint: () => void,
): Promise<void> {
    const answer = await client.open('relay_chat_completions', {
        path: { id: jobId }, signal, timeoutMs: firstByteMs, retries: 0,
        body: { model: exchange.model, messages, stream: true, stream_options: { include_usage: true } },
    });
    if (!answer.body) throw new Broken(lineBroke);
    // Painting each of a hundred pieces a second would leave no time for anything else.
    let due: ReturnType<typeof setTimeout> | undefined;
    const paintSoon = () => { due ??= setTimeout(() => { due = undefined; paint(); }, paintEveryMs); };
    try {
        if (/^text\/event-stream\b/.test(answer.headers.get('content-type') ?? '')) {
            await readStream(exchange, answer.body, paintSoon);
        } else {
            await readWhole(exchange, answer.body);
        }
    } finally {
        clearTimeout(due);
    }
}
