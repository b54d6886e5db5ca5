// Typing in a filter of the catalog: from the last key to the new table on the screen, against a bare page that
// asks the same of the same server at every key and writes the rows by hand; and from each key to the frame that
// shows it, the slowest of a word. usage: console_catalog.mjs ORIGIN
import { openBrowser, printLine } from './browser.mjs';

const origin = process.argv[2];
const rounds = 15;
const betweenKeysMs = 80; // somebody who types fast
const words = ['rtx 4090', 'h100', 'l40s', 'rtx 3090', 'a6000'];
const [wide, high] = [1440, 900];
const [goalMs, leastMs] = [100, 16]; // browsers tell of no input that took less

// In the page: when the table has nothing but `wanted` and is painted, in milliseconds after the last key; and how
// long the slowest input took.
function watch() {
    const rows = () => [...document.querySelectorAll('table tbody tr')];
    let typedAt = 0;
    document.addEventListener('input', ({ timeStamp }) => { typedAt = timeStamp; }, { capture: true });
    let slowest = 0;
    const keep = (entries) => { slowest = Math.max(slowest, ...entries.map(({ duration }) => duration)); };
    const inputs = new PerformanceObserver((list) => keep(list.getEntries()));
    inputs.observe({ type: 'event', durationThreshold: 16 });
    globalThis.slowestInput = () => {
        keep(inputs.takeRecords());
        return slowest;
    };
    const isThere = (wanted) => document.querySelector('[aria-busy="true"]') === null && rows().length > 0
        && rows().every((row) => row.cells[0].textContent.toLowerCase().includes(wanted));
    globalThis.shown = (wanted) => new Promise((resolve) => {
        const look = () => {
            if (!isThere(wanted)) return requestAnimationFrame(look);
            const { port1, port2 } = new MessageChannel();
            port1.onmessage = () => resolve(performance.now() - typedAt); // after this frame
            port2.postMessage('');
        };
        requestAnimationFrame(look);
    });
}

// As somebody who has just come: who typed much is asked to wait for a pause.
async function begin(page) {
    await page.goto(`${origin}/`);
    await page.getByRole('button', { name: /^Rent \d/ }).first().waitFor();
}

async function openConsole(browser) {
    const page = await (await browser.newContext({ viewport: { width: wide, height: high } })).newPage();
    await page.addInitScript(watch);
    const asked = page.waitForRequest((request) => new URL(request.url()).pathname === '/api/v1/catalog');
    await begin(page);
    return { page, field: page.getByLabel('GPU', { exact: true }), question: (await asked).url() };
}

async function openBare(browser, question) {
    const context = await browser.newContext({ bypassCSP: true, viewport: { width: wide, height: high } });
    const page = await context.newPage();
    await page.goto(`${origin}/healthz`);
    await page.evaluate(watch);
    await page.evaluate((address) => {
        const [field, table] = [document.createElement('input'), document.createElement('table')];
        const body = table.createTBody();
        document.body.replaceChildren(field, table);
        const show = ({ items }) => body.replaceChildren(...items.map((offer) => {
            const row = document.createElement('tr');
            for (const text of [offer.model, offer.fit?.fits, offer.rate_micro_per_gpu_hour, offer.ai_speed_tok_s,
                offer.download_mbps, offer.availability_class, offer.available_until, offer.last_seen_age_s])
                row.insertCell().textContent = text;
            return row;
        }));
        let last;
        field.addEventListener('input', () => {
            last?.abort();
            last = new AbortController();
            const wanted = new URL(address);
            wanted.searchParams.set('model', field.value);
            fetch(wanted, { signal: last.signal }).then((answer) => answer.json()).then(show, () => {});
        });
    }, question);
    return { page, field: page.locator('input') };
}

async function type({ page, field }, word) {
    await field.pressSequentially(word, { delay: betweenKeysMs });
    return page.evaluate((wanted) => globalThis.shown(wanted), word);
}

const browser = await openBrowser();
const console_ = await openConsole(browser);
const bare = await openBare(browser, console_.question);
const [ours, theirs, inputs] = [[], [], []];
for (let round = 0; round <= rounds; ++round) {
    const word = words[round % words.length];
    await begin(console_.page);
    await bare.field.fill('');
    const [mine, other] = [await type(console_, word), await type(bare, word)];
    if (round === 0) continue; // nothing is compiled yet
    inputs.push(Math.max(leastMs, await console_.page.evaluate(() => globalThis.slowestInput())));
    ours.push(mine);
    theirs.push(other);
}
await browser.close();
printLine('console_catalog_ms', ours, 'bare-page', theirs);
printLine('console_input_ms', inputs, 'goal', inputs.map(() => goalMs));
