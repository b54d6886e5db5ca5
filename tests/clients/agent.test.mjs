// Agents open accounts with their wallets, as a program with viem does it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { serializeErc6492Signature, verifyMessage } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { parseSiweMessage, validateSiweMessage } from 'viem/siwe';
import { Program, good, refused } from './support/client.mjs';
import { startServer } from './support/server.mjs';

const profile = { name: 'Rent-o-matic', vendor: 'Example Labs', model: 'example-1' };

function makeWallet() {
    return privateKeyToAccount(generatePrivateKey());
}

async function challenge(server, address) {
    return good(await new Program(server).post('/api/v1/agents/accounts/challenge', { address }),
        200);
}

function register(server, message, signature, more = {}) {
    return new Program(server).post('/api/v1/agents/accounts',
        { message, signature, agent: profile, ...more });
}

async function registered(server, wallet, more) {
    const { message } = await challenge(server, wallet.address);
    return good(await register(server, message, await wallet.signMessage({ message }), more), 201);
}

test('the challenge is a message that viem reads, for this site and this wallet', async (t) => {
    const server = await startServer(t);
    const wallet = makeWallet();
    const { message, expires_at, terms_version, terms_url } =
        await challenge(server, wallet.address.toLowerCase());
    const read = parseSiweMessage(message);
    assert.ok(validateSiweMessage({
        address: wallet.address, domain: server.domain, message: read, nonce: read.nonce,
    }));
    assert.equal(read.uri, server.origin);
    assert.equal(read.chainId, 8453);
    assert.deepEqual(read.resources, [terms_url]);
    assert.ok(read.statement.includes(terms_version));
    assert.equal(read.expirationTime.getTime(), new Date(expires_at).getTime());
    const lifetime = read.expirationTime - read.issuedAt;
    assert.ok(Math.abs(lifetime - 5 * 60 * 1000) <= 1, `${lifetime} ms`);
});

test('an agent registers and uses its key', async (t) => {
    const server = await startServer(t);
    const wallet = makeWallet();
    const account = await registered(server, wallet);
    assert.equal(account.account_kind, 'agent');
    assert.equal(account.created, true);
    assert.equal(account.address, wallet.address);
    assert.deepEqual(account.api_key.scopes, ['renter']);
    assert.match(account.api_key.secret, /^ark_[0-9A-Za-z]+$/);
    assert.equal(account.api_key.prefix, account.api_key.secret.slice(0, 12));

    const agent = new Program(server, account.api_key.secret);
    const session = good(await agent.get('/api/v1/auth/session'), 200);
    assert.equal(session.account_id, account.account_id);
    assert.equal(session.account_kind, 'agent');
    assert.equal(session.credential, 'api_key');
    assert.deepEqual(session.scopes, ['renter']);
    assert.equal(session.email, null);

    const { items } = good(await agent.get('/api/v1/wallets'), 200);
    assert.equal(items.length, 1);
    assert.equal(items[0].address, wallet.address);
    assert.equal(items[0].chain_id, 8453);
    assert.equal(items[0].unlinked_at, null);
});

test('what an agent says about itself gives it no right', async (t) => {
    const server = await startServer(t);
    const posing = { name: 'root', vendor: 'Berth', model: 'admin', operator_contact: 'root@localhost' };
    const account = await registered(server, makeWallet(), { agent: posing });
    const agent = new Program(server, account.api_key.secret);
    assert.deepEqual(good(await agent.get('/api/v1/auth/session'), 200).scopes, ['renter']);
    refused(await agent.get('/api/v1/admin/users'), 403, 'FORBIDDEN');
    refused(await agent.get('/api/v1/hosts/machines'), 403, 'FORBIDDEN');
    const plain = await registered(server, makeWallet());
    for (const right of ['scopes', 'policy']) {
        assert.deepEqual(account.api_key[right], plain.api_key[right]);
    }
});

test('an agent that registers again gets another key for the same account', async (t) => {
    const server = await startServer(t);
    const wallet = makeWallet();
    const first = await registered(server, wallet);
    const second = await registered(server, wallet, { scopes: ['renter', 'host'] });
    assert.equal(second.created, false);
    assert.equal(second.account_id, first.account_id);
    assert.notEqual(second.api_key.key_id, first.api_key.key_id);
    assert.notEqual(second.api_key.secret, first.api_key.secret);
    for (const { api_key } of [first, second]) {
        const agent = new Program(server, api_key.secret);
        const session = good(await agent.get('/api/v1/auth/session'), 200);
        assert.equal(session.account_id, first.account_id);
        assert.deepEqual(session.scopes, api_key.scopes);
        assert.equal(good(await agent.get('/api/v1/wallets'), 200).items.length, 1);
    }
    const other = await registered(server, makeWallet());
    assert.notEqual(other.account_id, first.account_id);
});

test('both ways to write the recovery bit of a signature are accepted', async (t) => {
    const server = await startServer(t);
    const wallet = makeWallet();
    for (const shift of [0, 27]) {
        const { message } = await challenge(server, wallet.address);
        const signature = await wallet.signMessage({ message });
        const bit = parseInt(signature.slice(-2), 16) - 27 + shift;
        const written = signature.slice(0, -2) + bit.toString(16).padStart(2, '0');
        good(await register(server, message, written), 201);
    }
});

test('a proof that is wrong, used or for another text is refused', async (t) => {
    const server = await startServer(t);
    const wallet = makeWallet();
    const stranger = makeWallet();
    const fresh = async () => (await challenge(server, wallet.address)).message;
    const edited = async (from, to) => {
        const message = await fresh();
        assert.match(message, from);
        return message.replace(from, to);
    };
    const isRefused = async (message, signature) =>
        refused(await register(server, message, signature), 403, 'AUTHORIZATION_INVALID');

    await t.test('signed by another wallet', async () => {
        const message = await fresh();
        await isRefused(message, await stranger.signMessage({ message }));
    });
    await t.test('used before', async () => {
        const message = await fresh();
        const signature = await wallet.signMessage({ message });
        good(await register(server, message, signature), 201);
        await isRefused(message, signature);
    });
    await t.test('edited and signed again', async () => {
        const message = await edited(/accept the terms/, 'refuse the terms');
        const signature = await wallet.signMessage({ message });
        assert.ok(await verifyMessage({ address: wallet.address, message, signature }));
        await isRefused(message, signature);
    });
    await t.test('made out to another wallet', async () => {
        const message = await edited(new RegExp(wallet.address), stranger.address);
        await isRefused(message, await stranger.signMessage({ message }));
    });
    await t.test('with a nonce of its own', async () => {
        const message = await edited(/Nonce: \w+/, 'Nonce: abcdefgh12345678');
        await isRefused(message, await wallet.signMessage({ message }));
    });
    await t.test('of a smart wallet, with the reason', async () => {
        const message = await fresh();
        const signature = serializeErc6492Signature({
            address: stranger.address, data: '0xdeadbeef',
            signature: await wallet.signMessage({ message }),
        });
        const error = await isRefused(message, signature);
        assert.match(error.message, /smart/i);
    });
});

test('many tries with one challenge register once', async (t) => {
    const server = await startServer(t);
    const wallet = makeWallet();
    const { message } = await challenge(server, wallet.address);
    const signature = await wallet.signMessage({ message });
    const answers = await Promise.all(
        Array.from({ length: 20 }, () => register(server, message, signature)));
    const winners = answers.filter((answer) => answer.status === 201);
    assert.equal(winners.length, 1);
    for (const answer of answers) {
        if (answer !== winners[0]) refused(answer, 403, 'AUTHORIZATION_INVALID');
    }
});
