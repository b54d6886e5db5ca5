// A market of real processes, with the town of the clients' tests, and people who come by browser.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { openMailFolder } from '../../clients/support/mailbox.mjs';
import { addAuthenticator, signIn } from '../../clients/support/person.mjs';
import { startTown } from '../../clients/support/town.mjs';
import { openBrowser } from './browser.mjs';

const run = promisify(execFile);
// All browsers of a test come from one address.
const rates = ['public-per-minute', 'account-per-minute', 'sign-in-per-hour', 'sign-in-codes-per-hour',
    'codes-per-hour'];

export async function startMarket(test, options = {}) {
    const mailbox = openMailFolder(test);
    const town = await startTown(test, { mail: `file:${mailbox.folder}`, ...options,
        flags: [...rates.flatMap((rate) => [`--rate-${rate}`, '100000']), ...options.flags ?? []] });
    return Object.assign(town, { mailbox });
}

// A page of somebody who signed in as people do it: address, code.
export async function signInByPage(test, market, email, options = {}) {
    const context = await openBrowser(test, market.server, options);
    const page = await context.newPage();
    await page.goto('/sign-in');
    await giveAddressAndCode(page, market, email);
    await page.waitForURL((url) => url.pathname !== '/sign-in');
    return page;
}

export async function giveAddressAndCode(page, market, email) {
    await page.getByLabel(/mail/i).first().fill(email);
    await page.getByRole('button', { name: /code|continue|sign in/i }).first().click();
    await page.getByLabel(/code/i).first().fill(await market.mailbox.nextCode(email));
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

// An operator's browser, with the authenticator that operators must have.
export async function signInOperator(test, market, email, options = {}) {
    await run(process.env.BERTHD, ['admin', 'create', '--email', email, '--db', market.server.database,
        '--secrets', market.server.secrets]);
    const program = await signIn(market.server, market.mailbox, email);
    const nextCode = await addAuthenticator(program, market.mailbox);
    const page = await signInByPageWithFactor(test, market, email, nextCode, options);
    return { page, nextCode };
}

export async function signInByPageWithFactor(test, market, email, nextCode, options) {
    const context = await openBrowser(test, market.server, options);
    const page = await context.newPage();
    await page.goto('/sign-in');
    await giveAddressAndCode(page, market, email);
    await page.getByLabel(/authenticator/i).fill(await nextCode());
    await page.getByRole('button', { name: /sign in|confirm|continue/i }).first().click();
    await page.waitForURL((url) => url.pathname !== '/sign-in');
    return page;
}
