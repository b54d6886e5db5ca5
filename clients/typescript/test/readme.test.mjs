// The examples of README.md, as programs of their own.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import test from 'node:test';
import typescript from 'typescript';
import './support/readme.mjs';
import { startMarket, stream } from './support/market.mjs';

const folder = new URL('../dist/readme/', import.meta.url);

// Starts an example; its lines come together in `lines`.
async function start(t, name, variables) {
    const code = await readFile(new URL(`${name}.ts`, folder), 'utf8');
    const compilerOptions = { module: 'ESNext', target: 'ES2022' };
    const file = new URL(`${name}.mjs`, folder);
    await writeFile(file, typescript.transpileModule(code, { compilerOptions }).outputText);
    const child = spawn(process.execPath, [file.pathname],
        { env: { PATH: process.env.PATH, BERTH_API_KEY: 'ark_test', ...variables }, stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    const example = { text: '' };
    child.stdout.on('data', (piece) => { example.text += piece; });
    example.ended = new Promise((resolve) => child.on('close', resolve));
    return example;
}

async function run(t, name, variables) {
    const example = await start(t, name, variables);
    assert.equal(await example.ended, 0);
    return example.text.trim().split('\n');
}

test('the first example lists what is for rent', async (t) => {
    const market = await startMarket(t);
    market.offers = [{ offer_id: 'a', total_rate_micro_per_hour: '450000' }, { offer_id: 'b', total_rate_micro_per_hour: '2400000' }];
    assert.deepEqual(await run(t, 'offers', { BERTH_SERVER: market.origin }), ['a 0.4500', 'b 2.4000']);
});

test('the example of renting rents and stops', async (t) => {
    const market = await startMarket(t);
    const lines = await run(t, 'renting', { BERTH_SERVER: market.origin, OFFER: randomUUID(), TEMPLATE: randomUUID() });
    assert.deepEqual(lines, ['RESERVED', 'STARTING', 'RUNNING', 'ended: renter_stop']);
    assert.equal(market.jobs.size, 1);
});

test('the example of events reads until the rental is over', async (t) => {
    const market = await startMarket(t);
    const frame = (number, type) => `id: ${number}\nevent: ${type}\ndata: ${JSON.stringify(
        { sequence: String(number), type, subject: { kind: 'rental', id: 'r' } })}\n\n`;
    market.on('GET /api/v1/events/stream', stream([frame(1, 'rental.running'), frame(2, 'rental.stopped')], 'stay'));
    assert.deepEqual(await run(t, 'events', { BERTH_SERVER: market.origin }),
        ['1 rental.running r', '2 rental.stopped r']);
    assert.deepEqual(market.seen[0].query, { after: '0', types: 'rental.*' });
});

test('the example of webhooks takes what is signed and nothing else', async (t) => {
    const key = Buffer.alloc(32, 7);
    const port = await freePort();
    const example = await start(t, 'webhooks',
        { BERTH_WEBHOOK_SECRET: `whsec_${key.toString('base64')}`, PORT: String(port) });
    const body = JSON.stringify({ sequence: '42', type: 'rental.running' });
    const at = String(Math.floor(Date.now() / 1000));
    const post = (by) => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers: {
        'webhook-id': 'e1', 'webhook-timestamp': at,
        'webhook-signature': `v1,${createHmac('sha256', by).update(`e1.${at}.${body}`).digest('base64')}` } });
    let forged;
    while (!(forged = await post('another').catch(() => undefined))) await new Promise((done) => setTimeout(done, 50));
    assert.equal(forged.status, 400);
    assert.equal((await post(key)).status, 204);
    while (!example.text.includes('\n')) await new Promise((done) => setTimeout(done, 10));
    assert.equal(example.text, '42 rental.running\n');
});

async function freePort() {
    const server = createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    return port;
}
