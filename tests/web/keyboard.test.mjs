// Somebody without a mouse: every step by keys, and the focus is where one expects it.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { closeBrowser, openBrowser } from './support/browser.mjs';
import { startMarket } from './support/market.mjs';
import { stepsOf } from './support/steps.mjs';

after(closeBrowser);

// Waits until what `pick` finds has the focus.
function hasFocus(page, selector) {
    return page.waitForFunction((wanted) => document.activeElement?.matches(wanted), selector);
}

// Where the focus goes by `count` presses of Tab: what is not within `selector`, nor the page itself.
async function strays(page, selector, count) {
    const found = [];
    for (let press = 0; press < count; ++press) {
        await page.keyboard.press('Tab');
        found.push(...await page.evaluate((within) => {
            const { activeElement: at } = document;
            return at === null || at === document.body || at.closest(within) ? [] : [at.outerHTML.slice(0, 120)];
        }, selector));
    }
    return found;
}

test('everything can be done by keys', async (t) => {
    const market = await startMarket(t);
    const ada = await market.enlist('ada');
    await market.openHost(ada, 'a', '360000');
    const page = await (await openBrowser(t, market.server)).newPage();
    const step = stepsOf(t, page);
    const isAt = (pathname) => page.waitForURL((url) => url.pathname === pathname);
    const rent = page.getByRole('button', { name: /^Rent 1 × / });

    await step('the first Tab leads past the rail to the content', async () => {
        await page.goto('/');
        await rent.waitFor();
        await page.keyboard.press('Tab');
        await hasFocus(page, 'a.skip');
        await page.keyboard.press('Enter');
        await page.waitForFunction(() => location.hash === '#main');
        await page.keyboard.press('Tab');
        await hasFocus(page, 'main *');
    });

    await step('a slash leads to the filter, where letters are letters', async () => {
        await page.keyboard.press('/');
        await hasFocus(page, '[data-filter]');
        await page.keyboard.type('gr');
        assert.equal(await page.getByLabel('GPU', { exact: true }).inputValue(), 'gr');
        await page.getByLabel('GPU', { exact: true }).fill('');
        await rent.waitFor();
        await page.evaluate(() => document.activeElement.blur());
    });

    await step('j walks to a row, Enter opens it, and its heading has the focus', async () => {
        await page.keyboard.press('j');
        await hasFocus(page, '[data-row-link]');
        await page.keyboard.press('Enter');
        await page.waitForURL((url) => url.pathname.startsWith('/offers/'));
        await hasFocus(page, 'h1');
    });

    await step('g and a letter lead elsewhere', async () => {
        await page.keyboard.press('g');
        await page.keyboard.press('o');
        await isAt('/');
        await rent.waitFor();
    });

    await step('a sheet holds the focus, Escape closes it and gives the focus back', async () => {
        await rent.focus();
        await page.keyboard.press('Enter');
        const sheet = page.getByRole('dialog', { name: /^Rent 1 × / });
        await sheet.getByLabel('It may cost at most').waitFor();
        await hasFocus(page, 'dialog *');
        assert.deepEqual(await strays(page, 'dialog', 25), []);
        await page.keyboard.press('Escape');
        await sheet.waitFor({ state: 'detached' });
        await hasFocus(page, 'button[aria-label^="Rent 1"]');
    });

    await step('a question mark names the keys, and turns them off', async () => {
        await page.keyboard.press('?');
        const help = page.getByRole('dialog', { name: 'Keys' });
        await help.getByRole('button', { name: 'Turn keys off' }).press('Enter');
        await help.getByRole('button', { name: 'Turn keys on' }).waitFor();
        await page.keyboard.press('Escape');
        await help.waitFor({ state: 'detached' });
        await page.keyboard.press('/');
        await hasFocus(page, 'button[aria-label^="Rent 1"]');
    });

    await step('on the narrowest screen all of it is there, and nothing scrolls sideways', async () => {
        await page.setViewportSize({ width: 320, height: 640 });
        await rent.waitFor();
        await page.evaluate(() => document.activeElement.blur());
        await page.keyboard.press('Tab');
        const seen = new Set();
        for (let press = 0; press < 60; ++press) {
            await page.keyboard.press('Tab');
            const [name, left, right, width] = await page.evaluate(() => {
                const box = document.activeElement.getBoundingClientRect();
                return [document.activeElement.outerHTML.slice(0, 120), box.left, box.right,
                    document.documentElement.scrollWidth];
            });
            seen.add(name);
            assert.ok(left >= 0 && Math.max(right, width) <= 320, `${name} reaches from ${left} to ${right}`);
        }
        assert.ok([...seen].some((name) => name.includes('aria-label="Rent 1')), 'the button is reached by Tab');
    });
});
