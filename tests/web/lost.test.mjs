// Answers about money that are lost on their way: what was asked for happens once, however often one asks again.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { good } from '../clients/support/client.mjs';
import { linkIn } from '../clients/support/mailbox.mjs';
import { until } from '../clients/support/wait.mjs';
import { closeBrowser } from './support/browser.mjs';
import { signInByPage, startMarket } from './support/market.mjs';
import { enrichPerson, makeWallet } from './support/renter.mjs';
import { stepsOf } from './support/steps.mjs';

after(closeBrowser);
const email = 'lou@example.org';
const [attempts, rounds] = [3, 2]; // the client tries three times by itself, the person asks again

// Loses the server's answers to the first `count` requests for a path; what reached the server stands. Answers the
// keys and bodies of all of them.
async function loseAnswers(page, path, count) {
    const sent = [];
    await page.route((url) => url.pathname === path, async (route) => {
        const request = route.request();
        if (request.method() !== 'POST') return route.fallback();
        sent.push(`${request.headers()['idempotency-key']} ${request.postData()}`);
        if (sent.length > count) return route.continue();
        await route.fetch({ headers: await request.allHeaders() });
        return route.abort('connectionreset');
    });
    return sent;
}

function assertOneWish(sent, count) {
    assert.equal(sent.length, count);
    assert.equal(new Set(sent).size, 1, 'each attempt has the key and the body of the first');
}

test('answers that are lost cost nobody anything', async (t) => {
    const market = await startMarket(t, { flags: ['--address-cooling-hours', '0'] });
    const lou = await enrichPerson(market, email, 20_000_000);
    const host = await market.openHost(await market.enlist('ada'), 'a', '3600000');
    const job = await market.rent(lou, host);
    const page = await signInByPage(t, market, email);
    const step = stepsOf(t, page);

    await step('a budget whose raise is asked for again is raised once', async () => {
        const before = good(await lou.get('/api/v1/billing'), 200);
        await page.goto(`/rentals/${job}`);
        const sent = await loseAnswers(page, `/api/v1/jobs/${job}/budget`, attempts * rounds);
        await page.getByRole('button', { name: '+0.50' }).click();
        const add = page.getByRole('button', { name: /^Add 0\.50/ });
        for (let round = 1; round <= rounds; ++round) {
            await add.click();
            await until('attempts', () => sent.length === attempts * round);
            await page.getByText('Trying again does not do it twice.').waitFor();
            // By now the page knows the version that this very wish has made.
            await page.getByText('of at most 1.50').waitFor();
        }
        await add.click();
        await page.getByText('Added.').waitFor();
        assertOneWish(sent, attempts * rounds + 1);
        assert.equal(good(await lou.get(`/api/v1/jobs/${job}`), 200).budget_micro, '1500000');
        const now = good(await lou.get('/api/v1/billing'), 200);
        assert.equal(BigInt(before.spendable_micro) - BigInt(now.spendable_micro), 500_000n);
    });

    await step('a withdrawal that is asked for again is made once', async () => {
        const before = good(await lou.get('/api/v1/billing'), 200);
        const { address } = makeWallet();
        await page.goto('/money/withdraw');
        const sent = await loseAnswers(page, '/api/v1/withdrawals', attempts * rounds);
        await page.getByLabel('To which address').fill(address);
        await page.getByLabel('How much').fill('4.5');
        await page.getByRole('button', { name: 'Go on' }).click();
        await page.getByLabel('Code we mailed to you').fill(await market.mailbox.nextCode(email));
        await page.getByRole('button', { name: 'Withdraw 4.50 USDC' }).click();
        for (let round = 1; round <= rounds; ++round) {
            await until('attempts', () => sent.length === attempts * round);
            const again = page.getByRole('button', { name: 'Ask again' });
            await again.waitFor();
            await page.getByText('No answer came').waitFor();
            assert.equal(await page.getByLabel('Code we mailed to you').count(), 0, 'another code were another wish');
            await again.click();
        }
        await page.getByText('One more step: your mail').waitFor();
        assertOneWish(sent, attempts * rounds + 1);

        await page.goto(linkIn(await market.mailbox.next(email, /^Confirm a new/)).href);
        await page.getByRole('button', { name: 'Confirm' }).click();
        await page.getByText('Confirmed. The money is on its way.').waitFor();
        await until('settled withdrawal', async () => {
            await market.chain.mine();
            const { items } = good(await lou.get('/api/v1/withdrawals'), 200);
            assert.equal(items.length, 1);
            return items[0].state === 'SETTLED';
        });
        const now = good(await lou.get('/api/v1/billing'), 200);
        assert.equal(BigInt(before.spendable_micro) - BigInt(now.spendable_micro), 4_500_000n);
    });
});
