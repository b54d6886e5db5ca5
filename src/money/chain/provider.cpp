#include "chain/provider.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "base/check.hpp"
#include "base/json_text.hpp"
#include "base/version.hpp"
#include "crypto/keccak.hpp"
#include "crypto/uri.hpp"

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

// What they, nethermind and besu say to one that offers too little.
constexpr std::array fee_refusals{
    std::string_view("underpriced"),     std::string_view("less than block base fee"),
    std::string_view("fee too low"),     std::string_view("feetoolow"),
    std::string_view("gas price below"), std::string_view("gas price too low"),
    std::string_view("tip cap below"),   std::string_view("minimum needed"),
};

// Requests in one batch: more than this is refused by some.
constexpr std::size_t batch_max = 100;
constexpr int rest_doublings_max = 6;                         // 64 questions
constexpr std::string_view balance_of_selector = "70a08231";  // balanceOf(address)
constexpr std::string_view decimals_selector = "313ce567";    // decimals()

template <std::size_t size>
bool contains_any(std::string text, const std::array<std::string_view, size>& phrases) {
    for (char& letter : text)
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return std::ranges::any_of(
        phrases, [&](std::string_view phrase) { return text.find(phrase) != std::string::npos; });
}

std::string call_params(const crypto::Address& to, std::string_view data,
                        std::string_view block = "latest") {
    return fmt::format(R"({{"to":"{}","data":"0x{}"}},"{}")", crypto::to_string(to), data, block);
}

std::string trial_params(const Call& call) {
    const std::string from =
        call.from ? fmt::format(R"("from":"{}",)", crypto::to_string(*call.from)) : "";
    return fmt::format(R"({{{}"to":"{}","gas":"{}","data":"0x{}"}},"latest")", from,
                       crypto::to_string(call.to), to_quantity(call.gas_max), to_hex(call.data));
}

std::string topic_json(const std::optional<crypto::Address>& address) {
    return address ? json_quoted(to_string(topic_of(*address))) : "null";
}

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
    const auto uri = crypto::parse_uri(url);
    const auto where = crypto::parse_authority(uri ? uri->authority.value_or("") : "");
    return where ? std::string(where->host_and_port) : "";
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
    const auto placed = place({transaction}).front();
    if (!placed || !placed->is_final) return {unseen};
    if (!placed->receipt.succeeded) return {failed};
    for (const Transfer& transfer : transfers_in(placed->receipt, placed->block_time))
        if (transfer.log_index == log_index) return {final, transfer};
    return {no_transfer};
}

std::vector<Transfer> Provider::transfers(const Chain::Range& range, const Chain::Wanted& wanted) {
    require(range.first >= 0, "there is no block before the first");
    // To a provider no address means any address.
    if (wanted.tokens.empty() || range.first > range.last) return {};
    const std::int64_t head = final_block();
    if (head < range.last) complain("has not finalized the last block of the range");

    const std::vector<Log> found = logs(range, wanted);
    std::set<Hash> names;
    for (const Log& log : found) names.insert(log.transaction);
    std::vector<Transfer> transfers;
    for (const auto& placed : place({names.begin(), names.end()}, head)) {
        if (!placed || !placed->is_final) complain("has a finalized log without its receipt");
        for (const Transfer& transfer : transfers_in(placed->receipt, placed->block_time))
            if ((!wanted.to || transfer.to == *wanted.to) &&
                (!wanted.from || transfer.from == *wanted.from) &&
                is_one_of(wanted.tokens, transfer.token))
                transfers.push_back(transfer);
    }
    std::ranges::sort(transfers, {}, [](const Transfer& transfer) {
        return std::pair(transfer.block, transfer.log_index);
    });
    if (!std::ranges::equal(transfers, found, is_of_log))
        complain("shows other logs than their receipts have");
    return transfers;
}

std::vector<Outcome> Provider::outcomes(const std::vector<Hash>& transactions) {
    using enum Outcome::Status;
    std::vector<Outcome> outcomes;
    for (const auto& placed : place(transactions)) {
        if (!placed)
            outcomes.push_back({unseen});
        else if (!placed->is_final)
            outcomes.push_back({included});
        else if (!placed->receipt.succeeded)
            outcomes.push_back({reverted});
        else
            outcomes.push_back({succeeded, transfers_in(placed->receipt, placed->block_time)});
    }
    return outcomes;
}

Glimpse Provider::glimpse(const Hash& transaction) {
    using enum Glimpse::Status;
    Glimpse glimpse;
    glimpse.final_block = final_block();
    const auto placed = place({transaction}, glimpse.final_block).front();
    // After its block: one that is seen is not above the latest.
    glimpse.latest_block = tagged_block("latest").number;
    if (!placed) return glimpse;
    glimpse.seen.status = placed->receipt.succeeded ? included : reverted;
    glimpse.seen.block = placed->receipt.block;
    if (placed->receipt.succeeded)
        glimpse.seen.transfers = transfers_in(placed->receipt, placed->block_time);
    return glimpse;
}

// One batch; with confirmations the final block must be known before.
Standing Provider::standing(const crypto::Address& account,
                            const std::vector<crypto::Address>& tokens) {
    const std::string whose = json_quoted(crypto::to_string(account));
    const auto nonce_at = [&](const std::string& block) {
        return Question{"eth_getTransactionCount", whose + "," + json_quoted(block)};
    };
    std::optional<std::int64_t> final_number;
    if (options_.confirmations > 0) final_number = final_block();
    std::vector<Question> questions{
        nonce_at(final_number ? to_quantity(*final_number) : "finalized"),
        nonce_at("latest"),
        nonce_at("pending"),
        {"eth_getBalance", whose + R"(,"latest")"},
        {"eth_getBlockByNumber", R"("latest",false)"},
        {"eth_getBlockByNumber", R"("finalized",false)"},
        {"eth_maxPriorityFeePerGas", ""}};
    const std::size_t fixed = questions.size();
    for (const crypto::Address& token : tokens)
        questions.push_back(
            {"eth_call", call_params(token, fmt::format("{}{}", balance_of_selector,
                                                        to_hex(topic_of(account).view())))});
    const std::vector<Answer> answers = ask_many(questions);
    const Block latest = tagged_block_in(answers[4], "latest");
    if (!latest.base_fee) complain("shows a block without a base fee");
    Standing standing;
    standing.finalized_nonce = read(answers[0], read_quantity);
    standing.latest_nonce = read(answers[1], read_quantity);
    standing.pending_nonce = read(answers[2], read_quantity);
    standing.gas = read(answers[3], read_balance);
    standing.finalized_block =
        final_number ? *final_number : tagged_block_in(answers[5], "finalized").number;
    standing.fees = {.base = *latest.base_fee, .priority = read(answers[6], read_quantity)};
    for (std::size_t i = fixed; i < answers.size(); ++i)
        standing.balances.push_back(Micro{read(answers[i], read_holding)});
    return standing;
}

Micro Provider::balance(const crypto::Address& account, const crypto::Address& token,
                        std::int64_t block) {
    const std::string data = std::string(balance_of_selector) + to_hex(topic_of(account).view());
    return Micro{ask("eth_call", call_params(token, data, to_quantity(block)), read_holding)};
}

std::vector<Sent> Provider::send(const std::vector<Bytes>& signed_bytes) {
    using enum Sent::Status;
    std::vector<Question> questions;
    for (const Bytes& bytes : signed_bytes)
        questions.push_back({"eth_sendRawTransaction", json_quoted("0x" + to_hex(bytes))});
    const std::vector<Answer> answers = ask_many(questions);
    std::vector<Sent> sent;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        std::string refusal;
        try {
            const Hash hash = read_hash(answers[i].body, answers[i].id);
            if (hash.view() == crypto::keccak256(signed_bytes[i])) {
                sent.push_back({taken});
                continue;
            }
            refusal = "answered with the hash of another transaction";
        } catch (const BadAnswer& bad) {
            refusal = fmt::format("answered with {}", bad.what());
        } catch (const Refusal& refused_it) {
            refusal = fmt::format("refused it: {}", refused_it.what());
        }
        const bool known = contains_any(refusal, handed_over);
        const bool cheap = contains_any(refusal, fee_refusals);
        sent.push_back({known   ? taken
                        : cheap ? underpriced
                                : refused,
                        known ? "" : fmt::format("The provider {} {}.", host_, refusal)});
    }
    return sent;
}

std::vector<Trial> Provider::try_calls(const std::vector<Call>& calls) {
    std::vector<Question> questions;
    for (const Call& call : calls) questions.push_back({"eth_call", trial_params(call)});
    std::vector<Trial> trials;
    for (const Answer& answer : ask_many(questions)) trials.push_back(read(answer, read_trial));
    return trials;
}

std::int64_t Provider::decimals(const crypto::Address& token) {
    return ask("eth_call", call_params(token, decimals_selector), read_word);
}

std::optional<Original> Provider::original(const Hash& transaction) {
    auto found =
        ask("eth_getTransactionByHash", json_quoted(to_string(transaction)), read_original);
    if (found && found->hash != transaction) complain("shows another transaction");
    return found;
}

void Provider::note_failure() {
    const int failures = std::min(failures_ + 1, rest_doublings_max);
    failures_ = failures;
    rest_ = 1 << failures;
}

bool Provider::is_resting() {
    if (rest_ <= 0) return false;
    --rest_;
    return true;
}

// The blocks are asked for after the final one: what is canonical then, and not above that one,
// stays.
std::vector<std::optional<Provider::Placed>> Provider::place(const std::vector<Hash>& transactions,
                                                             std::optional<std::int64_t> head) {
    std::vector<Question> questions;
    for (const Hash& transaction : transactions)
        questions.push_back({"eth_getTransactionReceipt", json_quoted(to_string(transaction))});
    const std::vector<Answer> answers = ask_many(questions);
    std::vector<std::optional<Receipt>> receipts;
    std::map<std::int64_t, std::optional<Block>> blocks;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        receipts.push_back(receipt_in(answers[i], transactions[i]));
        if (receipts[i]) blocks[receipts[i]->block];
    }
    if (blocks.empty()) return std::vector<std::optional<Placed>>(transactions.size());
    if (!head) head = final_block();
    questions.clear();
    for (const auto& [number, block] : blocks)
        questions.push_back({"eth_getBlockByNumber", json_quoted(to_quantity(number)) + ",false"});
    const std::vector<Answer> shown = ask_many(questions);
    auto answer = shown.begin();
    for (auto& [number, block] : blocks) block = block_in(*answer++, number);

    std::vector<std::optional<Placed>> placed(transactions.size());
    for (std::size_t i = 0; i < receipts.size(); ++i) {
        if (!receipts[i]) continue;
        const auto& holder = blocks[receipts[i]->block];
        const bool is_canonical =
            holder && holder->hash == receipts[i]->block_hash &&
            std::ranges::none_of(receipts[i]->logs, [](const Log& log) { return log.removed; });
        if (is_canonical)
            placed[i] = Placed{*receipts[i], holder->time, receipts[i]->block <= *head};
    }
    return placed;
}

std::optional<Receipt> Provider::receipt_in(const Answer& answer, const Hash& transaction) {
    auto found = read(answer, read_receipt);
    if (found && found->transaction != transaction)
        complain("shows the receipt of another transaction");
    return found;
}

std::optional<Block> Provider::block_in(const Answer& answer, std::int64_t number) {
    const auto found = read(answer, read_block);
    if (found && found->number != number) complain("shows another block than the one asked for");
    return found;
}

Block Provider::tagged_block(std::string_view tag) {
    return tagged_block_in(
        ask_many({{"eth_getBlockByNumber", json_quoted(tag) + ",false"}}).front(), tag);
}

Block Provider::tagged_block_in(const Answer& answer, std::string_view tag) {
    const auto found = read(answer, read_block);
    if (!found) complain(fmt::format("knows no {} block", tag));
    return *found;
}

// The ERC-20 transfers among the logs, oldest first. All logs must be what was asked for.
std::vector<Log> Provider::logs(const Chain::Range& range, const Chain::Wanted& wanted) {
    std::string tokens;
    for (const crypto::Address& token : wanted.tokens)
        tokens += (tokens.empty() ? "" : ",") + json_quoted(crypto::to_string(token));
    std::vector<Log> found = ask(
        "eth_getLogs",
        fmt::format(R"({{"fromBlock":"{}","toBlock":"{}","address":[{}],)"
                    R"("topics":["{}",{},{}]}})",
                    to_quantity(range.first), to_quantity(range.last), tokens,
                    to_string(transfer_topic()), topic_json(wanted.from), topic_json(wanted.to)),
        read_logs);
    const auto was_asked_for = [&](const Log& log) {
        return !log.removed && log.block >= range.first && log.block <= range.last &&
               is_one_of(wanted.tokens, log.address) && log.topics.size() >= 3 &&
               log.topics[0] == transfer_topic() &&
               (!wanted.from || log.topics[1] == topic_of(*wanted.from)) &&
               (!wanted.to || log.topics[2] == topic_of(*wanted.to));
    };
    if (!std::ranges::all_of(found, was_asked_for)) complain("shows logs that nobody asked for");
    std::erase_if(found, [](const Log& log) { return !transfer_in(log); });
    std::ranges::sort(found, {}, [](const Log& log) { return std::pair(log.block, log.index); });
    return found;
}

std::vector<Provider::Answer> Provider::ask_many(const std::vector<Question>& questions) {
    std::vector<Answer> answers;
    for (std::size_t first = 0; first < questions.size(); first += batch_max) {
        const std::size_t count = std::min(batch_max, questions.size() - first);
        for (Answer& answer : ask_batch(&questions[first], count))
            answers.push_back(std::move(answer));
    }
    return answers;
}

// One question alone is no batch: some providers count those dearer.
std::vector<Provider::Answer> Provider::ask_batch(const Question* questions, std::size_t count) {
    const std::int64_t first = next_id_.fetch_add(static_cast<std::int64_t>(count));
    std::vector<Answer> answers;
    std::string request;
    for (std::size_t i = 0; i < count; ++i) {
        const Question& question = questions[i];
        answers.push_back({question.method, {}, first + static_cast<std::int64_t>(i)});
        request += fmt::format(R"({}{{"jsonrpc":"2.0","id":{},"method":"{}","params":[{}]}})",
                               i == 0 ? "" : ",", answers[i].id, question.method, question.params);
    }
    if (count == 1) {
        answers[0].body = post(std::move(request));
        return answers;
    }
    const Answer whole{"a batch", post("[" + request + "]"), first};
    const auto bodies = read(whole, [&](std::string_view body, std::int64_t id) {
        return split_batch(body, id, count);
    });
    for (std::size_t i = 0; i < count; ++i) answers[i].body = bodies[i];
    return answers;
}

template <class Read>
std::invoke_result_t<Read, std::string_view, std::int64_t> Provider::read(const Answer& answer,
                                                                          Read reader) {
    try {
        return reader(answer.body, answer.id);
    } catch (const BadAnswer& bad) {
        complain(fmt::format("answered {} with {}", answer.method, bad.what()));
    } catch (const Refusal& refusal) {
        complain(fmt::format("refused {}: {}", answer.method, refusal.what()));
    }
}

template <class Read>
std::invoke_result_t<Read, std::string_view, std::int64_t> Provider::ask(std::string_view method,
                                                                         const std::string& params,
                                                                         Read reader) {
    return read(ask_many({{std::string(method), params}}).front(), reader);
}

std::string Provider::post(std::string body) {
    http::Outbound request;
    request.method = "POST";
    request.url = options_.url;
    request.headers.add("Content-Type", "application/json");
    request.headers.add("Accept", "application/json");
    request.headers.add("User-Agent", user_agent("berthd"));
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
