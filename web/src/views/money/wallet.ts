// The wallet in the browser (EIP-1193): the only place where the console speaks to it.
import { visible } from '../../format';

export const baseChain = '0x2105';
const transferSelector = 'a9059cbb'; // transfer(address,uint256)
const lookFirst = 'It may have been sent: look into your wallet before you send again.';
const addressPattern = /^0x[0-9a-fA-F]{40}$/;

export interface Wallet {
    request(call: { method: string; params?: unknown[] }): Promise<unknown>;
    on?(event: string, listener: () => void): void;
    removeListener?(event: string, listener: () => void): void;
}

/** What went wrong with the wallet, in words for the person who holds it. */
export class WalletFault extends Error {
    override readonly name = 'WalletFault';
    constructor(message: string, readonly isRefusal: boolean) { super(message); }
}

export function findWallet(): Wallet | undefined {
    const found = (globalThis as { ethereum?: Partial<Wallet> }).ethereum;
    return typeof found?.request === 'function' ? found as Wallet : undefined;
}

function explained(fault: unknown): WalletFault {
    if (fault instanceof WalletFault) return fault;
    const { code, message } = (fault ?? {}) as { code?: unknown; message?: unknown };
    if (code === 4001) return new WalletFault('Your wallet said no. Nothing was sent.', true);
    if (code === -32002) {
        return new WalletFault('Your wallet still shows an earlier question. Open it and answer that first.', false);
    }
    if (code === 4900 || code === 4901) {
        return new WalletFault('Your wallet is not connected to Base.', false);
    }
    const told = typeof message === 'string' && message !== '' ? visible(message.slice(0, 200)) : 'it did not say why';
    return new WalletFault(`Your wallet could not do it: ${told}`, false);
}

async function ask(wallet: Wallet, method: string, params: unknown[] = []): Promise<unknown> {
    try {
        return await wallet.request({ method, params });
    } catch (fault) {
        throw explained(fault);
    }
}

/** The account that the person chose in the wallet. */
export async function chooseAccount(wallet: Wallet): Promise<string> {
    const found = await ask(wallet, 'eth_requestAccounts');
    const address: unknown = Array.isArray(found) ? found[0] : undefined;
    if (typeof address !== 'string' || !addressPattern.test(address)) {
        throw new WalletFault('Your wallet named no account. Unlock it and try again.', false);
    }
    return address;
}

function hex(text: string): string {
    const bytes = new TextEncoder().encode(text);
    return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

export async function signText(wallet: Wallet, address: string, text: string): Promise<string> {
    const signature = await ask(wallet, 'personal_sign', [hex(text), address]);
    if (typeof signature !== 'string' || !/^0x[0-9a-fA-F]+$/.test(signature)) {
        throw new WalletFault('Your wallet gave no signature. Try again.', false);
    }
    return signature;
}

const baseNetwork = {
    chainId: baseChain, chainName: 'Base', rpcUrls: ['https://mainnet.base.org'],
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 }, blockExplorerUrls: ['https://basescan.org'],
};

async function chainOf(wallet: Wallet): Promise<string> {
    return String(await ask(wallet, 'eth_chainId')).toLowerCase();
}

export async function switchToBase(wallet: Wallet): Promise<void> {
    if (await chainOf(wallet) === baseChain) return;
    try {
        await wallet.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: baseChain }] });
    } catch (fault) {
        // 4902: the wallet does not know the chain yet.
        if ((fault as { code?: unknown } | null)?.code !== 4902) throw explained(fault);
        await ask(wallet, 'wallet_addEthereumChain', [baseNetwork]);
    }
    if (await chainOf(wallet) !== baseChain) {
        throw new WalletFault('Your wallet stayed on another chain. Choose Base in it. Nothing was sent.', false);
    }
}

/** The data of an ERC-20 transfer. */
export function transferData(to: string, amountMicro: string): string {
    if (!addressPattern.test(to)) throw new TypeError(`not an address: ${to}`);
    const word = (digits: string) => digits.toLowerCase().padStart(64, '0');
    return `0x${transferSelector}${word(to.slice(2))}${word(BigInt(amountMicro).toString(16))}`;
}

export interface TokenTransfer { from: string; to: string; token: string; amountMicro: string }

async function requireAccount(wallet: Wallet, wanted: string): Promise<void> {
    const chosen = await chooseAccount(wallet);
    if (chosen.toLowerCase() === wanted.toLowerCase()) return;
    throw new WalletFault(`Your wallet is on ${brief(chosen)}. Switch it to ${brief(wanted)}, the linked one: money of ` +
        'another account would not be credited. Nothing was sent.', false);
}

/** Sends it and gives the hash of the transaction. The wallet shows it first and asks. Account and chain may change
 * while it asks: the wallet is told which ones are meant. */
export async function sendToken(wallet: Wallet, { from, to, token, amountMicro }: TokenTransfer): Promise<string> {
    await requireAccount(wallet, from);
    await switchToBase(wallet);
    await requireAccount(wallet, from); // the question about the chain may have been answered with another account
    const transaction = { from, to: token, value: '0x0', data: transferData(to, amountMicro), chainId: baseChain };
    let hash: unknown;
    try {
        hash = await wallet.request({ method: 'eth_sendTransaction', params: [transaction] });
    } catch (fault) {
        const { message, isRefusal } = explained(fault);
        // Whatever else it says, it may have been sent before it was said.
        throw new WalletFault(isRefusal ? message : `${message.replace(/[.!?]?$/, '.')} ${lookFirst}`, isRefusal);
    }
    if (typeof hash !== 'string' || !isHash(hash)) {
        throw new WalletFault(`Your wallet named no transaction. ${lookFirst}`, false);
    }
    return hash.toLowerCase();
}

export const isHash = (text: string) => /^0x[0-9a-fA-F]{64}$/.test(text);
export const isAddress = (text: string) => addressPattern.test(text);

/** '0x71C7…976F' */
export const brief = (address: string) => `${address.slice(0, 6)}…${address.slice(-4)}`;

/** The request that a wallet reads out of a QR code (EIP-681). */
export function paymentUri(token: string, to: string, amountMicro: string, chainId: number): string {
    return `ethereum:${token}@${chainId}/transfer?address=${to}&uint256=${amountMicro}`;
}

const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
interface Log { address?: string; topics?: string[]; logIndex?: string }

/** Which log of a transaction the transfer is, as the wallet's own node tells; undefined while it does not know. */
export async function findLogIndex(
    wallet: Wallet, hash: string, { token, to }: { token: string; to: string },
): Promise<number | undefined> {
    const receipt = await ask(wallet, 'eth_getTransactionReceipt', [hash]) as { logs?: Log[] } | null;
    const ending = to.slice(2).toLowerCase();
    const found = receipt?.logs?.find(({ address, topics }) => address?.toLowerCase() === token.toLowerCase()
        && topics?.[0] === transferTopic && topics[2]?.toLowerCase().endsWith(ending));
    const told: unknown = found?.logIndex;
    return typeof told === 'string' && /^0x[0-9a-fA-F]{1,8}$/.test(told) ? Number(told) : undefined;
}
