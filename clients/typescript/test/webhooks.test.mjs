// Deliveries as Standard Webhooks signs them, made here by node's own cryptography, and as others forge them.
import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import test from 'node:test';
import { webhooks } from 'berth-client';

const key = randomBytes(32);
const secret = `whsec_${key.toString('base64')}`;
const event = { event_id: 'e1', sequence: '42', type: 'rental.running', data: { note: 'ä€😀' } };
const body = JSON.stringify(event);
const nowMs = 1_763_373_600_000;
const at = String(nowMs / 1000);

function sign(id = 'e1', time = at, text = body, by = key) {
    return `v1,${createHmac('sha256', by).update(`${id}.${time}.${text}`).digest('base64')}`;
}

function headers(changes = {}) {
    return { 'webhook-id': 'e1', 'webhook-timestamp': at, 'webhook-signature': sign(), ...changes };
}
const verify = (changes = {}) => webhooks.verify({ secret, headers: headers(), body, nowMs, ...changes });
const isRefused = (changes) => assert.rejects(verify(changes), { code: 'SIGNATURE_INVALID' }, JSON.stringify(changes));

test('a delivery that was signed is its event, in whatever form it came', async () => {
    assert.deepEqual(await verify(), event);
    assert.deepEqual(await verify({ body: new TextEncoder().encode(body) }), event);
    assert.deepEqual(await verify({ body: Buffer.from(body) }), event);
    assert.deepEqual(await verify({ headers: new Headers(headers()) }), event);
    const loud = Object.fromEntries(Object.entries(headers()).map(([name, value]) => [name.toUpperCase(), value]));
    assert.deepEqual(await verify({ headers: loud }), event);
});

test('the example of the standard is verified', async () => {
    const sample = { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', body: '{"test": 2432232314}', nowMs: 1614265330_000,
        headers: { 'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek', 'webhook-timestamp': '1614265330',
            'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=' } };
    assert.deepEqual(await webhooks.verify(sample), { test: 2432232314 });
});

test('while a secret is exchanged either of two is enough', async () => {
    const other = sign('e1', at, body, randomBytes(32));
    for (const both of [`${other} ${sign()}`, `${sign()} ${other}`, `v2,AAAA v1a,x ${sign()}`]) {
        assert.deepEqual(await verify({ headers: headers({ 'webhook-signature': both }) }), event);
    }
});

test('what was changed, is old, or is another\'s is refused', async () => {
    await isRefused({ body: body.replace('42', '43') });
    await isRefused({ body: `${body} ` });
    await isRefused({ secret: `whsec_${randomBytes(32).toString('base64')}` });
    await isRefused({ headers: headers({ 'webhook-id': 'e2' }) });
    await isRefused({ headers: headers({ 'webhook-timestamp': String(Number(at) + 1) }) });
    await isRefused({ nowMs: nowMs + 301_000 });
    await isRefused({ nowMs: nowMs - 301_000 });
    assert.deepEqual(await verify({ nowMs: nowMs + 3_000_000, toleranceS: 3600 }), event);
    for (const signature of ['', 'v1', 'v1,', 'v1,!!!', sign().slice(3), `v2,${sign().slice(3)}`, `${sign()}x`,
        sign().slice(0, -2), undefined, [sign(), sign()]]) {
        await isRefused({ headers: headers({ 'webhook-signature': signature }) });
    }
    for (const time of ['', 'NaN', '1e9', '-1', '9'.repeat(30), undefined]) {
        await isRefused({ headers: headers({ 'webhook-timestamp': time, 'webhook-signature': sign('e1', time) }) });
    }
    await isRefused({ headers: {} });
    await assert.rejects(verify({ secret: '' }), TypeError);
    await assert.rejects(verify({ secret: 'whsec_' }), TypeError);
});
