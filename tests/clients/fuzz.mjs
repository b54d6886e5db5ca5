// Many requests, made from the server's own specification. BERTH_FUZZ_REQUESTS and BERTH_FUZZ_SEED
// say how many and which, BERTH_FUZZ_DB on what database (an empty one; SQLite otherwise). A finding
// is told at once and names its seed and request; the last line sums up. tools/fuzz_many runs several
// of these side by side. A program of its own: node's test runner follows every promise, which would
// take a good part of the time.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { Program, good } from './support/client.mjs';
import { Fuzzer } from './support/fuzzer.mjs';
import { Machine } from './support/machine.mjs';
import { openMailFolder } from './support/mailbox.mjs';
import { signIn, signInAdmin, stepUpByMail } from './support/person.mjs';
import { startMemoryChain } from './support/memory_chain.mjs';
import { recipesFor } from './support/recipes.mjs';
import { startTown } from './support/town.mjs';
import { Wire } from './support/wire.mjs';

const requests = Number(process.env.BERTH_FUZZ_REQUESTS ?? 20_000);
const seed = Number(process.env.BERTH_FUZZ_SEED ?? 1);
const run = promisify(execFile);
const plenty = 1_000_000;
const grantMilliseconds = 60_000; // a grant of the admin's lasts five minutes
const rates = ['rate-public-per-minute', 'rate-account-per-minute', 'rate-sign-in-per-hour',
    'rate-invalid-credentials-per-minute', 'rate-sign-in-codes-per-hour', 'rate-quotes-per-minute',
    'rate-sign-in-mails-per-hour', 'rate-codes-per-hour', 'rate-challenge-per-hour',
    'rate-tickets-per-hour', 'rate-ticket-messages-per-hour', 'rate-enrolments-per-hour',
    'rate-relay-per-minute'];
// Sent only as a recipe has them: they could end what the run lives on.
const guarded = ['wait_for_commands', 'list_events', 'list_operator_events', 'act_on_user',
    'act_on_machine', 'put_setting', 'reset_setting', 'replace_template', 'unpublish_template',
    'retire_machine', 'test_download', 'test_upload', 'remove_totp', 'sign_out', 'revoke_sessions',
    'revoke_session'];
// Would end the machine; answers that do not end.
const leftOut = ['leave', 'stream_events', 'stream_operator_events'];

async function agent(town, name, scopes) {
    const program = await town.enlist(name, scopes);
    const { items } = good(await program.get('/api/v1/wallets'), 200);
    return { name, kind: 'agent', program, wallet: program.wallet, binding: items[0].binding_id,
        headers: () => program.headers(), renew: () => program.renew() };
}

async function person(server, mailbox, name) {
    const caller = { name, kind: 'person', headers: (method) => caller.browser.headers(method) };
    let times = 0; // a new address each time: codes that the run asked for are in the old mailbox
    caller.renew = async () => {
        // A grant changes the cookie under requests that are on their way.
        if ((await caller.browser?.get('/api/v1/auth/session'))?.status === 200) return;
        const browser = await signIn(server, mailbox, `${name}${++times}@example.org`);
        for (const purpose of ['account-sensitive', 'wallet']) {
            await stepUpByMail(browser, mailbox, purpose);
        }
        caller.browser = browser;
    };
    await caller.renew();
    return caller;
}

async function admin(server, mailbox, database) {
    const browser = await signInAdmin(server, mailbox, 'root@example.org', (email) =>
        run(process.env.BERTHD, ['admin', 'create', '--email', email, ...database]));
    // Wrong codes would end its session too, and soon no code would be good any more.
    const avoids = ['sign_out', 'revoke_sessions', 'revoke_session', 'step_up',
        'give_second_factor', 'begin_totp', 'confirm_totp', 'verify_sign_in',
        'request_withdrawal', 'request_payout', 'add_withdrawal_address'];
    const caller = { name: 'root', kind: 'admin', admin: true, browser, avoids,
        headers: (method) => browser.headers(method) };
    let grantedAt = Date.now();
    caller.renew = async () => {
        if ((await browser.get('/api/v1/auth/session')).status !== 200) await browser.signInAgain();
        else if (Date.now() - grantedAt < grantMilliseconds) return;
        await browser.grant();
        grantedAt = Date.now();
    };
    return caller;
}

async function fuzz(t) {
    const mailbox = openMailFolder(t);
    const town = await startTown(t, {
        chain: await startMemoryChain(t),
        mail: `file:${mailbox.folder}`, database: process.env.BERTH_FUZZ_DB,
        flags: ['--liabilities-every-s', '60',
            ...rates.flatMap((rate) => [`--${rate}`, String(plenty)])],
    });
    const { server } = town;
    server.wire = new Wire(new URL(server.origin).port);
    t.after(() => server.wire.close());
    server.anybody = new Program(server);
    const database = ['--db', server.database, '--secrets', server.secrets];
    const [ada, ben, cat] = [await agent(town, 'ada'), await agent(town, 'ben'),
        await agent(town, 'cat', ['renter'])];
    const root = await admin(server, mailbox, database);
    for (const each of [ben, cat]) await town.fund(each.program, 50_000_000);
    await strangersDeposits(town);
    const hosts = [await town.openHost(ada.program, 'a'), await town.openHost(ada.program, 'b')];
    ada.hosts = hosts.map((host) => host.machine_id);
    await town.rent(ben.program, hosts[0]);
    const machine = await Machine.enroll(ada.program);
    const callers = [{ name: 'nobody', kind: 'nobody', headers: () => ({}) }, ada, ben, cat,
        await person(server, mailbox, 'dan'), await person(server, mailbox, 'eve'), root,
        { name: 'machine', kind: 'machine', machine, headers: () => ({}) }];
    const victim = (await agent(town, 'victim')).program;
    const { account_id } = good(await victim.get('/api/v1/auth/session'), 200);
    const recipes = recipesFor({ town, mailbox, root, victim: account_id,
        spare: await Machine.enroll(ada.program) });
    const fuzzer = new Fuzzer({ server, callers, seed, recipes, guarded, leftOut });
    Object.assign(fuzzer, { hostOwner: ada.program, market: hosts.map((it) => it.offer_id) });
    const granting = setInterval(() => fuzzer.renew(root), grantMilliseconds);
    t.after(() => clearInterval(granting));
    const began = Date.now();
    const sent = await fuzzer.run(requests);
    await server.stop();
    for (const what of ['ledger', 'audit']) {
        const { stdout } = await run(process.env.BERTHD, ['check', what, ...database]);
        if (/NOT SOUND/.test(stdout)) fuzzer.report(`check ${what}: ${stdout}`);
    }
    console.log(`FUZZ ${JSON.stringify({ seed, requests: sent, findings: fuzzer.findings,
        seconds: Math.round((Date.now() - began) / 1000), answers: fuzzer.counts,
        never_succeeded: fuzzer.neverReached() })}`);
    return fuzzer.findings === 0;
}

// Money that nobody announced, for operators to find its owner.
async function strangersDeposits({ chain, treasury }) {
    for (let i = 0; i < 3; ++i) {
        const { address } = privateKeyToAccount(generatePrivateKey());
        await chain.mint(address, 1_000_000);
        await chain.pay(address, treasury, 1_000_000);
    }
}

// In place of a test: what was begun ends, the newest first.
const endings = [];
const isGood = await fuzz({ after: (ending) => endings.unshift(ending) }).catch((error) => {
    console.error(error);
    return false;
}).finally(async () => {
    for (const ending of endings) await ending();
});
process.exit(isGood ? 0 : 1);
