// A real EVM node (anvil, by tools/anvil) with a token, for one test file. Each transaction is a
// block of its own; whatever is a few blocks old is final.
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { encodeDeployData, encodeFunctionData, getAddress, parseAbi } from 'viem';
import { freePort } from './server.mjs';
import { until } from './wait.mjs';

const root = new URL('../../../', import.meta.url);
const abi = parseAbi(['constructor(string name, string symbol)',
    'function mint(address to, uint256 amount)',
    'function transfer(address to, uint256 amount) returns (bool)']);
const owner = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'; // the first account of every anvil
const ether = `0x${(10n ** 20n).toString(16)}`;
const finalityBlocks = 2;

export async function startChain(test) {
    const chain = new Chain(await freePort());
    test.after(() => chain.process.kill());
    await until('chain', () => chain.rpc('eth_chainId').catch(() => undefined));
    chain.usdc = await chain.deploy('USD Coin', 'USDC');
    chain.usdt = await chain.deploy('Tether USD', 'USDT');
    return chain;
}

class Chain {
    last = Promise.resolve();

    constructor(port) {
        this.url = `http://127.0.0.1:${port}`;
        this.process = spawn('setpriv', ['--pdeathsig', 'TERM', new URL('tools/anvil', root).pathname,
            '--port', port, '--chain-id', '8453', '--slots-in-an-epoch', finalityBlocks / 2,
            '--auto-impersonate', '--threads', '1', '--quiet'], { stdio: 'ignore' });
    }

    async rpc(method, ...params) {
        const answer = await fetch(this.url, {
            method: 'POST', headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        });
        const { result, error } = await answer.json();
        if (error) throw new Error(`${method}: ${error.message}`);
        return result;
    }

    async deploy(name, symbol) {
        const file = new URL('tests/contracts/Token.hex', root);
        const bytecode = `0x${(await readFile(file, 'utf8')).trim()}`;
        const data = encodeDeployData({ abi, bytecode, args: [name, symbol] });
        return getAddress((await this.send({ from: owner, data })).contractAddress);
    }

    // One after the other: each takes the next nonce of its sender.
    send(transaction) {
        const sent = this.last.then(async () => {
            const hash = await this.rpc('eth_sendTransaction', transaction);
            return until('receipt', () => this.rpc('eth_getTransactionReceipt', hash));
        });
        this.last = sent.catch(() => {});
        return sent;
    }

    async giveEther(address) {
        await this.rpc('anvil_setBalance', address, ether);
    }

    async mint(to, micro) {
        const data = encodeFunctionData({ abi, functionName: 'mint', args: [to, BigInt(micro)] });
        await this.send({ from: owner, to: this.usdc, data });
    }

    // A payment that is final, as a claim names it.
    async pay(from, to, micro) {
        await this.giveEther(from);
        const data = encodeFunctionData({ abi, functionName: 'transfer', args: [to, BigInt(micro)] });
        const { transactionHash, logs } = await this.send({ from, to: this.usdc, data });
        await this.mine(finalityBlocks + 1);
        return { tx_hash: transactionHash, log_index: Number(logs[0].logIndex) };
    }

    mine(blocks = 1) {
        return this.rpc('anvil_mine', `0x${blocks.toString(16)}`);
    }
}
