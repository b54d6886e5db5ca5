// How the fuzzer's callers get through where luck would not: codes from the mail, signatures of
// wallets, versions that are current, money that is there. A recipe gives {path, query, headers, body},
// as far as they are not up to chance, or nothing when there is nothing to be done with the operation.
import { randomBytes, randomUUID } from 'node:crypto';
import otplib from 'otplib';
import { getAddress } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { createSiweMessage } from 'viem/siwe';
import { good } from './client.mjs';
import { linkIn } from './mailbox.mjs';
import { addAuthenticator, signIn } from './person.mjs';
import { Machine } from './machine.mjs';

const reason = 'A reason that is long enough.';
const day = 24 * 3600 * 1000;
const at = (fromNow) => new Date(Date.now() + fromNow).toISOString();
const wallet = () => privateKeyToAccount(generatePrivateKey());
const address = () => getAddress(`0x${randomBytes(20).toString('hex')}`);
const emptyOffer = { included_disk_gib: 100, included_egress_gib: 1000 };

// `root` is the admin, `spare` a machine that may be spoiled, `victim` an account that may.
export function recipesFor({ town, mailbox, root, spare, victim }) {
    const { chain } = town;
    const setting = 'operations.relay_silence_s';
    // Nothing while the admin has to get in again.
    const asRoot = async (path, fuzzer) => {
        if (root.renewing) return undefined;
        const answer = await root.browser.get(path);
        if (answer.status !== 401) return good(answer, 200);
        fuzzer.renew(root);
        return undefined;
    };
    const versionOf = async (user, fuzzer) =>
        (await asRoot(`/api/v1/admin/users/${user}`, fuzzer))?.version;
    const settingVersion = async (fuzzer) => {
        for (let cursor = ''; ;) {
            const page = await asRoot(`/api/v1/admin/settings?limit=100${cursor}`, fuzzer);
            const row = page?.items.find((it) => it.key === setting);
            if (row || !page) return row?.version;
            cursor = `&cursor=${page.next_cursor}`;
        }
    };
    const signed = async (caller, message) => ({ siwe_message: message,
        signature: await caller.wallet.signMessage({ message }) });
    const transfer = (kind) => async (caller, { dice }) => {
        if (!caller.wallet) return undefined;
        const body = { address: caller.wallet.address, amount_micro: String(1 + dice.below(50)) };
        if (dice.chance(0.5)) return { body };
        const challenge = await caller.program.post('/api/v1/withdrawals/challenge', { kind, ...body });
        if (challenge.status !== 201) return undefined;
        return { body: { ...body, ...await signed(caller, challenge.body.message) } };
    };
    // One that was just asked for: the settler is quick.
    const openTransfer = (kind, place) => async (caller, fuzzer) => {
        const helped = await transfer(kind)(caller, fuzzer);
        const made = helped && await caller.program.post(place, helped.body);
        return made?.status === 202 ? { path: { id: made.body[`${kind}_id`] } } : undefined;
    };
    // It takes a while to get in again.
    const seldom = (caller, { dice }) =>
        caller.kind !== 'person' || dice.chance(0.05) ? {} : undefined;
    const evidence = ['ticket 1'];
    const onMachine = (caller, { dice }) => caller.hosts?.length && { path: { id: dice.pick(caller.hosts) } };

    return {
        // Who one is.
        challenge_agent: () => ({ body: { address: address() } }),
        register_agent: async (caller, { server }) => {
            const fresh = wallet();
            const { message } = good(await server.anybody.post('/api/v1/agents/accounts/challenge',
                { address: fresh.address }), 200);
            return { body: { message, signature: await fresh.signMessage({ message }),
                agent: { name: 'Scout', vendor: 'Example Labs', model: 'm' } } };
        },
        start_sign_in: (_, { dice }) => ({ body: { email: `guest${dice.below(20)}@example.org` } }),
        verify_sign_in: async (_, { server, dice }) => {
            if (dice.chance(0.9)) return undefined; // a mail takes its time
            const email = `${randomUUID()}@example.org`;
            await server.anybody.post('/api/v1/auth/email/start', { email });
            return { body: { email, code: await mailbox.nextCode(email) } };
        },
        // As somebody whose authenticator has a code that was not used yet.
        give_second_factor: async ({ kind }, { server, dice }) => {
            if (kind !== 'nobody') return undefined;
            const email = `${randomUUID()}@example.org`;
            const nextCode = await addAuthenticator(await signIn(server, mailbox, email), mailbox);
            const browser = await signIn(server, mailbox, email);
            return { headers: browser.headers('POST'), body: { code: await nextCode() } };
        },
        sign_out: seldom,
        revoke_sessions: seldom,
        revoke_session: async (caller, { dice }) => {
            if (caller.kind !== 'person' || dice.chance(0.95)) return undefined;
            const { status, body } = await caller.browser.get('/api/v1/account/sessions');
            return status === 200 ? { path: { id: dice.pick(body.items).session_id } } : undefined;
        },
        step_up: async (caller, { dice }) => {
            const purpose = dice.pick(['account-sensitive', 'wallet']);
            if (caller.wallet) {
                const { body, status } = await caller.program.post('/api/v1/account/step-up/challenge',
                    { purpose });
                if (status !== 201) return undefined;
                return { body: { purpose, ...await signed(caller, body.message) } };
            }
            if (caller.kind !== 'person' || dice.chance(0.8)) return undefined;
            const sent = await caller.browser.post('/api/v1/account/step-up/code');
            if (sent.status !== 202) return undefined;
            return { body: { purpose, code: await mailbox.nextCode(caller.browser.email) } };
        },
        challenge_step_up: () => ({ body: { purpose: 'account-sensitive' } }),
        confirm_totp: async (caller) => {
            if (caller.kind !== 'person') return undefined;
            const begun = await caller.browser.post('/api/v1/account/mfa/totp');
            if (begun.status !== 201) return undefined;
            const { enrollment_id, secret } = begun.body;
            return { body: { enrollment_id, code: otplib.authenticator.generate(secret) } };
        },
        remove_totp: (caller) => caller.kind === 'person' ? {} : undefined,
        create_api_key: () => ({ body: { name: 'k', scopes: ['renter'], expires_at: at(day) } }),
        link_wallet: async (caller) => {
            if (caller.kind !== 'person') return undefined;
            const nonce = await caller.browser.post('/api/v1/wallets/nonce');
            if (nonce.status !== 201) return undefined;
            const { address, signMessage } = wallet();
            const { domain, origin } = caller.browser.server;
            const message = createSiweMessage({ domain, uri: origin, address, version: '1',
                chainId: 8453, nonce: nonce.body.nonce, issuedAt: new Date(),
                expirationTime: new Date(nonce.body.expires_at) });
            return { body: { chain_id: 8453, address, siwe_message: message,
                signature: await signMessage({ message }) } };
        },

        // Money.
        create_funding_intent: (caller, { dice }) => caller.binding && { body: {
            wallet_binding_id: caller.binding, amount_micro: String(1_000_000 + dice.below(1e6)) } },
        claim_funding_intent: async (caller, fuzzer) => {
            if (!caller.binding) return undefined;
            const amount = String(1_000_000 + fuzzer.dice.below(1000));
            const intent = await caller.program.post('/api/v1/funding-intents',
                { wallet_binding_id: caller.binding, amount_micro: amount });
            if (intent.status !== 201) return undefined;
            await chain.mint(caller.wallet.address, amount);
            const body = await chain.pay(caller.wallet.address, town.treasury, amount);
            return { path: { id: intent.body.intent_id }, body };
        },
        request_withdrawal: transfer('withdrawal'),
        request_payout: transfer('payout'),
        cancel_withdrawal: openTransfer('withdrawal', '/api/v1/withdrawals'),
        cancel_payout: openTransfer('payout', '/api/v1/hosts/payouts'),
        challenge_withdrawal: (caller, { dice }) => caller.wallet && { body: { kind: 'withdrawal',
            address: caller.wallet.address, amount_micro: String(1 + dice.below(50)) } },
        send_withdrawal_code: () => ({ body: { kind: 'withdrawal', address: address(),
            amount_micro: '1' } }),
        add_withdrawal_address: () => ({ body: { address: address(), label: 'Cold' } }),
        confirm: async () => {
            const mail = await mailbox.take((it) => it.raw.includes('/confirm/'));
            if (!mail) return undefined;
            const link = linkIn(mail);
            return { path: { confirmation_id: link.pathname.split('/').at(-1) },
                body: { token: link.searchParams.get('token') ?? link.hash.replace(/^#(token=)?/, '') } };
        },

        // Events, which are not waited for here.
        list_events: (caller, { dice }) => ({ query: { limit: 1 + dice.below(100),
            types: dice.pick(['rental.*', 'account.make_api_key', 'ticket.*,machine.*']) } }),
        list_operator_events: (caller, { dice }) => ({ query: { limit: 1 + dice.below(100) } }),

        // Renting.
        create_quote: (caller, { dice, market }) => market.length && { query: {}, body: {
            offer_id: dice.pick(market), template_id: town.template, duration_limit_s: 600,
            budget_micro: String(10_000 + dice.below(50_000)) } },
        create_job: (caller, fuzzer) => {
            const quote_id = fuzzer.ownOf(caller, 'quote_id').at(-1);
            return quote_id && { body: { quote_id } };
        },
        raise_budget: (caller, fuzzer) => onJob(caller, fuzzer,
            { add_micro: '1000', expected_budget_version: '1' }),
        stop_job: (caller, fuzzer) => fuzzer.dice.chance(0.2)
            ? onJob(caller, fuzzer, { reason: 'done' }) : undefined,
        show_receipt: (caller, fuzzer) => {
            const jobs = fuzzer.ownOf(caller, 'job_id');
            return jobs.length && { path: { job: fuzzer.dice.pick(jobs) } };
        },
        relay_models: (caller, fuzzer) => onJob(caller, fuzzer),
        relay_chat_completions: (caller, fuzzer) => onJob(caller, fuzzer,
            { model: 'm', messages: [{ role: 'user', content: 'x' }] }),
        relay_completions: (caller, fuzzer) => onJob(caller, fuzzer, { model: 'm', prompt: 'x' }),
        relay_embeddings: (caller, fuzzer) => onJob(caller, fuzzer, { model: 'm', input: ['x'] }),

        // Hosting.
        edit_offer: async (caller, { dice }) => {
            if (!caller.hosts?.length) return undefined;
            const id = dice.pick(caller.hosts);
            const { body } = await caller.program.get(`/api/v1/hosts/machines/${id}`);
            return { path: { id }, body: { ...emptyOffer,
                expected_version: body.current_offer?.offer_version ?? '0',
                rate_micro_per_hour: String(3_600_000 + dice.below(1000)),
                available_from: at(-day), available_until: at(10 * day) } };
        },
        list_machine: onMachine,
        drain_machine: (caller, fuzzer) => fuzzer.dice.chance(0.1) ? onMachine(caller, fuzzer) : undefined,
        unlist_machine: (caller, fuzzer) => fuzzer.dice.chance(0.1) ? onMachine(caller, fuzzer) : undefined,
        set_custom_images: (caller, fuzzer) => caller.hosts?.length
            && { ...onMachine(caller, fuzzer), body: { accept: false } },
        enroll_machine: async (caller, { dice, hostOwner }) => {
            if (dice.chance(0.7)) return undefined;
            await Machine.enroll(hostOwner); // so that the route itself succeeds
            return undefined;
        },
        retire_machine: async (caller, { dice }) => {
            if (!caller.hosts || dice.chance(0.8)) return undefined;
            return { path: { id: (await Machine.enroll(caller.program)).id } };
        },

        // The machine itself.
        send_heartbeat: ({ machine }) => machine && { body: machine.heartbeat() },
        wait_for_commands: ({ machine }) => machine && { query: { wait_s: 0 } },
        acknowledge_command: ({ machine }, { dice }) => {
            const command = machine && dice.chance(0.9) && machine.commands.find((it) => !it.answered);
            if (!command) return undefined;
            command.answered = true;
            return { path: { id: command.command_id },
                body: { fence: machine.fence, result: 'accepted' } };
        },
        report_test: ({ machine }) => {
            const command = machine?.commands.find((it) => it.kind === 'QUALIFY' && !it.tested);
            if (!command) return undefined;
            command.tested = true;
            return { path: { run_id: command.payload.run_id }, body: machine.testResult() };
        },
        send_manifest: ({ machine }) => machine && { body: { fence: machine.fence,
            agent_version: '1.0.1', boot_id: 'boot', manifest: machine.manifest,
            manifest_hash: machine.manifestHash() } },
        report_health: ({ machine }, { dice }) => machine && { body: { fence: machine.fence,
            kind: dice.pick(['GPU_XID', 'GPU_ECC']), at: at(0), evidence: {} } },
        test_download: () => ({ query: { bytes: 5000 } }),
        test_upload: () => ({ query: { bytes: 100 }, body: 'x'.repeat(100) }),

        // Support and operators.
        create_ticket: () => ({ body: { category: 'billing', text: 'My deposit does not show.' } }),
        act_on_user: async (_, fuzzer) => {
            const expected_version = await versionOf(victim, fuzzer);
            return expected_version === undefined ? undefined : { path: { id: victim },
                body: { action: 'set_host_capability', enabled: true, reason, expected_version } };
        },
        act_on_machine: (caller, { dice }) => ({ path: { id: spare.id }, body: {
            action: dice.pick(['quarantine', 'release']), reason, expected_version: '1' } }),
        put_setting: async (_, fuzzer) => {
            const expected_version = await settingVersion(fuzzer);
            return expected_version === undefined ? undefined
                : { path: { key: setting }, body: { value: 120, expected_version, reason } };
        },
        reset_setting: async (_, fuzzer) => {
            const expected_version = await settingVersion(fuzzer);
            return expected_version === undefined ? undefined
                : { path: { key: setting }, query: { expected_version, reason } };
        },
        refund: (caller, fuzzer) => fuzzer.pool.has('job_id') && { body: {
            job_id: fuzzer.seen('job_id'), amount_micro: '1', reason, evidence } },
        open_dispute: (caller, fuzzer) => fuzzer.pool.has('job_id') && { body: {
            job_id: fuzzer.seen('job_id'), amount_micro: '1', reason, evidence } },
        close_dispute: (caller, fuzzer) => fuzzer.pool.has('dispute_id') && {
            path: { id: fuzzer.seen('dispute_id') },
            body: { outcome: fuzzer.dice.pick(['upheld', 'rejected']), reason } },
        close_ticket: (caller, fuzzer) => fuzzer.pool.has('ticket_id') && {
            path: { id: fuzzer.seen('ticket_id') }, body: { reason } },
        match_suspense: (caller, fuzzer) => fuzzer.pool.has('deposit_id') && {
            path: { deposit_id: fuzzer.seen('deposit_id') },
            body: { account_id: victim, reason, evidence } },
        add_template: (caller, { example }) => ({ body: { ...example,
            template_id: `fuzz-${randomUUID().slice(0, 8)}` } }),
        replace_template: (caller, fuzzer) => onTemplate(fuzzer, fuzzer.example),
        publish_template: (caller, fuzzer) => onTemplate(fuzzer),
        unpublish_template: (caller, fuzzer) => onTemplate(fuzzer),
        stop_any_job: (caller, fuzzer) => fuzzer.dice.chance(0.1) && fuzzer.pool.has('job_id')
            ? { path: { id: fuzzer.seen('job_id') }, body: { reason } } : undefined,
    };
}

function onJob(caller, fuzzer, body) {
    const jobs = fuzzer.ownOf(caller, 'job_id');
    return jobs.length && { path: { id: jobs.at(-1 - fuzzer.dice.below(Math.min(2, jobs.length))) }, body };
}

// Only what was added here: the others are what the town rents.
function onTemplate(fuzzer, body) {
    if (!fuzzer.madeTemplates.length) return undefined;
    const { id, template_id } = fuzzer.dice.pick(fuzzer.madeTemplates);
    return { path: { id }, body: body && { ...body, template_id } };
}
