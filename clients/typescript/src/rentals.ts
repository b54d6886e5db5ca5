// Renting in one call, and waiting. Whatever goes wrong on the way, no rental is left to cost money unseen.
import type { Client } from './client.js';
import { BerthError } from './errors.js';
import { Deadline, randomUuid } from './platform.js';
import type { Given, Schema } from './types.js';

export type Rental = Schema<'Job'>;

export interface WaitOptions {
    /** RUNNING, or an end: STOPPED (nothing runs), CLOSED (the receipt is final). */
    until?: 'RUNNING' | 'STOPPED' | 'CLOSED';
    /** Three hours: large models take their time, and the server gives up before that. */
    timeoutMs?: number | undefined;
    signal?: AbortSignal | undefined;
    /** Told of every look. */
    onLook?: ((rental: Rental) => void) | undefined;
}

export interface RentOptions extends Omit<WaitOptions, 'until'>, Omit<Given<'create_job'>['body'], 'quote_id'> {
    /** A UUID of one's own makes all of it repeatable, also after a crash: one key, one rental. */
    idempotencyKey?: string;
}

const [waitMs, lookMs, longestLookMs, lookGrowth] = [3 * 3600_000, 1_000, 5_000, 1.2];
const ends = { RUNNING: ['RUNNING'], STOPPED: ['STOPPED', 'FAILED', 'CLOSED'], CLOSED: ['FAILED', 'CLOSED'] };
const over = ['STOPPING', ...ends.STOPPED];

export class Rentals {
    constructor(private readonly client: Client) {}

    /** Looks until the rental is there. What passes by itself, a restart or a limit, is waited out. */
    async wait(jobId: string, options: WaitOptions = {}): Promise<Rental> {
        const { until = 'RUNNING', timeoutMs = waitMs } = options;
        const deadline = new Deadline(options.signal, timeoutMs);
        const { signal } = deadline.controller;
        try {
            for (let everyMs = lookMs; ; everyMs = Math.min(everyMs * lookGrowth, longestLookMs)) {
                const rental = await this.look(jobId, signal);
                if (rental) options.onLook?.(rental);
                if (rental && ends[until].includes(rental.state)) return rental;
                if (rental && until === 'RUNNING' && over.includes(rental.state)) throw ended(rental);
                await this.client.pause(everyMs, signal);
            }
        } catch (fault) {
            if (!deadline.isOver) throw fault;
            throw new BerthError('WAIT_TIMEOUT', `rental ${jobId} is not ${until} yet`, { jobId }, fault);
        } finally {
            deadline.end();
        }
    }

    async rent(wish: Given<'create_quote'>['body'] & RentOptions): Promise<Rental> {
        const { ssh_public_key, use_hub_token, idempotencyKey, timeoutMs, signal, onLook, ...body } = wish;
        const key = idempotencyKey ?? await randomUuid();
        // A key belongs to its route, so that quote and reservation can have the same.
        const { quote_id } = await this.client.call('create_quote', { body, signal, idempotencyKey: key });
        const order = { quote_id: String(quote_id), ssh_public_key, use_hub_token };
        const reserve = async (stop?: AbortSignal) =>
            (await this.client.call('create_job', { body: order, idempotencyKey: key, signal: stop })).job_id;
        let jobId: string | undefined;
        try {
            jobId = await reserve(signal);
            return await this.wait(jobId, { timeoutMs, signal, onLook });
        } catch (fault) {
            throw await this.giveUp(fault, jobId, key, reserve);
        }
    }

    private async look(id: string, signal: AbortSignal): Promise<Rental | undefined> {
        try {
            return await this.client.call('show_job', { path: { id }, signal });
        } catch (fault) {
            if (fault instanceof BerthError && fault.passes) return undefined;
            throw fault;
        }
    }

    /** Stops what was reserved. Where the answer that named it was lost, the same key asks for it again: the
     * server then knows of exactly one, whether it was made before, is being made or is made now. */
    private async giveUp(fault: unknown, jobId: string | undefined, key: string,
        reserve: () => Promise<string>): Promise<unknown> {
        const isKnown = fault instanceof BerthError && (jobId === undefined ? !fault.mayHaveHappened : isOver(fault));
        if (isKnown) return fault;
        try {
            jobId ??= await reserve();
            const reason = 'given up before it ran';
            await this.client.call('stop_job', { path: { id: jobId }, body: { reason } });
            return fault;
        } catch (second) {
            if (jobId === undefined && second instanceof BerthError && second.isSettled) return fault;
            return new BerthError('RENTAL_LEFT', 'renting failed, and so did stopping: something may run',
                { jobId: jobId ?? null, idempotencyKey: key, mayHaveHappened: true }, fault);
        }
    }
}

function isOver({ code }: BerthError): boolean {
    return code === 'RENTAL_FAILED' || code === 'RENTAL_ENDED';
}

function ended(rental: Rental): BerthError {
    const { failure, end_reason, job_id: jobId } = rental;
    return failure ? new BerthError('RENTAL_FAILED', `${failure.message} (${failure.code})`, { jobId, body: rental })
        : new BerthError('RENTAL_ENDED', `the rental ended before it ran: ${end_reason}`, { jobId, body: rental });
}
