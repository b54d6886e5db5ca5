// Many requests after one another, made from the server's own specification. BERTH_FUZZ_REQUESTS and
// BERTH_FUZZ_SEED say how many and which; a failure names its seed and request.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import test from 'node:test';
import { promisify } from 'node:util';
import otplib from 'otplib';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { Program, good } from './support/client.mjs';
import { Fuzzer } from './support/fuzzer.mjs';
import { startMailbox } from './support/mailbox.mjs';
import { signIn, stepUpByMail } from './support/person.mjs';
import { startServer } from './support/server.mjs';

const requests = Number(process.env.BERTH_FUZZ_REQUESTS ?? 6_000);
const seed = Number(process.env.BERTH_FUZZ_SEED ?? 1);
const run = promisify(execFile);
const plenty = 1_000_000;
const rates = ['rate-public-per-minute', 'rate-account-per-minute', 'rate-sign-in-per-hour',
    'rate-invalid-credentials-per-minute', 'rate-sign-in-codes-per-hour', 'rate-quotes-per-minute',
    'rate-sign-in-mails-per-hour', 'rate-codes-per-hour', 'rate-challenge-per-hour',
    'rate-tickets-per-hour', 'rate-ticket-messages-per-hour', 'rate-enrolments-per-hour'];
// These wait for long, end a caller's session, or set what the run depends on.
const leftOut = ['wait_for_commands', 'sign_out', 'revoke_sessions', 'change_setting',
    'act_on_user'];

async function agent(server, name, scopes) {
    const wallet = privateKeyToAccount(generatePrivateKey());
    const program = new Program(server);
    const caller = { name, headers: () => ({ Authorization: `Bearer ${caller.key}` }) };
    caller.renew = async () => {
        const { message } = good(await program.post('/api/v1/agents/accounts/challenge',
            { address: wallet.address }), 200);
        const signature = await wallet.signMessage({ message });
        const made = await program.post('/api/v1/agents/accounts', { message, signature, scopes,
            agent: { name, vendor: 'Example Labs', model: 'example-1' } });
        assert.ok(made.status === 200 || made.status === 201, made.text);
        caller.key = made.body.api_key.secret;
    };
    await caller.renew();
    return caller;
}

async function person(server, mailbox, name) {
    const caller = { name, headers: (method) => caller.browser.headers(method) };
    let times = 0; // a new address each time: codes that the run asked for are in the old mailbox
    caller.renew = async () => {
        caller.browser = await signIn(server, mailbox, `${name}${++times}@example.org`);
    };
    await caller.renew();
    return caller;
}

async function admin(server, mailbox, database) {
    await run(process.env.BERTHD, ['admin', 'create', '--email', 'root@example.org', ...database]);
    const browser = await signIn(server, mailbox, 'root@example.org');
    await stepUpByMail(browser, mailbox, 'account-sensitive');
    const { enrollment_id, secret } = good(await browser.post('/api/v1/account/mfa/totp'), 201);
    const code = () => otplib.authenticator.generate(secret);
    good(await browser.post('/api/v1/account/mfa/totp/confirm', { enrollment_id, code: code() }), 200);
    return { name: 'root', admin: true, headers: (method) => browser.headers(method) };
}

test('no request makes the server fail, lie about its answers or show what is another\'s',
    { timeout: Infinity }, async (t) => {
        const mailbox = await startMailbox(t);
        const server = await startServer(t, {
            mail: `smtp://127.0.0.1:${mailbox.port}`,
            flags: rates.flatMap((rate) => [`--${rate}`, String(plenty)]),
        });
        const database = ['--db', server.database, '--secrets', server.secrets];
        const callers = [
            { name: 'nobody', headers: () => ({}) },
            await agent(server, 'agent-a', ['renter', 'host']),
            await agent(server, 'agent-b', ['renter', 'host']),
            await agent(server, 'renter', ['renter']),
            await person(server, mailbox, 'ada'),
            await person(server, mailbox, 'ben'),
            await admin(server, mailbox, database),
        ];
        const fuzzer = new Fuzzer({ server, callers, seed, leftOut });
        const began = Date.now();
        await fuzzer.run(requests);
        const rate = Math.round(requests / ((Date.now() - began) / 1000));
        t.diagnostic(`${requests} requests, ${rate} a second: ${JSON.stringify(fuzzer.counts)}; `
            + `${fuzzer.reached.size} of ${fuzzer.operations.length} operations succeeded`);
        await server.stop();
        for (const what of ['ledger', 'audit']) {
            const { stdout } = await run(process.env.BERTHD, ['check', what, ...database]);
            assert.doesNotMatch(stdout, /NOT SOUND/);
        }
    });
