// Time, and what Node 18 has elsewhere than browsers.

/** Node 18 keeps its Web Crypto in a module, for which bundlers must not look. */
export async function webCrypto(): Promise<Crypto> {
    if (globalThis.crypto) return globalThis.crypto;
    const place = 'node:crypto';
    return ((await import(/* @vite-ignore */ place)) as { webcrypto: Crypto }).webcrypto;
}

/** A random UUID (RFC 9562, version 4). Browsers have their own for https and this very machine only. */
export async function randomUuid(): Promise<string> {
    const bytes = (await webCrypto()).getRandomValues(new Uint8Array(16));
    bytes[6] = bytes[6]! & 0x0f | 0x40;
    bytes[8] = bytes[8]! & 0x3f | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const longestTimerMs = 2 ** 31 - 1; // a longer one would fire at once

export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>;
export const pause: Pause = (ms, signal) => new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => { clearTimeout(timer); reject(signal!.reason); };
    const done = () => { signal?.removeEventListener('abort', stop); resolve(); };
    const timer = setTimeout(done, Math.min(ms, longestTimerMs));
    signal?.addEventListener('abort', stop, { once: true });
});

/** Aborts with the caller's signal, or when its time is over; `AbortSignal.any` is newer than Node 18. */
export class Deadline {
    readonly controller = new AbortController();
    isOver = false;
    private timer: ReturnType<typeof setTimeout> | undefined;
    private readonly follow = () => this.controller.abort(this.caller?.reason);

    constructor(private readonly caller: AbortSignal | undefined, ms: number) {
        if (caller?.aborted) this.follow();
        caller?.addEventListener('abort', this.follow, { once: true });
        this.restart(ms);
    }

    restart(ms: number): void {
        this.lift();
        this.timer = setTimeout(() => { this.isOver = true; this.controller.abort(); }, Math.min(ms, longestTimerMs));
    }

    /** No limit any more; the caller may still abort. */
    lift(): void { clearTimeout(this.timer); }

    end(): void {
        this.lift();
        this.caller?.removeEventListener('abort', this.follow);
    }
}
