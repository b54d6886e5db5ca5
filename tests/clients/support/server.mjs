// A real berthd on a free port with a fresh folder of its own. BERTHD names the program.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Specification } from './specification.mjs';
import { until } from './wait.mjs';

const startsMax = 3;
const stopSecondsMax = 20;

// The server ends with the test, and has to end well. `mail`, `database` and `flags` are settings of berthd;
// `secretFiles` (name → hex) lie in its folder of secrets before it starts.
export async function startServer(test, { mail, database, flags = [], secretFiles = {} } = {}) {
    const folder = await mkdtemp(join(tmpdir(), 'berth-clients-'));
    test.after(() => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, 'secrets'), { mode: 0o700 });
    for (const [name, hex] of Object.entries(secretFiles)) {
        await writeFile(join(folder, 'secrets', name), `${hex}\n`, { mode: 0o400 });
    }
    // Between our look and berthd's start somebody else may take the port.
    for (let start = 1; ; ++start) {
        const server = new Server(folder, await freePort(), { mail, database, flags });
        test.after(() => server.stop());
        if (await server.isReady()) return server;
        if (start === startsMax) throw new Error(`berthd does not start:\n${server.lastWords()}`);
    }
}

export async function freePort() {
    const listener = createServer();
    await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = listener.address();
    await new Promise((resolve) => listener.close(resolve));
    return port;
}

class Server {
    constructor(folder, port, { mail, database, flags }) {
        this.domain = `127.0.0.1:${port}`;
        this.origin = `http://${this.domain}`;
        this.lines = []; // what berthd has logged
        this.database = database ?? `sqlite:${join(folder, 'berth.db')}`;
        this.secrets = join(folder, 'secrets');
        this.settings = ['--listen', this.domain, '--base-url', this.origin,
            '--db', this.database, '--secrets', this.secrets,
            '--mail', mail ?? `file:${join(folder, 'mail')}`, ...flags];
        this.start();
    }

    start() {
        this.end = undefined;
        // Should this process be killed, the server ends with it. BERTH_… variables are kept away.
        this.process = spawn('setpriv', ['--pdeathsig', 'TERM', process.env.BERTHD, 'serve',
            ...this.settings], { env: { PATH: process.env.PATH }, stdio: ['ignore', 'ignore', 'pipe'] });
        this.ended = new Promise((resolve) => this.process.on('exit', (code, signal) => {
            this.end = signal ?? code;
            resolve();
        }));
        createInterface(this.process.stderr).on('line', (line) => this.lines.push(line));
    }

    // False when berthd ended instead.
    async isReady() {
        await until('ready server', async () => {
            if (this.end !== undefined) return true;
            const answer = await fetch(`${this.origin}/readyz`).catch(() => undefined);
            return answer?.ok;
        });
        if (this.end !== undefined) {
            this.stopped = true;
            return false;
        }
        this.specification = await Specification.of(this.origin);
        return true;
    }

    // Ends without a word, as by `kill -9`, and comes back with what it had kept.
    async killAndStart() {
        this.process.kill('SIGKILL');
        await this.ended;
        this.start();
        assert.ok(await this.isReady(), `berthd does not start again:\n${this.lastWords()}`);
    }

    async stop() {
        if (this.stopped) return;
        this.stopped = true;
        this.process.kill('SIGTERM');
        const patience = setTimeout(() => this.process.kill('SIGKILL'), stopSecondsMax * 1000);
        await this.ended;
        clearTimeout(patience);
        assert.equal(this.end, 0, `berthd ended badly:\n${this.lastWords()}`);
    }

    // What berthd has logged, one object a line.
    get log() {
        return this.lines.map(parsed);
    }

    // Waits for a log line of this event whose fields are these.
    logged(event, fields = {}) {
        const isIt = (line) => line.event === event &&
            Object.entries(fields).every(([name, value]) => line[name] === value);
        return until(`log line ${event}`, () => this.log.find(isIt));
    }

    lastWords() {
        return this.lines.slice(-20).join('\n');
    }
}

function parsed(line) {
    try {
        return JSON.parse(line);
    } catch {
        return { text: line };
    }
}
