// A client that does not wait, and remembers how long it would have.
import { Client } from 'berth-client';

export const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function makeClient(market, options = {}) {
    const waits = [];
    const pause = async (ms, signal) => {
        if (signal?.aborted) throw signal.reason;
        waits.push(ms);
        await new Promise((resolve) => setImmediate(resolve));
    };
    const client = new Client({ baseUrl: market.origin, apiKey: 'ark_test', timeoutMs: 5_000, pause, ...options });
    return Object.assign(client, { waits });
}
