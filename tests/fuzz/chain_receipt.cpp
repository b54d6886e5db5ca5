// Answers of JSON-RPC providers: any bytes, no crash; a receipt or log that is accepted holds what
// the rest of the program takes for granted.
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "chain/answer.hpp"

namespace {

using namespace berth;
using namespace berth::chain;

constexpr std::int64_t id = 1;

void check_log(const Log& log) {
    check(log.index >= 0 && log.block >= 0 && log.topics.size() <= 4, "a log is within bounds");
    const auto transfer = transfer_in(log);
    if (!transfer) return;
    check(log.topics.size() == 3 && log.data.size() == 32, "a transfer has the shape of one");
    check(topic_of(transfer->from) == log.topics[1] && topic_of(transfer->to) == log.topics[2],
          "addresses survive their topics");
    check(transfer->token == log.address && transfer->log_index == log.index,
          "a transfer is its log's");
    check(!transfer->amount || transfer->amount->value >= 0, "no amount is negative");
}

void check_receipt(const Receipt& receipt) {
    check(receipt.succeeded || receipt.logs.empty(), "a failed transaction has no logs");
    std::int64_t previous = -1;
    for (const Log& log : receipt.logs) {
        check(log.index > previous && log.transaction == receipt.transaction &&
                  log.block == receipt.block,
              "logs are in order and the receipt's own");
        previous = log.index;
        check_log(log);
    }
}

// Every reader is tried on every input; a complaint is as good as a value.
template <class Read, class Check>
void read(std::string_view body, Read reader, Check examine) {
    try {
        examine(reader(body, id));
    } catch (const BadAnswer&) {
    } catch (const Refusal&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    read(body, read_receipt, [](const auto& receipt) {
        if (receipt) check_receipt(*receipt);
    });
    read(body, read_logs, [](const auto& logs) {
        for (const Log& log : logs) check_log(log);
    });
    read(body, read_block,
         [](const auto& block) { check(!block || block->time.micros >= 0, "a block has a time"); });
    read(body, read_hash, [](const Hash& hash) {
        check(parse_hash(to_string(hash)) == hash, "a hash survives its text");
    });
    read(body, read_quantity, [](std::int64_t number) {
        check(parse_quantity(to_quantity(number)) == number, "a quantity survives its text");
    });
    read(body, read_trial, [](const Trial& trial) {
        check(trial.status == Trial::Status::succeeds || trial.result.empty(),
              "what does not succeed gives nothing");
    });
    return 0;
}
