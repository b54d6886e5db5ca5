// Fifty secrets, each unlike any other, go in wherever something can go in: paths, queries, fields
// and bodies of every operation. None of them comes out where others may look: in the log, errors,
// metrics, tickets, disputes, the evidence of a job, the audit record or a file of the database. (That
// a core file is never written is in tests/server/process_test.cpp.)
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { request as open } from 'node:http';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { good } from './support/client.mjs';
import { startMailbox } from './support/mailbox.mjs';
import { startMemoryChain } from './support/memory_chain.mjs';
import { signIn, signInAdmin, stepUpByMail } from './support/person.mjs';
import { freePort } from './support/server.mjs';
import { startTown } from './support/town.mjs';
import { until } from './support/wait.mjs';

const run = promisify(execFile);
const plenty = '1000000';
const rates = ['rate-public-per-minute', 'rate-account-per-minute', 'rate-sign-in-per-hour',
    'rate-invalid-credentials-per-minute', 'rate-sign-in-codes-per-hour', 'rate-quotes-per-minute',
    'rate-sign-in-mails-per-hour', 'rate-codes-per-hour', 'rate-challenge-per-hour',
    'rate-tickets-per-hour', 'rate-ticket-messages-per-hour', 'rate-enrolments-per-hour',
    'rate-relay-per-minute'];
// These would end what the test needs.
const leftOut = ['sign_out', 'revoke_sessions', 'give_second_factor', 'remove_totp',
    'stream_events', 'stream_operator_events']; // these answers do not end

// What people call things of their own is kept as they wrote it, for them to see: the database has it,
// and nothing that others look at.
const ownNames = ['label', 'name'];

const letters = (bytes) => randomBytes(bytes).toString('base64url').replace(/[-_]/g, 'x');
const hex = (bytes) => randomBytes(bytes).toString('hex');
// A text with a secret, and the part of it that must not be seen again.
const shapes = [
    () => whole(`ark_${letters(30)}`),
    () => whole(`bre_${letters(30)}`),
    () => whole(`brc_${letters(30)}`),
    () => whole(`hf_${letters(30)}`),
    () => whole(`sk-${letters(36)}`),
    () => whole(`ghp_${letters(27)}`),
    () => whole(`0x${hex(32)}`),
    () => whole(`eyJhbGciOiJIUzI1NiJ9.${letters(30)}.${letters(30)}`),
    () => part((secret) => `Bearer ${secret}`, letters(30)),
    () => part((secret) => `session=${secret}`, letters(30)),
    () => part((secret) => `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----`,
        letters(48)),
];
function whole(text) {
    return { text, secret: text };
}
function part(around, secret) {
    return { text: around(secret), secret };
}
const canaries = Array.from({ length: 50 }, (_, i) => shapes[i % shapes.length]());
const named = shapes.map((make) => make()); // these go into names alone

// Every way to put a text into the place of another one in a JSON value.
function* spoiled(value, text) {
    if (typeof value === 'string') {
        yield text;
    } else if (Array.isArray(value)) {
        for (let i = 0; i < value.length; ++i) {
            for (const member of spoiled(value[i], text)) yield value.with?.(i, member) ??
                value.map((it, at) => (at === i ? member : it));
        }
    } else if (value !== null && typeof value === 'object') {
        for (const name of Object.keys(value)) {
            const isOwn = ownNames.includes(name) && typeof value[name] === 'string';
            const texts = isOwn ? named.map((it) => it.text) : spoiled(value[name], text);
            for (const member of texts) yield { ...value, [name]: member };
        }
        yield { ...value, [text.replace(/\n/g, '')]: 1 };
    }
}

function* requestsTo(operation, resolve, next) {
    const { path, method, requestBody } = operation;
    const parameters = (operation.parameters ?? []).map(resolve);
    const value = (it) => encodeURIComponent(String(it?.example ?? randomUUID()));
    const place = (spoil) => path.replace(/\{(\w+)\}/g, (_, name) => (name === spoil
        ? encodeURIComponent(next()) : value(parameters.find((it) => it.name === name))));
    const content = requestBody && Object.entries(resolve(requestBody).content)[0];
    const example = content?.[1].example;
    const body = example === undefined ? undefined : JSON.stringify(example);
    const asIs = { method, path: place(), headers: {}, body };
    for (const { name, in: where } of parameters) {
        if (where === 'path') yield { ...asIs, path: place(name) };
        if (where === 'query') yield { ...asIs, path: `${place()}?${name}=${encodeURIComponent(next())}` };
    }
    yield { ...asIs, path: `${place()}?${encodeURIComponent(next())}=1` };
    for (const name of ['Authorization', 'Cookie', 'Idempotency-Key', 'X-Request-Id', 'User-Agent',
        'Referer', 'X-CSRF-Token', 'Signature-Input', 'Origin']) {
        const bearer = name === 'Authorization' ? 'Bearer ' : name === 'Cookie' ? 'session=' : '';
        yield { ...asIs, headers: { [name]: bearer + next().replace(/\n/g, '') } };
    }
    if (example !== undefined) {
        for (const made of spoiled(example, next())) yield { ...asIs, body: JSON.stringify(made) };
        yield { ...asIs, body: next() };
    }
}

function send(server, { method, path, headers, body }) {
    return new Promise((resolve, reject) => {
        const request = open(server.origin + path, { method, headers }, (response) => {
            const pieces = [];
            response.on('data', (piece) => pieces.push(piece)).on('error', reject);
            response.on('end', () => resolve({ status: response.statusCode,
                text: Buffer.concat(pieces).toString() }));
        });
        request.on('error', reject);
        request.end(body);
    });
}

// What operators and a renter write of a real job and a real account: these texts are kept.
async function workWithSecrets(town, root) {
    const texts = shapes.map((_, i) => canaries[i].text);
    const [hal, ben] = [await town.enlist('hal'), await town.enlist('ben')];
    await town.fund(ben, 50_000_000);
    const host = await town.openHost(hal, 'a');
    const stop = async (who, place, reason) => {
        const job = await town.rent(ben, host);
        await pause(200);  // it has to have a charge that can be given back
        good(await who.post(`${place}/${job}/stop`, { reason }), 202);
        await until('job that is over', async () =>
            (await ben.get(`/api/v1/jobs/${job}`)).body.state === 'CLOSED');
        return job;
    };
    const jobs = [];
    for (const half of [texts.slice(0, 5), texts.slice(5)]) {
        jobs.push(await stop(ben, '/api/v1/jobs', half.join('\n')));
        jobs.push(await stop(root, '/api/v1/admin/jobs', half.join('\n')));
    }
    const { account_id } = good(await ben.get('/api/v1/auth/session'), 200);
    for (const [i, text] of texts.entries()) {
        const { version } = good(await root.get(`/api/v1/admin/users/${account_id}`), 200);
        good(await root.post(`/api/v1/admin/users/${account_id}/actions`, { action: 'revoke_sessions',
            reason: `because ${text}`, expected_version: version }), 200);
        const job_id = jobs[i % jobs.length];
        const claim = { job_id, amount_micro: '1', reason: text, evidence: [text, `see ${text}`] };
        good(await root.post('/api/v1/admin/refunds', claim), 202);
        const { dispute_id } = good(await root.post('/api/v1/admin/disputes', claim), 201);
        good(await root.post(`/api/v1/admin/disputes/${dispute_id}/close`,
            { outcome: 'rejected', reason: text }), 200);
    }
    return { host, jobs };
}

test('fifty secrets that go in everywhere come out nowhere', async (t) => {
    const mailbox = await startMailbox(t);
    const metrics = `127.0.0.1:${await freePort()}`;
    const town = await startTown(t, { chain: await startMemoryChain(t),
        mail: `smtp://127.0.0.1:${mailbox.port}`,
        flags: ['--metrics-listen', metrics, ...rates.flatMap((rate) => [`--${rate}`, plenty])] });
    const { server } = town;
    const ada = await signIn(server, mailbox, 'ada@example.org');
    for (const purpose of ['account-sensitive', 'wallet']) await stepUpByMail(ada, mailbox, purpose);
    const root = await signInAdmin(server, mailbox, 'root@example.org', (email) => run(
        process.env.BERTHD, ['admin', 'create', '--email', email, '--db', server.database,
            '--secrets', server.secrets]));

    const { document } = server.specification;
    const resolve = (it) => it.$ref
        ? it.$ref.slice(2).split('/').reduce((at, name) => at[name], document) : it;
    let used = 0;
    const next = () => canaries[used++ % canaries.length].text;
    const leaks = new Set();
    const look = (where, text, secrets = [...canaries, ...named]) => {
        for (const { secret } of secrets) {
            const at = text.indexOf(secret);
            if (at >= 0) leaks.add(`${where}: ${text.slice(Math.max(0, at - 100), at + 50)}`);
        }
    };
    const counts = {};
    for (const [path, methods] of Object.entries(document.paths)) {
        for (const [method, operation] of Object.entries(methods)) {
            if (leftOut.includes(operation.operationId)) continue;
            const who = path.includes('/admin/') ? root : ada;
            for (const made of requestsTo({ path, method: method.toUpperCase(), ...operation },
                resolve, next)) {
                const headers = { ...who.headers(made.method), 'Idempotency-Key': randomUUID(),
                    ...(made.body !== undefined && { 'Content-Type': 'application/json' }), ...made.headers };
                const answer = await send(server, { ...made, headers });
                counts[answer.status] = (counts[answer.status] ?? 0) + 1;
                if (answer.status >= 400) look(`error of ${operation.operationId}`, answer.text);
            }
        }
    }
    assert.ok(counts[200] + counts[201] + counts[202] > 20, JSON.stringify(counts));
    await root.grant();
    const { host, jobs } = await workWithSecrets(town, root);
    for (const job of jobs) {
        const { text } = await host.account.get(`/api/v1/jobs/${job}/evidence?limit=100`);
        assert.match(text, /STOP/);
        look('evidence', text);
    }
    const { text } = await send(server, { method: 'GET', path: '/metrics', headers: {} })
        .catch(() => ({ text: '' }));
    look('metrics', text + await (await fetch(`http://${metrics}/metrics`)).text());
    for (const list of ['audit', 'settings', 'users', 'tasks', 'disputes', 'jobs', 'templates']) {
        for (let cursor = ''; cursor !== null;) {
            const page = await root.get(`/api/v1/admin/${list}?limit=100${cursor}`);
            look(`admin's ${list}`, page.text);
            const next = good(page, 200).next_cursor;
            cursor = next && `&cursor=${encodeURIComponent(next)}`;
        }
    }
    look('tickets', (await ada.get('/api/v1/tickets?limit=100')).text);
    await server.stop();
    for (const line of server.log) look('log', JSON.stringify(line));
    const folder = dirname(server.database.replace('sqlite:', ''));
    for (const entry of await readdir(folder, { withFileTypes: true })) {
        if (!entry.isFile()) continue;
        look(`file ${entry.name}`, (await readFile(join(folder, entry.name))).toString('latin1'), canaries);
    }
    t.diagnostic(`${used} places, answers ${JSON.stringify(counts)}`);
    assert.deepEqual([...leaks], []);
});
