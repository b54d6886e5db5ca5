// What the benchmarks of the console share: the browser of its stories, and a line of two medians.
import { chromium } from '../tests/web/node_modules/playwright-core/index.mjs';

export function openBrowser() {
    return chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

export function median(values) {
    return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];
}

// Less is better.
export function printLine(name, ours, baseline, theirs) {
    const [mine, other] = [median(ours), median(theirs)];
    console.log(`BENCH ${name} ours=${mine.toFixed(0)} baseline=${baseline}:${other.toFixed(0)} ratio=${
        (other / mine).toFixed(2)}`);
}
