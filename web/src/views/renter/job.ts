// What the views of a rental read off it.
import { money, type Schema } from 'berth-client';
import { useRef } from 'preact/hooks';
import { useNow } from '../../format';
import { availabilityClass, continent, endReason } from '../../words';
import { gpuName } from '../anyone/market';

export interface MachineOfJob {
    gpu_model: string | null;
    gpu_count: number | null;
    vram_bytes: string | null;
    continent: string | null;
}
export type Job = Schema<'Job'> & { machine?: MachineOfJob | null };

const moving = new Set(['RESERVED', 'STARTING', 'READY', 'STOPPING']);
const over = new Set(['FAILED', 'CLOSED']);
const lowMs = 5 * 60_000;
const hourMs = 3_600_000n;
const longestGuessMs = 60_000;

/** Something changes by itself within seconds. */
export const isMoving = (job: Job) => moving.has(job.state);
export const isStarting = (job: Job) => isMoving(job) && job.state !== 'STOPPING';
export const isOver = (job: Job) => over.has(job.state);
export const may = (job: Job, action: string) => job.allowed_actions.includes(action);

/** Ids of what was asked for in this tab and has not been seen at work. */
export const awaited = new Set<string>();

/** Its page begins with what to do now. */
export const hasBanner = (job: Job) => job.state === 'FAILED' || wasTaken(job);
/** The host asked for the machine back, and nothing else ended it. */
export const wasTaken = (job: Job) =>
    job.preemption !== null && (job.end_reason === null || job.end_reason === 'preempted');

/** Seconds between two looks at it. */
export function lookEvery(job: Job | undefined): number {
    if (!job || isMoving(job)) return 1;
    return isOver(job) ? 60 : 5;
}

export function nameOf(job: Job): string {
    return job.template?.name ?? 'Image of your own';
}

/** Such as "1 × RTX 4090, Europe"; undefined where the service does not tell. */
export function machineText(job: Job): string | undefined {
    const { gpu_model: model, gpu_count: amount, continent: place } = job.machine ?? {};
    if (!model) return undefined;
    const cards = `${amount ?? 1} × ${gpuName(model)}`;
    return place ? `${cards}, ${continent(place)}` : cards;
}

export const classText = (job: Job) => availabilityClass(job.availability_class);

/** Why it ended, said to its renter. */
export function endText(job: Job): string | undefined {
    if (!job.end_reason) return undefined;
    return job.end_reason === 'renter_stop' ? 'You stopped it' : endReason(job.end_reason);
}

export function leftMs(job: Job, now: number): number | undefined {
    if (job.state !== 'RUNNING' || !job.funded_through) return undefined;
    return Math.max(0, Date.parse(job.funded_through) - now);
}

/** A tenth of the time, or five minutes, is left. */
export function isLow(job: Job, now: number): boolean {
    const left = leftMs(job, now);
    if (left === undefined || !job.funded_through || !job.meter_started_at || job.preemption) return false;
    return left <= Math.max(lowMs, (Date.parse(job.funded_through) - Date.parse(job.meter_started_at)) / 10);
}

/** The latest end that money can buy. */
export function limitMs(job: Job): number | undefined {
    return job.meter_started_at ? Date.parse(job.meter_started_at) + job.duration_limit_s * 1_000 : undefined;
}

/** When it would end with that much more; undefined before it runs. */
export function endWith(job: Job, addMicro: bigint): number | undefined {
    const [limit, rate] = [limitMs(job), money.micro(job.rate_micro_per_hour)];
    if (!job.funded_through || limit === undefined || rate <= 0n) return undefined;
    return Math.min(limit, Date.parse(job.funded_through) + Number(addMicro * hourMs / rate));
}

const isMetered = (job: Job) => job.state === 'RUNNING' && job.host_status === 'ok' && !job.meter_stopped_at;

interface Seen { jobId: string; acceptedMs: string; at: number; shown: bigint }

/** What it has cost by now: what the host has proved, and the time that went by since that was heard. */
export function useCost(job: Job): bigint {
    const now = useNow(1_000);
    const seen = useRef<Seen | undefined>(undefined);
    if (!isMetered(job)) {
        seen.current = undefined;
        return money.micro(job.cumulative_charge_micro);
    }
    const last = seen.current?.jobId === job.job_id ? seen.current : undefined;
    if (last?.acceptedMs !== job.accepted_runtime_ms) {
        seen.current = { jobId: job.job_id, acceptedMs: job.accepted_runtime_ms, at: now, shown: last?.shown ?? 0n };
    }
    const held = seen.current!;
    const guessed = Math.min(Math.max(0, Math.floor(now - held.at)), longestGuessMs);
    const runtime = String(money.micro(job.accepted_runtime_ms) + BigInt(guessed));
    const cost = money.micro(money.charge(job.rate_micro_per_hour, runtime, job.budget_micro));
    if (cost > held.shown) held.shown = cost;
    return held.shown;
}

/** Where others like it are offered: the same program, on the same kind of card. */
export function alikeHref(job: Job): string {
    const wanted = new URLSearchParams({ run: job.template?.template_id ?? 'any' });
    if (job.machine?.gpu_model) wanted.set('gpu', gpuName(job.machine.gpu_model));
    return `/?${wanted}`;
}

/** The offers that can run the same, cheapest first. */
export function nextHref(job: Job): string {
    return `/?${new URLSearchParams({ run: job.template?.template_id ?? 'any', fits: '1', sort: 'price_asc' })}`;
}
