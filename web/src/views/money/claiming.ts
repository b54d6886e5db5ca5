// From the hash of a transaction to a claim: looked up until it is seen, claimed once, then waited for.
import { BerthError, type Answer, type OperationName } from 'berth-client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { asError, client, refresh } from '../../api';
import { findLogIndex, findWallet } from './wallet';

export type Intent = Answer<'show_funding_intent'> & {
    network?: { chain_id: number; token_address: string; explorer_url: string };
    pending_claim?: {
        tx_hash: string; log_index: number; block_number?: number; confirmations?: number; needed?: number;
    } | null;
};
interface Seen {
    state: 'unseen' | 'included' | 'final' | 'reverted';
    items: { log_index: number; matches: boolean; why?: string | null }[];
}

export type Claiming =
    | { step: 'none' }
    | { step: 'looking'; isTrouble: boolean }
    | { step: 'refused'; why: string }
    | { step: 'failed'; error: BerthError }
    | { step: 'claimed' };

const transfersOf = 'list_seen_transfers' as OperationName;
const [firstPauseMs, longestPauseMs, walletMs] = [2_000, 15_000, 5_000];

async function look(intent: Intent, hash: string, signal: AbortSignal): Promise<Seen> {
    const given = { path: { id: intent.intent_id }, query: { tx_hash: hash }, signal };
    return await client.call(transfersOf, given as never) as unknown as Seen;
}

/** The wallet's node may know a transaction before the service does. One that never answers holds nothing up. */
async function ofWallet(intent: Intent, hash: string): Promise<number | undefined> {
    const wallet = findWallet();
    if (!wallet) return undefined;
    const wanted = { token: intent.token, to: intent.treasury_address };
    const silence = new Promise<undefined>((settle) => setTimeout(settle, walletMs, undefined));
    return await Promise.race([findLogIndex(wallet, hash, wanted).catch(() => undefined), silence]);
}

export function sentence(text: string): string {
    const begun = text.charAt(0).toUpperCase() + text.slice(1);
    return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

type Found = { index: number } | { why: string } | undefined;

async function find(intent: Intent, hash: string, signal: AbortSignal): Promise<Found> {
    const { state, items } = await look(intent, hash, signal);
    const match = items.find(({ matches }) => matches);
    if (match) return { index: match.log_index };
    if (state === 'reverted') return { why: 'The chain has undone it: it moved nothing.' };
    if (items[0]) return { why: sentence(items[0].why ?? 'token, sender or amount are others') };
    if (state !== 'unseen') return { why: 'It holds no transfer to the address above.' };
    const index = await ofWallet(intent, hash);
    return index === undefined ? undefined : { index };
}

export function useClaiming(intent: Intent | undefined, hash: string | undefined): Claiming {
    const [state, setState] = useState<Claiming>({ step: 'none' });
    const current = useRef(intent);
    current.current = intent;
    const isWanted = intent !== undefined && hash !== undefined && !intent.claim && intent.state !== 'CANCELLED'
        && intent.pending_claim?.tx_hash.toLowerCase() !== hash;

    useEffect(() => {
        if (!isWanted || hash === undefined) return;
        const ended = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        setState({ step: 'looking', isTrouble: false });

        async function turn(pauseMs: number): Promise<void> {
            const wanted = current.current as Intent;
            let isTrouble = false;
            try {
                const found = await find(wanted, hash as string, ended.signal);
                if (ended.signal.aborted) return;
                if (found && 'why' in found) return setState({ step: 'refused', why: found.why });
                if (found) return await give(wanted, found.index);
            } catch (fault) {
                if (ended.signal.aborted) return;
                const error = asError(fault);
                if (!error.passes) return setState({ step: 'failed', error });
                isTrouble = true;
            }
            setState({ step: 'looking', isTrouble });
            timer = setTimeout(() => void turn(Math.min(pauseMs * 1.5, longestPauseMs)), pauseMs);
        }

        async function give(wanted: Intent, index: number): Promise<void> {
            const body = { tx_hash: hash as string, log_index: index };
            const given = { path: { id: wanted.intent_id }, body };
            const answer = await client.call('claim_funding_intent', { ...given, signal: ended.signal });
            await refresh('show_funding_intent', 'list_funding_intents', 'show_balances', 'list_entries');
            if (answer.state === 'EXCEPTION') {
                return setState({ step: 'refused', why: 'It does not match what was announced.' });
            }
            setState({ step: 'claimed' });
        }

        void turn(firstPauseMs);
        return () => {
            ended.abort();
            clearTimeout(timer);
        };
    }, [isWanted, hash, intent?.intent_id]);
    // What was found out about an earlier hash, or before the claim stood, is over.
    if (isWanted || intent?.state === 'EXCEPTION') return state;
    return { step: hash !== undefined && intent?.state !== 'CANCELLED' ? 'claimed' : 'none' };
}
