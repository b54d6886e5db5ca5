// A rental of a model in a town of its own, and the engine that serves it.
import OpenAI from 'openai';
import { good } from './client.mjs';
import { startTown } from './town.mjs';

export async function startRental(test, flags = []) {
    const town = await startTown(test, { flags });
    const [ada, ben] = [await town.enlist('ada'), await town.enlist('ben')];
    await town.fund(ben, 50_000_000);
    const host = await town.openHost(ada, 'a');
    return new Rental(town, ben, await town.rent(ben, host)).find();
}

class Rental {
    constructor(town, renter, job) {
        Object.assign(this, { town, renter, job, key: renter.key });
        this.path = `/api/v1/jobs/${job}`;
    }

    async find() {
        const access = good(await this.renter.get(`${this.path}/access`), 200);
        this.endpointKey = access.endpoint_api_key;
        this.engine = `http://127.0.0.1:${access.endpoints[0].external_port}`;
        return this;
    }

    // As docs/openai.md says it.
    client(options = {}) {
        return new OpenAI({ baseURL: `${this.town.server.origin}${this.path}/openai/v1`,
            apiKey: this.key, maxRetries: 0, ...options });
    }

    // What the engine saw of its last request and of its streams.
    async seen() {
        return (await fetch(`${this.engine}/seen`)).json();
    }

    async misbehave(how) {
        await fetch(`${this.engine}/misbehave/${how}`, { method: 'POST' });
    }

    async usage() {
        return good(await this.renter.get(`${this.path}/usage`), 200);
    }

    async end() {
        good(await this.renter.post(`${this.path}/stop`, { reason: 'done' }), 202);
    }
}
