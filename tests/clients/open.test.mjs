// `berth rentals open` between a real websocket client and a real websocket server behind TLS: what
// a notebook in a browser does, and what another page in that browser would try.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { X509Certificate, createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'node:test';
import WebSocket, { WebSocketServer } from 'ws';

const job = randomUUID();
const key = 'bjk_of_the_endpoint';

async function listen(t, server) {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => {
        server.closeAllConnections();
        server.close();
    });
    return server.address().port;
}

// A workload with a key of its own that nobody vouches for.
async function startWorkload(t, folder) {
    const [keyFile, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt',
        'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=workload', '-keyout',
        keyFile, '-out', certificate], { stdio: 'ignore' });
    const pem = await readFile(certificate);
    const seen = [];
    const server = createSecureServer({ key: await readFile(keyFile), cert: pem }, (asked, answer) => {
        seen.push(asked.headers);
        answer.end(`page ${asked.url}`);
    });
    const sockets = new WebSocketServer({ server, path: '/socket' });
    sockets.on('connection', (socket, asked) => {
        seen.push(asked.headers);
        socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    });
    const pin = createHash('sha256').update(new X509Certificate(pem).publicKey
        .export({ type: 'spki', format: 'der' })).digest('hex');
    return { port: await listen(t, server), pin, seen };
}

// The one route of the service that the command asks.
async function startService(t, workload) {
    return listen(t, createServer((asked, answer) => {
        assert.equal(asked.url, `/api/v1/jobs/${job}/access`);
        answer.setHeader('Content-Type', 'application/json');
        answer.end(JSON.stringify({ mode: 'execution', ssh_command: null,
            ssh_host_key_fingerprint: null, endpoint_api_key: key,
            endpoints: [{ endpoint_id: randomUUID(), kind: 'http', name: 'jupyter',
                external_host: '127.0.0.1', external_port: workload.port,
                url: `https://127.0.0.1:${workload.port}/`, tls_key_sha256: workload.pin }] }));
    }));
}

async function open(t, folder, service) {
    const program = spawn(join(dirname(process.env.BERTHD), 'berth'),
        ['rentals', 'open', job, 'jupyter', '--no-browser'],
        { env: { PATH: process.env.PATH, BERTH_HOME: join(folder, 'home'), BERTH_API_KEY: 'ark_x',
            BERTH_SERVER: `http://127.0.0.1:${service}`, ASAN_OPTIONS: 'detect_leaks=0' },
        stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => program.kill());
    const [line] = await once(createInterface({ input: program.stdout }), 'line');
    const url = new URL(JSON.parse(line).url);
    return { origin: url.origin, authority: url.host, port: url.port, token: url.hash.slice(1) };
}

// As the browser whose address bar has `door.authority`, whatever that name means elsewhere.
function ask(door, { path = '/', method = 'GET', headers = {}, body } = {}) {
    return new Promise((resolve, reject) => {
        request({ host: '127.0.0.1', port: door.port, path, method,
            headers: { Host: door.authority, ...headers } }, async (answer) => {
            let text = '';
            for await (const piece of answer) text += piece;
            resolve({ status: answer.statusCode, headers: answer.headers, text });
        }).on('error', reject).end(body);
    });
}

function connect(door, headers, origin) {
    return new WebSocket(`ws://127.0.0.1:${door.port}/socket`,
        { headers: { Host: door.authority, ...headers }, origin });
}

async function refusal(socket) {
    const [, answer] = await once(socket, 'unexpected-response');
    answer.resume();
    return answer.statusCode;
}

test('a page of a rental with websockets, through berth rentals open', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'berth-open-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const workload = await startWorkload(t, folder);
    const door = await open(t, folder, await startService(t, workload));

    await t.test('nobody is passed on without the session', async () => {
        assert.equal((await ask(door)).status, 401);
        assert.equal(await refusal(connect(door, {}, door.origin)), 401);
        assert.deepEqual(workload.seen, []);
    });

    const entered = await ask(door, { path: '/.berth/enter', method: 'POST', body: door.token,
        headers: { Origin: door.origin } });
    assert.equal(entered.status, 204);
    const cookie = entered.headers['set-cookie'][0].split(';')[0];

    await t.test('texts, bytes, pings and the end of a websocket pass as they are', async () => {
        const socket = connect(door, { Cookie: cookie }, door.origin);
        await once(socket, 'open');
        socket.send('hello');
        assert.equal(String((await once(socket, 'message'))[0]), 'hello');
        const large = randomBytes(3_000_000);
        socket.send(large);
        const [echoed, isBinary] = await once(socket, 'message');
        assert.ok(isBinary && large.equals(echoed));
        socket.ping('still there');
        assert.equal(String((await once(socket, 'pong'))[0]), 'still there');
        socket.close(4001, 'enough');
        const [code, reason] = await once(socket, 'close');
        assert.deepEqual([code, String(reason)], [4001, 'enough']);
        const { authorization, cookie: passed, origin } = workload.seen.at(-1);
        assert.deepEqual([authorization, passed, origin], [`Bearer ${key}`, undefined, undefined]);
    });

    await t.test('many at once', async () => {
        const all = Array.from({ length: 50 }, () => connect(door, { Cookie: cookie }, door.origin));
        await Promise.all(all.map((socket) => once(socket, 'open')));
        await Promise.all(all.map(async (socket, i) => {
            socket.send(`${i}`);
            assert.equal(String((await once(socket, 'message'))[0]), `${i}`);
            socket.close();
        }));
        assert.equal((await ask(door, { path: '/lab', headers: { Cookie: cookie } })).text, 'page /lab');
    });

    await t.test('another page of the same browser gets nothing', async () => {
        const before = workload.seen.length;
        assert.equal(await refusal(connect(door, { Cookie: cookie }, 'https://evil.example')), 403);
        const rebound = { ...door, authority: `evil.example:${door.port}` };
        assert.equal(await refusal(connect(rebound, { Cookie: cookie }, door.origin)), 421);
        assert.equal((await ask(rebound, { headers: { Cookie: cookie } })).status, 421);
        assert.equal((await ask(door, { path: '/.berth/enter', method: 'POST', body: door.token,
            headers: { Origin: door.origin } })).status, 403);
        assert.equal(workload.seen.length, before);
    });
});
