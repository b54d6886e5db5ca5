// A person's session at a real berthd, in two tabs of one browser: the cookie is common, the token is not.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Client } from 'berth-client';
import { startMailbox } from '../../../../tests/clients/support/mailbox.mjs';
import { startServer } from '../../../../tests/clients/support/server.mjs';

// What a browser adds by itself.
class Browser {
    cookie = '';

    fetch = async (url, init) => {
        assert.equal(init.credentials, 'same-origin');
        const headers = new Headers(init.headers);
        headers.set('User-Agent', 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0');
        if (this.cookie) headers.set('Cookie', this.cookie);
        if (init.method !== 'GET') headers.set('Origin', new URL(url).origin);
        const answer = await fetch(url, { ...init, headers });
        for (const line of answer.headers.getSetCookie()) this.cookie = line.split(';')[0];
        return answer;
    };
}

test('a tab whose token another tab has renewed reads the new one and goes on', async (t) => {
    const mailbox = await startMailbox(t);
    const server = await startServer(t, { mail: `smtp://127.0.0.1:${mailbox.port}` });
    const browser = new Browser();
    const open = () => new Client({ baseUrl: server.origin, fetch: browser.fetch });
    const [first, second] = [open(), open()];
    const email = 'person@example.org';
    await assert.rejects(first.call('show_session'), { code: 'UNAUTHENTICATED' });
    await first.call('start_sign_in', { body: { email } });
    await first.call('verify_sign_in', { body: { email, code: await mailbox.nextCode(email) } });

    const ticket = { category: 'other', text: 'Does anybody read this?' };
    await second.call('create_ticket', { body: ticket }); // it had no token yet
    await first.call('send_step_up_code');
    await first.call('step_up', { body: { purpose: 'account-sensitive', code: await mailbox.nextCode(email) } });
    await second.call('create_ticket', { body: ticket }); // its token is not good any more
    await first.call('create_ticket', { body: ticket });
    const tickets = [];
    for await (const { ticket_id } of second.items('list_tickets', { query: { limit: 1 } })) tickets.push(ticket_id);
    assert.equal(new Set(tickets).size, 3);
    await first.call('sign_out');
    await assert.rejects(second.call('create_ticket', { body: ticket }), { code: 'UNAUTHENTICATED' });
});
