// Answers that are bad, strange, or larger than expected: errors by code, foreign servers, pages.
import assert from 'node:assert/strict';
import test from 'node:test';
import { BerthError, money } from 'berth-client';
import { makeClient } from './support/client.mjs';
import { envelope, startMarket } from './support/market.mjs';

const id = '01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57';

test('a refusal has its code, its request id, the member and what else was told', async (t) => {
    const market = await startMarket(t);
    const client = makeClient(market);
    const told = envelope('VERSION_CONFLICT', 'body.expected_budget_version: is 3 by now; body.add_micro: too small');
    market.on('POST /api/v1/jobs/{id}/budget', () => (
        { status: 409, body: { ...told, current: { budget_version: '3' } }, headers: { 'Berth-Step-Up': 'wallet' } }));
    await assert.rejects(client.call('raise_budget',
        { path: { id }, body: { add_micro: '1', expected_budget_version: '2' } }), (error) => {
        assert.ok(error instanceof BerthError && error instanceof Error);
        assert.equal(error.code, 'VERSION_CONFLICT');
        assert.equal(error.status, 409);
        assert.equal(error.requestId, told.error.request_id);
        assert.equal(error.member, 'body.expected_budget_version');
        assert.equal(error.stepUp, 'wallet');
        assert.equal(error.body.current.budget_version, '3');
        assert.equal(error.mayHaveHappened, false);
        return true;
    });
});

test('a code that nobody knows yet passes, and a message that names no member has none', async (t) => {
    const market = await startMarket(t);
    market.on('GET /api/v1/jobs', () => ({ status: 418, body: envelope('TEAPOT', 'note: this is no member') }));
    await assert.rejects(makeClient(market).call('list_jobs'), { code: 'TEAPOT', status: 418, member: null });
});

test('a foreign server that answers with pages is no Berth server', async (t) => {
    const market = await startMarket(t);
    const client = makeClient(market);
    const html = '<!doctype html><title>Welcome to the hotel</title>';
    for (const status of [200, 404, 500]) {
        market.seen = [];
        market.on('GET /api/v1/jobs', () => ({ status, body: html }));
        await assert.rejects(client.call('list_jobs'), { code: 'UNEXPECTED_ANSWER', status, body: html });
        assert.equal(market.seen.length, 1);
    }
    // JSON that is no envelope.
    for (const body of [{}, [], { error: 'no' }, { error: { code: 7 } }]) {
        market.on('GET /api/v1/jobs', () => ({ status: 400, body }));
        await assert.rejects(client.call('list_jobs'), { code: 'UNEXPECTED_ANSWER', status: 400 });
    }
    // A page instead of the answer to a change leaves open whether it was made.
    market.on('POST /api/v1/quotes', () => ({ status: 200, body: html }));
    await assert.rejects(client.call('create_quote', { body: { offer_id: id, duration_limit_s: 60, budget_micro: '1' } }),
        { code: 'UNEXPECTED_ANSWER', mayHaveHappened: true });
});

test('no redirect is followed, and the key goes nowhere else', async (t) => {
    const market = await startMarket(t);
    const thief = await startMarket(t);
    const client = makeClient(market);
    for (const status of [301, 302, 303, 307, 308]) {
        market.on('GET /api/v1/jobs', () => ({ status, body: '', headers: { Location: `${thief.origin}/api/v1/jobs` } }));
        await assert.rejects(client.call('list_jobs'), { code: 'REDIRECTED', status });
    }
    assert.equal(thief.seen.length, 0);
});

test('a parameter cannot make it another route', async (t) => {
    const market = await startMarket(t);
    const client = makeClient(market);
    for (const bad of ['', '.', '..', undefined]) {
        await assert.rejects(client.call('show_job', { path: { id: bad } }), TypeError);
    }
    await assert.rejects(client.call('show_job', { path: { id: '../../admin/users?x=1' } }), { code: 'NOT_FOUND' });
    assert.equal(market.seen[0].path, '/api/v1/jobs/..%2F..%2Fadmin%2Fusers%3Fx%3D1');
});

test('a key with a line break is refused before anything is sent', async (t) => {
    const market = await startMarket(t);
    await assert.rejects(makeClient(market, { apiKey: 'ark_x\r\nX-Other: 1' }).call('list_jobs'), TypeError);
    assert.equal(market.seen.length, 0);
});

test('members, choices and amounts that are not known pass as they are', async (t) => {
    const market = await startMarket(t);
    const billing = await makeClient(market).call('show_balances');
    assert.deepEqual(billing.unheard_of, { x: 1 });
    assert.equal(billing.spendable_micro, '12345678901234567890');
    assert.equal(money.toUnits(billing.spendable_micro), '12345678901234.567890');
});

test('items come from all pages, and only as far as they are wanted', async (t) => {
    const market = await startMarket(t);
    const client = makeClient(market);
    market.offers = Array.from({ length: 45 }, (_, n) => ({ offer_id: String(n) }));
    const all = [];
    for await (const offer of client.items('list_offers', { query: { model: '4090' } })) all.push(offer.offer_id);
    assert.deepEqual(all, market.offers.map((offer) => offer.offer_id));
    assert.deepEqual(market.seen.map(({ query }) => query),
        [{ model: '4090' }, { model: '4090', cursor: '20' }, { model: '4090', cursor: '40' }]);
    market.seen = [];
    for await (const _ of client.items('list_offers', { query: { after: '7', limit: 30 } }));
    assert.deepEqual(market.seen.map(({ query }) => query), [{ after: '7', limit: '30' }, { limit: '30', cursor: '30' }],
        'a cursor has its beginning in it');
    market.seen = [];
    for await (const page of client.pages('list_offers')) if (page.items.length) break;
    assert.equal(market.seen.length, 1);
});

test('a server whose pages go round in a circle is left', async (t) => {
    const market = await startMarket(t);
    const next = { undefined: 'a', a: 'b', b: 'a' };
    market.on('GET /api/v1/offers', ({ query }) => (
        { status: 200, body: { items: [1], next_cursor: next[query.cursor] } }));
    await assert.rejects(async () => {
        for await (const offer of makeClient(market).items('list_offers')) assert.equal(offer, 1);
    }, { code: 'UNEXPECTED_ANSWER' });
    assert.equal(market.seen.length, 3);
});

test('an operation that the table does not have yet can be asked for by its path', async (t) => {
    const market = await startMarket(t);
    market.on('POST /api/v1/webhooks', ({ headers }) => ({ status: 201, body: { key: headers['idempotency-key'] } }));
    const made = await makeClient(market).request({ method: 'POST', path: '/api/v1/webhooks', keyed: true },
        { body: { url: 'https://hooks.example.org/' } });
    assert.equal(made.key, market.seen[0].headers['idempotency-key']);
});

test('amounts are exact, whatever their size', () => {
    assert.equal(money.fromUnits('1.25'), '1250000');
    assert.equal(money.fromUnits('0.000001'), '1');
    assert.equal(money.fromUnits('-0.5'), '-500000');
    assert.equal(money.fromUnits('9007199254740993.000001'), '9007199254740993000001');
    for (const bad of ['1.0000001', '1e3', '', '.5', '1.', ' 1', '1,5', 'Infinity', '0x10']) {
        assert.throws(() => money.fromUnits(bad), TypeError, bad);
    }
    assert.equal(money.toUnits('1250000'), '1.250000');
    assert.equal(money.toUnits('1259999', 2), '1.25');
    assert.equal(money.toUnits('-1', 2), '-0.01');
    assert.equal(money.toUnits('-1250000', 2), '-1.25');
    assert.equal(money.toUnits('999999', 0), '0');
    assert.equal(money.toUnits('0', 4), '0.0000');
    for (const bad of ['', ' 1', '0x10', '01', '-0', '1.0', '1e3', 5, 5n, null, undefined]) {
        assert.throws(() => money.micro(bad), TypeError, String(bad));
    }
    assert.equal(money.charge('3600000', '1', '1000000'), '1');
    assert.equal(money.charge('2000000', '1799999', '5000000'), '999999');
    assert.equal(money.charge('3600000', '99999999999', '1000000'), '1000000', 'never more than the budget');
});
