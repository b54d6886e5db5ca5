// A chain in this process, for long runs that are about something else: two tokens that can be minted
// and paid, and what berthd asks a provider. Each transaction is a block of its own; whatever is a few
// blocks old is final. It has the face of the real one in chain.mjs.
import { createServer } from 'node:http';
import { concatHex, keccak256, numberToHex, pad, parseTransaction, recoverTransactionAddress } from 'viem';

const chainId = 8453;
const finalityBlocks = 2;
const nobody = `0x${'0'.repeat(40)}`;
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const selectors = { transfer: '0xa9059cbb', balanceOf: '0x70a08231', decimals: '0x313ce567' };
const gwei = '0x3b9aca00';

export async function startMemoryChain(test) {
    const chain = new MemoryChain();
    await new Promise((resolve) => chain.server.listen(0, '127.0.0.1', resolve));
    test.after(() => chain.server.close());
    chain.url = `http://127.0.0.1:${chain.server.address().port}`;
    return chain;
}

class MemoryChain {
    usdc = `0x${'a1'.repeat(20)}`;
    usdt = `0x${'a2'.repeat(20)}`;
    blocks = [];
    holdings = new Map(); // token and owner → [block, amount], the newest last
    nonces = new Map(); // sender → blocks of what it sent
    transactions = new Map(); // hash → what is shown of it, and its receipt
    logs = []; // by block

    constructor() {
        this.mine();
        this.server = createServer((request, response) => {
            const pieces = [];
            request.on('data', (piece) => pieces.push(piece)).on('end', async () => {
                const asked = JSON.parse(Buffer.concat(pieces));
                const answers = []; // one after the other: each takes the next nonce of its sender
                for (const each of [asked].flat()) answers.push(await this.answer(each));
                const answer = Array.isArray(asked) ? answers : answers[0];
                response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer));
            });
        });
    }

    async giveEther() {}

    async mint(to, micro) {
        this.include(newHash(), [this.move(this.usdc, nobody, to, BigInt(micro))]);
    }

    // A payment that is final, as a claim names it.
    async pay(from, to, micro) {
        const hash = newHash();
        this.include(hash, [this.move(this.usdc, from, to, BigInt(micro))]);
        this.mine(finalityBlocks + 1);
        return { tx_hash: hash, log_index: 0 };
    }

    mine(blocks = 1) {
        for (let i = 0; i < blocks; ++i) {
            this.blocks.push({ number: numberToHex(this.blocks.length), hash: newHash(),
                timestamp: numberToHex(Math.floor(Date.now() / 1000)), baseFeePerGas: gwei });
        }
    }

    get latest() {
        return this.blocks.length - 1;
    }

    // The log of a transfer in the block that comes next; nothing when there is not enough.
    move(token, from, to, amount) {
        const next = this.blocks.length;
        const held = this.held(token, from, next);
        if (from !== nobody && held < amount) return undefined;
        if (from !== nobody) this.hold(token, from, next, held - amount);
        this.hold(token, to, next, this.held(token, to, next) + amount);
        return { address: token, topics: [transferTopic, pad(lower(from)), pad(lower(to))],
            data: numberToHex(amount, { size: 32 }), logIndex: '0x0', removed: false };
    }

    include(hash, logs, shown) {
        const isGood = !logs.includes(undefined);
        this.mine();
        const { number, hash: blockHash } = this.blocks[this.latest];
        const place = { transactionHash: hash, blockHash, blockNumber: number };
        const placed = isGood ? logs.map((log) => ({ ...log, ...place })) : [];
        this.logs[this.latest] = placed;
        this.transactions.set(hash, { shown,
            receipt: { ...place, status: isGood ? '0x1' : '0x0', logs: placed } });
    }

    held(token, owner, block) {
        return this.holdings.get(lower(token + owner))?.findLast(([since]) => since <= block)?.[1] ?? 0n;
    }

    hold(token, owner, block, amount) {
        const name = lower(token + owner);
        if (!this.holdings.has(name)) this.holdings.set(name, []);
        this.holdings.get(name).push([block, amount]);
    }

    async answer({ id, method, params }) {
        try {
            const result = await this[method]?.(...params);
            if (result === undefined) throw new Error(`the method ${method} does not exist`);
            return { jsonrpc: '2.0', id, result };
        } catch (error) {
            return { jsonrpc: '2.0', id, error: { code: -32000, message: error.message } };
        }
    }

    numberOf(tag) {
        if (tag === 'finalized') return Math.max(0, this.latest - finalityBlocks);
        return tag?.startsWith('0x') ? Number(tag) : this.latest;
    }

    eth_chainId() {
        return numberToHex(chainId);
    }

    eth_getBlockByNumber(tag) {
        return this.blocks[this.numberOf(tag)] ?? null;
    }

    eth_maxPriorityFeePerGas() {
        return gwei;
    }

    eth_getBalance() {
        return numberToHex(10n ** 18n);
    }

    eth_getTransactionCount(sender, tag) {
        const block = this.numberOf(tag);
        return numberToHex((this.nonces.get(lower(sender)) ?? []).filter((it) => it <= block).length);
    }

    eth_call({ from = nobody, to, data, input = data }, tag) {
        if (input.startsWith(selectors.decimals)) return numberToHex(6, { size: 32 });
        if (input.startsWith(selectors.transfer)) {
            const [amountAt, amountEnd] = [74, 138]; // behind 0x, the selector and the recipient
            const amount = BigInt(`0x${input.slice(amountAt, amountEnd)}`);
            if (this.held(to, from, this.latest) < amount) throw new Error('execution reverted');
            return numberToHex(1, { size: 32 });
        }
        if (!input.startsWith(selectors.balanceOf)) throw new Error('execution reverted');
        return numberToHex(this.held(to, `0x${input.slice(-40)}`, this.numberOf(tag)), { size: 32 });
    }

    eth_getTransactionReceipt(hash) {
        return this.transactions.get(hash)?.receipt ?? null;
    }

    eth_getTransactionByHash(hash) {
        return this.transactions.get(hash)?.shown ?? null;
    }

    eth_getLogs({ fromBlock, toBlock, address, topics }) {
        const tokens = address.map(lower);
        const fits = (log) => tokens.includes(log.address) && topics.every((topic, i) =>
            topic === null || [topic].flat().map(lower).includes(log.topics[i]));
        return this.logs.slice(Number(fromBlock), Number(toBlock) + 1).flatMap((it) => it ?? [])
            .filter(fits);
    }

    async eth_sendRawTransaction(raw) {
        const hash = keccak256(raw);
        const sender = lower(await recoverTransactionAddress({ serializedTransaction: raw }));
        if (this.transactions.has(hash)) throw new Error('already known');
        const parsed = parseTransaction(raw);
        const sent = this.nonces.get(sender) ?? [];
        if ((parsed.nonce ?? 0) < sent.length) throw new Error('nonce too low');
        if ((parsed.nonce ?? 0) > sent.length) throw new Error('nonce too high');
        this.nonces.set(sender, sent);
        const logs = parsed.data?.startsWith(selectors.transfer) ? [this.move(lower(parsed.to), sender,
            `0x${parsed.data.slice(34, 74)}`, BigInt(`0x${parsed.data.slice(74)}`))] : [];
        this.include(hash, logs, { hash, type: '0x2', to: parsed.to, value: '0x0', accessList: [],
            chainId: numberToHex(parsed.chainId), nonce: numberToHex(parsed.nonce ?? 0),
            maxPriorityFeePerGas: numberToHex(parsed.maxPriorityFeePerGas ?? 0n),
            maxFeePerGas: numberToHex(parsed.maxFeePerGas), gas: numberToHex(parsed.gas),
            input: parsed.data ?? '0x', r: parsed.r, s: parsed.s, v: numberToHex(parsed.yParity) });
        sent.push(this.latest);
        this.mine(finalityBlocks);
        return hash;
    }
}

function lower(text) {
    return text.toLowerCase();
}

let hashes = 0;
function newHash() {
    return keccak256(concatHex(['0x00', numberToHex(++hashes, { size: 8 })]));
}
