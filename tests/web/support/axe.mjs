// Looks at a page with axe; the policy of the page lets no script in, so it is evaluated.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

export async function assertAccessible(page, where) {
    if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(source);
    const { violations } = await page.evaluate((tags) =>
        globalThis.axe.run(document, { runOnly: tags, resultTypes: ['violations'] }), rules);
    const found = violations.filter(({ impact }) => ['critical', 'serious', 'moderate'].includes(impact))
        .map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))
            .join(' | ')}`);
    assert.deepEqual(found, [], `axe at ${where}`);
    const [wide, seen, over] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth,
        [...document.querySelectorAll('main *')].filter((it) => it.getBoundingClientRect().right > innerWidth)
            .map((it) => it.outerHTML.slice(0, 120)).slice(-3)]);
    assert.ok(wide <= seen, `${where} scrolls sideways: ${wide} of ${seen} px, for ${over.join(' | ')}`);
}
