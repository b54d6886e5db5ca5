// What happens to a change whose answer is lost, late, or bad: it is made once.
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { createServer } from 'node:net';
import test from 'node:test';
import { BerthError, Client } from 'berth-client';
import { makeClient, uuid } from './support/client.mjs';
import { cut, drop, dropBefore, envelope, instead, silence, startMarket } from './support/market.mjs';

const wish = { offer_id: '01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57', template_id: '01941f29-7c00-7a3e-9b1d-2f4c6a8e0b58',
    duration_limit_s: 3600, budget_micro: '1000000' };
const busy = () => envelope('UNAVAILABLE', 'too many requests', true);
const reserve = 'POST /api/v1/jobs';
const chat = 'POST /api/v1/jobs/{id}/openai/v1/chat/completions';

async function quoted(client) {
    return (await client.call('create_quote', { body: wish })).quote_id;
}

// The error that a call ends with.
async function failure(call) {
    const error = await call.then(() => undefined, (fault) => fault);
    assert.ok(error instanceof BerthError, String(error));
    return error;
}

for (const [name, how] of Object.entries({ dropped: drop, 'cut in half': cut })) {
    test(`an answer that is ${name} after the commit gives one job, by one key`, async (t) => {
        const market = await startMarket(t);
        const client = makeClient(market);
        const quote_id = await quoted(client);
        market.spoil(reserve, how, how);
        const { job_id } = await client.call('create_job', { body: { quote_id } });
        assert.deepEqual([...market.jobs.keys()], [job_id]);
        const keys = market.sent(reserve).map((each) => each.headers['idempotency-key']);
        assert.equal(keys.length, 3);
        assert.equal(new Set(keys).size, 1);
        assert.match(keys[0], uuid);
        assert.equal(client.waits.length, 2);
        assert.ok(client.waits[0] >= 250 && client.waits[0] <= 500, `${client.waits}`);
        assert.ok(client.waits[1] >= 500 && client.waits[1] <= 1000, `${client.waits}`);
    });
}

test('each change has a key of its own, and a read has none', async (t) => {
    const market = await startMarket(t);
    const client = makeClient(market);
    await quoted(client);
    await quoted(client);
    await client.call('list_jobs');
    const keys = market.sent('POST /api/v1/quotes').map((each) => each.headers['idempotency-key']);
    assert.equal(new Set(keys).size, 2);
    assert.equal(market.sent('GET /api/v1/jobs')[0].headers['idempotency-key'], undefined);
});

test('a page of plain http, which has no randomUUID, makes keys of the same kind', async (t) => {
    Object.defineProperty(webcrypto, 'randomUUID', { value: undefined, configurable: true });
    t.after(() => { delete webcrypto.randomUUID; });
    const market = await startMarket(t);
    const client = makeClient(market);
    for (let made = 0; made < 64; ++made) await quoted(client);
    const keys = market.sent('POST /api/v1/quotes').map((each) => each.headers['idempotency-key']);
    assert.equal(new Set(keys).size, 64);
    for (const key of keys) assert.match(key, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('when all answers are lost the error has the key, and the key goes on with the change', async (t) => {
    const market = await startMarket(t);
    const client = makeClient(market);
    const quote_id = await quoted(client);
    market.spoil(reserve, drop, drop, drop);
    const error = await failure(client.call('create_job', { body: { quote_id } }));
    assert.equal(error.code, 'NETWORK');
    assert.equal(error.mayHaveHappened, true);
    const { job_id } = await client.call('create_job',
        { body: { quote_id }, idempotencyKey: error.idempotencyKey });
    assert.deepEqual([...market.jobs.keys()], [job_id]);
});

test('that an earlier attempt may have been taken is not forgotten when a later one was not', async (t) => {
    const market = await startMarket(t);
    const client = makeClient(market, { retries: 1 });
    const quote_id = await quoted(client);
    market.spoil(reserve, drop, instead(401, envelope('UNAUTHENTICATED')));
    const unknown = await failure(client.call('create_job', { body: { quote_id } }));
    assert.equal(unknown.code, 'UNAUTHENTICATED');
    assert.equal(unknown.mayHaveHappened, true);
    market.spoil(reserve, dropBefore, instead(409, envelope('CONFLICT')));
    const known = await failure(client.call('create_job', { body: { quote_id } }));
    assert.equal(known.mayHaveHappened, false, 'a key that had made it would have its answer');
});

test('429 is waited out for as long as Retry-After says', async (t) => {
    const market = await startMarket(t);
    const client = makeClient(market);
    market.spoil('GET /api/v1/jobs', instead(429, busy(), { 'Retry-After': '7' }),
        instead(429, busy(), { 'Retry-After': new Date(Date.now() + 20_000).toUTCString() }));
    assert.deepEqual((await client.call('list_jobs')).items, []);
    assert.ok(client.waits[0] >= 7_000 && client.waits[0] <= 8_000, `${client.waits}`);
    assert.ok(client.waits[1] >= 18_000 && client.waits[1] <= 22_000, `${client.waits}`);
});

test('two retries and no more, and none where none helps', async (t) => {
    const market = await startMarket(t);
    const list = 'GET /api/v1/jobs';
    const cases = [
        [503, busy(), {}, 3],
        [429, busy(), {}, 3],
        [503, envelope('UNAVAILABLE'), {}, 1], // not retryable
        [503, busy(), { 'x-should-retry': 'false' }, 1],
        [429, busy(), { 'Retry-After': '86400' }, 1], // nobody waits that long
        [429, busy(), { 'Retry-After': '9'.repeat(400) }, 1],
        [429, busy(), { 'Retry-After': 'soon' }, 3],
        [503, '<html>back soon</html>', { 'Retry-After': '1' }, 3], // a proxy's way to say retryable
        [503, '<html>back soon</html>', {}, 1],
        [502, '<html>bad gateway</html>', {}, 3],
        [504, '<html>gateway timeout</html>', {}, 3],
        [500, envelope('INTERNAL', 'x', true), {}, 1],
        [409, envelope('CONFLICT', 'x', true), {}, 1],
    ];
    for (const [status, body, headers, attempts] of cases) {
        const client = makeClient(market);
        market.seen = [];
        market.on(list, () => ({ status, body, headers }));
        const error = await failure(client.call('list_jobs'));
        assert.equal(error.status, status);
        assert.equal(market.seen.length, attempts, `${status} ${JSON.stringify(headers)}`);
    }
});

test('a change without a key is not sent again once it was sent', async (t) => {
    const market = await startMarket(t);
    const client = makeClient(market);
    const id = '01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57';
    const ask = () => client.call('relay_chat_completions', { path: { id }, body: { model: 'm' } });
    for (const how of [dropBefore, instead(503, busy()), instead(429, busy()), instead(502, '<html></html>')]) {
        market.seen = [];
        market.spoil(chat, how);
        await failure(ask());
        assert.equal(market.sent(chat).length, 1);
    }
    // Nobody listens there: it was never sent.
    const port = await closedPort();
    const nobody = makeClient({ origin: `http://127.0.0.1:${port}` });
    const error = await failure(nobody.call('start_sign_in', { body: { email: 'a@example.org' } }));
    assert.equal(error.neverSent, true);
    assert.equal(error.mayHaveHappened, false);
    assert.equal(nobody.waits.length, 2);
});

test('a server that says nothing is given up in time, by the same key again', async (t) => {
    const market = await startMarket(t);
    const client = makeClient(market);
    const quote_id = await quoted(client);
    market.spoil(reserve, silence);
    const { job_id } = await client.call('create_job', { body: { quote_id }, timeoutMs: 1000 });
    assert.deepEqual([...market.jobs.keys()], [job_id]);
    assert.equal(new Set(market.sent(reserve).map((each) => each.headers['idempotency-key'])).size, 1);
    market.spoil('GET /api/v1/jobs', silence);
    const error = await failure(client.call('list_jobs', { timeoutMs: 50, retries: 0 }));
    assert.equal(error.code, 'TIMEOUT');
});

test('the caller may abort, while it waits for an answer and while it waits to try again', async (t) => {
    const market = await startMarket(t);
    const client = makeClient(market);
    market.spoil('GET /api/v1/jobs', silence);
    const stop = new AbortController();
    const waiting = client.call('list_jobs', { signal: stop.signal });
    market.heard = () => stop.abort(new Error('enough'));
    await assert.rejects(waiting, /enough/);
    market.heard = undefined;
    assert.equal(market.seen.length, 1);

    const patient = new Client({ baseUrl: market.origin, apiKey: 'ark_test' });
    market.spoil('GET /api/v1/jobs', instead(429, busy(), { 'Retry-After': '50' }));
    await assert.rejects(patient.call('list_jobs', { signal: AbortSignal.timeout(100) }), { name: 'TimeoutError' });
    await assert.rejects(patient.call('list_jobs', { signal: AbortSignal.abort(new Error('before')) }), /before/);
});

test('a limit too long for a timer is not one that is over at once', async (t) => {
    const market = await startMarket(t);
    const client = makeClient(market, { timeoutMs: Number.MAX_SAFE_INTEGER });
    assert.deepEqual((await client.call('list_jobs')).items, []);
});

async function closedPort() {
    const server = createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    return port;
}
