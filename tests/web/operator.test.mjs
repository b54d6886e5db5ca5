// An operator: what a button does is seen before it is pressed, why is kept, and money adds up.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import test, { after } from 'node:test';
import { promisify } from 'node:util';
import { good } from '../clients/support/client.mjs';
import { signIn } from '../clients/support/person.mjs';
import { until } from '../clients/support/wait.mjs';
import { closeBrowser } from './support/browser.mjs';
import { signInOperator, startMarket } from './support/market.mjs';
import { tell } from './support/steps.mjs';

const run = promisify(execFile);

after(closeBrowser);

const dialogOf = (page, name) => page.getByRole('dialog', { name });
const factOf = (within, name) => within.getByRole('term').filter({ hasText: new RegExp(`^${name}$`) })
    .locator('xpath=following-sibling::dd[1]');

// A rental that is over and was charged.
async function rentAWhile(market) {
    const [ada, ben] = [await market.enlist('ada'), await market.enlist('ben')];
    await market.fund(ben, 20_000_000);
    const host = await market.openHost(ada, 'a');
    const job = await market.rent(ben, host);
    const shown = async () => good(await ben.get(`/api/v1/jobs/${job}`), 200);
    await until('charge', async () => BigInt((await shown()).cumulative_charge_micro) > 1000n);
    good(await ben.post(`/api/v1/jobs/${job}/stop`, { reason: 'done' }), 202);
    return until('job that is over', async () => {
        const told = await shown();
        return told.ended_at && told;
    });
}

async function seeOverview(page) {
    await page.goto('/operate');
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.getByText(/Nothing waits|of work$/).first().waitFor();
    await page.getByRole('region', { name: 'Is the money there?' }).waitFor();
}

async function findByMail(page, email) {
    await page.goto('/operate/search');
    await page.getByLabel('Find').fill(email.slice(0, 8));
    const found = page.getByRole('table', { name: 'Found' });
    await found.getByRole('link', { name: 'Account' }).click();
    await page.getByRole('heading', { name: email, level: 1 }).waitFor();
}

// The code is asked for above the sheet of the step, which stays as it is.
async function stepUp(page, nextCode) {
    const sheet = dialogOf(page, 'Confirm that it is you');
    await sheet.waitFor();
    await sheet.getByLabel('Code of your authenticator').fill(await nextCode());
    await sheet.getByRole('button', { name: 'Confirm' }).click();
    await sheet.waitFor({ state: 'detached' });
}

async function suspend(page, nextCode, person) {
    await page.getByRole('button', { name: 'Suspend', exact: true }).click();
    const sheet = dialogOf(page, 'Suspend this account');
    await sheet.getByText('1 session ends').waitFor();
    const press = sheet.getByRole('button', { name: 'Suspend', exact: true });
    assert.ok(await press.isDisabled(), 'nobody is suspended without a reason');
    await sheet.getByLabel('Why').fill('Paid with stolen cards');
    assert.equal((await person.get('/api/v1/auth/session')).status, 200, 'looking changed nothing');
    await press.click();
    await stepUp(page, nextCode);
    await sheet.waitFor({ state: 'detached' });
    await page.getByText('Suspended', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Let back' }).waitFor();
    assert.notEqual((await person.get('/api/v1/auth/session')).status, 200, 'the session has ended');
}

// Two operators mean the same: the second to press is told so, and nothing is turned round.
async function freezeTwice(page, person) {
    const place = `/operate/users/${person.accountId}`;
    const freeze = async (at) => {
        await at.goto(place);
        await at.getByRole('button', { name: 'Freeze money' }).click();
        const sheet = dialogOf(at, 'Freeze its money');
        await sheet.getByLabel('Why').fill('Somebody else is in the account');
        return { sheet, press: sheet.getByRole('button', { name: 'Freeze money' }) };
    };
    const mine = await freeze(page);
    const beside = await page.context().newPage();
    const other = await freeze(beside);
    await other.press.click();
    await other.sheet.waitFor({ state: 'detached' });
    await beside.getByText('Money frozen').waitFor();

    await until('page that knows', async () => {
        await page.evaluate(() => dispatchEvent(new Event('visibilitychange'))); // it is looked at again
        return page.getByText('Money frozen').isVisible();
    });
    await mine.press.click();
    await mine.sheet.getByRole('alert').getByText('It changed meanwhile.').waitFor();
    await beside.reload();
    await beside.getByRole('button', { name: 'Thaw money' }).waitFor();
    await beside.getByText('Money frozen').waitFor();
    await beside.close();
}

async function changeSetting(page) {
    await page.goto('/operate/settings');
    await page.getByLabel('Find').fill('Limit of one admin alone');
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    const sheet = dialogOf(page, 'Limit of one admin alone');
    await sheet.getByLabel('Value').fill('lots');
    await sheet.getByLabel('Why').fill('We are more people now');
    await sheet.getByRole('button', { name: 'Change it' }).click();
    await sheet.getByRole('alert').first().waitFor();
    assert.equal(await sheet.getByLabel('Why').inputValue(), 'We are more people now', 'the text stays');
    await sheet.getByLabel('Value').fill('500000000');
    await sheet.getByRole('button', { name: 'Change it' }).click();
    await sheet.waitFor({ state: 'detached' });
    const row = page.getByRole('row').filter({ hasText: 'Limit of one admin alone' });
    await row.getByText('500000000').waitFor();
    await row.getByText('Set here').waitFor();
}

async function seeAudit(page) {
    await page.goto('/operate/audit');
    const audit = page.getByRole('table', { name: 'Audit' });
    await audit.getByRole('row').filter({ hasText: 'We are more people now' }).getByText(/500000000/).waitFor();
    await audit.getByRole('row').filter({ hasText: 'Paid with stolen cards' }).first().waitFor();
}

async function openDispute(page, job) {
    await page.goto(`/operate/rentals/${job.job_id}`);
    await page.getByRole('button', { name: 'Open a dispute' }).click();
    const sheet = dialogOf(page, 'Open a dispute');
    await sheet.getByLabel('Amount').fill('0.0005');
    await sheet.getByLabel('What shows it').fill('The log of the renter');
    await factOf(sheet, 'Held of the host').waitFor();
    await sheet.getByLabel('Why').fill('It answered nothing for a while');
    await sheet.getByRole('button', { name: /^Dispute 0\.000500/ }).click();
    await sheet.waitFor({ state: 'detached' });
}

// Micro-units of an amount that is shown with all of its places.
function microOf(text) {
    const [, sign, units, rest] = text.replaceAll('\u2212', '-').match(/([-+]?)\s*(\d+)\.(\d{6})/);
    return BigInt(`${sign === '-' ? '-' : ''}${units}${rest}`);
}

async function decide(page) {
    await page.goto('/operate/disputes');
    await page.getByRole('table').getByRole('row').nth(1).getByRole('link').first().click();
    await page.getByText('It answered nothing for a while').first().waitFor();
    await page.getByRole('button', { name: 'Decide' }).click();
    const sheet = dialogOf(page, 'Decide this dispute');
    await factOf(sheet, 'Sum').waitFor();
    const [renter, host, fee, sum] = await Promise.all(['To the renter', 'From the host', 'From the fee', 'Sum']
        .map(async (name) => microOf(await factOf(sheet, name).innerText())));
    assert.equal(renter, 500n);
    assert.ok(host < 0n, 'the host gives');
    assert.equal(renter + host + fee, 0n);
    assert.equal(sum, 0n);
    await sheet.getByLabel('Why').fill('The log shows it');
    await sheet.getByRole('button', { name: /^Refund 0\.000500 USDC and close$/ }).click();
    await sheet.waitFor({ state: 'detached' });
    const outcome = page.getByRole('region', { name: 'Outcome' });
    await outcome.getByText('for the renter').waitFor();
    await outcome.getByText('The log shows it').waitFor();
}

async function changeHue(page) {
    await page.goto('/operate/branding');
    const hue = page.getByLabel('Hue', { exact: true });
    const before = await hue.inputValue();
    const wanted = before === '140' ? '150' : '140';
    await hue.fill(wanted);
    await page.getByText(`Hue ${wanted}`).waitFor();
    const press = page.getByRole('button', { name: 'Change the colour' });
    await press.click();
    const sheet = dialogOf(page, 'Change the colour');
    await sheet.getByLabel('Why').fill('Green suits us');
    await sheet.getByRole('button', { name: 'Change the colour' }).click();
    await sheet.waitFor({ state: 'detached' });
    // A process takes a change of settings up within a second.
    await until('page in the new colour', async () => {
        await page.goto('/');
        await page.getByRole('heading', { level: 1 }).waitFor();
        return await page.evaluate(() =>
            getComputedStyle(document.documentElement).getPropertyValue('--brand-hue').trim()) === wanted;
    });
}

// The page says what to type where there is no gate; one that was added and never reported is no help to anybody.
async function seeGates(page, market) {
    await page.goto('/operate/gates');
    await page.getByText('There is no gate.').waitFor();
    await page.getByText(/^berth-gate init/).waitFor();
    await run(process.env.BERTHD, ['gates', 'add', '--host', '198.51.100.7', '--link-port', '443',
        '--call-port', '8443', '--ports', '20000-20099', '--public-key', Buffer.alloc(32, 7).toString('base64'),
        '--tls-key-sha256', 'ab'.repeat(32), '--db', market.server.database, '--secrets', market.server.secrets]);
    await page.goto('/operate/gates');
    const row = page.getByRole('table', { name: 'Gates' }).getByRole('row').filter({ hasText: '198.51.100.7' });
    await row.getByText('Never heard').waitFor();
    await row.getByText('0 of 100, 0 %').waitFor();
    await page.getByRole('link', { name: 'Machines that are reached by a gate' }).click();
    await page.getByText('No machine matches.').waitFor();
}

test('an operator looks after the market', async (t) => {
    const market = await startMarket(t);
    await t.test('in the browser', async (browser) => {
        const { page, nextCode } = await signInOperator(browser, market, 'olga@example.org');
        const rita = await signIn(market.server, market.mailbox, 'rita.renter@example.org');
        const job = await rentAWhile(market);
        await tell(browser, page, [
            ['the overview says what waits', () => seeOverview(page)],
            ['gates and what they carry', () => seeGates(page, market)],
            ['a person is found by the beginning of the address', () => findByMail(page, rita.email)],
            ['what a suspension does is seen before, and the code asked for in place',
                () => suspend(page, nextCode, rita)],
            ['who would freeze what another has frozen meanwhile does not thaw it',
                () => freezeTwice(page, rita)],
            ['a setting is changed for a reason, a bad value beside its field', () => changeSetting(page)],
            ['the audit has both', () => seeAudit(page)],
            ['a dispute is opened', () => openDispute(page, job)],
            ['it is decided when every pocket is known, and they add up to nothing', () => decide(page)],
            ['the colour is everybody’s', () => changeHue(page)],
        ]);
    });
});
