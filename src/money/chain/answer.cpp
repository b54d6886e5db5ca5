#include "chain/answer.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cctype>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "base/check.hpp"
#include "chain/transaction.hpp"
#include "crypto/keccak.hpp"

namespace berth::chain {
namespace {

namespace json = boost::json;

constexpr std::size_t topics_max = 4;
constexpr std::size_t refusal_text_max = 200;
constexpr std::int64_t timestamp_max = 253'402'300'799;  // the last second of the year 9999
constexpr std::size_t padding_bytes = 12;                // before an address in a word

std::string printable(std::string_view text) {
    std::string out(text.substr(0, refusal_text_max));
    for (char& letter : out)
        if (letter < 0x20 || letter > 0x7E) letter = ' ';
    return out;
}

// Members of objects; every complaint names the member.
const json::value& member(const json::object& object, std::string_view name) {
    const json::value* found = object.if_contains(name);
    if (found == nullptr) throw BadAnswer(fmt::format("no {}", name));
    return *found;
}

bool is_null_or_missing(const json::object& object, std::string_view name) {
    const json::value* found = object.if_contains(name);
    return found == nullptr || found->is_null();
}

std::string_view text_in(const json::value& value, std::string_view name) {
    const json::string* text = value.if_string();
    if (text == nullptr) throw BadAnswer(fmt::format("a {} that is no string", name));
    return *text;
}

template <class Value>
Value given(std::optional<Value> value, std::string_view name) {
    if (!value) throw BadAnswer(fmt::format("a malformed {}", name));
    return std::move(*value);
}

std::int64_t quantity_in(const json::object& object, std::string_view name) {
    return given(parse_quantity(text_in(member(object, name), name)), name);
}

Hash hash_in(const json::object& object, std::string_view name) {
    return given(parse_hash(text_in(member(object, name), name)), name);
}

Bytes data_in(const json::object& object, std::string_view name) {
    const std::string_view text = text_in(member(object, name), name);
    if (!text.starts_with("0x")) throw BadAnswer(fmt::format("a malformed {}", name));
    return given(from_hex(text.substr(2)), name);
}

const json::object& object_in(const json::value& value, std::string_view name) {
    const json::object* object = value.if_object();
    if (object == nullptr) throw BadAnswer(fmt::format("a {} that is no object", name));
    return *object;
}

const json::array& array_in(const json::value& value, std::string_view name) {
    const json::array* array = value.if_array();
    if (array == nullptr) throw BadAnswer(fmt::format("{} that are no array", name));
    if (array->size() > answer_logs_max) throw BadAnswer(fmt::format("too many {}", name));
    return *array;
}

[[noreturn]] void refuse(const json::value& error) {
    const json::object& object = object_in(error, "error");
    const json::value* code = object.if_contains("code");
    throw Refusal(printable(text_in(member(object, "message"), "message")),
                  code != nullptr && code->is_int64() ? code->as_int64() : 0);
}

json::value parse_json(std::string_view body) {
    json::parse_options options;
    options.max_depth = answer_depth_max;
    json::error_code error;
    json::value answer = json::parse({body.data(), body.size()}, error, {}, options);
    if (error) throw BadAnswer("something that is no JSON");
    return answer;
}

// The whole answer; its `result` is there. Kept by the caller while it reads.
json::object parse(std::string_view body, std::int64_t id) {
    json::value answer = parse_json(body);
    json::object* object = answer.if_object();
    if (object == nullptr) throw BadAnswer("JSON that is no object");
    if (member(*object, "jsonrpc") != "2.0") throw BadAnswer("another version of JSON-RPC");
    if (!is_null_or_missing(*object, "error")) refuse(object->at("error"));
    if (member(*object, "id") != id) throw BadAnswer("the answer to another request");
    member(*object, "result");
    return std::move(*object);
}

Log log_in(const json::object& object) {
    Log log;
    log.address =
        given(crypto::parse_address(text_in(member(object, "address"), "address")), "address");
    const json::array& topics = array_in(member(object, "topics"), "topics");
    if (topics.size() > topics_max) throw BadAnswer("too many topics");
    for (const json::value& topic : topics)
        log.topics.push_back(given(parse_hash(text_in(topic, "topic")), "topic"));
    log.data = data_in(object, "data");
    log.transaction = hash_in(object, "transactionHash");
    log.block_hash = hash_in(object, "blockHash");
    log.block = quantity_in(object, "blockNumber");
    log.index = quantity_in(object, "logIndex");
    if (const json::value* removed = object.if_contains("removed")) {
        if (!removed->is_bool()) throw BadAnswer("a malformed removed");
        log.removed = removed->as_bool();
    }
    return log;
}

Receipt receipt_in(const json::object& object) {
    Receipt receipt;
    receipt.transaction = hash_in(object, "transactionHash");
    receipt.block_hash = hash_in(object, "blockHash");
    receipt.block = quantity_in(object, "blockNumber");
    const std::int64_t status = quantity_in(object, "status");
    if (status > 1) throw BadAnswer("a malformed status");
    receipt.succeeded = status == 1;
    for (const json::value& value : array_in(member(object, "logs"), "logs")) {
        Log log = log_in(object_in(value, "log"));
        if (log.transaction != receipt.transaction || log.block_hash != receipt.block_hash ||
            log.block != receipt.block)
            throw BadAnswer("a receipt with the log of another transaction");
        if (!receipt.logs.empty() && log.index <= receipt.logs.back().index)
            throw BadAnswer("logs out of order");
        receipt.logs.push_back(std::move(log));
    }
    if (!receipt.succeeded && !receipt.logs.empty())
        throw BadAnswer("a failed transaction with logs");
    return receipt;
}

std::optional<crypto::Address> address_in(const Hash& topic) {
    const std::string_view word = topic.view();
    if (word.find_first_not_of('\0') < padding_bytes) return std::nullopt;
    crypto::Address address;
    std::ranges::copy(word.substr(padding_bytes), address.bytes.begin());
    return address;
}

std::optional<Micro> amount_in(std::string_view word) {
    constexpr std::size_t high_bytes = word_bytes - sizeof(std::uint64_t);
    const std::uint64_t low = load_big_endian(word.data() + high_bytes);
    if (word.substr(0, high_bytes).find_first_not_of('\0') != std::string_view::npos ||
        low > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return std::nullopt;
    return Micro{static_cast<std::int64_t>(low)};
}

std::int64_t word_in(std::string_view word) {
    if (word.size() != word_bytes) throw BadAnswer("a malformed result");
    return amount_in(word).value_or(Micro{std::numeric_limits<std::int64_t>::max()}).value;
}

}  // namespace

// What geth, op-geth, reth, erigon, nethermind, besu and anvil say to a call that comes to nothing.
bool Refusal::is_revert() const {
    constexpr std::int64_t execution_reverted = 3;
    constexpr std::array phrases{
        std::string_view("revert"),         std::string_view("out of gas"),
        std::string_view("outofgas"),       std::string_view("invalid opcode"),
        std::string_view("vm execution"),   std::string_view("invalid jump"),
        std::string_view("stack underflow")};
    std::string text = what();
    for (char& letter : text)
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return code_ == execution_reverted || std::ranges::any_of(phrases, [&](std::string_view one) {
               return text.find(one) != std::string::npos;
           });
}

std::int64_t read_quantity(std::string_view body, std::int64_t id) {
    return quantity_in(parse(body, id), "result");
}

Hash read_hash(std::string_view body, std::int64_t id) {
    return hash_in(parse(body, id), "result");
}

std::optional<Block> read_block(std::string_view body, std::int64_t id) {
    const json::object answer = parse(body, id);
    if (is_null_or_missing(answer, "result")) return std::nullopt;
    const json::object& object = object_in(answer.at("result"), "result");
    Block block;
    block.number = quantity_in(object, "number");
    block.hash = hash_in(object, "hash");
    const std::int64_t timestamp = quantity_in(object, "timestamp");
    if (timestamp > timestamp_max) throw BadAnswer("a malformed timestamp");
    block.time = Time{} + std::chrono::seconds(timestamp);
    if (!is_null_or_missing(object, "baseFeePerGas"))
        block.base_fee = quantity_in(object, "baseFeePerGas");
    return block;
}

std::optional<Receipt> read_receipt(std::string_view body, std::int64_t id) {
    const json::object answer = parse(body, id);
    if (is_null_or_missing(answer, "result")) return std::nullopt;
    const json::object& object = object_in(answer.at("result"), "result");
    if (is_null_or_missing(object, "blockHash") && is_null_or_missing(object, "blockNumber"))
        return std::nullopt;
    return receipt_in(object);
}

std::vector<Log> read_logs(std::string_view body, std::int64_t id) {
    const json::object answer = parse(body, id);
    std::vector<Log> logs;
    for (const json::value& value : array_in(answer.at("result"), "logs"))
        logs.push_back(log_in(object_in(value, "log")));
    return logs;
}

std::int64_t read_balance(std::string_view body, std::int64_t id) {
    const json::object answer = parse(body, id);
    const std::string_view text = text_in(answer.at("result"), "result");
    if (const auto number = parse_quantity(text)) return *number;
    const bool is_large = text.size() > 2 && text.size() <= 2 + 2 * word_bytes &&
                          text.starts_with("0x") && text[2] != '0' &&
                          text.find_first_not_of("0123456789abcdef", 2) == text.npos;
    if (!is_large) throw BadAnswer("a malformed result");
    return std::numeric_limits<std::int64_t>::max();
}

std::int64_t read_word(std::string_view body, std::int64_t id) {
    return word_in(data_in(parse(body, id), "result"));
}

std::int64_t read_holding(std::string_view body, std::int64_t id) {
    const Bytes word = data_in(parse(body, id), "result");
    return word.empty() ? 0 : word_in(word);
}

Trial read_trial(std::string_view body, std::int64_t id) {
    try {
        return {Trial::Status::succeeds, data_in(parse(body, id), "result")};
    } catch (const Refusal& refusal) {
        // One that a provider will not try says nothing about the others of its batch.
        return {refusal.is_revert() ? Trial::Status::reverts : Trial::Status::disputed, {}};
    }
}

std::optional<Original> read_original(std::string_view body, std::int64_t id) {
    const json::object answer = parse(body, id);
    if (is_null_or_missing(answer, "result")) return std::nullopt;
    const json::object& object = object_in(answer.at("result"), "result");
    if (text_in(member(object, "type"), "type") != "0x2" || is_null_or_missing(object, "to") ||
        text_in(member(object, "value"), "value") != "0x0" ||
        !array_in(member(object, "accessList"), "accessList").empty())
        return std::nullopt;
    Transaction transaction;
    transaction.chain_id = quantity_in(object, "chainId");
    transaction.nonce = quantity_in(object, "nonce");
    transaction.priority_fee = quantity_in(object, "maxPriorityFeePerGas");
    transaction.fee_max = quantity_in(object, "maxFeePerGas");
    transaction.gas_max = quantity_in(object, "gas");
    transaction.to = given(crypto::parse_address(text_in(member(object, "to"), "to")), "to");
    transaction.data = data_in(object, "input");
    const auto number = [&](std::string_view name) {
        const std::string_view text = text_in(member(object, name), name);
        const std::size_t digits_max = 2 * word_bytes;
        if (!text.starts_with("0x") || text.size() > 2 + digits_max)
            throw BadAnswer(fmt::format("a malformed {}", name));
        const std::string digits(text.substr(2));
        return given(from_hex(std::string(digits_max - digits.size(), '0') + digits), name);
    };
    const bool is_odd = quantity_in(object, "v") == 1;
    return given(rebuild(transaction, {number("r"), number("s"), is_odd}, hash_in(object, "hash")),
                 "transaction");
}

std::vector<std::string> split_batch(std::string_view body, std::int64_t first, std::size_t count) {
    const json::value answer = parse_json(body);
    if (const json::object* one = answer.if_object(); one != nullptr) {
        if (!is_null_or_missing(*one, "error")) refuse(one->at("error"));
        throw BadAnswer("one answer to many requests");
    }
    const json::array* all = answer.if_array();
    if (all == nullptr || all->size() != count) throw BadAnswer("another number of answers");
    std::vector<std::string> bodies(count);
    for (const json::value& one : *all) {
        if (!one.is_object()) throw BadAnswer("an answer that is no object");
        const json::value& id = member(one.as_object(), "id");
        const std::int64_t place = id.is_int64() ? id.as_int64() - first : -1;
        if (place < 0 || place >= static_cast<std::int64_t>(count))
            throw BadAnswer("the answer to another request");
        std::string& its = bodies[static_cast<std::size_t>(place)];
        if (!its.empty()) throw BadAnswer("two answers to one request");
        its = json::serialize(one);
    }
    return bodies;
}

std::optional<std::int64_t> parse_quantity(std::string_view text) {
    if (!text.starts_with("0x")) return std::nullopt;
    text.remove_prefix(2);
    const bool canonical = text == "0" || !text.starts_with('0');
    if (!canonical || text.find_first_not_of("0123456789abcdef") != std::string_view::npos)
        return std::nullopt;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (error != std::errc()) return std::nullopt;
    return number;
}

std::string to_quantity(std::int64_t number) {
    require(number >= 0, "a quantity is not negative");
    return fmt::format("{:#x}", number);
}

std::optional<Transfer> transfer_in(const Log& log) {
    if (log.topics.size() != 3 || log.topics[0] != transfer_topic() ||
        log.data.size() != word_bytes)
        return std::nullopt;
    const auto from = address_in(log.topics[1]);
    const auto to = address_in(log.topics[2]);
    if (!from || !to) return std::nullopt;
    return Transfer{.token = log.address,
                    .from = *from,
                    .to = *to,
                    .amount = amount_in(log.data),
                    .transaction = log.transaction,
                    .ordinal = 0,
                    .log_index = log.index,
                    .block = log.block,
                    .block_time = {}};
}

const Hash& transfer_topic() {
    static const Hash topic = [] {
        Hash hash;
        std::ranges::copy(crypto::keccak256("Transfer(address,address,uint256)"),
                          hash.bytes.begin());
        return hash;
    }();
    return topic;
}

Hash topic_of(const crypto::Address& address) {
    Hash topic;
    std::ranges::copy(address.bytes, topic.bytes.begin() + padding_bytes);
    return topic;
}

}  // namespace berth::chain
