// Renting in one call, with everything on the way going wrong in turn: at most one rental, and none unseen.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { makeClient } from './support/client.mjs';
import { drop, dropBefore, envelope, instead, startMarket } from './support/market.mjs';

const wish = { offer_id: randomUUID(), template_id: randomUUID(), duration_limit_s: 3600, budget_micro: '1000000' };
const reserve = 'POST /api/v1/jobs';
const look = 'GET /api/v1/jobs/{id}';
const stop = 'POST /api/v1/jobs/{id}/stop';

test('a rental is quoted, reserved and waited for', async (t) => {
    const market = await startMarket(t);
    const looks = [];
    const rental = await makeClient(market).rent({ ...wish, ssh_public_key: 'ssh-ed25519 AAAA me',
        onLook: ({ state }) => looks.push(state) });
    assert.equal(rental.state, 'RUNNING');
    assert.deepEqual(looks, ['RESERVED', 'STARTING', 'RUNNING']);
    assert.deepEqual(market.sent('POST /api/v1/quotes')[0].body, wish);
    assert.deepEqual(market.sent(reserve)[0].body,
        { quote_id: rental.quote_id, ssh_public_key: 'ssh-ed25519 AAAA me' });
    assert.equal(market.sent(stop).length, 0);
});

test('the same key rents the same machine again, in another process too', async (t) => {
    const market = await startMarket(t);
    const idempotencyKey = randomUUID();
    const first = await makeClient(market).rent({ ...wish, idempotencyKey });
    const second = await makeClient(market).rent({ ...wish, idempotencyKey });
    assert.equal(first.job_id, second.job_id);
    assert.equal(market.jobs.size, 1);
});

test('answers that are lost on the way do not make another rental', async (t) => {
    const market = await startMarket(t);
    market.spoil('POST /api/v1/quotes', drop, drop);
    market.spoil(reserve, drop, drop);
    market.spoil(look, drop, drop, drop, drop); // longer than one call tries
    const rental = await makeClient(market).rent(wish);
    assert.deepEqual([...market.jobs.keys()], [rental.job_id]);
});

test('a rental that fails says why, and needs no stop', async (t) => {
    const market = await startMarket(t);
    market.plan = ['RESERVED', 'FAILED'];
    market.facts = { failure: { code: 'IMAGE_NOT_FOUND', message: 'there is no such image' }, end_reason: 'never_ready' };
    await assert.rejects(makeClient(market).rent(wish), (error) => {
        assert.equal(error.code, 'RENTAL_FAILED');
        assert.match(error.message, /no such image.*IMAGE_NOT_FOUND/);
        assert.ok(market.jobs.has(error.jobId));
        assert.equal(error.body.failure.code, 'IMAGE_NOT_FOUND');
        return true;
    });
    assert.equal(market.sent(stop).length, 0);
});

test('whoever gives up while it starts does not pay for it', async (t) => {
    const market = await startMarket(t);
    market.plan = ['STARTING'];
    const enough = new AbortController();
    const renting = makeClient(market).rent({ ...wish, signal: enough.signal, onLook: () => enough.abort(new Error('enough')) });
    await assert.rejects(renting, /enough/);
    assert.equal(market.sent(stop).length, 1);
    assert.ok([...market.jobs.values()][0].stopped);
});

test('what does not run in time is stopped', async (t) => {
    const market = await startMarket(t);
    market.plan = ['STARTING', 'A_STATE_OF_LATER'];
    await assert.rejects(makeClient(market).rent({ ...wish, timeoutMs: 300 }), { code: 'WAIT_TIMEOUT' });
    assert.ok([...market.jobs.values()][0].stopped);
});

test('a reservation whose answers were all lost is found by its key and stopped', async (t) => {
    const market = await startMarket(t);
    market.spoil(reserve, drop, drop, drop);
    await assert.rejects(makeClient(market).rent(wish), { code: 'NETWORK' });
    assert.equal(market.jobs.size, 1);
    assert.ok([...market.jobs.values()][0].stopped);
});

test('one that the server took while the caller gave up is stopped, too', async (t) => {
    const market = await startMarket(t);
    const enough = new AbortController();
    market.spoil(reserve, (response) => {
        enough.abort(new Error('enough'));
        response.destroy();
    });
    await assert.rejects(makeClient(market).rent({ ...wish, signal: enough.signal }), /enough/);
    assert.equal(market.jobs.size, 1);
    assert.ok([...market.jobs.values()][0].stopped);
});

test('what cannot be stopped is told by its id, or by its key where it has none', async (t) => {
    const market = await startMarket(t);
    market.plan = ['STARTING'];
    market.spoil(stop, dropBefore, dropBefore, dropBefore);
    await assert.rejects(makeClient(market).rent({ ...wish, timeoutMs: 300 }), (error) => {
        assert.equal(error.code, 'RENTAL_LEFT');
        assert.ok(market.jobs.has(error.jobId));
        assert.equal(error.cause.code, 'WAIT_TIMEOUT');
        return true;
    });
    const idempotencyKey = randomUUID();
    market.spoil(reserve, ...Array(6).fill(drop));
    await assert.rejects(makeClient(market).rent({ ...wish, idempotencyKey }),
        { code: 'RENTAL_LEFT', jobId: null, idempotencyKey });
});

test('a refusal is told as it is, and nothing is asked for after it', async (t) => {
    const market = await startMarket(t);
    market.spoil(reserve, instead(409, envelope('INSUFFICIENT_FUNDS')));
    await assert.rejects(makeClient(market).rent(wish), { code: 'INSUFFICIENT_FUNDS' });
    assert.deepEqual(market.seen.map(({ route }) => route), ['POST /api/v1/quotes', reserve]);
    // The first attempt was lost before it was taken, the second refused: there is nothing to stop.
    market.seen = [];
    market.spoil(reserve, dropBefore, instead(409, envelope('CONFLICT')));
    await assert.rejects(makeClient(market).rent(wish), { code: 'CONFLICT' });
    assert.equal(market.sent(stop).length, 0);
});

test('a wait outlives a restart of the server and ends with what is asked for', async (t) => {
    const market = await startMarket(t);
    const client = makeClient(market);
    const { job_id } = await client.rent(wish);
    market.plan = ['RUNNING', 'STOPPING', 'STOPPED', 'STOPPED', 'CLOSED'];
    market.jobs.get(job_id).looks = 0;
    const page = instead(502, '<html></html>');
    market.spoil(look, page, page, page, instead(503, envelope('UNAVAILABLE')), instead(429, envelope('UNAVAILABLE')));
    assert.equal((await client.rentals.wait(job_id, { until: 'STOPPED' })).state, 'STOPPED');
    assert.equal((await client.rentals.wait(job_id, { until: 'CLOSED' })).state, 'CLOSED');
    await assert.rejects(client.rentals.wait(job_id), { code: 'RENTAL_ENDED' });
    await assert.rejects(client.rentals.wait(randomUUID()), { code: 'NOT_FOUND' });
});
