// Events as clients read them: the two consumers that docs/events.md shows, killed as the server is,
// each alone and both at once, and a stream read by the rules of the HTML standard.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { Program, good } from './support/client.mjs';
import { startServer } from './support/server.mjs';
import { until } from './support/wait.mjs';

const page = await readFile(new URL('../../docs/events.md', import.meta.url), 'utf8');
const shown = (language) => page.match(new RegExp('```' + language + '\\n([^]*?)```'))[1];

// Each registration with one wallet makes another key of one account, which is told.
async function makeKey(server, wallet) {
    const anyone = new Program(server);
    const { message } = good(await anyone.post('/api/v1/agents/accounts/challenge',
        { address: wallet.address }), 200);
    const made = await anyone.post('/api/v1/agents/accounts', { message,
        signature: await wallet.signMessage({ message }), agent: { name: 'Reader', vendor: 'Example' } });
    return (made.status === 201 ? good(made, 201) : good(made, 200)).api_key.secret;
}

class Consumer {
    lines = [];

    constructor(folder, command, server, key) {
        Object.assign(this, { folder, command, server, key });
        this.start();
    }

    start() {
        this.process = spawn('setpriv', ['--pdeathsig', 'KILL', ...this.command], { cwd: this.folder,
            env: { PATH: process.env.PATH, BERTH_SERVER: this.server.origin, BERTH_API_KEY: this.key },
            stdio: ['ignore', 'pipe', 'inherit'] });
        this.ended = new Promise((resolve) => this.process.on('exit', resolve));
        let rest = '';
        this.process.stdout.on('data', (piece) => {
            const lines = (rest + piece).split('\n');
            rest = lines.pop();
            this.lines.push(...lines.map((line) => JSON.parse(line)));
        });
    }

    async kill() {
        this.process.kill('SIGKILL');
        await this.ended;
    }

    has(count) {
        return until(`${count} events`, () => new Set(this.lines.map((it) => it.sequence)).size >= count);
    }
}

for (const [name, file, command] of [['ts', 'consumer.mjs', [process.execPath, 'consumer.mjs']],
    ['python', 'consumer.py', ['python3', 'consumer.py']]]) {
    test(`the consumer in ${name} loses nothing when it or the server is killed`, async (t) => {
        const folder = await mkdtemp(join(tmpdir(), 'berth-events-'));
        t.after(() => rm(folder, { recursive: true, force: true }));
        await writeFile(join(folder, file), shown(name));
        const server = await startServer(t, { flags: ['--rate-challenge-per-hour', '1000'] });
        const wallet = privateKeyToAccount(generatePrivateKey());
        const key = await makeKey(server, wallet);
        const consumer = new Consumer(folder, command, server, key);
        t.after(() => consumer.kill());
        await consumer.has(1);
        await makeKey(server, wallet);
        await consumer.has(2);
        await consumer.kill();
        await makeKey(server, wallet); // while nobody listens
        consumer.start();
        await consumer.has(3);
        await server.killAndStart(); // while the consumer waits at it
        await makeKey(server, wallet);
        await consumer.has(4);
        await makeKey(server, wallet);
        await Promise.all([consumer.kill(), server.killAndStart()]);
        consumer.start();
        await consumer.has(5);
        await makeKey(server, wallet);
        await consumer.has(6);
        const places = consumer.lines.map((it) => Number(it.sequence));
        assert.deepEqual([...new Set(places)], [1, 2, 3, 4, 5, 6], 'in order, and none is missing');
        const ids = new Map();
        for (const { sequence, event_id } of consumer.lines) {
            assert.equal(ids.get(sequence) ?? event_id, event_id, 'a repeat is known by its id');
            ids.set(sequence, event_id);
        }
    });
}

test('a stream goes on at its last id, and a bare id moves the place', async (t) => {
    const server = await startServer(t);
    const wallet = privateKeyToAccount(generatePrivateKey());
    const key = await makeKey(server, wallet);
    const open = (headers) => fetch(`${server.origin}/api/v1/events/stream`,
        { headers: { Authorization: `Bearer ${key}`, ...headers }, signal: AbortSignal.timeout(60_000) });
    const first = await open({});
    assert.equal(first.headers.get('content-type'), 'text/event-stream');
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of first.body) {
        text += decoder.decode(piece);
        if (text.includes('\n\n')) break;
    }
    assert.match(text, /^retry: 2000\nid: 1\n\n/);
    await makeKey(server, wallet);
    const second = await open({ 'Last-Event-ID': '1' });
    text = '';
    for await (const piece of second.body) {
        text += decoder.decode(piece);
        if (text.includes('data:')) break;
    }
    const frame = text.split('\n\n').find((it) => it.includes('data:'));
    const fields = Object.fromEntries(frame.split('\n').map((line) => line.split(/: (.*)/s)));
    assert.equal(fields.id, '2');
    assert.equal(fields.event, 'account.make_api_key');
    assert.equal(JSON.parse(fields.data).sequence, '2');
    const refused = await open({ 'Last-Event-ID': '99' });
    assert.equal(refused.status, 409);
    assert.deepEqual((await refused.json()).current, { oldest: '1', newest: '2' });
});
