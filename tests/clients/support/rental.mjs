// A server with a running rental of a model, and its engine: the program rental_server, which lies
// beside BERTHD.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import OpenAI from 'openai';

export async function startRental(test, flags = []) {
    const program = join(dirname(process.env.BERTHD), 'rental_server');
    const child = spawn('setpriv', ['--pdeathsig', 'TERM', program, ...flags],
        { env: { PATH: process.env.PATH }, stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    test.after(async () => {
        child.stdin.end();
        await ended;
    });
    const [line] = await Promise.race([
        once(createInterface(child.stdout), 'line'),
        ended.then(() => { throw new Error('rental_server does not start'); }),
    ]);
    return new Rental(child, JSON.parse(line));
}

class Rental {
    constructor(child, told) {
        this.child = child;
        Object.assign(this, told);
        this.place = `${this.origin}/api/v1/jobs/${this.job_id}`;
    }

    // As docs/openai.md says it.
    client(options = {}) {
        return new OpenAI({
            baseURL: `${this.place}/openai/v1`, apiKey: this.key, maxRetries: 0, ...options,
        });
    }

    // What the engine saw of its last request and of its streams.
    async seen() {
        return (await fetch(`${this.engine}/seen`)).json();
    }

    async misbehave(how) {
        await fetch(`${this.engine}/misbehave/${how}`, { method: 'POST' });
    }

    async usage() {
        const headers = { Authorization: `Bearer ${this.key}` };
        return (await fetch(`${this.place}/usage`, { headers })).json();
    }

    end() {
        this.child.stdin.write('end\n');
    }
}
