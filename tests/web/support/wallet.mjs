// A wallet in the page (EIP-1193) whose key is here: it signs what it is asked and sends by the chain of
// the test. It says no when `wallet.refuses` is set, fails with the words of `wallet.fault`, names
// `wallet.shown` for its account, and is on `wallet.chain`; a wish for another goes to `wallet.onSwitch`.
import { makeWallet } from './renter.mjs';

export const base = '0x2105';

export async function addWallet(context, market) {
    const account = makeWallet();
    const wallet = { account, refuses: false, shown: account.address, chain: base, onSwitch() {},
        asked: [], sent: [] };
    await market.chain.giveEther(account.address);
    await context.exposeBinding('askWallet', async (_, { method, params = [] }) => {
        wallet.asked.push(method);
        try {
            return { result: await answer(market.chain, wallet, method, params) };
        } catch (fault) {
            return { fault: { code: fault.code ?? -32603, message: fault.message } };
        }
    });
    await context.addInitScript(() => {
        globalThis.ethereum = {
            async request(call) {
                const { result, fault } = await globalThis.askWallet(call);
                if (fault) throw Object.assign(new Error(fault.message), { code: fault.code });
                return result;
            },
        };
    });
    return wallet;
}

async function answer(chain, wallet, method, params) {
    const { account, refuses, fault } = wallet;
    const asksPerson = method === 'personal_sign' || method === 'eth_sendTransaction';
    if (asksPerson && refuses) throw Object.assign(new Error('User rejected the request.'), { code: 4001 });
    if (asksPerson && fault) throw new Error(fault);
    switch (method) {
        case 'eth_requestAccounts': return [wallet.shown];
        case 'eth_chainId': return wallet.chain;
        case 'wallet_switchEthereumChain': return wallet.onSwitch() ?? null;
        case 'personal_sign': return account.signMessage({ message: { raw: params[0] } });
        case 'eth_sendTransaction':
            wallet.sent.push(params[0]);
            return (await chain.send(params[0])).transactionHash;
        case 'eth_getTransactionReceipt': return chain.rpc(method, ...params);
        default: throw Object.assign(new Error(`no such method: ${method}`), { code: 4200 });
    }
}
