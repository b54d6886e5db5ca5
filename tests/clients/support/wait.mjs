// The one way to wait here: for something to become true, up to a bound.
import { setTimeout as pause } from 'node:timers/promises';

const checkEveryMilliseconds = 20;
const waitSecondsMax = 90; // a machine that does ten other things

// Returns what `find` returns as soon as that is something.
export async function until(what, find) {
    const deadline = Date.now() + waitSecondsMax * 1000;
    for (;;) {
        const found = await find();
        if (found) return found;
        if (Date.now() > deadline) throw new Error(`no ${what} in ${waitSecondsMax} seconds`);
        await pause(checkEveryMilliseconds);
    }
}
