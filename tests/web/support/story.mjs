// A story in steps, each of which begins where the one before ended.
const shownMax = 1500;

// What comes after a step that failed is not told. The fault says what the page showed.
export async function tell(test, page, steps) {
    for (const [name, run] of steps) {
        let isDone = false;
        await test.test(name, async () => {
            try {
                await run();
                isDone = true;
            } catch (fault) {
                const shown = await page.getByRole('main').innerText();
                throw new Error(`${fault.message}\nat ${page.url()}\n${shown.slice(0, shownMax)}`, { cause: fault });
            }
        });
        if (!isDone) return;
    }
}
