// People link wallets, as a page with viem does it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { createSiweMessage } from 'viem/siwe';
import { Program, good, refused } from './support/client.mjs';
import { startMailbox } from './support/mailbox.mjs';
import { signIn, stepUpByMail } from './support/person.mjs';
import { startServer } from './support/server.mjs';

async function startAll(t) {
    const mailbox = await startMailbox(t);
    return { mailbox, server: await startServer(t, { mail: `smtp://127.0.0.1:${mailbox.port}` }) };
}

async function personWithGrant(server, mailbox, email) {
    const browser = await signIn(server, mailbox, email);
    await stepUpByMail(browser, mailbox, 'wallet');
    return browser;
}

// Links `wallet`; `changes` are made to the message before it is signed.
async function link(browser, wallet, changes = {}) {
    const nonce = good(await browser.post('/api/v1/wallets/nonce'), 201);
    const message = createSiweMessage({
        domain: browser.server.domain,
        uri: browser.server.origin,
        address: wallet.address,
        version: '1',
        chainId: 8453,
        nonce: nonce.nonce,
        issuedAt: new Date(),
        expirationTime: new Date(nonce.expires_at),
        ...changes,
    });
    const signature = await wallet.signMessage({ message });
    const body = { chain_id: 8453, address: wallet.address, siwe_message: message, signature };
    return { body, answer: await browser.post('/api/v1/wallets/link', body) };
}

test('a wallet is linked, listed, unlinked and linked again', async (t) => {
    const { server, mailbox } = await startAll(t);
    const browser = await signIn(server, mailbox, 'ada@example.org');
    refused(await browser.post('/api/v1/wallets/nonce'), 403, 'FORBIDDEN');
    await stepUpByMail(browser, mailbox, 'wallet');

    const wallet = privateKeyToAccount(generatePrivateKey());
    const { body, answer } = await link(browser, wallet, { statement: 'Link this wallet.' });
    const binding = good(answer, 201);
    assert.equal(binding.address, wallet.address);
    assert.equal(binding.chain_id, 8453);
    assert.equal(binding.version, '1');
    refused(await browser.post('/api/v1/wallets/link', body), 403, 'AUTHORIZATION_INVALID');
    assert.deepEqual(good(await browser.get('/api/v1/wallets'), 200).items, [binding]);

    const same = good((await link(browser, wallet)).answer, 201);
    assert.equal(same.binding_id, binding.binding_id);

    good(await browser.delete(`/api/v1/wallets/${binding.binding_id}`), 204);
    refused(await browser.delete(`/api/v1/wallets/${binding.binding_id}`), 404, 'NOT_FOUND');
    const { items } = good(await browser.get('/api/v1/wallets'), 200);
    assert.equal(items.length, 1);
    assert.ok(items[0].unlinked_at);

    const next = good((await link(browser, wallet)).answer, 201);
    assert.equal(next.version, '2');
    assert.notEqual(next.binding_id, binding.binding_id);
});

test('a message for another site, chain, nonce or time links nothing', async (t) => {
    const { server, mailbox } = await startAll(t);
    const browser = await personWithGrant(server, mailbox, 'ada@example.org');
    const wallet = privateKeyToAccount(generatePrivateKey());
    const later = (minutes) => new Date(Date.now() + minutes * 60_000);
    const changes = {
        domain: { domain: 'elsewhere.example' },
        uri: { uri: 'https://elsewhere.example/' },
        chain: { chainId: 1 },
        nonce: { nonce: 'abcdefgh12345678' },
        'no end': { expirationTime: undefined },
        'late end': { expirationTime: later(60) },
        'past end': { expirationTime: later(-1) },
        'late start': { notBefore: later(2) },
        'issued long ago': { issuedAt: later(-60) },
    };
    for (const [name, change] of Object.entries(changes)) {
        await t.test(name, async () => {
            const { answer } = await link(browser, wallet, change);
            refused(answer, 403, 'AUTHORIZATION_INVALID');
        });
    }
    assert.deepEqual(good(await browser.get('/api/v1/wallets'), 200).items, []);
});

test('a wallet stays with its first account, also unlinked', async (t) => {
    const { server, mailbox } = await startAll(t);
    const wallet = privateKeyToAccount(generatePrivateKey());
    const first = await personWithGrant(server, mailbox, 'ada@example.org');
    const binding = good((await link(first, wallet)).answer, 201);
    const second = await personWithGrant(server, mailbox, 'bob@example.org');
    refused((await link(second, wallet)).answer, 409, 'CONFLICT');
    refused(await second.delete(`/api/v1/wallets/${binding.binding_id}`), 404, 'NOT_FOUND');
    good(await first.delete(`/api/v1/wallets/${binding.binding_id}`), 204);
    refused((await link(second, wallet)).answer, 409, 'CONFLICT');
});

test('the wallet of a person and that of an agent do not change sides', async (t) => {
    const { server, mailbox } = await startAll(t);
    const person = await personWithGrant(server, mailbox, 'ada@example.org');
    const register = async (wallet) => {
        const program = new Program(server);
        const { message } = good(await program.post('/api/v1/agents/accounts/challenge',
            { address: wallet.address }), 200);
        return program.post('/api/v1/agents/accounts', {
            message, signature: await wallet.signMessage({ message }),
            agent: { name: 'Rent-o-matic', vendor: 'Example Labs' },
        });
    };
    const [hers, its] = [1, 2].map(() => privateKeyToAccount(generatePrivateKey()));
    good((await link(person, hers)).answer, 201);
    refused(await register(hers), 403, 'FORBIDDEN');
    good(await register(its), 201);
    refused((await link(person, its)).answer, 409, 'CONFLICT');
});
