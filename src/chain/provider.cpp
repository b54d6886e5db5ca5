#include "chain/provider.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "base/check.hpp"
#include "crypto/keccak.hpp"

namespace berth::chain {
namespace {

constexpr Duration connect_max = std::chrono::seconds(3);
constexpr Duration answer_max = std::chrono::seconds(10);
// Room for the receipt of any transaction: logs cost gas, and a transaction has 2^24 of it at most.
constexpr std::size_t answer_bytes_max = 64 * 1024 * 1024;

// What geth, op-geth, reth, erigon and anvil say to a transaction that they have already, whose
// nonce is used up, or whose place is taken by another one of ours with a higher fee.
constexpr std::array handed_over{
    std::string_view("already known"),
    std::string_view("already imported"),
    std::string_view("known transaction"),
    std::string_view("nonce too low"),
    std::string_view("replacement transaction underpriced"),
    std::string_view("could not replace existing tx"),
};

bool is_handed_over(std::string text) {
    for (char& letter : text)
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return std::ranges::any_of(
        handed_over, [&](std::string_view known) { return text.find(known) != std::string::npos; });
}

std::string quoted(std::string_view hex) { return fmt::format(R"("{}")", hex); }

bool is_one_of(const std::vector<crypto::Address>& tokens, const crypto::Address& token) {
    return std::ranges::find(tokens, token) != tokens.end();
}

// The transfers of a receipt, complete with their ordinals.
std::vector<Transfer> transfers_in(const Receipt& receipt, Time block_time) {
    std::vector<Transfer> found;
    for (std::size_t i = 0; i < receipt.logs.size(); ++i) {
        auto transfer = transfer_in(receipt.logs[i]);
        if (!transfer) continue;
        transfer->ordinal = static_cast<std::int64_t>(i);
        transfer->block_time = block_time;
        found.push_back(*transfer);
    }
    return found;
}

bool is_of_log(Transfer transfer, const Log& log) {
    transfer.ordinal = 0;
    transfer.block_time = {};
    return transfer == transfer_in(log);
}

}  // namespace

std::string host_of(std::string_view url) {
    if (const auto scheme = url.find("://"); scheme != std::string_view::npos)
        url.remove_prefix(scheme + 3);
    url = url.substr(0, url.find_first_of("/?#\\"));
    if (const auto user = url.rfind('@'); user != std::string_view::npos)
        url.remove_prefix(user + 1);
    return std::string(url);
}

Provider::Provider(http::Client& client, Options options)
    : client_(client), options_(std::move(options)), host_(host_of(options_.url)) {}

void Provider::require_chain() {
    if (on_chain_) return;
    const std::int64_t id = ask("eth_chainId", "", read_quantity);
    if (id != options_.chain_id)
        complain(fmt::format("is on chain {}, not on {}", id, options_.chain_id));
    on_chain_ = true;
}

std::int64_t Provider::final_block() {
    const std::int64_t finalized = tagged_block("finalized").number;
    if (options_.confirmations == 0) return finalized;
    const std::int64_t confirmed = tagged_block("latest").number - options_.confirmations;
    return std::max<std::int64_t>(0, std::min(finalized, confirmed));
}

Sighting Provider::find_transfer(const Hash& transaction, std::int64_t log_index) {
    using enum Sighting::Status;
    const auto placed = place(transaction);
    if (!placed || !placed->is_final) return {unseen};
    if (!placed->receipt.succeeded) return {failed};
    for (const Transfer& transfer : transfers_in(placed->receipt, placed->block_time))
        if (transfer.log_index == log_index) return {final, transfer};
    return {no_transfer};
}

std::vector<Transfer> Provider::transfers(const Chain::Range& range, const Chain::Wanted& wanted) {
    check(range.first >= 0, "there is no block before the first");
    // To a provider no address means any address.
    if (wanted.tokens.empty() || range.first > range.last) return {};
    const std::int64_t head = final_block();
    if (head < range.last) complain("has not finalized the last block of the range");

    const std::vector<Log> found = logs(range, wanted);
    std::set<Hash> transactions;
    for (const Log& log : found) transactions.insert(log.transaction);
    std::vector<Transfer> transfers;
    for (const Hash& transaction : transactions) {
        const auto placed = place(transaction, head);
        if (!placed || !placed->is_final) complain("has a finalized log without its receipt");
        for (const Transfer& transfer : transfers_in(placed->receipt, placed->block_time))
            if (transfer.to == wanted.to && is_one_of(wanted.tokens, transfer.token))
                transfers.push_back(transfer);
    }
    std::ranges::sort(transfers, {}, [](const Transfer& transfer) {
        return std::pair(transfer.block, transfer.log_index);
    });
    if (!std::ranges::equal(transfers, found, is_of_log))
        complain("shows other logs than their receipts have");
    return transfers;
}

Outcome Provider::outcome(const Hash& transaction) {
    using enum Outcome::Status;
    const auto placed = place(transaction);
    if (!placed) return {unseen};
    if (!placed->is_final) return {included};
    if (!placed->receipt.succeeded) return {reverted};
    return {succeeded, transfers_in(placed->receipt, placed->block_time)};
}

std::int64_t Provider::final_nonce(const crypto::Address& account) {
    if (options_.confirmations == 0) return nonce(account, "finalized");
    return nonce(account, to_quantity(final_block()));
}

std::int64_t Provider::latest_nonce(const crypto::Address& account) {
    return nonce(account, "latest");
}

Fees Provider::fees() {
    const Block latest = tagged_block("latest");
    if (!latest.base_fee) complain("shows a block without a base fee");
    return {.base = *latest.base_fee,
            .priority = ask("eth_maxPriorityFeePerGas", "", read_quantity)};
}

void Provider::send(std::string_view signed_bytes) {
    const Bytes expected = crypto::keccak256(signed_bytes);
    ask("eth_sendRawTransaction", quoted("0x" + to_hex(signed_bytes)),
        [&](std::string_view body, std::int64_t id) {
            try {
                if (read_hash(body, id).view() != expected)
                    throw BadAnswer("the hash of another transaction");
            } catch (const Refusal& refusal) {
                if (!is_handed_over(refusal.what())) throw;
            }
        });
}

// The block is asked for after the final one: if it is canonical then, and not above that one, it
// stays.
std::optional<Provider::Placed> Provider::place(const Hash& transaction,
                                                std::optional<std::int64_t> head) {
    auto found = receipt(transaction);
    if (!found) return std::nullopt;
    const bool is_final = found->block <= (head ? *head : final_block());
    const auto holder = block(found->block);
    if (!holder || holder->hash != found->block_hash) return std::nullopt;
    if (std::ranges::any_of(found->logs, [](const Log& log) { return log.removed; }))
        return std::nullopt;
    return Placed{std::move(*found), holder->time, is_final};
}

std::optional<Receipt> Provider::receipt(const Hash& transaction) {
    auto found = ask("eth_getTransactionReceipt", quoted(to_string(transaction)), read_receipt);
    if (found && found->transaction != transaction)
        complain("shows the receipt of another transaction");
    return found;
}

std::optional<Block> Provider::block(std::int64_t number) {
    const auto found =
        ask("eth_getBlockByNumber", quoted(to_quantity(number)) + ",false", read_block);
    if (found && found->number != number) complain("shows another block than the one asked for");
    return found;
}

Block Provider::tagged_block(std::string_view tag) {
    const auto found = ask("eth_getBlockByNumber", quoted(tag) + ",false", read_block);
    if (!found) complain(fmt::format("knows no {} block", tag));
    return *found;
}

// The ERC-20 transfers among the logs, oldest first. All logs must be what was asked for.
std::vector<Log> Provider::logs(const Chain::Range& range, const Chain::Wanted& wanted) {
    std::string tokens;
    for (const crypto::Address& token : wanted.tokens)
        tokens += (tokens.empty() ? "" : ",") + quoted(crypto::to_string(token));
    const Hash recipient = topic_of(wanted.to);
    std::vector<Log> found =
        ask("eth_getLogs",
            fmt::format(R"({{"fromBlock":"{}","toBlock":"{}","address":[{}],)"
                        R"("topics":["{}",null,"{}"]}})",
                        to_quantity(range.first), to_quantity(range.last), tokens,
                        to_string(transfer_topic()), to_string(recipient)),
            read_logs);
    const auto was_asked_for = [&](const Log& log) {
        return !log.removed && log.block >= range.first && log.block <= range.last &&
               is_one_of(wanted.tokens, log.address) && log.topics.size() >= 3 &&
               log.topics[0] == transfer_topic() && log.topics[2] == recipient;
    };
    if (!std::ranges::all_of(found, was_asked_for)) complain("shows logs that nobody asked for");
    std::erase_if(found, [](const Log& log) { return !transfer_in(log); });
    std::ranges::sort(found, {}, [](const Log& log) { return std::pair(log.block, log.index); });
    return found;
}

std::int64_t Provider::nonce(const crypto::Address& account, std::string_view block) {
    return ask("eth_getTransactionCount", quoted(crypto::to_string(account)) + "," + quoted(block),
               read_quantity);
}

template <class Read>
std::invoke_result_t<Read, std::string_view, std::int64_t> Provider::ask(std::string_view method,
                                                                         const std::string& params,
                                                                         Read read) {
    const std::int64_t id = next_id_++;
    const std::string body = post(fmt::format(
        R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":[{}]}})", id, method, params));
    try {
        return read(body, id);
    } catch (const BadAnswer& bad) {
        complain(fmt::format("answered {} with {}", method, bad.what()));
    } catch (const Refusal& refusal) {
        complain(fmt::format("refused {}: {}", method, refusal.what()));
    }
}

std::string Provider::post(std::string body) {
    http::Outbound request;
    request.method = "POST";
    request.url = options_.url;
    request.headers.add("Content-Type", "application/json");
    request.headers.add("Accept", "application/json");
    request.body = std::move(body);
    request.connect_max = connect_max;
    request.total_max = answer_max;
    request.response_bytes_max = answer_bytes_max;
    http::Response response;
    try {
        response = client_.send(request);
    } catch (const http::TransportError& error) {
        complain(fmt::format("cannot be used: {}", error.what()));
    }
    if (response.status != 200)
        complain(fmt::format("answered with HTTP status {}", response.status));
    return std::move(response.body);
}

void Provider::complain(std::string_view what) const {
    throw ProviderError(fmt::format("The provider {} {}.", host_, what));
}

}  // namespace berth::chain
