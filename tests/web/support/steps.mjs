// The steps of a story, each a test of its own. What follows one that failed is not tried, and what
// the page showed then is told.
const tellCharacters = 1500;

export function stepsOf(test, page) {
    let isBroken = false;
    return (name, tell) => test.test(name, { skip: isBroken && 'a step before it failed' }, async (step) => {
        try {
            await tell(step);
        } catch (fault) {
            isBroken = true;
            const text = await page.locator('body').innerText().catch(() => 'nothing');
            step.diagnostic(`${page.url()} showed: ${text.replaceAll(/\s+/g, ' ').slice(0, tellCharacters)}`);
            throw fault;
        }
    });
}

// A whole story: names and what happens in each step.
export async function tell(test, page, steps) {
    const step = stepsOf(test, page);
    for (const [name, run] of steps) await step(name, run);
}
