// The official OpenAI client talks to a rental through the relay: a real berthd, a host's agent and
// the engine that it started.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import test from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import OpenAI from 'openai';
import { startRental } from './support/rental.mjs';
import { until } from './support/wait.mjs';

const messages = [{ role: 'user', content: 'Say something.' }];

async function textOf(stream) {
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
    return text;
}

// A stream whose bytes are left where they are until somebody asks for them.
async function openSlowly(rental, model) {
    const socket = connect({ port: new URL(rental.town.server.origin).port, highWaterMark: 1 });
    const body = JSON.stringify({ model, messages, stream: true });
    socket.write(`POST ${rental.path}/openai/v1/chat/completions HTTP/1.1\r\nHost: x\r\n`
        + `Authorization: Bearer ${rental.key}\r\nContent-Type: application/json\r\n`
        + `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
    await new Promise((resolve) => socket.once('readable', resolve));
    return socket;
}

async function residentBytes(rental) {
    const status = await readFile(`/proc/${rental.town.server.process.pid}/status`, 'utf8');
    return Number(status.match(/^VmRSS:\s+(\d+) kB$/m)[1]) * 1024;
}

test('the official client and a rental', async (t) => {
    const rental = await startRental(t,
        ['--relay-silence-s', '2', '--relay-first-byte-s', '5', '--rate-relay-per-minute', '100000']);

    await t.test('the times to the first token that are told are those that were taken', async () => {
        const ask = async (delay_ms) => textOf(await rental.client().chat.completions.create(
            { model: 'm', messages, stream: true, max_tokens: 1, delay_ms }));
        await Promise.all(Array.from({ length: 18 }, () => ask(300)));
        await Promise.all([ask(1200), ask(1200)]);
        const { first_token_ms, requests } = await rental.usage();
        assert.equal(requests, 20);
        // Steps of five per cent, and what a busy machine adds.
        const isAbout = (told, ms) => assert.ok(told >= ms * 0.95 && told < ms * 3, `${told}`);
        isAbout(Number(first_token_ms.p50), 300);
        isAbout(Number(first_token_ms.p95), 1200);
    });

    await t.test('every operation of the relay works as with an engine of one\'s own', async () => {
        const client = rental.client();
        const before = await rental.usage();

        const models = await client.models.list();
        assert.deepEqual(models.data.map((model) => model.id), ['berth-test']);

        const chat = await client.chat.completions.create({ model: 'm', messages, max_tokens: 3 });
        assert.equal(chat.choices[0].message.content, 'word1 word2 word3 ');
        assert.equal(chat.usage.completion_tokens, 3);

        const stream = await client.chat.completions.create({
            model: 'm', messages, max_tokens: 50, stream: true,
            stream_options: { include_usage: true },
        });
        let chunks = 0;
        let usage;
        for await (const chunk of stream) {
            ++chunks;
            usage = chunk.usage ?? usage;
        }
        assert.ok(chunks > 50, `${chunks}`);
        assert.equal(usage.completion_tokens, 50);

        const text = await client.completions.create({ model: 'm', prompt: 'p', max_tokens: 2 });
        assert.equal(text.choices[0].text, 'word1 word2 ');

        const vectors = await client.embeddings.create({
            model: 'm', input: ['a', 'b'], encoding_format: 'float',
        });
        assert.equal(vectors.data.length, 2);
        assert.deepEqual(vectors.data[1].embedding, [0.25, -0.5, 0.125, 1]);

        const tools = [{
            type: 'function',
            function: { name: 'weather', parameters: { type: 'object', properties: {} } },
        }];
        const called = await client.chat.completions.create({ model: 'm', messages, tools });
        assert.equal(called.choices[0].message.tool_calls[0].function.name, 'weather');
        const streamed = client.chat.completions.stream({ model: 'm', messages, tools });
        const final = await streamed.finalChatCompletion();
        assert.deepEqual(JSON.parse(final.choices[0].message.tool_calls[0].function.arguments),
            { place: 'Lisbon' });

        const { headers } = await rental.seen();
        const sent = Object.fromEntries(
            Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
        assert.equal(sent.authorization, `Bearer ${rental.endpointKey}`);
        for (const name of Object.keys(sent)) assert.doesNotMatch(name, /stainless|cookie|user-agent/);

        const told = await rental.usage();
        assert.equal(told.requests, before.requests + 7);
        assert.equal(told.errors, 0);
        assert.equal(told.completion_tokens, before.completion_tokens + 3 + 50 + 2 + 8);
        assert.ok(Number(told.first_token_ms.p50) <= Number(told.first_token_ms.p95));
        assert.ok(told.tokens_per_s > 0);
    });

    await t.test('whoever aborts or loses patience ends the engine\'s work', async () => {
        const client = rental.client();
        const { gone } = await rental.seen();

        const stream = await client.chat.completions.create({
            model: 'bad-endless', messages, stream: true, delay_ms: 5,
        });
        for await (const chunk of stream) {
            assert.ok(chunk.choices.length > 0);
            break;  // which aborts
        }
        await until('stream that the engine was told to end', async () =>
            (await rental.seen()).gone === gone + 1);

        const late = client.chat.completions.create({ model: 'bad-never', messages },
            { timeout: 2000 });
        await assert.rejects(late, OpenAI.APIConnectionTimeoutError);
        const controller = new AbortController();
        const aborted = client.chat.completions.create({ model: 'bad-never', messages },
            { signal: controller.signal });
        setTimeout(() => controller.abort(), 2000);
        await assert.rejects(aborted, OpenAI.APIUserAbortError);
        await until('requests that the engine was told to end', async () =>
            (await rental.seen()).gone === gone + 3);
        assert.equal((await rental.seen()).open, 0);
    });

    await t.test('errors are those that the client knows', async () => {
        const client = rental.client();
        const ask = (model, options) =>
            client.chat.completions.create({ model, messages, ...options });

        await assert.rejects(rental.client({ apiKey: `${rental.key}x` }).models.list(),
            OpenAI.AuthenticationError);
        await assert.rejects(rental.client({ apiKey: 'sk-none' }).models.list(),
            OpenAI.AuthenticationError);
        await assert.rejects(ask('bad-refuse'), (error) =>
            error instanceof OpenAI.BadRequestError && /this engine refuses/.test(error.message));
        await assert.rejects(ask('bad-busy'), OpenAI.RateLimitError);
        await assert.rejects(ask('bad-fail'), (error) => error instanceof OpenAI.InternalServerError &&
            error.status === 503 && error.headers.get('x-engine-status') === '500');
        await assert.rejects(ask('bad-redirect'), (error) => error.status === 503);
        await assert.rejects(ask('bad-never'), (error) => error.status === 503);
        await assert.rejects(client.images.generate({ prompt: 'p' }), OpenAI.NotFoundError);
        await assert.rejects(ask('m', { filler: 'x'.repeat(1 << 20) }), (error) =>
            error.status === 413);

        for (const how of ['bad-cut', 'bad-silent']) {
            const stream = await ask(how, { stream: true, max_tokens: 8 });
            await assert.rejects(textOf(stream), (error) =>
                error instanceof OpenAI.APIError && /does not answer, or broke off/.test(error.message),
            how);
        }
    });

    await t.test('the client\'s own retries stop where they cannot help', async () => {
        const client = rental.client({ maxRetries: 3 });
        const requests = async () => (await rental.seen()).requests;

        const before = await requests();
        await assert.rejects(client.chat.completions.create({ model: 'bad-fail', messages }));
        assert.equal(await requests(), before + 1);  // its body was sent: once is enough

        // A request without a body may be repeated, and is.
        await rental.misbehave('unavailable');
        await assert.rejects(client.models.list());
        assert.equal(await requests(), before + 5);
        await rental.misbehave('none');
        assert.equal((await client.models.list()).data.length, 1);
    });

    await t.test('a client that reads a byte a second costs the server no memory', async () => {
        const streams = 40;
        const begin = await residentBytes(rental);
        const readers = [];
        for (let i = 0; i < streams; ++i) readers.push(await openSlowly(rental, 'bad-unbroken'));
        let most = 0;
        for (let second = 0; second < 4; ++second) {
            await pause(1000);
            for (const reader of readers) assert.equal(reader.read(1)?.length, 1);
            most = Math.max(most, await residentBytes(rental));
        }
        const each = (most - begin) / streams;
        assert.ok(each < 128 * 1024, `${each} bytes for each stream of ten megabytes`);

        // Whoever reads on gets all of it.
        let rest = 0;
        for await (const bytes of readers[0]) rest += bytes.length;
        assert.ok(rest > 10e6, `${rest}`);
        for (const reader of readers) reader.destroy();
        await until('streams that ended', async () => (await rental.seen()).open === 0);
    });

    await t.test('the end of the job ends its streams with a word, and refuses what comes after', async () => {
        const client = rental.client({ maxRetries: 5 });
        const stream = await client.chat.completions.create({
            model: 'bad-endless', messages, stream: true, delay_ms: 20,
        });
        const read = textOf(stream);
        await rental.end();
        await assert.rejects(read, /the job is not running any more/);
        const began = Date.now();
        await assert.rejects(client.models.list(), OpenAI.ConflictError);
        assert.ok(Date.now() - began < 8000, 'a conflict is not tried again');
    });
});
