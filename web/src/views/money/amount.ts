// Amounts as people type them, and what they come to.
import { money } from 'berth-client';

/** The micro-units that a text spells, or null: '25', '25.5', '.5'. */
export function parseAmount(text: string): string | null {
    const tidy = text.trim().replace(/^\./, '0.').replace(/\.$/, '');
    if (!/^\d{1,12}(\.\d{1,6})?$/.test(tidy)) return null;
    return money.fromUnits(tidy);
}

/** Why an amount cannot be taken, in words; undefined when it can. */
export function amountFault(text: string, most?: string): string | undefined {
    if (text.trim() === '') return 'Say how much.';
    const micro = parseAmount(text);
    if (micro === null) return 'Digits with at most six places, such as 25 or 12.50.';
    if (micro === '0') return 'More than nothing.';
    if (most !== undefined && BigInt(micro) > BigInt(most)) {
        return `At most ${plainUnits(most)}.`;
    }
    return undefined;
}

/** '25000000' is '25', '25500000' is '25.50', '25000001' is '25.000001'. */
export function plainUnits(micro: string): string {
    const exact = money.toUnits(micro);
    return exact.replace(/\.000000$/, '').replace(/(\.\d\d)0000$/, '$1');
}

/** How long an amount pays for a machine, in milliseconds. */
export function pays(micro: string, microPerHour: string): number {
    const rate = BigInt(microPerHour);
    return rate === 0n ? 0 : Number(BigInt(micro) * 3_600_000n / rate);
}
