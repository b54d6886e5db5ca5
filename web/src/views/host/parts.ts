// Small readings that several views of a host share.
import { money } from 'berth-client';
import { moneyText, plural } from '../../format';

interface Named {
    machine_id?: string;
    gpu_model?: string | null;
    gpu_count?: number | null;
    label?: string | null;
}

/** "RTX 4090" for "NVIDIA GeForce RTX 4090". */
export function shortModel(model: string): string {
    return model.replace(/^NVIDIA /, '').replace(/^GeForce /, '');
}

export function gpusOf(machine: Named): string {
    if (!machine.gpu_model) return 'No GPU found yet';
    const count = machine.gpu_count ?? 1;
    return count > 1 ? `${count} × ${shortModel(machine.gpu_model)}` : shortModel(machine.gpu_model);
}

/** Its label where it has one, else its GPUs. */
export function nameOf(machine: Named): string {
    return machine.label || gpusOf(machine);
}

/** What is left of an hour's price, by the server's own rounding of the fee. */
export function keptOf(rateMicro: bigint, feeBps: number): bigint {
    return rateMicro - rateMicro * BigInt(feeBps) / 10_000n;
}

/** For the middle of a sentence. */
export function lowered(text: string): string {
    return text.charAt(0).toLowerCase() + text.slice(1);
}

export function sumOf(amounts: readonly string[]): bigint {
    return amounts.reduce((sum, amount) => sum + BigInt(amount), 0n);
}

/** The amount that a text spells; undefined where it spells none. */
export function amountOf(text: string): bigint | undefined {
    try {
        return money.micro(money.fromUnits(text.trim().replace(',', '.')));
    } catch {
        return undefined;
    }
}

/** "7 %" for 700: hundredths of a per cent. */
export function percentOfBps(bps: number): string {
    return `${(bps / 100).toLocaleString('en', { maximumFractionDigits: 2 })} %`;
}

export function longDayText(day: string): string {
    return new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB',
        { weekday: 'long', day: 'numeric', month: 'long', timeZone: 'UTC' });
}

interface Day { day: string; earned_micro: string; rental_count: number }

/** Bars for the kit's chart, in micro-units. */
export function barsOf(days: readonly Day[]) {
    return days.map(({ day, earned_micro, rental_count }) => ({
        day,
        value: earned_micro,
        label: `${moneyText(earned_micro, 2, 'USDC')}, ${plural(rental_count, 'rental')}`,
    }));
}

/** The last day on which it earned; undefined when there is none. */
export function lastEarningDay(days: readonly Day[]): string | undefined {
    return [...days].sort((a, b) => a.day < b.day ? 1 : -1).find(({ earned_micro }) => BigInt(earned_micro) > 0n)?.day;
}
