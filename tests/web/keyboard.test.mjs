// Somebody without a mouse: every step by keys, and the focus is where one expects it.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeBrowser, openBrowser } from './support/browser.mjs';
import { signInByPage, startMarket } from './support/market.mjs';
import { enrichPerson } from './support/renter.mjs';
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

// In the page: what has the focus, and whether it looked the same without.
function watchFocus() {
    const looksOf = (element) => [getComputedStyle(element), getComputedStyle(element, '::after'),
        getComputedStyle(element.parentElement)].map((style) => `${style.boxShadow} ${style.outline}`).join();
    let last;
    globalThis.isFocused = (wanted) => {
        const { activeElement: at } = document;
        const unseen = last?.at !== at && last?.at.isConnected && looksOf(last.at) === last.looks && last.at;
        const { bottom, top } = at.getBoundingClientRect();
        const hidden = (bottom < 0 || top > innerHeight) && at;
        last = at === document.body ? undefined : { at, looks: looksOf(at) };
        return { is: at === wanted, fault: (unseen || hidden || undefined)?.outerHTML.slice(0, 160) };
    };
}

// Presses Tab until `locator` has the focus, which is seen wherever it rests on the way.
async function tabTo(page, locator) {
    await locator.waitFor();
    for (let press = 0; press < 120; ++press) {
        const { is, fault } = await locator.evaluate((wanted) => globalThis.isFocused(wanted));
        assert.equal(fault, undefined, 'the focus is seen');
        if (is) return;
        await page.keyboard.press('Tab');
    }
    assert.fail(`Tab does not lead to ${locator}`);
}

async function press(page, locator) {
    await tabTo(page, locator);
    await page.keyboard.press('Enter');
}

async function write(page, locator, text) {
    await tabTo(page, locator);
    await page.keyboard.press('Control+A');
    await page.keyboard.type(text);
}

async function talk(page) {
    await page.getByText('It answers. Ask it something.').waitFor();
    await hasFocus(page, 'textarea');
    await page.keyboard.type('Say something.');
    await page.keyboard.press('Enter');
    await page.getByRole('log').getByText('word1 word2 word3').waitFor();
}

// Answers reads of a rental from the moment on when it runs: a slow line, or a quick host.
async function readLate(page) {
    await page.route(({ pathname }) => /^\/api\/v1\/jobs\/[^/]+$/.test(pathname), async (route) => {
        if (route.request().method() !== 'GET') return route.fallback();
        for (;;) {
            const response = await route.fetch().catch(() => undefined);
            if (!response) return; // the story is over
            const { state } = await response.json();
            if (state !== 'RESERVED' && state !== 'STARTING' && state !== 'READY') return route.fulfill({ response });
            await sleep(100);
        }
    });
}

test('what answers before its page is there has the focus, too', async (t) => {
    const market = await startMarket(t);
    const email = 'lee@example.org';
    await market.openHost(await market.enlist('ada'), 'a', '360000');
    await enrichPerson(market, email, 20_000_000);
    const page = await signInByPage(t, market, email);
    await readLate(page);
    await page.goto('/');
    await page.getByRole('button', { name: /^Rent 1 × / }).click();
    await page.getByLabel('It may cost at most').fill('2');
    await page.getByRole('button', { name: 'Rent, at most 2.00 USDC' }).click();
    await page.waitForURL((url) => url.pathname.startsWith('/rentals/'));
    await talk(page);
});

test('a renter needs no mouse, from the catalog to the receipt', async (t) => {
    const market = await startMarket(t);
    const email = 'kim@example.org';
    await enrichPerson(market, email, 20_000_000);
    await market.openHost(await market.enlist('ada'), 'a', '360000');
    const context = await openBrowser(t, market.server);
    await context.addInitScript(watchFocus);
    const page = await context.newPage();
    const step = stepsOf(t, page);
    const button = (name) => page.getByRole('button', { name });

    await step('the catalog is filtered, and a rental asked for', async () => {
        await page.goto('/');
        await button(/^Rent 1 × /).waitFor();
        await write(page, page.getByLabel('Most per hour'), '0.5');
        await page.getByText('1 of 1 offer pass').waitFor();
        await press(page, button(/^Rent 1 × /));
        await write(page, page.getByLabel('It may cost at most'), '2');
        await press(page, button('Rent, at most 2.00 USDC'));
    });

    await step('one signs in where one is', async () => {
        await hasFocus(page, 'input[type=email]');
        await page.keyboard.type(email);
        await page.keyboard.press('Enter');
        await page.getByLabel('Code', { exact: true }).waitFor();
        await hasFocus(page, '.code-input');
        await page.keyboard.type(await market.mailbox.nextCode(email));
        await page.keyboard.press('Enter');
        await press(page, button('Rent, at most 2.00 USDC'));
        await page.waitForURL((url) => url.pathname.startsWith('/rentals/'));
    });

    await step('it answers where the focus is already', () => talk(page));

    await step('the budget is raised', async () => {
        await press(page, button('+0.50'));
        await press(page, button(/^Add 0.50/));
        await page.getByText('of at most 2.50').waitFor();
    });

    await step('a sheet that is left gives the focus back, and one that stops it a place to go on', async () => {
        const stop = button('Stop').and(page.getByText('Stop', { exact: true }));
        const sheet = page.getByRole('dialog', { name: 'Stop this rental?' });
        await press(page, stop);
        await sheet.waitFor();
        await page.keyboard.press('Escape');
        await sheet.waitFor({ state: 'detached' });
        assert.ok(await stop.evaluate((wanted) => document.activeElement === wanted));
        await page.keyboard.press('Enter');
        await press(page, sheet.getByRole('button', { name: 'Stop it' }));
        await sheet.waitFor({ state: 'detached' });
        await page.getByText('Came back to you').waitFor();
        await hasFocus(page, 'main *');
    });

    await step('the receipt is read and kept', async () => {
        await press(page, page.getByRole('link', { name: 'See the receipt' }));
        await page.waitForURL((url) => url.pathname.endsWith('/receipt'));
        await hasFocus(page, 'h1');
        await page.getByText('Passed: The receipt is what was signed').waitFor();
        await Promise.all([page.waitForEvent('download'), press(page, button('Download'))]);
    });
});
