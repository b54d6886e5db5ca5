// The server's clock, as far as its answers tell: ages and countdowns do not depend on the reader's.
let aheadMs = 0;

/** By the `Date` header, which has whole seconds: small differences are its own. */
export function noteServerTime(date: string | null): void {
    const told = date === null ? Number.NaN : Date.parse(date);
    if (Number.isNaN(told)) return;
    const difference = told + 500 - Date.now();
    if (Math.abs(difference - aheadMs) > 1_500) aheadMs = difference;
}

export function now(): number {
    return Date.now() + aheadMs;
}
