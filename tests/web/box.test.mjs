// A box with play money: its mail is read in its page, and by no page that only says it is here.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { openMailFolder } from '../clients/support/mailbox.mjs';
import { startServer } from '../clients/support/server.mjs';
import { closeBrowser, openBrowser } from './support/browser.mjs';
import { stepsOf } from './support/steps.mjs';

after(closeBrowser);
const email = 'bea@example.org';
const mailOf = `/api/v1/simulated/mail?to=${encodeURIComponent(email)}`;

test('a box', async (t) => {
    const server = await startServer(t, { mail: `file:${openMailFolder(t).folder}`,
        flags: ['--simulated', '--chain-poll-ms', '100', '--rate-public-per-minute', '100000'] });
    const page = await (await openBrowser(t, server)).newPage();
    const step = stepsOf(t, page);

    await step('the mailed code stands in the page, and signs in', async () => {
        await page.goto('/sign-in');
        await page.getByLabel('Mail address').fill(email);
        await page.getByRole('button', { name: 'Mail me a code' }).click();
        await page.getByRole('button', { name: 'Fill it in' }).click();
        await page.waitForURL((url) => url.pathname !== '/sign-in');
    });

    await step('play money is a press away', async () => {
        await page.goto('/money');
        await page.getByRole('button', { name: 'Get 100 play USDC' }).first().click();
        await page.getByRole('region', { name: 'Balance' }).getByText('100.00').first().waitFor();
    });

    // Another site makes its name lead to this machine, and its page reads as one of its own origin.
    await step('a page whose name was made to lead here reads no mail', async (each) => {
        const read = async (reader) => {
            const answer = await reader.goto(mailOf);
            return [answer.status(), (await answer.json()).items?.length];
        };
        const origin = server.origin.replace('127.0.0.1', 'rebound.example');
        const stranger = await (await openBrowser(each, { origin })).newPage();
        assert.deepEqual(await read(stranger), [404, undefined]);
        assert.deepEqual(await read(page), [200, 1]);
    });
});
