// Every address of the console once, with something to see, in both themes and at four widths in turn: everybody
// can read it, nothing scrolls sideways or jumps while it comes, and no page asks for what its policy refuses.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import test, { after } from 'node:test';
import { promisify } from 'node:util';
import { addAuthenticator, signIn, stepUpByMail } from '../clients/support/person.mjs';
import { good } from '../clients/support/client.mjs';
import { until } from '../clients/support/wait.mjs';
import { assertAccessible } from './support/axe.mjs';
import { closeBrowser, openBrowser } from './support/browser.mjs';
import { signInByPage, signInByPageWithFactor, startMarket } from './support/market.mjs';

after(closeBrowser);

const { generatePrivateKey, privateKeyToAccount } =
    createRequire(new URL('../clients/package.json', import.meta.url))('viem/accounts');

const source = await readFile(new URL('../../web/src/app.tsx', import.meta.url), 'utf8');
const addresses = [...source.matchAll(/^ {4}'(\/[^']*)': /gm)].map(([, address]) => address);
const tabs = ['keys', 'security', 'sessions', 'addresses', 'hub', 'events', 'webhooks', 'notices'];
const widths = [1440, 768, 390, 320];
const themes = ['light', 'dark'];
const heightPx = 900;
const shiftMax = 0.02; // a fifth of what counts as good
const enoughMicro = 30_000_000;

// A person with a linked wallet and money.
async function openRenter(market, email) {
    const person = await signIn(market.server, market.mailbox, email);
    await stepUpByMail(person, market.mailbox, 'wallet');
    const wallet = privateKeyToAccount(generatePrivateKey());
    const { message } = good(await person.post(`/api/v1/wallets/nonce?address=${wallet.address}`), 201);
    const signature = await wallet.signMessage({ message });
    good(await person.post('/api/v1/wallets/link',
        { chain_id: 8453, address: wallet.address, siwe_message: message, signature }), 201);
    Object.assign(person, { wallet });
    await market.fund(person, enoughMicro);
    return person;
}

// A rental that is over, and one that runs.
async function rentTwice(market, renter, host) {
    const past = await market.rent(renter, host);
    const place = `/api/v1/jobs/${past}`;
    const shown = async (path) => good(await renter.get(path), 200);
    await until('charge', async () => BigInt((await shown(place)).cumulative_charge_micro) > 1000n);
    good(await renter.post(`${place}/stop`, { reason: 'done' }), 202);
    await until('job that is over', async () => (await shown(place)).ended_at);
    await until('machine for the next', async () =>
        good(await host.account.get(`/api/v1/hosts/machines/${host.machine_id}`), 200).state === 'AVAILABLE');
    return { past, present: await market.rent(renter, host) };
}

async function createOperator(market, email) {
    await promisify(execFile)(process.env.BERTHD, ['admin', 'create', '--email', email, '--db', market.server.database,
        '--secrets', market.server.secrets]);
    const operator = await signIn(market.server, market.mailbox, email);
    operator.nextCode = await addAuthenticator(operator, market.mailbox);
    good(await operator.post('/api/v1/account/step-up',
        { purpose: 'admin-sensitive', code: await operator.nextCode() }), 200);
    return operator;
}

// A market with a host, a renter, an operator, and something on every page.
async function settle(test) {
    const market = await startMarket(test);
    const operator = await createOperator(market, 'olga@example.org');
    const host = await market.openHost(await signIn(market.server, market.mailbox, 'hanna@example.org'), 'a');
    const renter = await openRenter(market, 'paul@example.org');
    const { past, present } = await rentTwice(market, renter, host);
    const { items: [wallet] } = good(await renter.get('/api/v1/wallets'), 200);
    const { intent_id } = good(await renter.post('/api/v1/funding-intents',
        { wallet_binding_id: wallet.binding_id, amount_micro: '5000000' }), 201);
    const { ticket_id } = good(await renter.post('/api/v1/tickets',
        { category: 'rental', job_id: past, text: 'It answered late.' }), 201);
    const { dispute_id } = good(await operator.post('/api/v1/admin/disputes', { job_id: past, amount_micro: '500',
        reason: 'It answered late', evidence: ['The log of the renter'] }), 201);
    const { items: [template] } = good(await renter.get('/api/v1/templates?limit=1'), 200);
    return { market, operator, places: {
        '/offers/:id': [`/offers/${host.offer_id}`],
        '/templates/:slug': [`/templates/${template.id}`],
        '/rentals/:id': [`/rentals/${present}`, `/rentals/${past}`],
        '/rentals/:id/receipt': [`/rentals/${past}/receipt`],
        '/rentals/:id/evidence': [`/rentals/${past}/evidence`],
        '/money/add/:intent': [`/money/add/${intent_id}`],
        '/account/:tab': tabs.map((tab) => `/account/${tab}`),
        '/help/:id': [`/help/${ticket_id}`],
        '/host/machines/:id': [`/host/machines/${host.machine_id}`],
        '/host/machines/:id/offer': [`/host/machines/${host.machine_id}/offer`],
        '/operate/disputes/:id': [`/operate/disputes/${dispute_id}`],
        '/operate/rentals/:id': [`/operate/rentals/${past}`],
        '/operate/users/:id': [`/operate/users/${renter.accountId}`],
        '/operate/machines/:id': [`/operate/machines/${host.machine_id}`],
    } };
}

function personOf(address) {
    if (address.startsWith('/operate')) return 'operator';
    if (address.startsWith('/host')) return 'host';
    return /^\/(rentals|money|account|help)/.test(address) ? 'renter' : 'anyone';
}

// Each address once, all widths in one theme and then in the other; with WEB_CHECK=all each in all of them.
const ways = themes.flatMap((theme) => widths.map((width) => ({ theme, width })));
let looks = 0;
async function look(page, address) {
    const here = process.env.WEB_CHECK === 'all' ? ways : [ways[looks++ % ways.length]];
    for (const way of here) await lookIn(page, address, way);
}

async function lookIn(page, address, { theme, width }) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: heightPx });
    await page.goto(address);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForFunction(() => !document.querySelector('[aria-busy="true"], .coming'));
    const where = `${address}, ${theme}, ${width} px`;
    assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, `${where}: one heading`);
    assert.deepEqual(await page.getByRole('alert').allInnerTexts(), [], `${where}: no failure`);
    await assertStill(page, where);
    await assertAccessible(page, where);
}

// What moves by itself while a page comes, by the measure of browsers.
function watchShifts() {
    const found = [];
    const keep = (entries) => found.push(...entries.filter(({ hadRecentInput }) => !hadRecentInput));
    const observer = new PerformanceObserver((list) => keep(list.getEntries()));
    observer.observe({ type: 'layout-shift', buffered: true });
    let wasSlow = false;
    const unsettled = '.page:has(> .head):not(.coming) :is(.loading, [data-s="run"], [data-settling])';
    const look = () => { wasSlow ||= document.querySelector(unsettled) !== null; };
    new MutationObserver(look)
        .observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['class'] });
    globalThis.shiftsSoFar = () => {
        keep(observer.takeRecords());
        const what = found.flatMap(({ value, sources }) =>
            sources.map(({ node }) => `${value.toFixed(4)} ${node?.outerHTML?.slice(0, 120)}`));
        return { wasSlow, what, sum: found.reduce((sum, { value }) => sum + value, 0) };
    };
}

// Where the machine was too slow for all parts to come together, one sees what is to come, and it may be taller.
async function assertStill(page, where) {
    const { sum, what, wasSlow } = await page.evaluate(() => globalThis.shiftsSoFar());
    if (process.env.WEB_CHECK && sum > 0.01)
        console.log(`# ${where} moved by ${sum.toFixed(4)}${wasSlow ? ', slowly' : ''}: ${what.join(' | ')}`);
    assert.ok(wasSlow || sum <= shiftMax, `${where} moved by ${sum}: ${what.join(' | ')}`);
}

async function lookAtAll(test, page, places) {
    await page.addInitScript(watchShifts);
    for (const address of places) await test.test(address, () => look(page, address));
}

test('every address can be read by everybody', async (t) => {
    const { market, operator, places } = await settle(t);
    const all = addresses.flatMap((address) => {
        assert.ok(!address.includes(':') || places[address], `nothing to see at ${address}`);
        return places[address] ?? [address];
    });
    const of = (person) => all.filter((address) => personOf(address) === person);

    await t.test('of anyone', async (s) => {
        const context = await openBrowser(s, market.server);
        await lookAtAll(s, await context.newPage(), of('anyone'));
    });
    await t.test('of a renter', async (s) =>
        lookAtAll(s, await signInByPage(s, market, 'paul@example.org'), of('renter')));
    await t.test('of a host', async (s) =>
        lookAtAll(s, await signInByPage(s, market, 'hanna@example.org'), of('host')));
    await t.test('of an operator', async (s) => {
        const page = await signInByPageWithFactor(s, market, 'olga@example.org', operator.nextCode);
        await lookAtAll(s, page, of('operator'));
    });
    await t.test('what needs a sign-in asks for it in place', async (s) => {
        const context = await openBrowser(s, market.server, { width: 320 });
        const page = await context.newPage();
        await page.goto('/rentals');
        await page.getByLabel('Mail address').waitFor();
        assert.equal(new URL(page.url()).pathname, '/rentals');
        await assertAccessible(page, '/rentals of nobody');
    });
});

test('addresses that lead nowhere, and a deploy under an open page', async (t) => {
    const market = await startMarket(t);
    await t.test('an unknown address says so', async (s) => {
        const context = await openBrowser(s, market.server);
        const page = await context.newPage();
        await page.goto('/host/nothing/of/the/kind');
        await page.getByRole('heading', { name: 'Nothing is here', level: 1 }).waitFor();
        await assertAccessible(page, 'an unknown address');
        await page.getByRole('link', { name: 'See offers' }).click();
        await page.waitForURL((url) => url.pathname === '/');
        await page.goto('/offers/%E0%A4%A'); // no text in any encoding
        await page.getByText('Gone: rented or taken back.').waitFor();
    });
    await t.test('a newer console is told of, and loaded on demand', async (s) => {
        const context = await openBrowser(s, market.server);
        const page = await context.newPage();
        let deploys = 0;
        await context.route('**/api/v1/status', async (route) => {
            const response = await route.fetch();
            const told = await response.json();
            await route.fulfill({ response, json: deploys ? { ...told, console: `another-${deploys}` } : told });
        });
        const first = page.waitForResponse('**/api/v1/status');
        await page.goto('/');
        await first;
        await page.getByRole('heading', { level: 1 }).waitFor();
        deploys = 1;
        await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
        await page.getByText('There is a newer console').waitFor();
        const again = page.waitForEvent('load');
        await page.getByRole('button', { name: 'Load it' }).click();
        await again;
        await page.getByRole('heading', { level: 1 }).waitFor();
        assert.equal(await page.getByText('There is a newer console').count(), 0);
    });
    await t.test('a part that a deploy took away is fetched with a new page', async (s) => {
        const context = await openBrowser(s, market.server, { expected: [/dynamically imported module/] });
        const page = await context.newPage();
        await page.goto('/');
        await page.getByRole('heading', { level: 1 }).waitFor();
        let refused = 0;
        await context.route('**/assets/*.js', async (route) => {
            if (refused++ > 0) return route.fallback();
            return route.fulfill({ status: 404, body: '' });
        });
        await page.getByRole('link', { name: 'Templates' }).first().click();
        await page.getByRole('heading', { name: 'Templates', level: 1 }).waitFor();
        assert.ok(refused > 1, 'the page was loaded anew');
        assert.equal(new URL(page.url()).pathname, '/templates');
    });
    await t.test('a part that a broken line keeps away is asked for by the reader', async (s) => {
        const context = await openBrowser(s, market.server, { expected: [/dynamically imported module/] });
        const page = await context.newPage();
        await page.goto('/');
        await page.getByRole('heading', { level: 1 }).waitFor();
        await context.route(/\/(assets|api)\//, (route) => route.abort('connectionreset'));
        await page.getByRole('link', { name: 'Templates' }).first().click();
        await page.getByRole('heading', { name: 'Not loaded', level: 1 }).waitFor();
        await context.unrouteAll({ behavior: 'wait' });
        await page.getByRole('button', { name: 'Load the page again' }).click();
        await page.getByRole('heading', { name: 'Templates', level: 1 }).waitFor();
    });
});
