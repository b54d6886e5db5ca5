#include "support/evm_node.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <chrono>
#include <stdexcept>

#include "base/check.hpp"
#include "crypto/keccak.hpp"

namespace berth::test {
namespace {

namespace json = boost::json;

constexpr std::int64_t tip_wei = 1'000'000'000;
constexpr std::int64_t fee_max_wei = 100'000'000'000;
constexpr std::int64_t gas_max = 200'000;
constexpr std::int64_t mover_tokens_micro = 1'000'000'000'000;
constexpr auto ready_wait_max = std::chrono::seconds(60);
constexpr auto mined_wait_max = std::chrono::seconds(60);
constexpr auto connect_max = std::chrono::seconds(20);
constexpr auto answer_max = std::chrono::seconds(60);

// The keys of anvil's accounts, which everybody knows: no real money can ever lie on them.
constexpr std::array<std::string_view, EvmNode::accounts_max> private_keys{
    "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
    "7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
    "47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
    "8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
    "92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e",
    "4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
    "dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
    "2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6",
};
constexpr int owner = 0;
constexpr int mover = EvmNode::accounts_max - 1;

// Call data, as the contract ABI has it: a selector, then words of 32 bytes.
Bytes selector(std::string_view function) { return crypto::keccak256(function).substr(0, 4); }

Bytes word(std::string_view bytes) { return Bytes(32 - bytes.size(), '\0').append(bytes); }

Bytes word(std::int64_t number) {
    Bytes bytes;
    append_big_endian(bytes, static_cast<std::uint64_t>(number));
    return word(bytes);
}

Bytes short_text(std::string_view text) {
    check(text.size() <= 32, "a token's name is short");
    return word(static_cast<std::int64_t>(text.size())) + Bytes(text) +
           Bytes(32 - text.size(), '\0');
}

std::string hex(std::string_view bytes) { return "0x" + to_hex(bytes); }

std::string hex(std::int64_t number) { return fmt::format("0x{:x}", number); }

std::int64_t number_in(const json::value& quantity) {
    const std::string_view text = quantity.as_string();
    std::int64_t number = 0;
    std::from_chars(text.data() + 2, text.data() + text.size(), number, 16);
    return number;
}

}  // namespace

EvmNode::EvmNode(const Options& options) : options_(options), port_(free_port()) {
    start();
    usdc_ = deploy_token("USD Coin", "USDC");
    usdt_ = deploy_token("Tether USD", "USDT");
    mint(usdc_, {account(mover).address(), {mover_tokens_micro}});
}

std::string EvmNode::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::string EvmNode::rpc(std::string_view method, std::string_view params) {
    http::Outbound request;
    request.method = "POST";
    request.url = url();
    request.headers.add("Content-Type", "application/json");
    request.body =
        fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{}}})", method, params);
    request.response_bytes_max = 64 * 1024 * 1024;
    request.connect_max = connect_max;
    request.total_max = answer_max;
    const json::value answer = json::parse(client_.send(request).body);
    if (const json::value* error = answer.as_object().if_contains("error"))
        throw std::runtime_error(fmt::format("{}: {}", method, json::serialize(*error)));
    return json::serialize(answer.at("result"));
}

void EvmNode::mine(int blocks) { rpc("anvil_mine", fmt::format(R"(["{}"])", hex(blocks))); }

std::int64_t EvmNode::latest_block() { return number_in(json::parse(rpc("eth_blockNumber"))); }

void EvmNode::set_automine(bool on) {
    rpc("evm_setAutomine", fmt::format("[{}]", on));
    automine_ = on;
}

void EvmNode::set_next_block_time(Time time) {
    rpc("evm_setNextBlockTimestamp", fmt::format("[{}]", time.micros / 1'000'000));
}

void EvmNode::set_next_base_fee(std::int64_t wei) {
    rpc("anvil_setNextBlockBaseFeePerGas", fmt::format(R"(["{}"])", hex(wei)));
}

void EvmNode::mine_without(const chain::Hash& waiting, int blocks) {
    const std::string raw = raw_transaction(waiting);
    forget(waiting);
    mine(blocks);
    rpc("eth_sendRawTransaction", "[" + raw + "]");
}

void EvmNode::forget(const chain::Hash& waiting) {
    rpc("anvil_dropTransaction", fmt::format(R"(["{}"])", chain::to_string(waiting)));
}

crypto::SigningKey EvmNode::account(int index) {
    const auto bytes = from_hex(private_keys.at(static_cast<std::size_t>(index)));
    return crypto::SigningKey::from_bytes(bytes.value()).value();
}

void EvmNode::set_ether(const crypto::Address& whose, std::int64_t wei) {
    rpc("anvil_setBalance", fmt::format(R"(["{}","{}"])", crypto::to_string(whose), hex(wei)));
}

crypto::Address EvmNode::deploy_token(std::string_view name, std::string_view symbol) {
    return deploy("Token", word(0x40) + word(0x80) + short_text(name) + short_text(symbol));
}

crypto::Address EvmNode::deploy_wallet(const crypto::Address& whose) {
    return deploy("Wallet", word(whose.view()));
}

EvmNode::Mined EvmNode::execute(const crypto::SigningKey& from, const crypto::Address& wallet,
                                const crypto::Address& to, std::string_view data) {
    const std::size_t padding = (32 - data.size() % 32) % 32;
    const chain::Hash transaction = submit_call(
        from, wallet,
        selector("execute(address,bytes)") + word(to.view()) + word(0x40) +
            word(static_cast<std::int64_t>(data.size())) + Bytes(data) + Bytes(padding, '\0'));
    mine_for(transaction);
    return mined(transaction);
}

std::string EvmNode::contract_signature(const crypto::SigningKey& by, std::string_view text) {
    return hex(word(0) + by.sign(crypto::personal_message_hash(text)).bytes());
}

crypto::Address EvmNode::deploy(std::string_view contract, std::string_view arguments) {
    std::string code =
        read_text(fmt::format("{}/tests/contracts/{}.hex", BERTH_SOURCE_DIR, contract));
    while (code.ends_with('\n')) code.pop_back();
    const std::string from = crypto::to_string(account(owner).address());
    const json::value hash =
        json::parse(rpc("eth_sendTransaction", fmt::format(R"([{{"from":"{}","data":"0x{}{}"}}])",
                                                           from, code, to_hex(arguments))));
    const auto transaction = chain::parse_hash(hash.as_string()).value();
    mine_for(transaction);
    const json::value receipt = json::parse(receipt_of(transaction));
    return crypto::parse_address(receipt.at("contractAddress").as_string()).value();
}

void EvmNode::mint(const crypto::Address& token, const chain::Payment& payment) {
    mine_for(submit_call(
        account(owner), token,
        selector("mint(address,uint256)") + word(payment.to.view()) + word(payment.amount.value)));
}

void EvmNode::set_barred(const crypto::Address& token, const crypto::Address& whose, bool barred) {
    mine_for(submit_call(
        account(owner), token,
        selector("setBarred(address,bool)") + word(whose.view()) + word(barred ? 1 : 0)));
}

Micro EvmNode::balance(const crypto::Address& token, const crypto::Address& whose) {
    const Bytes data = selector("balanceOf(address)") + word(whose.view());
    const json::value result =
        json::parse(rpc("eth_call", fmt::format(R"([{{"to":"{}","data":"{}"}},"latest"])",
                                                crypto::to_string(token), hex(data))));
    return {number_in(result)};
}

EvmNode::Mined EvmNode::transfer(const crypto::SigningKey& from, const crypto::Address& token,
                                 const chain::Payment& payment) {
    const chain::Hash transaction = submit(from, token, payment);
    mine_for(transaction);
    return mined(transaction);
}

EvmNode::Mined EvmNode::transfer_twice(const crypto::SigningKey& from, const crypto::Address& token,
                                       const chain::Payment& first, Micro second) {
    const chain::Hash transaction =
        submit_call(from, token,
                    selector("transferTwice(address,uint256,uint256)") + word(first.to.view()) +
                        word(first.amount.value) + word(second.value));
    mine_for(transaction);
    return mined(transaction);
}

chain::Hash EvmNode::submit(const crypto::SigningKey& from, const crypto::Address& token,
                            const chain::Payment& payment) {
    return submit_call(from, token, chain::erc20_transfer(payment));
}

chain::Hash EvmNode::submit_call(const crypto::SigningKey& from, const crypto::Address& to,
                                 std::string_view data) {
    const json::value nonce =
        json::parse(rpc("eth_getTransactionCount",
                        fmt::format(R"(["{}","pending"])", crypto::to_string(from.address()))));
    const chain::Signed made = signed_call(from, number_in(nonce), to, data);
    rpc("eth_sendRawTransaction", fmt::format(R"(["{}"])", hex(made.bytes)));
    return made.hash;
}

EvmNode::Mined EvmNode::mined(const chain::Hash& transaction) {
    const json::value receipt = json::parse(receipt_of(transaction));
    if (receipt.is_null()) throw std::runtime_error("the transaction is not mined");
    const json::array& logs = receipt.at("logs").as_array();
    return {transaction, logs.empty() ? -1 : number_in(logs[0].at("logIndex"))};
}

std::string EvmNode::snapshot() { return rpc("evm_snapshot"); }

void EvmNode::revert(const std::string& snapshot) {
    if (rpc("evm_revert", "[" + snapshot + "]") != "true")
        throw std::runtime_error("there is no such snapshot");
}

void EvmNode::drop(const chain::Hash& transaction) {
    const std::int64_t depth = latest_block() - block_of(transaction) + 1;
    rpc("anvil_reorg", fmt::format("[{},[]]", depth));
}

EvmNode::Mined EvmNode::move(const chain::Hash& transaction) {
    const std::int64_t block = block_of(transaction);
    const std::int64_t depth = latest_block() - block + 1;
    const crypto::SigningKey key = account(mover);
    const std::string raw = raw_transaction(transaction);
    const json::value nonce = json::parse(
        rpc("eth_getTransactionCount",
            fmt::format(R"(["{}","{}"])", crypto::to_string(key.address()), hex(block - 1))));
    const chain::Signed before =
        signed_call(key, number_in(nonce), usdc_, chain::erc20_transfer({key.address(), {1}}));
    rpc("anvil_reorg", fmt::format(R"([{},[["{}",0],[{},0]]])", depth, hex(before.bytes), raw));
    return mined(transaction);
}

void EvmNode::stop() {
    process_->signal(SIGTERM);  // it writes its state
    process_->wait();
    process_.reset();
}

void EvmNode::start() {
    const std::string state = folder_.path() + "/state.json";
    std::vector<std::string> arguments{BERTH_SOURCE_DIR "/tools/anvil",
                                       "--port",
                                       std::to_string(port_),
                                       "--chain-id",
                                       std::to_string(chain_id),
                                       "--slots-in-an-epoch",
                                       std::to_string(finality_blocks / 2),
                                       "--no-mining",
                                       "--state",
                                       state,
                                       "--preserve-historical-states",
                                       "--cache-path",
                                       folder_.path(),
                                       "--threads",
                                       "1",
                                       "--quiet"};
    if (options_.start) {
        arguments.push_back("--timestamp");
        arguments.push_back(std::to_string(options_.start->micros / 1'000'000));
    }
    process_ = std::make_unique<Process>(arguments, folder_.path() + "/log");
    automine_ = false;
    await_ready();
}

std::string EvmNode::raw_transaction(const chain::Hash& transaction) {
    return rpc("eth_getRawTransactionByHash",
               fmt::format(R"(["{}"])", chain::to_string(transaction)));
}

std::string EvmNode::receipt_of(const chain::Hash& transaction) {
    return rpc("eth_getTransactionReceipt",
               fmt::format(R"(["{}"])", chain::to_string(transaction)));
}

std::int64_t EvmNode::block_of(const chain::Hash& transaction) {
    const json::value receipt = json::parse(receipt_of(transaction));
    if (receipt.is_null()) throw std::runtime_error("the transaction is not mined");
    return number_in(receipt.at("blockNumber"));
}

// With automine the node mines on its own, a moment after it took the transaction.
void EvmNode::mine_for(const chain::Hash& transaction) {
    if (!automine_) return mine();
    const auto until = std::chrono::steady_clock::now() + mined_wait_max;
    while (receipt_of(transaction) == "null") {
        if (std::chrono::steady_clock::now() > until)
            throw std::runtime_error("the transaction is not mined");
        ::poll(nullptr, 0, 5);
    }
}

chain::Signed EvmNode::signed_call(const crypto::SigningKey& from, std::int64_t nonce,
                                   const crypto::Address& to, std::string_view data) const {
    return chain::sign({.chain_id = chain_id,
                        .nonce = nonce,
                        .priority_fee = tip_wei,
                        .fee_max = fee_max_wei,
                        .gas_max = gas_max,
                        .to = to,
                        .data = Bytes(data)},
                       from);
}

void EvmNode::await_ready() {
    const auto until = std::chrono::steady_clock::now() + ready_wait_max;
    while (std::chrono::steady_clock::now() < until && process_->running()) {
        try {
            rpc("eth_chainId");
            return;
        } catch (const http::TransportError&) {
            ::poll(nullptr, 0, 5);
        }
    }
    throw std::runtime_error("anvil did not start: " + read_text(process_->log_path()));
}

EvmNode& shared_evm_node() {
    static EvmNode node;
    static std::string at_first = node.snapshot();
    node.set_automine(false);
    node.revert(at_first);
    node.rpc("anvil_dropAllTransactions");  // what waits is no part of a snapshot
    at_first = node.snapshot();
    return node;
}

}  // namespace berth::test
