// A host: from the line to paste to the first money.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { after } from 'node:test';
import { good } from '../clients/support/client.mjs';
import { until } from '../clients/support/wait.mjs';
import { closeBrowser } from './support/browser.mjs';
import { signInByPage, startMarket } from './support/market.mjs';
import { tell } from './support/steps.mjs';

after(closeBrowser);

// The agent on the host's machine, which was given the token of the page.
async function startAgent(test, market, token) {
    const folder = await mkdtemp(join(tmpdir(), 'berth-host-'));
    test.after(() => rm(folder, { recursive: true, force: true }));
    const agent = spawn('setpriv', ['--pdeathsig', 'TERM', join(dirname(process.env.BERTHD), 'scripted_agent'),
        folder, market.server.origin, 'enroll', token, 'GPU-atlas', 'serve'], { stdio: 'ignore' });
    test.after(() => agent.kill());
}

const region = (page, name) => page.getByRole('region', { name, exact: true });

async function enrol(test, market, page) {
    await page.goto('/host');
    await page.getByText('None yet.').waitFor();
    await page.getByRole('link', { name: 'Add a machine' }).first().click();
    await page.getByLabel('What you call it').fill('atlas-2');
    await page.getByRole('button', { name: 'Make its token' }).click();
    await page.getByText(/berth-agent enroll/).first().waitFor();
    await page.getByText(/Good for one machine/).waitFor();
    const token = page.getByRole('group', { name: 'Token' });
    assert.doesNotMatch(await token.innerText(), /[A-Za-z0-9_-]{20}/, 'it is masked');
    await token.getByRole('button', { name: 'Show' }).click();
    await startAgent(test, market, (await token.getByRole('code').innerText()).trim());
    await page.getByRole('heading', { name: 'It came in' }).waitFor();
}

async function seeItsTest(page) {
    await page.getByText('It passed', { exact: true }).waitFor();
    const checks = region(page, 'Machine test');
    await checks.getByText(/\d+ passed/).waitFor();
    assert.ok(await checks.getByText(/^Passed:/).count() > 0);
    // The token is gone with the page; how the machine stands is not.
    await page.reload();
    await page.getByText('It passed', { exact: true }).waitFor();
    assert.equal(await page.getByRole('group', { name: 'Token' }).count(), 0);
}

async function setPrice(page) {
    await page.getByRole('link', { name: 'Set a price' }).first().click();
    await page.getByRole('heading', { name: 'Set a price', level: 1 }).waitFor();
    const price = page.getByLabel('An hour of the machine');
    await price.fill('nothing');
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Mend what is marked, then publish.').waitFor();
    assert.equal(await price.getAttribute('aria-invalid'), 'true');
    await price.fill('3.6');
    await page.getByLabel('Disk, GiB').fill('100');
    await region(page, 'You keep').getByText(/an hour while it is rented/).waitFor();
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Version 1 is published').waitFor();
}

async function putUp(page) {
    await page.getByRole('button', { name: 'Put up for rent' }).click();
    await page.waitForURL(/\/host\/machines\/[0-9a-f-]{36}$/);
    await page.getByRole('heading', { name: /^atlas-2, /, level: 1 }).waitFor();
    await page.getByText('For rent', { exact: true }).first().waitFor();
    return page.url().split('/').at(-1);
}

// The scripted agent measures nothing, so what it might measure is put into the server's answer.
async function seeTelemetry(page, machine) {
    await page.goto('/host');
    const row = page.getByRole('table', { name: 'Your machines, worst first' }).getByRole('row', { name: /atlas-2/ });
    await row.getByText(/^\d+ s ago$/).waitFor();
    const place = `**/api/v1/hosts/machines/${machine}`;
    await page.route(place, async (route) => {
        const response = await route.fetch();
        const telemetry = { observed_at: new Date(Date.now() - 200_000).toISOString(),
            gpus: [{ util_pct: 71, temperature_c: 64, power_w: 301 }] };
        await route.fulfill({ response, json: { ...await response.json(), telemetry } });
    });
    await row.getByRole('link').click();
    await region(page, 'Right now').getByText('3 min ago').waitFor();
    await region(page, 'Right now').getByText('71 %, 64 °C, 301 W').waitFor();
    await page.unroute(place);
}

async function seeItInTheCatalog(page) {
    await page.goto('/');
    await page.getByText(/3\.60/).first().waitFor();
    const [href] = await page.getByRole('link').evaluateAll((links) =>
        links.map((link) => link.getAttribute('href')).filter((each) => each.startsWith('/offers/')));
    return new URL(href, page.url()).pathname.split('/').at(-1);
}

// Somebody rents it, and stops when something has been charged.
async function rentAWhile(market, page, machine, offer_id) {
    const renter = await market.enlist('ben');
    await market.fund(renter, 20_000_000);
    const job = await market.rent(renter, { offer_id });
    await page.goto(`/host/machines/${machine}`);
    await page.getByText('Rented', { exact: true }).first().waitFor();
    const place = `/api/v1/jobs/${job}`;
    const shown = async () => good(await renter.get(place), 200);
    await until('charge', async () => BigInt((await shown()).cumulative_charge_micro) > 0n);
    good(await renter.post(`${place}/stop`, { reason: 'done' }), 202);
    return until('job that is over', async () => {
        const told = await shown();
        return told.ended_at && told;
    });
}

async function seeEarnings(page, job) {
    const rentals = page.getByRole('table', { name: 'Rentals on your machines, newest first' });
    await until('rental among the earnings', async () => {
        await page.goto('/host/earnings');
        await region(page, 'Since the beginning').getByText('Charged to renters').waitFor();
        await region(page, 'Rentals on your machines').getByText(/None yet|Rental/).first().waitFor();
        return await rentals.getByText(job.job_id.slice(0, 8)).count() > 0
            && await region(page, 'Earned by day').getByText('Nothing in these days.').count() === 0;
    });
    await page.getByRole('table', { name: /^Earnings of \d{4} by month$/ }).getByText('Sum').waitFor();
    const byMachine = page.getByRole('table', { name: 'What each machine earned in 30 days' });
    await byMachine.getByRole('link', { name: 'RTX 4090' }).waitFor();
}

test('a host brings a machine in, prices it, and earns', async (t) => {
    const market = await startMarket(t);
    await t.test('in the browser', async (browser) => {
        const page = await signInByPage(browser, market, 'hanna@example.org');
        let machine, offer, job;
        await tell(browser, page, [
            ['the line and the token bring a machine in', () => enrol(browser, market, page)],
            ['its test is seen, also after a reload', () => seeItsTest(page)],
            ['a price is set, a bad one beside its field', () => setPrice(page)],
            ['it is put up for rent', async () => { machine = await putUp(page); }],
            ['what it measures stands there with its age', () => seeTelemetry(page, machine)],
            ['everybody finds it', async () => { offer = await seeItInTheCatalog(page); }],
            ['its page says that it is rented', async () => {
                job = await rentAWhile(market, page, machine, offer);
            }],
            ['what it earned is there by rental, machine and year', () => seeEarnings(page, job)],
        ]);
    });
});
