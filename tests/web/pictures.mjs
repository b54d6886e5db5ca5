// Makes the pictures of docs/images: a market with simulated GPUs, a rental that is over and disputed, and one
// that runs and was talked to. Run by tools/web pictures.
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { after } from 'node:test';
import { promisify } from 'node:util';
import { good } from '../clients/support/client.mjs';
import { addAuthenticator, signIn } from '../clients/support/person.mjs';
import { until } from '../clients/support/wait.mjs';
import { closeBrowser, openBrowser } from './support/browser.mjs';
import { signInByPage, signInByPageWithFactor, startMarket } from './support/market.mjs';
import { enrichPerson } from './support/renter.mjs';

const folder = process.argv[2] ?? new URL('../../docs/images', import.meta.url).pathname;
const size = { width: 1280, height: 900, deviceScaleFactor: 1 };
const run = promisify(execFile);
const program = (name) => join(dirname(process.env.BERTHD), name);
const hourMs = 3600 * 1000;
const model = 'llama-cpp-qwen2-5-7b-instruct-q4-k-m';
const quickRate = '360000000'; // seconds earn what hours would
const [firstPort, portsEach] = [46000, 20];

after(closeBrowser);

class Host {
    constructor(market, account, gpu, number) {
        Object.assign(this, { market, account, gpu, firstPort: firstPort + portsEach * number, version: 0 });
    }

    // A real agent with a GPU that is not there, whose machine has passed its test.
    async enrol(test) {
        const state = await mkdtemp(join(tmpdir(), 'berth-picture-'));
        test.after(() => rm(state, { recursive: true, force: true }));
        const { token } = good(await this.account.post('/api/v1/hosts/enrollments', { tier: 'inference' }), 201);
        await writeFile(join(state, 'token'), token, { mode: 0o600 });
        const { stdout } = await run(program('berth-agent'), ['enroll', '--state', join(state, 'state'),
            '--server', this.market.server.origin, '--token-file', join(state, 'token'), '--runtime', 'process',
            '--simulate-gpu', this.gpu, '--mode', 'dedicated', '--public-host', '127.0.0.1',
            '--ports', `${this.firstPort}-${this.firstPort + portsEach - 1}`]);
        this.machine_id = stdout.match(/enrolled as machine (\S+)/)[1];
        this.place = `/api/v1/hosts/machines/${this.machine_id}`;
        const agent = spawn('setpriv', ['--pdeathsig', 'TERM', program('berth-agent'), 'run',
            '--state', join(state, 'state')], { stdio: 'ignore' });
        test.after(() => agent.kill());
        await this.isIn('UNLISTED').catch(() => this.isIn('UNLISTED')); // its test takes long on a busy machine
        return this;
    }

    isIn(state) {
        return until(`${this.gpu} that is ${state}`, async () =>
            good(await this.account.get(this.place), 200).state === state);
    }

    async offer(rate) {
        const at = (fromNow) => new Date(Date.now() + fromNow).toISOString();
        good(await this.account.call('PATCH', `${this.place}/offer`, { expected_version: String(this.version++),
            rate_micro_per_hour: rate, included_disk_gib: 1, included_egress_gib: 1000,
            available_from: at(-hourMs), available_until: at(200 * hourMs) }), 202);
        await this.account.post(`${this.place}/list`);
        await this.isIn('AVAILABLE');
        const { items } = good(await this.account.get(`${this.place}/offers`), 200);
        this.offer_id = items.find(({ offer_version: told }) => told === String(this.version)).offer_id;
    }
}

async function openHosts(test, market) {
    const hanna = await signIn(market.server, market.mailbox, 'hanna@example.org');
    const others = await market.enlist('harbour');
    const plans = [[hanna, 'RTX 4090', quickRate], [others, 'RTX 3090', '180000'],
        [others, 'A100 SXM 80GB', '1250000'], [others, 'H100 SXM 80GB', '2400000'],
        [others, 'RTX 4090', '420000'], [others, 'RTX 4090', '480000'], [others, 'RTX 5090', '640000'],
        [others, 'RTX 3070', '190000']];
    const hosts = [];
    for (const [number, [account, gpu, rate]] of plans.entries()) {
        hosts.push(await new Host(market, account, gpu, number).enrol(test));
        await hosts.at(-1).offer(rate);
    }
    return hosts;
}

// A rental that cost something and is over; its machine has its usual price afterwards.
async function rentAndEnd(market, renter, host) {
    const job = await market.rent(renter, host, '5000000');
    const shown = async () => good(await renter.get(`/api/v1/jobs/${job}`), 200);
    await until('charge', async () => BigInt((await shown()).cumulative_charge_micro) > 800_000n);
    good(await renter.post(`/api/v1/jobs/${job}/stop`, { reason: 'done' }), 202);
    await until('rental that is over', async () => (await shown()).ended_at);
    await host.isIn('AVAILABLE');
    await host.offer('450000');
    return job;
}

async function createOperator(market, email) {
    await run(process.env.BERTHD, ['admin', 'create', '--email', email, '--db', market.server.database,
        '--secrets', market.server.secrets]);
    const operator = await signIn(market.server, market.mailbox, email);
    operator.nextCode = await addAuthenticator(operator, market.mailbox);
    good(await operator.post('/api/v1/account/step-up',
        { purpose: 'admin-sensitive', code: await operator.nextCode() }), 200);
    return operator;
}

async function dispute(operator, renter, host, job) {
    const write = async (account, text) =>
        good(await account.post('/api/v1/tickets', { category: 'rental', job_id: job, text }), 201);
    await write(renter, 'A part of the time it did not answer. I would like that part back.');
    await write(host, 'The line was down for two seconds. The engine ran all the time.');
    const { dispute_id } = good(await operator.post('/api/v1/admin/disputes', { job_id: job, amount_micro: '400000',
        reason: 'The renter says that it did not answer', evidence: ['The ticket of the renter'] }), 201);
    return dispute_id;
}

async function picture(page, address, name) {
    if (address !== undefined) await page.goto(address);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForFunction(() => !document.querySelector('[aria-busy="true"], .coming'));
    await page.evaluate(() => { document.activeElement?.blur(); scrollTo(0, 0); });
    await page.screenshot({ path: join(folder, `${name}.png`) });
}

async function talk(page, address) {
    await page.goto(address);
    await page.getByLabel('Message').fill('What do ships do in a harbour?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/first after/).waitFor();
    await page.getByText(/[1-9]\d* s at/).waitFor(); // what the host has proved
    await page.getByText('none failed').waitFor(); // the relay's figures are asked for every ten seconds
}

test('pictures', async (t) => {
    await mkdir(folder, { recursive: true });
    const market = await startMarket(t, { flags: ['--allow-simulated', '--allow-process-runtime',
        '--rate-enrolments-per-hour', '1000'] });
    const [mine, , other] = await openHosts(t, market);
    const templates = good(await mine.account.get('/api/v1/templates?limit=100'), 200).items;
    market.template = templates.find(({ template_id: name }) => name === model).id;
    const operator = await createOperator(market, 'olga@example.org');
    const renter = await enrichPerson(market, 'paul@example.org', 100_000_000);
    const disputed = await dispute(operator, renter, mine.account, await rentAndEnd(market, renter, mine));

    const anyone = await (await openBrowser(t, market.server, size)).newPage();
    await picture(anyone, '/sign-in', 'sign-in');
    await picture(anyone, '/', 'catalog');
    await anyone.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await picture(anyone, '/?max=0.30&gpu=4090', 'catalog-none');

    const rental = `/rentals/${await market.rent(renter, other, '500000')}`;
    const page = await signInByPage(t, market, 'paul@example.org', size);
    await talk(page, rental);
    await picture(page, undefined, 'rental');
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await picture(page, undefined, 'rental-dark');
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 390, height: 844 });
    await picture(page, undefined, 'rental-phone');
    await page.setViewportSize(size);
    await picture(page, '/money', 'money');

    const host = await signInByPage(t, market, 'hanna@example.org', size);
    await picture(host, `/host/machines/${mine.machine_id}`, 'machine');

    const desk = await signInByPageWithFactor(t, market, 'olga@example.org', operator.nextCode, size);
    await picture(desk, '/operate', 'overview');
    await picture(desk, `/operate/disputes/${disputed}`, 'dispute');
});
