// A wallet in the page (EIP-1193) whose key is here: it signs what it is asked, sends by the chain of
// the test, and says no when `wallet.refuses` is set.
import { makeWallet } from './renter.mjs';

export async function addWallet(context, market) {
    const account = makeWallet();
    const wallet = { account, refuses: false, asked: [] };
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

async function answer(chain, { account, refuses }, method, params) {
    const asksPerson = method === 'personal_sign' || method === 'eth_sendTransaction';
    if (asksPerson && refuses) throw Object.assign(new Error('User rejected the request.'), { code: 4001 });
    switch (method) {
        case 'eth_requestAccounts': return [account.address];
        case 'eth_chainId': return '0x2105';
        case 'personal_sign': return account.signMessage({ message: { raw: params[0] } });
        case 'eth_sendTransaction': return (await chain.send(params[0])).transactionHash;
        case 'eth_getTransactionReceipt': return chain.rpc(method, ...params);
        default: throw Object.assign(new Error(`no such method: ${method}`), { code: 4200 });
    }
}
