// What happens is heard once for all tabs of a browser: Web Locks choose the tab that listens,
// BroadcastChannel tells the others. An event asks for the reads again that it concerns.
import type { OperationName } from 'berth-client';
import { useEffect } from 'preact/hooks';
import { client, reads, refresh } from './api';
import { useRest } from './rest';
import { useSession } from './session';

/** Which reads an event of a kind concerns. */
const heard: Record<string, OperationName[]> = {
    rental: ['list_jobs', 'show_job', 'show_job_access', 'show_balances', 'list_entries', 'list_events'],
    funding: ['list_funding_intents', 'show_funding_intent', 'show_balances', 'list_entries', 'list_events'],
    withdrawal: ['list_withdrawals', 'show_balances', 'list_entries', 'list_events'],
    payout: ['list_payouts', 'show_earnings', 'show_balances', 'list_events'],
    refund: ['show_balances', 'list_entries', 'list_events'],
    dispute: ['show_balances', 'list_jobs', 'show_job', 'list_events'],
    machine: ['list_machines', 'show_machine', 'show_qualification', 'list_events'],
    offer: ['list_machines', 'show_machine', 'list_offer_versions', 'list_events'],
    hosting: ['list_machines', 'show_machine', 'show_earnings', 'list_events'],
    ticket: ['list_tickets', 'show_ticket', 'list_events'],
    account: ['list_api_keys', 'list_sessions', 'list_wallets', 'list_events'],
    webhook: ['list_webhooks', 'show_webhook', 'list_webhook_deliveries', 'list_events'],
    operations: ['list_pending_actions', 'list_suspense', 'list_tasks', 'list_disputes', 'list_tickets',
        'list_all_machines', 'list_operator_events'],
};

type Told = { type: string };

export function concerned(type: string): OperationName[] {
    return heard[type.slice(0, type.indexOf('.'))] ?? [];
}

/** One tab at a time; the work is told whether another had it before. Browsers have locks for https and this very
 * machine only; elsewhere each tab listens. */
async function alone(name: string, signal: AbortSignal, work: (isHeir: boolean) => Promise<void>): Promise<void> {
    const locks = navigator.locks as LockManager | undefined;
    if (!locks) return await work(false);
    const isTaken = await locks.request(name, { ifAvailable: true }, async (lock) => {
        if (lock) await work(false);
        return lock === null;
    });
    if (isTaken) await locks.request(name, { signal }, () => work(true));
}

/** Listens as long as somebody is signed in and this tab has the lock. */
async function listen(account: string, operators: boolean, signal: AbortSignal): Promise<void> {
    const others = new BroadcastChannel(`berth-events-${account}`);
    others.onmessage = ({ data }: MessageEvent<Told>) => void refresh(...concerned(data.type));
    signal.addEventListener('abort', () => others.close());
    const streams = operators ? [false, true] : [false];
    await Promise.all(streams.map((ofOperators) =>
        alone(`berth-events-${account}-${ofOperators}`, signal, async (isHeir) => {
            if (isHeir) void reads.invalidateQueries(); // nobody heard what happened in between
            for await (const event of client.events.stream({ signal, operators: ofOperators })) {
                others.postMessage({ type: event.type } satisfies Told);
                void refresh(...concerned(event.type));
            }
        })));
}

/** A stream that ends for good leaves the reads to their own intervals. */
export function useLive(): void {
    const session = useSession();
    const account = session?.account_id;
    const isOperator = session?.role === 'admin';
    const isResting = useRest(isOperator);
    useEffect(() => {
        if (!account || isResting) return;
        const ended = new AbortController();
        listen(account, isOperator, ended.signal).catch(() => {});
        return () => ended.abort();
    }, [account, isOperator, isResting]);
}
