// Somebody with money: what a story about renting begins with, done by programs.
import { createRequire } from 'node:module';
import { good } from '../../clients/support/client.mjs';
import { signIn, stepUpByMail } from '../../clients/support/person.mjs';

// Installed beside the other clients.
const { generatePrivateKey, privateKeyToAccount } =
    createRequire(new URL('../../clients/package.json', import.meta.url))('viem/accounts');

export function makeWallet() {
    return privateKeyToAccount(generatePrivateKey());
}

// Answers a session of that person beside the one in the browser.
export async function enrichPerson(market, email, micro) {
    const person = await signIn(market.server, market.mailbox, email);
    await stepUpByMail(person, market.mailbox, 'wallet');
    person.wallet = makeWallet();
    const { address } = person.wallet;
    const { message } = good(await person.post(`/api/v1/wallets/nonce?address=${address}`), 201);
    good(await person.post('/api/v1/wallets/link', { chain_id: 8453, address, siwe_message: message,
        signature: await person.wallet.signMessage({ message }) }), 201);
    await market.fund(person, micro);
    return person;
}
