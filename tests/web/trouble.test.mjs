// What goes wrong around a page: engines, servers, sessions, tabs and lines.
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { after } from 'node:test';
import { good } from '../clients/support/client.mjs';
import { signIn } from '../clients/support/person.mjs';
import { until } from '../clients/support/wait.mjs';
import { closeBrowser, openBrowser } from './support/browser.mjs';
import { giveAddressAndCode, signInByPage, startMarket } from './support/market.mjs';
import { enrichPerson } from './support/renter.mjs';
import { rudeModel } from './support/rude_engine.mjs';
import { stepsOf } from './support/steps.mjs';

after(closeBrowser);
const email = 'tom@example.org';
const fast3g = { offline: false, latency: 300, downloadThroughput: 180_000, uploadThroughput: 84_000 }; // ms, bytes/s

// An agent starts the engine that lies beside it.
async function openRudeHost(t, market, account) {
    const folder = await mkdtemp(join(tmpdir(), 'berth-rude-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const berthd = process.env.BERTHD;
    await copyFile(join(dirname(berthd), 'scripted_agent'), join(folder, 'scripted_agent'));
    const engine = new URL('support/rude_engine.mjs', import.meta.url).pathname;
    await writeFile(join(folder, 'engine'), `#!/bin/sh\nexec '${process.execPath}' '${engine}' "$@"\n`,
        { mode: 0o755 });
    process.env.BERTHD = join(folder, 'berthd');
    try {
        return await market.openHost(account, 'rude', '360000');
    } finally {
        process.env.BERTHD = berthd;
    }
}

async function endSessions(market) {
    const elsewhere = await signIn(market.server, market.mailbox, email);
    good(await elsewhere.post('/api/v1/account/sessions/revoke'), 204);
}

async function nameKey(page, name) {
    await page.getByRole('button', { name: 'Make a key' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill(name);
}

async function stepUp(page, market) {
    const sheet = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await sheet.getByLabel('Code we mailed to you').fill(await market.mailbox.nextCode(email));
    await sheet.getByRole('button', { name: 'Confirm' }).click();
}

// The streams of events that are open, and their tabs.
function watchStreams(t, context) {
    const open = new Map();
    const begin = (request) => {
        if (new URL(request.url()).pathname === '/api/v1/events/stream') open.set(request, request.frame().page());
    };
    const end = (request) => { open.delete(request); };
    context.on('request', begin).on('requestfailed', end).on('requestfinished', end);
    t.after(() => context.off('request', begin).off('requestfailed', end).off('requestfinished', end));
    return open;
}

test('an engine that is rude, a server that dies', async (t) => {
    const market = await startMarket(t);
    const tom = await enrichPerson(market, email, 5_000_000);
    const host = await openRudeHost(t, market, await market.enlist('ada'));
    const place = `/rentals/${await market.rent(tom, host)}`;
    const page = await signInByPage(t, market, email);
    const step = stepsOf(t, page);
    const log = page.getByRole('log', { name: 'Conversation' });
    const say = async (text) => {
        await page.getByLabel('Message').fill(text);
        await page.getByRole('button', { name: 'Send', exact: true }).click();
    };

    await step('whatever an engine answers is text', async () => {
        await page.goto(place);
        await say('Be rude.');
        await log.getByText('<img src=x onerror="document.title=\'taken\'">').waitFor();
        await log.getByText('<script>document.title="taken"</script>').waitFor();
        await log.getByText('<U+001B>[31mred<U+001B>[0m<U+202E>turned[a link](javascript:alert(1))').waitFor();
        await log.getByText('<h1>no JSON at all</h1>').waitFor();
        await log.getByText(rudeModel).waitFor();
        assert.equal(await log.locator('img, script, h1, b, a').count(), 0);
        assert.doesNotMatch(await page.title(), /taken/);
    });

    await step('nothing that it says is taken for the service’s', async () => {
        const statuses = [];
        page.on('response', (answer) => {
            const isWriting = answer.request().method() === 'POST' && /\/tickets$/.test(answer.url());
            if (isWriting) statuses.push(answer.status());
        });
        await page.getByRole('link', { name: 'Help' }).first().click();
        await page.getByRole('button', { name: 'Write to us' }).first().click();
        const sheet = page.getByRole('dialog', { name: 'Write to us' });
        await sheet.getByLabel('What is it about?').selectOption('Something else');
        await sheet.getByLabel('What happened?').fill('It was rude.');
        await sheet.getByRole('button', { name: 'Send it' }).click();
        await page.getByRole('log', { name: 'Messages' }).getByText('It was rude.').waitFor();
        assert.deepEqual(statuses, [201]);
        await page.getByRole('link', { name: 'Rentals' }).first().click();
        await page.getByRole('link', { name: /^Open / }).click();
        await log.getByText('<h1>no JSON at all</h1>').waitFor();
    });

    await step('what had come stays when the server dies, and is asked for again when it is back', async () => {
        await say('Count slowly.');
        await log.getByText('number1 number2 number3').waitFor();
        await market.server.killAndStart();
        await log.getByText('The line broke. Send it again.').waitFor();
        await log.getByText('number1 number2 number3').waitFor();
        await log.getByText('<h1>no JSON at all</h1>').waitFor();
        await until('answer after the return', async () => {
            const again = log.getByRole('button', { name: 'Send it again' });
            if (await again.isVisible()) await again.click();
            return await page.getByRole('button', { name: 'Stop answer' }).isVisible()
                && await log.getByText('number1 number2').isVisible();
        });
        await page.getByRole('button', { name: 'Stop answer' }).click();
        await log.getByText(/stopped by you/).waitFor();
    });
});

test('sessions, tabs and lines', async (t) => {
    const market = await startMarket(t);
    await market.openHost(await market.enlist('ada'), 'a', '360000');
    const page = await signInByPage(t, market, email);
    const context = page.context();
    const step = stepsOf(t, page);

    await step('a session that ends in the middle of a form costs no word of it', async () => {
        await page.goto('/help?new=other');
        const sheet = page.getByRole('dialog', { name: 'Write to us' });
        await sheet.getByLabel('What happened?').fill('A long story that nobody wants to write twice.');
        await endSessions(market);
        await sheet.getByRole('button', { name: 'Send it' }).click();
        const again = page.getByRole('dialog', { name: 'You were signed out' });
        await again.getByText('What you wrote is still here').waitFor();
        assert.match(await page.getByLabel('What happened?').inputValue(), /^A long story/);
        await giveAddressAndCode(again, market, email);
        await page.waitForURL((url) => /^\/help\/./.test(url.pathname));
        await page.getByRole('log').getByText('A long story that nobody wants to write twice.').waitFor();
    });

    await step('a page that notices by itself keeps its words, too', async () => {
        await page.getByLabel('Your message').fill('And how it went on.');
        await endSessions(market);
        await page.evaluate(() => dispatchEvent(new Event('visibilitychange'))); // it is looked at again
        await giveAddressAndCode(page.getByRole('dialog', { name: 'You were signed out' }), market, email);
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        assert.equal(await page.getByLabel('Your message').inputValue(), 'And how it went on.');
        await page.getByRole('button', { name: 'Write', exact: true }).click();
        await page.getByRole('log').getByText('And how it went on.').waitFor();
    });

    await step('two tabs listen with one stream, which moves when its tab is closed', async (each) => {
        const open = watchStreams(each, context);
        await page.goto('/help');
        await page.getByText('A long story').waitFor();
        await until('stream of the first tab', () => open.size === 1);
        const other = await context.newPage();
        await other.goto('/account/keys');
        await other.getByText('No key yet.').waitFor();
        assert.deepEqual([...open.values()], [page]);
        // Nobody has heard what happened in between, and keys are never asked for by the clock.
        const again = other.waitForRequest('**/api/v1/account/api-keys*');
        await page.goto('about:blank');
        await until('stream of the other tab', () => [...open.values()].includes(other));
        await again;
        await other.close();
    });

    await step('a step-up in one tab leaves the other its news and its right to write', async () => {
        await page.goto('/account/keys');
        await nameKey(page, 'of this tab');
        // It learns the new token only after its own was refused.
        const statuses = [];
        page.on('response', (answer) => {
            const isMaking = answer.request().method() === 'POST' && /\/api-keys$/.test(answer.url());
            if (isMaking) statuses.push(answer.status());
        });
        await page.route('**/api/v1/auth/session', (route) => statuses.length ? route.continue() : route.abort());

        const other = await context.newPage();
        await other.goto('/account/keys');
        await nameKey(other, 'of the other tab');
        await other.getByRole('button', { name: 'Make the key' }).click();
        await stepUp(other, market);
        await other.getByText('The key “of the other tab” is made').waitFor();
        await page.getByText('of the other tab').waitFor();

        await page.getByRole('button', { name: 'Make the key' }).click();
        await page.getByText('The key “of this tab” is made').waitFor();
        assert.deepEqual(statuses, [403, 201]);
        await other.close();
    });

    await step('a service that is busy is asked less and less often', async () => {
        const visitor = await (await openBrowser(t, market.server)).newPage();
        await visitor.clock.install();
        await visitor.goto('/');
        await visitor.getByText('1 offer can be rented now').waitFor();
        let asked = 0;
        await visitor.route('**/api/v1/catalog?*', (route) => {
            ++asked;
            return route.fulfill({ status: 503, json: { error: { code: 'UNAVAILABLE', message: 'too much to do',
                retryable: false, request_id: '01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57' } } });
        });
        const settle = () => visitor.evaluate(() => new Promise((done) => { queueMicrotask(done); }));
        for (let second = 0; second < 300; second += 5) {
            await visitor.clock.runFor(5_000);
            await settle();
        }
        assert.ok(asked >= 5 && asked <= 9, `asked ${asked} times in five minutes`); // 10, 20, 40, 60 s apart
        await visitor.getByText('trying again').waitFor();
        await visitor.unrouteAll({ behavior: 'wait' });
        await until('answer', async () => {
            await visitor.clock.runFor(5_000);
            return await visitor.getByText('trying again').count() === 0;
        });
    });

    await step('a slow line shows the catalog, and lets one filter it', async () => {
        const visitor = await (await openBrowser(t, market.server)).newPage();
        const line = await visitor.context().newCDPSession(visitor);
        await line.send('Network.enable');
        await line.send('Network.emulateNetworkConditions', fast3g);
        await visitor.goto('/');
        await visitor.getByText('1 offer can be rented now').waitFor();
        const [asked] = await visitor.evaluate(() => performance.getEntriesByType('resource')
            .filter(({ name }) => name.includes('/api/v1/catalog')).map(({ duration }) => duration));
        assert.ok(asked >= fast3g.latency, `the line is slow: ${asked} ms`);
        await visitor.getByLabel('Most per hour').fill('0.1');
        await visitor.getByText('None passes all of your filters.').first().waitFor();
    });
});
