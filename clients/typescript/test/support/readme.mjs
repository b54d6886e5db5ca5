// Writes the examples of README.md as programs, for the compiler and for the test that runs them.
import { mkdir, readFile, writeFile } from 'node:fs/promises';

const root = new URL('../../', import.meta.url);
const page = await readFile(new URL('README.md', root), 'utf8');
await mkdir(new URL('dist/readme/', root), { recursive: true });
const examples = [...page.matchAll(/^## (.*)$|^```ts\n([^]*?)^```/gm)];
let heading = 'offers';
for (const [, title, code] of examples) {
    if (title) heading = title.toLowerCase();
    else await writeFile(new URL(`dist/readme/${heading}.ts`, root), code);
}
