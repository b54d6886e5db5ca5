// Webhooks as a receiver takes them that has the library of Standard Webhooks and nothing of ours:
// signatures, also while the secret is exchanged, over http and over TLS with a name of its own.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { Program, good, refused } from './support/client.mjs';
import { freePort, startServer } from './support/server.mjs';
import { until } from './support/wait.mjs';

async function enlist(server) {
    const wallet = privateKeyToAccount(generatePrivateKey());
    const program = new Program(server);
    const { message } = good(await program.post('/api/v1/agents/accounts/challenge',
        { address: wallet.address }), 200);
    const { api_key } = good(await program.post('/api/v1/agents/accounts', {
        message, signature: await wallet.signMessage({ message }),
        agent: { name: 'Hooked', vendor: 'Example Labs' },
    }), 201);
    return new Program(server, api_key.secret);
}

// Remembers what came: the headers and the bytes of the body.
async function startReceiver(t, tls) {
    const received = [];
    const take = (request, response) => {
        const pieces = [];
        request.on('data', (piece) => pieces.push(piece));
        request.on('end', () => {
            received.push({ headers: request.headers, body: Buffer.concat(pieces).toString() });
            response.writeHead(204).end();
        });
    };
    const listener = tls ? createTlsServer(tls, take) : createServer(take);
    await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
    t.after(() => listener.close());
    return { received, port: listener.address().port };
}

async function makeCertificate(t) {
    const folder = await mkdtemp(join(tmpdir(), 'berth-clients-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const [file, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    await promisify(execFile)('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt',
        'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost',
        '-addext', 'subjectAltName=DNS:localhost', '-keyout', keyFile, '-out', file]);
    return { file, cert: await readFile(file), key: await readFile(keyFile) };
}

function came(receiver, count) {
    return until(`delivery ${count}`, () => receiver.received.length >= count);
}

test('a delivery is verified by the library, and by either secret while they are exchanged', async (t) => {
    const server = await startServer(t, { flags: ['--allow-private-webhooks'] });
    const receiver = await startReceiver(t);
    const agent = await enlist(server);
    const made = good(await agent.post('/api/v1/webhooks',
        { url: `http://127.0.0.1:${receiver.port}/hook` }), 201);
    assert.match(made.secret, /^whsec_[0-9A-Za-z+/]{43}=$/);

    const ask = async () => good(await agent.post(`/api/v1/webhooks/${made.webhook_id}/test`), 202);
    const { event_id } = await ask();
    await came(receiver, 1);
    const { headers, body } = receiver.received[0];
    const event = new Webhook(made.secret).verify(body, headers);
    assert.equal(event.type, 'webhook.test');
    assert.equal(event.event_id, event_id);
    assert.equal(headers['webhook-id'], event_id);
    assert.equal(headers['content-type'], 'application/json');
    assert.throws(() => new Webhook(made.secret).verify(body.replace('test', 'jest'), headers));
    assert.throws(() => new Webhook(`whsec_${'A'.repeat(43)}=`).verify(body, headers));

    const { secret } = good(
        await agent.post(`/api/v1/webhooks/${made.webhook_id}/rotate-secret`), 200);
    await ask();
    await came(receiver, 2);
    for (const each of [made.secret, secret]) {
        const second = receiver.received[1];
        assert.equal(new Webhook(each).verify(second.body, second.headers).type, 'webhook.test');
    }
});

test('what happens is posted as the page has it, and only over TLS to who has the name', async (t) => {
    const certificate = await makeCertificate(t);
    const server = await startServer(t,
        { flags: ['--allow-private-webhooks', '--webhook-ca-file', certificate.file] });
    const agent = await enlist(server);
    const receiver = await startReceiver(t, certificate);
    const hook = good(await agent.post('/api/v1/webhooks',
        { url: `https://localhost:${receiver.port}/hook`, types: ['account.*'] }), 201);
    // The same receiver by an address that its certificate does not have.
    const wrong = good(await agent.post('/api/v1/webhooks',
        { url: `https://127.0.0.1:${receiver.port}/hook` }), 201);
    for (const { webhook_id } of [hook, wrong]) {
        good(await agent.post(`/api/v1/webhooks/${webhook_id}/test`), 202);
    }
    await came(receiver, 1);
    const attempt = await until('attempt', async () => {
        const { items } = good(
            await agent.get(`/api/v1/webhooks/${wrong.webhook_id}/deliveries`), 200);
        return items.find((each) => each.state === 'failed');
    });
    assert.equal(attempt.status, null);
    assert.match(attempt.fault, /certificate|SSL/i);
    assert.equal(receiver.received.length, 1);
    const { headers, body } = receiver.received[0];
    assert.equal(new Webhook(hook.secret).verify(body, headers).type, 'webhook.test');
    assert.equal(headers.host, `localhost:${receiver.port}`);
});

const page = await readFile(new URL('../../docs/events.md', import.meta.url), 'utf8');
const shown = (language) => page.match(new RegExp('```' + language + ' receiver\\n([^]*?)```'))[1];

for (const [name, file, command] of [['ts', 'receiver.mjs', [process.execPath, 'receiver.mjs']],
    ['python', 'receiver.py', ['python3', 'receiver.py']]]) {
    test(`the receiver in ${name} that the page shows takes what is signed and nothing else`, async (t) => {
        const server = await startServer(t, { flags: ['--allow-private-webhooks'] });
        const agent = await enlist(server);
        const port = await freePort();
        const hook = good(await agent.post('/api/v1/webhooks',
            { url: `http://127.0.0.1:${port}/` }), 201);
        const folder = await mkdtemp(join(tmpdir(), 'berth-hooks-'));
        t.after(() => rm(folder, { recursive: true, force: true }));
        await writeFile(join(folder, file), shown(name));
        await symlink(new URL('node_modules', import.meta.url).pathname, join(folder, 'node_modules'));
        const receiver = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], { cwd: folder,
            env: { PATH: process.env.PATH, BERTH_WEBHOOK_SECRET: hook.secret, HOST: '127.0.0.1',
                PORT: String(port) },
            stdio: ['ignore', 'pipe', 'ignore'] });
        t.after(() => receiver.kill('SIGKILL'));
        let lines = '';
        receiver.stdout.on('data', (piece) => { lines += piece; });
        const forged = { 'webhook-id': 'x', 'webhook-timestamp': `${Math.floor(Date.now() / 1000)}`,
            'webhook-signature': `v1,${'A'.repeat(43)}=` };
        const answer = await until('receiver', () => fetch(`http://127.0.0.1:${port}/`,
            { method: 'POST', headers: forged, body: '{}' }).catch(() => undefined));
        assert.equal(answer.status, 400);
        const { event_id } = good(
            await agent.post(`/api/v1/webhooks/${hook.webhook_id}/test`), 202);
        await until('event', () => lines.includes('\n'));
        assert.equal(JSON.parse(lines).event_id, event_id);
        const delivered = await until('delivery', async () => {
            const { items } = good(
                await agent.get(`/api/v1/webhooks/${hook.webhook_id}/deliveries`), 200);
            return items.find((each) => each.state === 'delivered');
        });
        assert.equal(delivered.status, 204);
    });
}

test('targets in our own house are refused without the flag of development', async (t) => {
    const server = await startServer(t);
    const agent = await enlist(server);
    for (const url of ['https://127.0.0.1:8443/', 'https://localhost:8443/', 'http://9.9.9.9/',
        'https://me:secret@9.9.9.9/', `${server.origin}/api/v1/tickets`]) {
        const { message } = refused(await agent.post('/api/v1/webhooks', { url }), 422,
            'INVALID_INPUT');
        assert.match(message, /body\.url/);
    }
});
