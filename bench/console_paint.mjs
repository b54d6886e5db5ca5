// First contentful paint of the console against a static page of the same bytes: the same document with
// its styles, and scripts of the same size that do nothing. usage: console_paint.mjs ORIGIN
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { openBrowser, printLine } from './browser.mjs';

const origin = process.argv[2];
const rounds = 15;

async function keep(path) {
    const answer = await fetch(origin + path);
    const text = await answer.text();
    const type = answer.headers.get('content-type');
    const body = type.includes('javascript') ? `/*${text.replaceAll('*/', '')}*/` : text;
    return [path, { type, body: gzipSync(body) }];
}
const page = await (await fetch(`${origin}/`)).text();
const named = [...page.matchAll(/<(?:script|link)[^>]*(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path);
const kept = new Map(await Promise.all(['/', ...named].map(keep)));
const server = createServer((request, answer) => {
    const file = kept.get(request.url);
    if (!file) return answer.writeHead(404).end();
    answer.writeHead(200, { 'Content-Type': file.type, 'Content-Encoding': 'gzip' }).end(file.body);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

const browser = await openBrowser();
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
const still = `http://127.0.0.1:${server.address().port}/`;
const [ours, theirs] = [[], []];
for (let round = 0; round <= rounds; ++round) {
    const [mine, other] = [await paintOf(`${origin}/`), await paintOf(still)];
    if (round === 0) continue; // the browser itself comes up
    ours.push(mine);
    theirs.push(other);
}
await browser.close();
server.close();
printLine('console_paint_ms', ours, 'static-page', theirs);
