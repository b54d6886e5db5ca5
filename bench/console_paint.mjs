// First contentful paint of the console against a static page of the same bytes: the same document with
// its styles, and scripts of the same size that do nothing. usage: console_paint.mjs ORIGIN
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { chromium } from '../tests/web/node_modules/playwright-core/index.mjs';

const origin = process.argv[2];
const rounds = 9;
const median = (values) => [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];

const page = await (await fetch(`${origin}/`)).text();
const files = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
const kept = new Map();
for (const path of files) {
    const answer = await fetch(origin + path);
    const text = await answer.text();
    const isScript = path.endsWith('.js');
    kept.set(path, { type: answer.headers.get('content-type'), body: gzipSync(isScript ? `/*${text.replaceAll('*/', '')}*/` : text) });
}
const still = page.replace('<div id="app"></div>', '<div id="app"><h1>Rent a GPU</h1></div>');
const server = createServer((request, answer) => {
    const file = kept.get(request.url);
    answer.setHeader('Content-Type', file?.type ?? (request.url === '/' ? 'text/html' : 'text/css'));
    if (file) answer.setHeader('Content-Encoding', 'gzip');
    answer.end(file?.body ?? (request.url === '/' ? still : ''));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
async function paintOf(address) {
    const context = await browser.newContext();
    const view = await context.newPage();
    await view.goto(address, { waitUntil: 'load' });
    const ms = await view.evaluate(() => new Promise((resolve) => {
        const look = () => {
            const entry = performance.getEntriesByName('first-contentful-paint')[0];
            if (entry) resolve(entry.startTime);
            else requestAnimationFrame(look);
        };
        look();
    }));
    await context.close();
    return ms;
}
const [ours, theirs] = [[], []];
for (let round = 0; round < rounds; ++round) {
    ours.push(await paintOf(`${origin}/`));
    theirs.push(await paintOf(`http://127.0.0.1:${server.address().port}/`));
}
await browser.close();
server.close();
const [mine, baseline] = [median(ours), median(theirs)];
console.log(`BENCH console_paint_ms ours=${mine.toFixed(0)} baseline=static-page:${baseline.toFixed(0)} ratio=${(baseline / mine).toFixed(2)}`);
