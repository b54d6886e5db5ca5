// A whole rental at a real berthd with a chain and a host, through a proxy that loses answers after the
// server has done what they tell. BERTHD names the program.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, request as ask } from 'node:http';
import test from 'node:test';
import { Client, money } from 'berth-client';
import { startTown } from '../../../../tests/clients/support/town.mjs';
import { until } from '../../../../tests/clients/support/wait.mjs';

// Passes everything on, and loses the first two answers to each change.
async function startProxy(t, origin) {
    const [lost, seen] = [new Map(), []];
    const proxy = createServer((request, response) => {
        const place = `${request.method} ${request.url}`;
        seen.push({ place, key: request.headers['idempotency-key'] });
        const onward = ask(origin + request.url, { method: request.method, headers: request.headers }, (answer) => {
            const count = lost.get(place) ?? 0;
            lost.set(place, count + 1);
            if (request.method !== 'GET' && count < 2) {
                answer.resume();
                answer.on('end', () => response.destroy());
            } else {
                response.writeHead(answer.statusCode, answer.headers);
                answer.pipe(response);
            }
        });
        onward.on('error', () => response.destroy());
        request.pipe(onward);
    });
    await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    t.after(() => {
        proxy.closeAllConnections();
        proxy.close();
    });
    return { origin: `http://127.0.0.1:${proxy.address().port}`, seen };
}

test('a rental at a real server behind a proxy that loses answers', async (t) => {
    const town = await startTown(t);
    const [ada, ben] = [await town.enlist('ada'), await town.enlist('ben')];
    await town.fund(ben, 50_000_000);
    const host = await town.openHost(ada, 'a');
    const proxy = await startProxy(t, town.server.origin);
    const client = new Client({ baseUrl: proxy.origin, apiKey: ben.key });
    const wish = { offer_id: host.offer_id, template_id: town.template, duration_limit_s: 3600,
        budget_micro: money.fromUnits('1.00'), idempotencyKey: randomUUID() };

    await until('offer in the catalog', async () => {
        for await (const offer of client.items('list_offers', { query: { limit: 1 } })) {
            if (offer.offer_id === host.offer_id) return true;
        }
        return false;
    });

    const rental = await client.rent(wish);
    assert.equal(rental.state, 'RUNNING');
    const again = await client.rent(wish); // as after a crash of ours
    assert.equal(again.job_id, rental.job_id);
    const jobs = [];
    for await (const job of client.items('list_jobs')) jobs.push(job.job_id);
    assert.deepEqual(jobs, [rental.job_id], 'one job, however many answers were lost');
    const reserved = proxy.seen.filter(({ place }) => place === 'POST /api/v1/jobs');
    assert.equal(reserved.length, 4, 'three attempts, and the call again');
    assert.equal(new Set(reserved.map(({ key }) => key)).size, 1);
    assert.ok(money.micro((await client.call('show_balances')).spendable_micro) <= 49_000_000n);

    const path = { id: rental.job_id };
    await assert.rejects(client.call('raise_budget', { path, body: { add_micro: '1000000', expected_budget_version: '99' } }),
        (error) => error.code === 'VERSION_CONFLICT' && error.body.current.budget_micro === '1000000' && error.requestId !== null);
    await assert.rejects(client.call('create_quote', { body: { ...quote(wish), budget_micro: '01' } }),
        { code: 'INVALID_INPUT', member: 'body.budget_micro' });
    const models = await until('answer of the model', () => client.call('relay_models', { path }).catch(() => undefined));
    assert.deepEqual(models.data.map(({ id }) => id), ['berth-test']);

    await client.call('stop_job', { path, body: { reason: 'done' } });
    const ended = await client.rentals.wait(rental.job_id, { until: 'CLOSED' });
    assert.equal(ended.end_reason, 'renter_stop');
    const receipt = await client.call('show_receipt', { path: { job: rental.job_id } });
    assert.equal(receipt.charge_micro,
        money.charge(receipt.machine_rate_micro_per_hour, receipt.accepted_runtime_ms, receipt.funded_budget_micro));
});

function quote({ idempotencyKey, ...body }) {
    return body;
}
