// A browser's session: the cookie is the browser's affair, the CSRF token ours, in memory alone.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Client } from 'berth-client';
import { makeClient } from './support/client.mjs';
import { envelope, startMarket } from './support/market.mjs';

const id = '01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57';
const stop = 'POST /api/v1/jobs/{id}/stop';
const session = 'GET /api/v1/auth/session';
const wrongToken = () => ({ status: 403, body: envelope('FORBIDDEN', 'header.X-CSRF-Token: must be that of this session') });

async function startSession(t) {
    const market = await startMarket(t);
    market.token = 'first';
    market.on(session, () => ({ status: 200, body: { csrf_token: market.token } }));
    market.on(stop, ({ headers }) => headers['x-csrf-token'] === market.token
        ? { status: 202, body: { state: 'STOPPING' } } : wrongToken());
    return { market, client: makeClient(market, { apiKey: undefined }) };
}
const end = (client) => client.call('stop_job', { path: { id }, body: { reason: 'done' } });

test('after a reload the token is read once, and the change is sent again by its key', async (t) => {
    const { market, client } = await startSession(t);
    await end(client);
    assert.deepEqual(market.seen.map(({ route }) => route), [stop, session, stop]);
    assert.equal(new Set(market.sent(stop).map(({ headers }) => headers['idempotency-key'])).size, 1);
    assert.equal(client.waits.length, 0);
    await end(client);
    assert.equal(market.sent(session).length, 1);
    assert.equal(market.sent(stop)[0].headers.authorization, undefined);
});

test('a token that another tab renewed is read by one request for all', async (t) => {
    const { market, client } = await startSession(t);
    await end(client);
    market.token = 'second';
    await Promise.all([end(client), end(client), end(client)]);
    assert.ok(market.sent(session).length <= 4); // one before, and at most one for each
    assert.equal(market.sent(stop).at(-1).headers['x-csrf-token'], 'second');
});

test('what one account asked for is not sent as another that has signed in elsewhere', async (t) => {
    const { market, client } = await startSession(t);
    market.account = 'ada';
    market.on(session, () => ({ status: 200, body: { account_id: market.account, csrf_token: market.token } }));
    await client.call('show_session');
    Object.assign(market, { account: 'ben', token: 'second', seen: [] });
    await assert.rejects(end(client), { code: 'FORBIDDEN', member: 'header.X-CSRF-Token' });
    await assert.rejects(Promise.all([end(client), end(client)]), { code: 'FORBIDDEN' });
    assert.deepEqual([...new Set(market.sent(stop).map(({ headers }) => headers['x-csrf-token']))], ['first']);
});

test('whoever is refused again is not asked for ever', async (t) => {
    const { market, client } = await startSession(t);
    market.on(stop, wrongToken);
    await assert.rejects(end(client), { code: 'FORBIDDEN', member: 'header.X-CSRF-Token' });
    assert.equal(market.sent(stop).length, 2);
    market.seen = [];
    market.on(stop, () => ({ status: 403, body: envelope('FORBIDDEN', 'a step-up is missing') }));
    await assert.rejects(end(client), { code: 'FORBIDDEN' });
    assert.equal(market.seen.length, 1, 'another refusal is no matter of tokens');
});

test('signing in and stepping up bring the token, also for what is relayed', async (t) => {
    const { market, client } = await startSession(t);
    market.on('POST /api/v1/auth/email/verify', () => ({ status: 200, body: { csrf_token: market.token } }));
    market.on('POST /api/v1/account/step-up', () => {
        market.token = 'third';
        return { status: 200, body: { csrf_token: 'third' } };
    });
    await client.call('verify_sign_in', { body: { email: 'a@example.org', code: '123456' } });
    await end(client);
    await client.call('step_up', { body: { purpose: 'wallet', code: '123456' } });
    await end(client);
    const answer = await client.open('relay_models', { path: { id } });
    assert.deepEqual(await answer.json(), { data: [{ id: 'model' }] });
    assert.equal(market.seen.at(-1).headers['x-csrf-token'], 'third');
    assert.equal(market.sent(session).length, 0);
});

test('what an engine answers is no token, and no account', async (t) => {
    const { market, client } = await startSession(t);
    market.on(session, () => ({ status: 200, body: { account_id: 'ada', csrf_token: market.token } }));
    market.on('GET /api/v1/jobs/{id}/openai/v1/models',
        () => ({ status: 200, body: { data: [], csrf_token: 'of the engine', account_id: 'of the engine' } }));
    await client.call('show_session');
    await client.call('relay_models', { path: { id } });
    await end(client);
    assert.deepEqual(market.sent(stop).map(({ headers }) => headers['x-csrf-token']), ['first']);
});

test('a session that is over is an error, and no loop', async (t) => {
    const { market, client } = await startSession(t);
    market.on(session, () => ({ status: 401, body: envelope('UNAUTHENTICATED', 'session ended') }));
    await assert.rejects(end(client), { code: 'UNAUTHENTICATED', status: 401 });
});

test('with a key there is no token and no cookie, in a page the page\'s own server is asked', async (t) => {
    const asked = [];
    const fetch = async (url, init) => {
        asked.push({ url, init });
        return new Response('{"csrf_token":"x"}', { headers: { 'content-type': 'application/json' } });
    };
    globalThis.location = { origin: 'https://berth.example' };
    t.after(() => delete globalThis.location);
    const keyed = new Client({ fetch, apiKey: 'ark_x' });
    await keyed.call('show_session');
    await keyed.call('show_session');
    await new Client({ fetch }).call('show_session');
    assert.equal(asked[0].url, 'https://berth.example/api/v1/auth/session');
    assert.deepEqual(asked.map(({ init }) => init.credentials), ['omit', 'omit', 'same-origin']);
    assert.equal(asked[1].init.headers.get('x-csrf-token'), null);
    delete globalThis.location;
    assert.throws(() => new Client({ fetch }), /baseUrl/);
});
