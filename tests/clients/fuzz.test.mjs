// A run of the fuzzer, in the size that every test run can afford.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

test('no request makes the server fail, lie about its answers or show what is another\'s',
    { timeout: Infinity }, async () => {
        const program = fileURLToPath(new URL('fuzz.mjs', import.meta.url));
        const run = spawn('setpriv', ['--pdeathsig', 'TERM', process.execPath, program],
            { stdio: ['ignore', 'pipe', 'pipe'] });
        let told = '';
        for (const pipe of [run.stdout, run.stderr]) pipe.on('data', (text) => { told += text; });
        const [code] = await once(run, 'close');
        console.log(told);
        assert.equal(code, 0, told);
        assert.match(told, /^FUZZ \{/m);
    });
