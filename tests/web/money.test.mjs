// Money: in by a wallet in the browser, out to an address, and what both leave behind; then keys and
// tickets, which an account has besides.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { Program, good } from '../clients/support/client.mjs';
import { linkIn } from '../clients/support/mailbox.mjs';
import { until } from '../clients/support/wait.mjs';
import { closeBrowser } from './support/browser.mjs';
import { signInByPage, startMarket } from './support/market.mjs';
import { makeWallet } from './support/renter.mjs';
import { stepsOf } from './support/steps.mjs';
import { addWallet, base } from './support/wallet.mjs';

after(closeBrowser);
const email = 'mona@example.org';

// The code of a sheet that asks for one in the middle of something.
async function stepUp(page, market) {
    const sheet = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await sheet.getByLabel('Code we mailed to you').fill(await market.mailbox.nextCode(email));
    await sheet.getByRole('button', { name: 'Confirm' }).click();
}

test('money, keys and tickets', async (t) => {
    const market = await startMarket(t, { flags: ['--address-cooling-hours', '0'] });
    const page = await signInByPage(t, market, email);
    const wallet = await addWallet(page.context(), market);
    await market.chain.mint(wallet.account.address, 40_000_000n);
    const step = stepsOf(t, page);
    const balance = page.getByRole('region', { name: 'Balance' });

    await step('a wallet is linked where the money is added, with a mailed code in between', async () => {
        await page.goto('/money/add');
        await page.getByRole('button', { name: 'Link your wallet' }).click();
        await stepUp(page, market);
        await page.getByRole('radio', { name: new RegExp(wallet.account.address) }).waitFor();
        assert.ok(wallet.asked.includes('personal_sign'));
    });

    await step('a wallet that says no sends nothing, and the payment stays open', async () => {
        await page.getByRole('button', { name: '10', exact: true }).click();
        await page.getByRole('button', { name: 'Go on with 10 USDC' }).click();
        await page.waitForURL((url) => /^\/money\/add\/./.test(url.pathname));
        await page.getByText(market.treasury).first().waitFor();
        wallet.refuses = true;
        await page.getByRole('button', { name: 'Send 10 USDC with your wallet' }).click();
        await page.getByText('Your wallet said no. Nothing was sent.').waitFor();
        await page.getByText('Waiting for your transfer').first().waitFor();
        wallet.refuses = false;
    });

    await step('a wallet that is elsewhere, or comes to be, is asked for nothing', async () => {
        const send = page.getByRole('button', { name: 'Send 10 USDC with your wallet' });
        const { address: stranger } = makeWallet();
        wallet.shown = stranger;
        await send.click();
        await page.getByText(/^Your wallet is on 0x/).waitFor();

        Object.assign(wallet, { shown: wallet.account.address, chain: '0x1' });
        await send.click();
        await page.getByText('Your wallet stayed on another chain.').waitFor();

        wallet.onSwitch = () => { Object.assign(wallet, { chain: base, shown: stranger }); };
        await send.click();
        await page.getByText(/^Your wallet is on 0x/).waitFor();
        assert.deepEqual(wallet.sent, []);
        wallet.shown = wallet.account.address;
    });

    await step('a wallet that fails is not believed that it sent nothing', async () => {
        wallet.fault = 'the nonce is \u202etoo low';
        await page.getByRole('button', { name: 'Send 10 USDC with your wallet' }).click();
        await page.getByText('the nonce is <U+202E>too low. It may have been sent: look into your wallet').waitFor();
        wallet.fault = undefined;
    });

    await step('a transfer of another amount is refused in words, and another can be given', async () => {
        const { tx_hash } = await market.chain.pay(wallet.account.address, market.treasury, 3_000_000n);
        await page.getByLabel('Transaction, once it is sent').fill(`https://explorer.example/tx/${tx_hash}`);
        await page.getByRole('button', { name: 'I have sent it' }).click();
        await page.getByText('This transaction is not the payment').waitFor();
        await page.getByText('Nothing was credited').waitFor();
        await page.getByRole('button', { name: 'Give another transaction' }).click();
        await page.getByText('Waiting for your transfer').first().waitFor();
    });

    await step('the payment is sent, outlives the server and the page, and arrives', async () => {
        await page.getByRole('button', { name: 'Send 10 USDC with your wallet' }).click();
        await page.waitForURL((url) => /^0x[0-9a-f]{64}$/.test(url.searchParams.get('tx') ?? ''));
        assert.deepEqual(wallet.sent.map(({ from, chainId }) => [from, chainId]), [[wallet.account.address, base]]);
        await page.getByText('On its way').waitFor();
        await market.server.killAndStart();
        await page.reload(); // goes on where it was
        await market.chain.mine(3);
        await until('arrival', async () => {
            await market.chain.mine();
            return await page.getByText('10 USDC arrived').isVisible();
        });
        await page.getByRole('link', { name: 'Money' }).first().click();
        await page.waitForURL((url) => url.pathname === '/money');
        await balance.getByText('10.00').first().waitFor();
        await page.getByRole('row').filter({ hasText: 'Money arrived' }).getByText('10.00').waitFor();
    });

    await step('a withdrawal to a new address asks for a code and for the mailed link', async () => {
        const { address } = makeWallet();
        await page.goto('/money/withdraw');
        await page.getByLabel('To which address').fill('0x12');
        await page.getByLabel('How much').fill('11');
        await page.getByRole('button', { name: 'Go on' }).click();
        await page.getByText('0x and 40 digits.').waitFor();
        await page.getByText('At most 10.').waitFor();

        await page.getByLabel('To which address').fill(address);
        await page.getByLabel('How much').fill('4.5');
        await page.getByRole('button', { name: 'Go on' }).click();
        await page.getByText(address).waitFor();
        await page.getByLabel('Code we mailed to you').fill(await market.mailbox.nextCode(email));
        await page.getByRole('button', { name: 'Withdraw 4.50 USDC' }).click();
        await page.getByText('One more step: your mail').waitFor();
        await page.getByText('Waiting for your mail').waitFor();

        await page.goto(linkIn(await market.mailbox.next(email, /^Confirm a new/)).href);
        await page.getByRole('button', { name: 'Confirm' }).click();
        await page.getByText('Confirmed. The money is on its way.').waitFor();
        await page.goto('/money/withdraw');
        await until('settled withdrawal', async () => {
            await market.chain.mine();
            return await page.getByText('Paid', { exact: true }).isVisible();
        });
    });

    await step('every movement is told in words', async () => {
        await page.goto('/money');
        const rows = page.getByRole('table', { name: 'Movements of your money, newest first' }).getByRole('row');
        for (const [words, amount] of [['Money arrived', '10.00'], ['Set aside for a withdrawal', '4.50'],
            ['Withdrawn', '4.50']]) {
            await rows.filter({ hasText: words }).getByText(amount).first().waitFor();
        }
        await balance.getByText('5.50').first().waitFor();
    });

    await step('a key is made once, shown once, and works', async () => {
        await page.goto('/account/keys');
        await page.getByRole('button', { name: 'Make a key' }).first().click();
        const sheet = page.getByRole('dialog', { name: 'Make a key' });
        await sheet.getByLabel('Name').fill('laptop');
        await sheet.getByRole('button', { name: 'Make the key' }).click();
        await stepUp(page, market);
        await page.getByText('The key “laptop” is made').waitFor();
        await page.getByText('•'.repeat(18)).waitFor();
        await page.getByRole('button', { name: 'Show', exact: true }).click();
        const [secret] = (await page.locator('main').innerText()).match(/\bark_\S+/);
        const keyed = new Program(market.server, secret);
        assert.equal(good(await keyed.get('/api/v1/billing'), 200).spendable_micro, '5500000');
        await page.getByRole('row').filter({ hasText: 'laptop' }).getByText('20.00 a day').waitFor();
        await page.reload();
        await page.getByRole('row').filter({ hasText: 'laptop' }).waitFor();
        assert.ok(!(await page.content()).includes(secret));
    });

    await step('a ticket is written, and answers are written to it', async () => {
        await page.goto('/help');
        await page.getByRole('button', { name: 'Write to us' }).first().click();
        const sheet = page.getByRole('dialog', { name: 'Write to us' });
        await sheet.getByLabel('What is it about?').selectOption('Something else');
        await sheet.getByLabel('What happened?').fill('The <b>meter</b> was \u202efast.');
        await sheet.getByRole('button', { name: 'Send it' }).click();
        await page.waitForURL((url) => /^\/help\/./.test(url.pathname));
        await page.getByRole('log').getByText('The <b>meter</b> was <U+202E>fast.').waitFor();
        await page.getByLabel('Your message').fill('It is slow again.');
        await page.getByRole('button', { name: 'Write', exact: true }).click();
        await page.getByRole('log').getByText('It is slow again.').waitFor();
        assert.equal(await page.getByLabel('Your message').inputValue(), '');
        await page.getByText('Waiting for us').waitFor();
    });
});
