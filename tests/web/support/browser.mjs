// A real Chromium, headless. Whatever a page asks of another origin, reports against its policy or
// throws is a failure of the test that opened it.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
    .find((path) => existsSync(path));
export const patienceMs = 90_000; // a machine that does ten other things

let launched;
function launch() {
    launched ??= chromium.launch({ executablePath: program, timeout: 2 * patienceMs,
        args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb',
            '--host-resolver-rules=MAP *.example 127.0.0.1'] });
    return launched;
}
export async function closeBrowser() {
    if (launched) await (await launched).close();
    launched = undefined;
}

// With BERTH_DIST the page comes out of that folder, under the server's own policy.
async function serveFolder(context, folder) {
    await context.route('**/assets/*', (route) =>
        route.fulfill({ path: join(folder, new URL(route.request().url()).pathname) }));
    await context.route((url) => !/^\/(api|docs|branding|assets|confirm|terms)/.test(url.pathname), async (route) => {
        if (route.request().resourceType() !== 'document') return route.fallback();
        const response = await route.fetch();
        return route.fulfill({ response, path: join(folder, 'index.html') });
    });
}

// A browser of one person at `server`: its pages share a session. `expected` are faults that the
// story means to see, as patterns.
export async function openBrowser(test, server, { theme = 'light', width = 1280, height = 900, expected = [],
    ...options } = {}) {
    const context = await (await launch()).newContext({ baseURL: server.origin, colorScheme: theme,
        viewport: { width, height }, reducedMotion: 'reduce', timezoneId: 'UTC', locale: 'en-GB', ...options });
    context.setDefaultTimeout(patienceMs);
    if (process.env.BERTH_DIST) await serveFolder(context, process.env.BERTH_DIST);
    const faults = [];
    const note = (fault) => { if (!expected.some((pattern) => pattern.test(fault))) faults.push(fault); };
    context.on('request', (request) => {
        const url = new URL(request.url());
        if (url.origin !== server.origin) note(`asked another origin: ${url.origin}`);
    });
    context.on('weberror', (error) => note(`threw: ${error.error().stack ?? error.error()}`));
    context.on('console', (message) => {
        if (message.type() === 'error' && !/Failed to load resource|ERR_/.test(message.text()))
            note(`said: ${message.text()}`);
    });
    test.after(async () => {
        await context.close();
        assert.deepEqual(faults, [], 'the pages behaved');
    });
    return context;
}
