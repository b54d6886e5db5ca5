// Proofs of liabilities, checked in the browser alone. What is hashed: texts with their length (8 bytes) before
// them, numbers as 8 bytes, the high byte first. A record:
//
//     sha256(text previous_hash ‖ text asset ‖ number ‖ as_of in microseconds ‖ text root ‖ total ‖ count ‖
//            block_number or -1 ‖ treasury or -1 ‖ audit_events ‖ text audit_head)
//
// where old records end with the treasury. A leaf is sha256(0 ‖ account (16) ‖ salt (32) ‖ amount (8)), a node
// sha256(1 ‖ left hash ‖ left sum (8) ‖ right hash ‖ right sum (8)).
import type { Schema } from 'berth-client';

export type Owed = Schema<'PublishedRecord'>;
export type Keys = Schema<'PublishedKeys'>;
export type Proof = Schema<'Proof'>;
export type Absence = Schema<'Absence'>;
/** `unable`: this browser cannot tell. */
export type Verdict = { state: 'good' | 'bad' | 'unable'; why: string };

type Bytes = Uint8Array<ArrayBuffer>;
const good = (why: string): Verdict => ({ state: 'good', why });
const bad = (why: string): Verdict => ({ state: 'bad', why });

function fromHex(text: string): Bytes {
    const digits = text.replace(/^sha256:/, '');
    if (!/^([0-9a-f]{2})*$/.test(digits)) throw new TypeError('not hexadecimal');
    return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function toHex(bytes: Bytes): string {
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const fromBase64 = (text: string): Bytes => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const fromUuid = (text: string): Bytes => fromHex(text.replaceAll('-', '').toLowerCase());

function eight(value: bigint): Bytes {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigInt64(0, value);
    return bytes;
}

function joined(...parts: Bytes[]): Bytes {
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
        bytes.set(part, at);
        at += part.length;
    }
    return bytes;
}

const text = (bytes: Bytes): Bytes => joined(eight(BigInt(bytes.length)), bytes);
const letters = (value: string): Bytes => new TextEncoder().encode(value) as Bytes;

async function sha256(...parts: Bytes[]): Promise<Bytes> {
    return new Uint8Array(await crypto.subtle.digest('SHA-256', joined(...parts)));
}

/** '2026-11-15T04:42:08.412406Z' in microseconds; a Date would lose the last three digits. */
export function microseconds(at: string): bigint {
    const [, seconds, part = ''] = /^(.*?)(?:\.(\d{1,6}))?Z$/.exec(at) ?? [];
    const ms = Date.parse(`${seconds}Z`);
    if (Number.isNaN(ms)) throw new TypeError(`not a time: ${at}`);
    return BigInt(ms) * 1000n + BigInt(part.padEnd(6, '0'));
}

/** What this browser can do at all: hashes and signatures need a safe address. */
export function canCheck(): boolean {
    return globalThis.crypto?.subtle !== undefined;
}

async function isSigned(hash: Bytes, signature: string, publicKey: string): Promise<boolean | undefined> {
    let key: CryptoKey;
    try {
        key = await crypto.subtle.importKey('raw', fromBase64(publicKey), 'Ed25519', false, ['verify']);
    } catch (fault) {
        if (fault instanceof DOMException && fault.name === 'NotSupportedError') return undefined;
        return false;
    }
    return crypto.subtle.verify('Ed25519', key, fromBase64(signature), hash);
}

async function hashOf(record: Owed): Promise<Bytes> {
    const parts = [text(fromHex(record.previous_hash)), text(letters(record.asset)), eight(BigInt(record.number)),
        eight(microseconds(record.as_of)), text(fromHex(record.root)), eight(BigInt(record.total_micro)),
        eight(BigInt(record.count)), eight(BigInt(record.block_number ?? -1)),
            eight(BigInt(record.treasury_micro ?? -1))];
    if (record.audit_events !== null && record.audit_head !== null)
        parts.push(eight(BigInt(record.audit_events)), text(fromHex(record.audit_head)));
    return sha256(...parts);
}

/** The hash is over what is shown, and the signature over the hash by a key that is published for this. */
export async function checkRecord(record: Owed, keys: Keys): Promise<Verdict> {
    const hash = await hashOf(record);
    if (`sha256:${toHex(hash)}` !== record.hash) return bad('The record is another than the one that was signed.');
    const known = keys.keys.find((key) => key.public_key === record.public_key && key.use.includes('liabilities'));
    if (!known) return bad('The key that signed it is not among those that are published.');
    if (known.until !== null && microseconds(known.until) < microseconds(record.as_of))
        return bad('The key that signed it was out of use by then.');
    const signed = await isSigned(hash, record.signature, record.public_key);
    if (signed === undefined) return { state: 'unable', why: 'This browser does not know Ed25519 signatures.' };
    return signed ? good(`Signed by key ${known.key_id}.`) : bad('The signature is not by that key.');
}

/** Newest first, of one asset: each is signed, and names the hash of the one before it. */
export async function checkChain(records: Owed[], keys: Keys): Promise<Verdict> {
    let newer: Owed | undefined;
    let unable: Verdict | undefined;
    for (const record of records) {
        const verdict = await checkRecord(record, keys);
        if (verdict.state === 'bad') return bad(`Record ${record.number}: ${verdict.why}`);
        if (verdict.state === 'unable') unable = verdict;
        if (newer && (newer.number !== record.number + 1 || newer.previous_hash !== record.hash))
            return bad(`Record ${newer.number} does not follow record ${record.number}.`);
        newer = record;
    }
    if (records.length === 0) return { state: 'unable', why: 'There are no records yet.' };
    const [first, last] = [records.at(-1)!.number, records[0]!.number];
    return unable ?? good(first === last ? `Record ${last}, the only one so far.`
        : `Records ${first} to ${last}: each follows the one before.`);
}

interface Node { hash: Bytes; sum: bigint }

async function join(left: Node, right: Node): Promise<Node> {
    return { hash: await sha256(Uint8Array.of(1), left.hash, eight(left.sum), right.hash, eight(right.sum)),
        sum: left.sum + right.sum };
}

async function climb(account: string, part: Proof['parts'][number]): Promise<Node> {
    const amount = BigInt(part.amount_micro);
    const salt = fromHex(part.salt);
    if (salt.length !== 32) throw new TypeError('a salt has 32 bytes');
    let node: Node = { hash: await sha256(Uint8Array.of(0), fromUuid(account), salt, eight(amount)), sum: amount };
    for (const step of part.path) {
        const other = { hash: fromHex(step.hash), sum: BigInt(step.sum_micro) };
        if (other.sum < 0n) throw new TypeError('a sum is below zero');
        node = step.side === 'left' ? await join(other, node) : await join(node, other);
    }
    return node;
}

/** Every leaf leads to the root and the total that everybody is shown, and together they are the balance. */
export async function checkProof(proof: Proof, account: string, record: Owed): Promise<Verdict> {
    if (proof.account_id !== account) return bad('The proof is of another account.');
    if (proof.root !== record.root || proof.total_micro !== record.total_micro)
        return bad('Your proof is of another record than the one that everybody is shown.');
    let sum = 0n;
    for (const part of proof.parts) {
        const root = await climb(account, part);
        if (`sha256:${toHex(root.hash)}` !== record.root) return bad('A path does not lead to the root.');
        if (root.sum !== BigInt(record.total_micro)) return bad('A path does not add up to the total.');
        sum += BigInt(part.amount_micro);
    }
    if (new Set(proof.parts.map((part) => part.salt)).size !== proof.parts.length) return bad('A leaf is shown twice.');
    if (proof.parts.length === 0 || sum !== BigInt(proof.balance_micro))
        return bad('The parts do not add up to your balance.');
    return good(`${proof.parts.length} leaves of yours lead to the root that everybody is shown.`);
}

/** A signed word that a record has nothing of an account. */
export async function checkAbsence(absence: Absence, account: string, record: Owed, keys: Keys): Promise<Verdict> {
    const hash = await sha256(text(letters('berth liabilities absence')), text(letters(absence.asset)),
        fromUuid(account),
        eight(BigInt(absence.number)), text(fromHex(absence.record_hash)));
    if (absence.account_id !== account || `sha256:${toHex(hash)}` !== absence.hash)
        return bad('The statement is about something else.');
    if (absence.record_hash !== record.hash)
        return bad('It is about another record than the one that everybody is shown.');
    if (!keys.keys.some((key) => key.public_key === absence.public_key && key.use.includes('liabilities')))
        return bad('The key that signed it is not among those that are published.');
    const signed = await isSigned(hash, absence.signature, absence.public_key);
    if (signed === undefined) return { state: 'unable', why: 'This browser does not know Ed25519 signatures.' };
    return signed ? good('It is signed that the record has nothing of your account: nothing was owed to you then.')
        : bad('The signature is not by that key.');
}
