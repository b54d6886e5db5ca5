// Whose page it is: what one account wrote or sees is never another's, nor anybody's once it has left.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { Browser, good } from '../clients/support/client.mjs';
import { linkIn } from '../clients/support/mailbox.mjs';
import { signIn, stepUpByMail } from '../clients/support/person.mjs';
import { until } from '../clients/support/wait.mjs';
import { closeBrowser, openBrowser } from './support/browser.mjs';
import { giveAddressAndCode, signInByPage, startMarket } from './support/market.mjs';
import { enrichPerson } from './support/renter.mjs';
import { stepsOf } from './support/steps.mjs';

after(closeBrowser);
const [ann, ben] = ['ann@example.org', 'ben@example.org'];
const figure = '12.34';
const micro = 12_340_000;

async function endSessions(market, email) {
    const elsewhere = await signIn(market.server, market.mailbox, email);
    good(await elsewhere.post('/api/v1/account/sessions/revoke'), 204);
}

async function listOf(market, email, path) {
    return good(await (await signIn(market.server, market.mailbox, email)).get(path), 200).items;
}

// Signs in beside the page, as another tab of the same browser does.
async function takeOver(context, market, email) {
    await context.clearCookies();
    const other = await context.newPage();
    await other.goto('/sign-in');
    await giveAddressAndCode(other, market, email);
    await other.waitForURL((url) => url.pathname !== '/sign-in');
    return other;
}

// The methods and statuses of what a page asks of a path.
function watchAnswers(page, path) {
    const answers = [];
    page.on('response', (answer) => {
        if (answer.request().method() === 'POST' && new URL(answer.url()).pathname === path)
            answers.push(answer.status());
    });
    return answers;
}

test('a page is one account’s', async (t) => {
    const market = await startMarket(t);
    await enrichPerson(market, ann, micro);
    const page = await signInByPage(t, market, ann);
    const context = page.context();
    const step = stepsOf(t, page);

    await step('what one asked for does not go on as another who signs in in its place', async () => {
        const answers = watchAnswers(page, '/api/v1/tickets');
        await page.goto('/help?new=other');
        const sheet = page.getByRole('dialog', { name: 'Write to us' });
        await sheet.getByLabel('What happened?').fill('A secret of Ann’s.');
        await endSessions(market, ann);
        await sheet.getByRole('button', { name: 'Send it' }).click();
        const again = page.waitForEvent('load');
        await giveAddressAndCode(page.getByRole('dialog', { name: 'You were signed out' }), market, ben);
        await again;
        await page.getByRole('heading', { name: 'Help', level: 1 }).waitFor();
        assert.ok(!(await page.content()).includes('A secret of Ann'));
        assert.deepEqual(answers, [401]);
        for (const email of [ann, ben]) assert.deepEqual(await listOf(market, email, '/api/v1/tickets'), []);
    });

    await step('nor as another who signed in in a tab of which the page has not heard', async () => {
        await page.goto('about:blank'); // it would begin anew
        await (await takeOver(context, market, ann)).close();
        await page.goto('/help?new=other');
        const sheet = page.getByRole('dialog', { name: 'Write to us' });
        await sheet.getByLabel('What happened?').fill('Another secret of Ann’s.');
        const answers = watchAnswers(page, '/api/v1/tickets');
        // Whatever it would be told by its own reading of the session comes too late.
        await page.route('**/api/v1/auth/session', (route) => answers.length ? route.continue() : route.abort());
        const other = await takeOver(context, market, ben);
        const again = page.waitForEvent('load');
        await sheet.getByRole('button', { name: 'Send it' }).click();
        await again;
        assert.deepEqual(answers, [403]);
        await page.unrouteAll({ behavior: 'wait' });
        await other.close();
        for (const email of [ann, ben]) assert.deepEqual(await listOf(market, email, '/api/v1/tickets'), []);
    });

    await step('a mailed link says whose session it takes the place of, and whose it is then', async () => {
        await page.goto('about:blank'); // it would begin anew
        await (await takeOver(context, market, ann)).close();
        const elsewhere = new Browser(market.server);
        good(await elsewhere.post('/api/v1/auth/email/start', { email: ben }), 202);
        const link = linkIn(await market.mailbox.next(ben, /code$/));
        assert.notEqual(link.hash, '');
        await page.goto(link.href);
        await page.getByText(`You are signed in as ${ann}`).waitFor();
        assert.ok(!page.url().includes(link.hash), 'the address keeps no secret');
        await page.getByRole('button', { name: 'Sign in', exact: true }).click();
        await page.waitForURL((url) => url.pathname === '/');
        await page.getByText(`You are signed in as ${ben}.`).waitFor();
    });

    await step('where a session ends elsewhere its figures go, and come back with it', async () => {
        await page.goto('about:blank'); // it would begin anew
        await (await takeOver(context, market, ann)).close();
        await page.goto('/money');
        const shown = page.getByText(figure).filter({ visible: true });
        await shown.first().waitFor();
        await endSessions(market, ann);
        const sheet = page.getByRole('dialog', { name: 'You were signed out' });
        await until('sheet', async () => {
            await page.evaluate(() => dispatchEvent(new Event('visibilitychange'))); // it is looked at again
            return sheet.isVisible();
        });
        assert.equal(await shown.count(), 0);
        await giveAddressAndCode(sheet, market, ann);
        await sheet.waitFor({ state: 'detached' });
        await shown.first().waitFor();
    });

    await step('whoever signs out is gone from every tab', async () => {
        const other = await context.newPage();
        await other.goto('/money');
        await other.getByText(figure).filter({ visible: true }).first().waitFor();
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.waitForURL((url) => url.pathname === '/');
        await other.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor();
        for (const each of [page, other]) assert.ok(!(await each.content()).includes(figure));
        await other.close();
    });
});

// What browsers keep to https and to this very machine.
function bePlain() {
    delete Crypto.prototype.randomUUID;
    Object.defineProperty(Crypto.prototype, 'subtle', { value: undefined });
    Object.defineProperty(Navigator.prototype, 'locks', { value: undefined });
    Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined });
}

test('an address of plain http that is not this machine’s', async (t) => {
    const market = await startMarket(t);
    const context = await openBrowser(t, market.server);
    await context.addInitScript(bePlain);
    const page = await context.newPage();
    const step = stepsOf(t, page);
    const email = 'pia@example.org';

    await step('one signs in, and what is asked for has its key', async () => {
        await page.goto('/sign-in');
        assert.equal(await page.evaluate(() => crypto.randomUUID ?? navigator.locks), undefined);
        await giveAddressAndCode(page, market, email);
        await page.waitForURL((url) => url.pathname !== '/sign-in');
        await page.goto('/help?new=other');
        await page.getByLabel('What happened?').fill('It is not https.');
        const asked = page.waitForRequest((request) => request.method() === 'POST'
            && new URL(request.url()).pathname === '/api/v1/tickets');
        await page.getByRole('button', { name: 'Send it' }).click();
        assert.match((await asked).headers()['idempotency-key'],
            /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        await page.getByRole('log').getByText('It is not https.').waitFor();
    });

    await step('without locks the page hears of events all the same', async () => {
        await page.goto('/account/keys');
        await page.getByText('No key yet.').waitFor();
        const person = await signIn(market.server, market.mailbox, email);
        await stepUpByMail(person, market.mailbox, 'account-sensitive');
        good(await person.post('/api/v1/account/api-keys', { name: 'of a program', scopes: ['renter'] }), 201);
        await page.getByText('of a program').waitFor();
    });

    await step('what cannot be checked says so', async () => {
        await page.goto('/proof');
        await page.getByText('This browser cannot check it here.').waitFor();
    });
});
