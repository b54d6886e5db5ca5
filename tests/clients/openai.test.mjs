// The official OpenAI client talks to a rental through the relay.
import assert from 'node:assert/strict';
import test from 'node:test';
import OpenAI from 'openai';
import { startRental } from './support/rental.mjs';
import { until } from './support/wait.mjs';

const messages = [{ role: 'user', content: 'Say something.' }];

async function textOf(stream) {
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
    return text;
}

test('every operation of the relay works as with an engine of one\'s own', async (t) => {
    const rental = await startRental(t);
    const client = rental.client();

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
    assert.equal(sent.authorization, `Bearer ${rental.endpoint_key}`);
    for (const name of Object.keys(sent)) assert.doesNotMatch(name, /stainless|cookie|user-agent/);

    const told = await rental.usage();
    assert.equal(told.requests, 7);
    assert.equal(told.errors, 0);
    assert.ok(told.completion_tokens >= 55, `${told.completion_tokens}`);
    assert.ok(Number(told.first_token_ms.p50) <= Number(told.first_token_ms.p95));
    assert.ok(told.tokens_per_s > 0);
});

test('whoever aborts or loses patience ends the engine\'s work', async (t) => {
    const rental = await startRental(t);
    const client = rental.client();

    const stream = await client.chat.completions.create({
        model: 'bad-endless', messages, stream: true, delay_ms: 5,
    });
    for await (const chunk of stream) {
        assert.ok(chunk.choices.length > 0);
        break;  // which aborts
    }
    await until('stream that the engine was told to end', async () =>
        (await rental.seen()).gone === 1);

    const late = client.chat.completions.create({ model: 'bad-never', messages },
        { timeout: 300 });
    await assert.rejects(late, OpenAI.APIConnectionTimeoutError);
    const controller = new AbortController();
    const aborted = client.chat.completions.create({ model: 'bad-never', messages },
        { signal: controller.signal });
    setTimeout(() => controller.abort(), 300);
    await assert.rejects(aborted, OpenAI.APIUserAbortError);
    await until('requests that the engine was told to end', async () =>
        (await rental.seen()).gone === 3);
    assert.equal((await rental.seen()).open, 0);
});

test('errors are those that the client knows', async (t) => {
    const rental = await startRental(t, ['relay-silence-s=1', 'relay-first-byte-s=1']);
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

test('the client\'s own retries stop where they cannot help', async (t) => {
    const rental = await startRental(t);
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

test('the end of the job ends its streams with a word, and refuses what comes after', async (t) => {
    const rental = await startRental(t);
    const client = rental.client({ maxRetries: 3 });
    const stream = await client.chat.completions.create({
        model: 'bad-endless', messages, stream: true, delay_ms: 20,
    });
    const read = textOf(stream);
    rental.end();
    await assert.rejects(read, /the job is not running any more/);
    const began = Date.now();
    await assert.rejects(client.models.list(), OpenAI.ConflictError);
    assert.ok(Date.now() - began < 2000, 'a conflict is not tried again');
});
