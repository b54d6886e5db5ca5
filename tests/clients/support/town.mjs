// A marketplace of real processes: berthd, a chain, and hosts whose scripted agents start the
// engine of the tests. Everybody has a wallet; nothing reaches into the server but its own routes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { startChain } from './chain.mjs';
import { Program, good } from './client.mjs';
import { startServer } from './server.mjs';
import { until } from './wait.mjs';

const hour = 3600 * 1000;
const gpuBytes = 24e9; // more than the templates that are rented here want

export async function startTown(test, { chain, mail, database, flags = [] } = {}) {
    chain ??= await startChain(test);
    const treasury = privateKeyToAccount(`0x${'11'.repeat(32)}`).address;
    await chain.giveEther(treasury);
    const server = await startServer(test, {
        mail, database, secretFiles: { 'treasury.key': '11'.repeat(32) },
        flags: ['--chain-rpc', chain.url, '--chain-poll-ms', '200', '--token-usdc', chain.usdc,
            '--token-usdt', chain.usdt, '--transfer-min-micro', '1', '--allow-unsafe', 'undurable-db',
            '--allow-private-endpoints', '--allow-plain-engines', '--allow-unproven-cards',
            '--availability-classes-released',
            '--funded-time-min-s', '0', '--starts-open-max', '0', '--unbilled-starts-per-hour', '0',
            '--retrieval-min-s', '900', '--payout-delay-hours', '0',
            '--rate-heartbeats-per-minute', '100000',
            '--rate-job-events-per-minute', '100000', ...flags],
    });
    return new Town(test, { chain, treasury, server }).findTemplate();
}

class Town {
    constructor(test, parts) {
        Object.assign(this, { test }, parts);
    }

    // An agent's account with its key, and how it gets another one.
    async enlist(name, scopes = ['renter', 'host']) {
        const account = new Program(this.server);
        const wallet = privateKeyToAccount(generatePrivateKey());
        const anybody = new Program(this.server);
        account.renew = async () => {
            const { message } = good(await anybody.post('/api/v1/agents/accounts/challenge',
                { address: wallet.address }), 200);
            const signature = await wallet.signMessage({ message });
            const made = await anybody.post('/api/v1/agents/accounts', { message, signature, scopes,
                agent: { name, vendor: 'Example Labs', model: 'example-1' } });
            assert.ok(made.status === 200 || made.status === 201, made.text);
            account.key = made.body.api_key.secret;
        };
        await account.renew();
        return Object.assign(account, { name, wallet });
    }

    async fund(account, micro) {
        const { items } = good(await account.get('/api/v1/wallets'), 200);
        await this.chain.mint(account.wallet.address, micro);
        const { intent_id } = good(await account.post('/api/v1/funding-intents',
            { wallet_binding_id: items[0].binding_id, amount_micro: String(micro) }), 201);
        const paid = await this.chain.pay(account.wallet.address, this.treasury, micro);
        await until('credit', async () => {
            await account.post(`/api/v1/funding-intents/${intent_id}/claim`, paid);
            await this.chain.mine();
            const { body } = await account.get('/api/v1/billing');
            return BigInt(body.spendable_micro ?? 0) >= BigInt(micro);
        });
    }

    // A machine that enrolled, passed its test, and is for sale.
    async openHost(account, name, rate = '3600000') {
        const folder = await mkdtemp(join(tmpdir(), 'berth-host-'));
        this.test.after(() => rm(folder, { recursive: true, force: true }));
        const { token } = good(await account.post('/api/v1/hosts/enrollments',
            { tier: 'container' }), 201);
        const program = join(dirname(process.env.BERTHD), 'scripted_agent');
        const agent = spawn('setpriv', ['--pdeathsig', 'TERM', program, folder, this.server.origin,
            'enroll', token, `GPU-${name}`, 'serve'], { stdio: 'ignore' });
        this.test.after(() => agent.kill());
        const host = { account, folder };
        host.machine_id = await until('enrolled machine', async () =>
            JSON.parse(await readFile(join(folder, 'agent.json'), 'utf8').catch(() => '{}')).machine_id);
        const place = `/api/v1/hosts/machines/${host.machine_id}`;
        const isIn = (state) => until(`machine that is ${state}`, async () =>
            (await account.get(place)).body.state === state);
        await isIn('UNLISTED');
        good(await account.call('PATCH', `${place}/offer`, {
            expected_version: '0', rate_micro_per_hour: rate, included_disk_gib: 100,
            included_egress_gib: 1000, available_from: at(-hour), available_until: at(200 * hour),
        }), 202);
        good(await account.post(`${place}/list`), 202);
        await isIn('AVAILABLE');
        host.offer_id = good(await account.get(`${place}/offers`), 200).items[0].offer_id;
        return host;
    }

    async findTemplate() {
        const anybody = new Program(this.server);
        const { items } = good(await anybody.get('/api/v1/templates?limit=100&kind=model'), 200);
        this.template = items.find((it) => it.required_runtime === 'cuda' && it.min_gpu_count === 1 &&
            Number(it.vram_fit.min_vram_bytes) < gpuBytes).id;
        return this;
    }

    // A job with a model that runs on the host.
    async rent(account, host, budget = '1000000') {
        const { quote_id } = good(await account.post('/api/v1/quotes', { offer_id: host.offer_id,
            template_id: this.template, duration_limit_s: 3600, budget_micro: budget }), 201);
        const { job_id } = good(await account.post('/api/v1/jobs', { quote_id }), 202);
        await until('job that runs', async () =>
            (await account.get(`/api/v1/jobs/${job_id}`)).body.state === 'RUNNING');
        return job_id;
    }
}

function at(fromNow) {
    return new Date(Date.now() + fromNow).toISOString();
}
