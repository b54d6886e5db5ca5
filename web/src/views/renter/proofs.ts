// Signatures and hashes, checked here and not by the service that made them.
import type { Schema } from 'berth-client';

type Bytes = Uint8Array<ArrayBuffer>;
export type Receipt = Schema<'Receipt'>;
export type Evidence = Schema<'Evidence'>;
export type PublishedKey = Schema<'PublishedKey'>;

export class CannotCheck extends Error {}

const utf8 = (text: string): Bytes => new TextEncoder().encode(text);
const hex = (bytes: Bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

export function fromBase64(text: string): Bytes {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function toBase64(bytes: Bytes): string {
    return btoa(String.fromCharCode(...bytes));
}

/** RFC 8785: names in order, no spaces, numbers as JavaScript writes them. */
export function canonical(value: unknown): string {
    if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    const members = Object.entries(value).filter(([, each]) => each !== undefined);
    members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${canonical(each)}`).join(',')}}`;
}

function subtle(): SubtleCrypto {
    // Browsers have it only on https and on the own machine.
    if (globalThis.crypto?.subtle) return crypto.subtle;
    throw new CannotCheck('This browser checks signatures only on https addresses.');
}

async function sha256(bytes: Bytes): Promise<Bytes> {
    return new Uint8Array(await subtle().digest('SHA-256', bytes));
}

async function isSigned(publicKey: Bytes, signature: Bytes, bytes: Bytes): Promise<boolean> {
    let key: CryptoKey;
    try {
        key = await subtle().importKey('raw', publicKey, { name: 'Ed25519' }, false, ['verify']);
    } catch (fault) {
        if (fault instanceof DOMException && fault.name === 'NotSupportedError') {
            throw new CannotCheck('This browser is too old to check Ed25519 signatures.');
        }
        if (fault instanceof CannotCheck) throw fault;
        return false;
    }
    return await subtle().verify({ name: 'Ed25519' }, key, signature, bytes);
}

/** Base64 that is none is a signature that does not hold. */
async function orFalse(check: () => Promise<boolean>): Promise<boolean> {
    try {
        return await check();
    } catch (fault) {
        if (fault instanceof CannotCheck) throw fault;
        return false;
    }
}

/** Over the receipt as it came, without its signature; the key must be what its name says. */
export function isReceiptWhole(receipt: Receipt): Promise<boolean> {
    return orFalse(async () => {
        const { signature, ...signed } = receipt;
        if (!signature || signature.alg !== 'ed25519') return false;
        const key = fromBase64(signature.public_key);
        if (hex(await sha256(key)).slice(0, 16) !== signature.key_id) return false;
        return await isSigned(key, fromBase64(signature.value), utf8(canonical(signed)));
    });
}

/** The key is one that the service has published for receipts, in use when this one was signed. */
export function publishedKeyOf(receipt: Receipt, keys: PublishedKey[]): PublishedKey | undefined {
    const { signature, as_of: asOf } = receipt;
    if (!signature || !asOf) return undefined;
    const at = Date.parse(asOf);
    return keys.find((key) => key.key_id === signature.key_id && key.public_key === signature.public_key
        && key.use.includes('receipts') && Date.parse(key.from) <= at && (!key.until || at <= Date.parse(key.until)));
}

/** Of the record without its hash. */
export async function isRecordWhole(record: Evidence): Promise<boolean> {
    const { hash, ...hashed } = record;
    return `sha256:${hex(await sha256(utf8(canonical(hashed))))}` === hash;
}

/** What a machine signs (RFC 9421): how and where it sent which bytes. */
export function isMachineSigned(signed: NonNullable<Evidence['signed']>): Promise<boolean> {
    return orFalse(async () => {
        const label = signed.signature_input.slice(0, signed.signature_input.indexOf('='));
        const value = /^:([A-Za-z0-9+/=]+):$/.exec(signed.signature.slice(label.length + 1));
        if (!label || !signed.signature.startsWith(`${label}=`) || !value) return false;
        const digest = toBase64(await sha256(fromBase64(signed.body)));
        const base = ['"@method": POST', `"@authority": ${signed.authority}`, `"@path": ${signed.path}`, '"@query": ?',
            `"content-digest": sha-256=:${digest}:`,
            `"@signature-params": ${signed.signature_input.slice(label.length + 1)}`].join('\n');
        return await isSigned(fromBase64(signed.public_key), fromBase64(value[1]!), utf8(base));
    });
}
