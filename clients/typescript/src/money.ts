// Amounts are whole micro-units in texts, and stay exact: BigInt, never a float.
const places = 6;

/** The number that an amount spells. */
export function micro(amount: string): bigint {
    // BigInt alone would also take '', ' 1' and '0x10'.
    if (typeof amount === 'string' && /^(0|-?[1-9]\d*)$/.test(amount)) return BigInt(amount);
    throw new TypeError(`not a whole number of micro-units in a text: ${amount}`);
}

/** '1.25' is '1250000'. More than six places are refused, not rounded. */
export function fromUnits(units: string): string {
    const [, sign = '', whole, part = ''] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(units) ?? [];
    if (whole === undefined) throw new TypeError(`not an amount with at most six places: ${units}`);
    return BigInt(sign + whole + part.padEnd(places, '0')).toString();
}

/** '1250000' is '1.250000'; with fewer places it is rounded down, so that nobody seems richer. */
export function toUnits(amount: string, shown = places): string {
    const scale = 10n ** BigInt(places - shown);
    const value = micro(amount);
    const kept = value / scale - (value < 0n && value % scale !== 0n ? 1n : 0n);
    const digits = String(kept).replace('-', '').padStart(shown + 1, '0');
    const whole = digits.slice(0, digits.length - shown);
    return `${kept < 0n ? '-' : ''}${whole}${shown > 0 ? '.' : ''}${digits.slice(whole.length)}`;
}

/** What a running time costs, as the server reckons it. */
export function charge(ratePerHour: string, runtimeMs: string, budget: string): string {
    const cost = micro(ratePerHour) * micro(runtimeMs) / 3_600_000n;
    return String(cost < micro(budget) ? cost : micro(budget));
}
