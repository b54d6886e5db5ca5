// Streams that are cut, repeated, spoilt and silent: each event once, in order, from the right number.
import assert from 'node:assert/strict';
import test from 'node:test';
import { frames } from 'berth-client';
import { makeClient } from './support/client.mjs';
import { dropBefore, envelope, instead, startMarket, stream } from './support/market.mjs';

const route = 'GET /api/v1/events/stream';
const event = (number, type = 'rental.running') => ({ event_id: `e${number}`, sequence: String(number), type,
    timestamp: '2026-11-17T10:00:00Z', subject: { kind: 'rental', id: 'r' }, data: { state: 'RUNNING' } });
const frame = (number, type) =>
    `id: ${number}\nevent: ${type ?? 'rental.running'}\ndata: ${JSON.stringify(event(number, type))}\n\n`;
const begin = (place) => `retry: 2000\nid: ${place}\n\n`;

// Each connection gets the next of these; the last one stays.
async function startStreams(t, ...connections) {
    const market = await startMarket(t);
    market.on(route, (seen, response) => (connections.shift() ?? stream([], 'stay'))(seen, response));
    return market;
}

async function take(stream, count) {
    const numbers = [];
    for await (const { sequence } of stream) {
        numbers.push(sequence);
        if (numbers.length === count) break;
    }
    return numbers;
}

async function parse(...pieces) {
    const all = [];
    const encoder = new TextEncoder();
    const body = new ReadableStream({ start(controller) {
        for (const piece of pieces) controller.enqueue(typeof piece === 'string' ? encoder.encode(piece) : piece);
        controller.close();
    } });
    for await (const each of frames(body)) all.push(each);
    return all;
}

test('a stream that is cut in an event goes on at its number, and repeats are dropped', async (t) => {
    const market = await startStreams(t,
        stream([begin(7), frame(8), frame(9).slice(0, 40)]),
        stream([begin(8), frame(8), frame(9), frame(9), frame(8), frame(10)], 'end'),
        stream([frame(11)], 'stay'));
    const client = makeClient(market);
    assert.deepEqual(await take(client.events.stream(), 4), ['8', '9', '10', '11']);
    assert.deepEqual(market.seen.map(({ query }) => query), [{}, { after: '8' }, { after: '10' }]);
    assert.equal(market.seen[0].headers.accept, 'text/event-stream');
    for (const ms of client.waits) assert.ok(ms >= 1000 && ms <= 2000, `${client.waits}`);
});

test('a hundred cuts lose nothing and repeat nothing', async (t) => {
    const market = await startMarket(t);
    let asked = 0;
    market.on(route, (seen, response) => {
        const place = Number(seen.query.after ?? 0);
        const text = [place, place + 1, place + 2, place + 3].filter((each) => each > 0).map((each) => frame(each)).join('');
        const end = ++asked * 137 % text.length; // anywhere
        return stream([begin(place), text.slice(0, end), ...(asked > 100 ? [text.slice(end)] : [])])(seen, response);
    });
    const wanted = Array.from({ length: 60 }, (_, n) => String(n + 1));
    assert.deepEqual(await take(makeClient(market).events.stream({ after: '0' }), 60), wanted);
});

test('a bare id moves the place, and a filter is sent each time', async (t) => {
    const market = await startStreams(t, stream([begin(3), 'id: 90\n\n']), stream([frame(91)], 'stay'));
    const places = [];
    const events = makeClient(market).events.stream({ types: ['rental.*', 'funding.confirmed'], subject: 'r',
        onPlace: (place) => places.push(place) });
    assert.deepEqual(await take(events, 1), ['91']);
    assert.deepEqual(places, ['3', '90']);
    assert.deepEqual(market.seen[1].query, { types: 'rental.*,funding.confirmed', subject: 'r', after: '90' });
});

test('numbers of any size are compared as numbers', async (t) => {
    const huge = 2n ** 63n;
    const market = await startStreams(t, stream([frame(9), frame(10), frame(huge), frame(99), frame(huge + 1n)], 'stay'));
    assert.deepEqual(await take(makeClient(market).events.stream(), 4), ['9', '10', String(huge), String(huge + 1n)]);
});

test('spoilt events are a broken connection, not events', async (t) => {
    const market = await startStreams(t,
        stream([frame(1), 'id: 2\nevent: x\ndata: {"sequence":\n\n'], 'stay'),
        stream(['id: 2\nevent: x\ndata: {}\n\n'], 'stay'),
        stream(['id: two\n\n'], 'stay'),
        stream([`id: 2\ndata: ${'x'.repeat(1_200_000)}`], 'stay'),
        stream([frame(2)], 'stay'));
    assert.deepEqual(await take(makeClient(market).events.stream(), 2), ['1', '2']);
    assert.equal(market.seen.at(-1).query.after, '1');
});

test('what the server says at the end is waited out, what it refuses is an error', async (t) => {
    const end = (reason) => `event: end\ndata: {"reason":"${reason}"}\n\n`;
    const expired = { ...envelope('EVENTS_EXPIRED'), current: { oldest: '50', newest: '60' } };
    const market = await startStreams(t,
        stream([begin(1), frame(2), end('server_stops')], 'end'),
        (_, response) => void dropBefore(response),
        () => ({ status: 502, body: '<html>bad gateway</html>' }),
        () => ({ status: 200, body: '<html>in a minute</html>' }),
        () => ({ status: 503, body: envelope('UNAVAILABLE', 'as many streams as it can', true) }),
        stream([frame(3), end('events_expired')], 'end'),
        () => ({ status: 409, body: expired, headers: { 'x-should-retry': 'false' } }));
    const client = makeClient(market);
    const got = [];
    await assert.rejects(async () => {
        for await (const { sequence } of client.events.stream()) got.push(sequence);
    }, (error) => error.code === 'EVENTS_EXPIRED' && error.body.current.newest === '60');
    assert.deepEqual(got, ['2', '3']);
    assert.ok(client.waits[3] > client.waits[0] && client.waits[3] <= 30_000, `${client.waits}`);
});

test('a key that ended, and a server that is none, end the stream', async (t) => {
    const market = await startStreams(t, stream([begin(1), 'event: end\ndata: {"reason":"credential_ended"}\n\n'], 'end'),
        () => ({ status: 401, body: envelope('UNAUTHENTICATED') }),
        () => ({ status: 200, body: '<html>Welcome</html>' }), () => ({ status: 200, body: { items: [] } }));
    for (const code of ['UNAUTHENTICATED', 'UNEXPECTED_ANSWER', 'UNEXPECTED_ANSWER']) {
        await assert.rejects(take(makeClient(market).events.stream(), 1), { code });
    }
});

test('a retry that nobody would wait for is not waited for', async (t) => {
    const market = await startStreams(t, stream([`retry: ${'9'.repeat(30)}\n\n`, 'retry: soon\n\n', frame(1)], 'end'),
        stream(['retry: 0\n\n'], 'end'), stream([frame(2)], 'stay'));
    const client = makeClient(market);
    assert.deepEqual(await take(client.events.stream(), 2), ['1', '2']);
    assert.ok(client.waits[0] <= 30_000 && client.waits[1] >= 50, `${client.waits}`);
});

test('whoever leaves, or aborts, leaves no connection behind', async (t) => {
    const market = await startStreams(t, stream([frame(1)], 'stay'), stream([frame(1)], 'stay'));
    const open = () => new Promise((resolve, reject) => market.server.getConnections((error, count) =>
        error ? reject(error) : resolve(count)));
    const client = makeClient(market);
    await take(client.events.stream(), 1);
    const stop = new AbortController();
    await assert.rejects(async () => {
        for await (const _ of client.events.stream({ signal: stop.signal })) stop.abort(new Error('enough'));
    }, /enough/);
    while (await open() > 0) await new Promise((resolve) => setTimeout(resolve, 10));
});

test('a connection that is silent for too long is another one', async (t) => {
    const market = await startMarket(t);
    market.on(route, (seen, response) => stream([frame(seen.query.after === '1' ? 2 : 1)], 'stay')(seen, response));
    // Time runs faster for those who wait for three quarters of a minute.
    const { setTimeout } = globalThis;
    globalThis.setTimeout = (done, ms) => setTimeout(done, ms === 45_000 ? 100 : ms);
    t.after(() => { globalThis.setTimeout = setTimeout; });
    const events = makeClient(market).events.stream();
    assert.equal((await events.next()).value.sequence, '1');
    assert.equal((await events.next()).value.sequence, '2');
    await events.return();
});

test('frames are read by the rules of the standard', async () => {
    assert.deepEqual(await parse('\ufeffdata: a\r\n\r\n'), [{ data: 'a' }]);
    assert.deepEqual(await parse('data:a\r', '\ndata: b\r', '\n\r', '\n'), [{ data: 'a\nb' }]);
    assert.deepEqual(await parse('data: a\r\rdata: b\n\n'), [{ data: 'a' }, { data: 'b' }]);
    assert.deepEqual(await parse(': hello\n\ndata\n\nid: 1\n\n'), [{ data: '' }, { id: '1' }]);
    assert.deepEqual(await parse('data: a: b\nother: x\nid: \0\nretry: 1x\n\n'), [{ data: 'a: b' }]);
    assert.deepEqual(await parse('data: whole\n\ndata: half\n'), [{ data: 'whole' }]);
    const letters = new TextEncoder().encode('data: ä€\n\n');
    assert.deepEqual(await parse(...[...letters].map((byte) => Uint8Array.of(byte))), [{ data: 'ä€' }]);
});
