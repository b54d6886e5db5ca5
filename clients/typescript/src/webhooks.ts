// Deliveries are signed as Standard Webhooks has it, version 1.
import { BerthError } from './errors.js';
import type { BerthEvent } from './events.js';
import { webCrypto } from './platform.js';

export interface Delivery {
    /** `whsec_…`, as it was shown when it was made. */
    secret: string;
    /** Of the request: a `Headers`, or Node's `request.headers`. */
    headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
    /** The body as it came. What was parsed and written again has other bytes. */
    body: string | Uint8Array;
    /** How old, or how far ahead, it may be; five minutes. */
    toleranceS?: number;
    nowMs?: number;
}

/** The event of a delivery that the server signed; an error of code SIGNATURE_INVALID for any other. */
export async function verify(delivery: Delivery): Promise<BerthEvent> {
    const [id, at, given] = ['id', 'timestamp', 'signature'].map(
        (name) => headerOf(delivery.headers, `webhook-${name}`));
    if (!id || !given || !/^\d{1,12}$/.test(at ?? '')) throw invalid('headers are missing');
    const { nowMs = Date.now(), toleranceS = 300 } = delivery;
    if (Math.abs(nowMs / 1000 - Number(at)) > toleranceS) throw invalid('it is too old, or from the future');
    const secret = bytesOf(delivery.secret.replace(/^whsec_/, ''));
    if (!secret?.length) throw new TypeError('secret: is not that of a webhook');
    const body = typeof delivery.body === 'string' ? new TextEncoder().encode(delivery.body) : delivery.body;
    const head = new TextEncoder().encode(`${id}.${at}.`);
    const content = new Uint8Array(head.length + body.length);
    content.set(head);
    content.set(body, head.length);
    const { subtle } = await webCrypto();
    const key = await subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    for (const each of given.split(' ').slice(0, 10)) { // two while a secret is exchanged
        const mac = each.startsWith('v1,') ? bytesOf(each.slice(3)) : null;
        if (mac && await subtle.verify('HMAC', key, mac, content)) return JSON.parse(new TextDecoder().decode(body));
    }
    throw invalid('no signature is the server\'s');
}

function headerOf(headers: Delivery['headers'], name: string): string | undefined {
    if (headers instanceof Headers) return headers.get(name) ?? undefined;
    const value = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
    return typeof value === 'string' ? value : undefined;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
    try { return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)); } catch { return null; }
}

function invalid(why: string): BerthError {
    return new BerthError('SIGNATURE_INVALID', `the delivery is not to be believed: ${why}`);
}
