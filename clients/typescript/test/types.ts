// Compiled and never run: what the types let through, and what they do not.
import { Client, type Answer, type Item, type Schema } from 'berth-client';

const client = new Client();
const id = '01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57';

export async function allowed(): Promise<void> {
    await client.call('list_jobs');
    await client.call('list_jobs', { query: { limit: 5 }, signal: AbortSignal.timeout(1000), retries: 0 });
    await client.call('relay_chat_completions', { path: { id }, body: { model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: true } });
    const nothing: undefined = await client.call('revoke_api_key', { path: { id } });
    const job: Answer<'show_job'> = await client.call('show_job', { path: { id } });
    const same: Schema<'Job'> = job;
    // A state of a newer server is a text; a switch has to say what becomes of it.
    const unknown: typeof job.state = 'A_STATE_OF_LATER';
    for await (const offer of client.items('list_offers')) {
        const one: Item<'list_offers'> = offer;
        const rate: string = one.total_rate_micro_per_hour;
        console.log(nothing, same, unknown, rate);
    }
}

export async function refused(): Promise<void> {
    // @ts-expect-error there is no such operation
    await client.call('list_ships');
    // @ts-expect-error the id is missing
    await client.call('show_job');
    // @ts-expect-error an amount is a text
    await client.call('create_quote', { body: { offer_id: id, duration_limit_s: 60, budget_micro: 1000000 } });
    // @ts-expect-error it has no pages
    for await (const each of client.items('list_wallets')) console.log(each);
    // @ts-expect-error no such choice is ours to send
    await client.call('list_offers', { query: { verification_level: 'certain' } });
}
