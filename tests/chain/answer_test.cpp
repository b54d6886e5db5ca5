// Answers that are not what the specification says are refused, whatever is wrong with them.
#include "chain/answer.hpp"

#include <gtest/gtest.h>

#include "chain/fake_providers.hpp"
#include "chain/json_rpc.hpp"

namespace berth::chain {
namespace {

using namespace test;

constexpr std::int64_t id = 9;

std::string answer(const std::string& result) {
    return R"({"jsonrpc":"2.0","id":9,"result":)" + result + "}";
}

TEST(Answer, IsReadWhenItIsGood) {
    EXPECT_EQ(read_quantity(answer(R"("0x2105")"), id), 8453);
    EXPECT_EQ(read_quantity(R"({"id":9,"error":null,"jsonrpc":"2.0","more":1,"result":"0x0"})", id),
              0);
    EXPECT_EQ(read_hash(answer("\"" + block_5_hash + "\""), id), parse_hash(block_5_hash));
    const auto block = read_block(answer(block_json(5, block_5_hash)), id);
    ASSERT_TRUE(block);
    EXPECT_EQ(block->number, 5);
    EXPECT_EQ(block->base_fee, 100);
    const auto receipt = read_receipt(answer(receipt_json()), id);
    ASSERT_TRUE(receipt);
    EXPECT_TRUE(receipt->succeeded);
    ASSERT_EQ(receipt->logs.size(), 2U);
    EXPECT_EQ(receipt->logs[1], read_logs(answer("[" + transfer_json() + "]"), id).at(0));
    EXPECT_FALSE(read_block(answer("null"), id));
    EXPECT_FALSE(read_receipt(answer("null"), id));
}

TEST(Answer, WithAnErrorIsARefusalInPrintableWords) {
    const auto words = [](const std::string& body) -> std::string {
        try {
            read_quantity(body, id);
        } catch (const Refusal& refusal) {
            return refusal.what();
        }
        return "none";
    };
    EXPECT_EQ(words(R"({"jsonrpc":"2.0","id":9,"error":{"code":-32000,"message":"no"}})"), "no");
    EXPECT_EQ(words(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a\n\u00e4"}})"),
              "a   ");
    EXPECT_EQ(words(R"({"jsonrpc":"2.0","id":9,"error":{"message":")" + std::string(5000, 'x') +
                    R"("}})"),
              std::string(200, 'x'));
}

TEST(Answer, WithABadEnvelopeIsRefused) {
    const std::vector<std::string> bodies{
        "",
        "null",
        "[]",
        "\"0x1\"",
        "<html>",
        answer(R"("0x1")") + "x",
        answer(R"("0x1")").substr(0, 30),
        "[" + answer(R"("0x1")") + "]",
        R"({"id":9,"result":"0x1"})",
        R"({"jsonrpc":"1.0","id":9,"result":"0x1"})",
        R"({"jsonrpc":2.0,"id":9,"result":"0x1"})",
        R"({"jsonrpc":"2.0","result":"0x1"})",
        R"({"jsonrpc":"2.0","id":8,"result":"0x1"})",
        R"({"jsonrpc":"2.0","id":"9","result":"0x1"})",
        R"({"jsonrpc":"2.0","id":9.0,"result":"0x1"})",
        R"({"jsonrpc":"2.0","id":null,"result":"0x1"})",
        R"({"jsonrpc":"2.0","id":9})",
        R"({"jsonrpc":"2.0","id":9,"error":"no"})",
        R"({"jsonrpc":"2.0","id":9,"error":{"code":1}})",
        R"({"jsonrpc":"2.0","id":9,"error":{"message":1}})",
        R"({"jsonrpc":"2.0","id":9,"more":)" + std::string(20, '[') + std::string(20, ']') +
            R"(,"result":"0x1"})",
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"more\":\"\xff\",\"result\":\"0x1\"}",
    };
    for (const std::string& body : bodies) EXPECT_THROW(read_quantity(body, id), BadAnswer) << body;
}

TEST(Answer, WithABadQuantityIsRefused) {
    for (const std::string_view text :
         {"", "0", "1", "0x", "0X1", "0x00", "0x01", "0xA", "0x-1", "-0x1", "0x1 ", " 0x1", "0x1g",
          "0x8000000000000000", "0xffffffffffffffff", "0x10000000000000000"}) {
        EXPECT_FALSE(parse_quantity(text)) << text;
        EXPECT_THROW(read_quantity(answer("\"" + std::string(text) + "\""), id), BadAnswer) << text;
    }
    for (const std::string result : {"1", "1.0", "true", "null", "{}", "[]"})
        EXPECT_THROW(read_quantity(answer(result), id), BadAnswer) << result;
    for (const std::int64_t number : {0L, 1L, 10L, 8453L, 0x7FFF'FFFF'FFFF'FFFFL})
        EXPECT_EQ(parse_quantity(to_quantity(number)), number);
}

TEST(Answer, WithABadBlockIsRefused) {
    const std::string good = block_json(5, block_5_hash);
    const std::vector<std::pair<std::string, std::string>> changes{
        {R"("number":"0x5")", R"("number":null)"},
        {R"("number":"0x5")", R"("number":5)"},
        {R"("number":"0x5",)", ""},
        {block_5_hash, block_5_hash + "5"},
        {block_5_hash, "0x5"},
        {R"("0x6b49d20a")", R"("0x3afff44180")"},  // one second after the year 9999
        {R"("0x6b49d20a")", R"(1800000010)"},
        {R"("baseFeePerGas":"0x64")", R"("baseFeePerGas":"0x8000000000000000")"},
        {R"("baseFeePerGas":"0x64")", R"("baseFeePerGas":100)"},
    };
    for (const auto& [piece, other] : changes)
        EXPECT_THROW(read_block(answer(replaced(good, piece, other)), id), BadAnswer) << other;
    for (const std::string result : {"[]", "1", "\"\"", "false", "{}"})
        EXPECT_THROW(read_block(answer(result), id), BadAnswer) << result;
}

TEST(Answer, WithABadReceiptIsRefused) {
    const std::string good = receipt_json();
    const std::string logs = approval_json() + "," + transfer_json();
    const std::string topic = to_string(transfer_topic());
    const std::vector<std::pair<std::string, std::string>> changes{
        {R"("status":"0x1")", R"("status":"0x2")"},
        {R"("status":"0x1")", R"("status":"0x01")"},
        {R"("status":"0x1")", R"("status":true)"},
        {R"("status":"0x1")", R"("status":null)"},
        {R"("status":"0x1")", R"("status":"0x0")"},  // failed, with logs
        {R"("status":"0x1",)", ""},
        {"[" + logs + "]", "null"},
        {"[" + logs + "]", "{}"},
        {"[" + logs + "]", "[[]]"},
        {R"(,"logs":[)" + logs + "]", ""},
        {logs, transfer_json() + "," + approval_json()},
        {logs, transfer_json() + "," + transfer_json()},
        {block_5_hash, "0x" + std::string(64, '6')},  // of the last log alone
        {to_string(paid), "0x" + std::string(64, '6')},
        {R"("blockNumber":"0x5")", R"("blockNumber":"0x6")"},
        {R"("blockNumber":"0x5")", R"("blockNumber":null)"},
        {R"("logIndex":"0x8")", R"("logIndex":"0x08")"},
        {R"("logIndex":"0x8")", R"("logIndex":8)"},
        {R"("removed":false)", R"("removed":"false")"},
        {R"("removed":false)", R"("removed":null)"},
        {R"("address":")", R"("address":"0)"},
        {R"("data":"0x)", R"("data":")"},
        {R"("data":"0x)", R"("data":"0x0)"},
        {R"("data":"0x)", R"("data":"0xzz)"},
        {topic, topic + "0"},
        {topic, topic.substr(0, 10)},
        {"\"" + topic + "\"", "1"},
        {"\"" + topic + "\"", "\"" + topic + "\",\"" + topic + "\",\"" + topic + "\""},
        {R"("topics":[)", R"("topics":null,"other":[)"},
    };
    for (const auto& [piece, other] : changes)
        EXPECT_THROW(read_receipt(answer(replaced(good, piece, other)), id), BadAnswer)
            << piece << " -> " << other;
}

TEST(Answer, WithTooManyLogsIsRefused) {
    std::string logs = "1";
    for (std::size_t i = 0; i < answer_logs_max; ++i) logs += ",1";
    EXPECT_THROW(read_logs(answer("[" + logs + "]"), id), BadAnswer);
}

// Whatever a provider does wrong, the caller gets a ProviderError, and no secret with it.
TEST(Answer, ThatIsBadIsAProviderErrorThatNamesTheHostAlone) {
    FakeProviders providers;
    JsonRpcChain chain(providers, {{FakeProviders::urls()[0]}, 8453, 0});
    chain.finalized_block();  // it is on the right chain, and is not asked for that again
    const auto expect = [&](const std::string& words) {
        try {
            chain.find_transfer(paid, transfer_index);
            ADD_FAILURE() << words;
        } catch (const ProviderError& error) {
            EXPECT_EQ(error.what(), words);
        }
        providers.first = {};
    };
    providers.first.status = 429;
    expect("The provider one.example answered with HTTP status 429.");
    providers.first.body = "<html>";
    expect(
        "The provider one.example answered eth_getTransactionReceipt with something that is no "
        "JSON.");
    providers.first.body = R"({"jsonrpc":"2.0","id":77,"result":null})";
    expect(
        "The provider one.example answered eth_getTransactionReceipt with the answer to another "
        "request.");
    providers.first.errors["eth_getBlockByNumber"] = R"({"code":-32005,"message":"limit"})";
    expect("The provider one.example refused eth_getBlockByNumber: limit.");
    providers.first.results[R"(eth_getBlockByNumber "finalized")"] = "null";
    expect("The provider one.example knows no finalized block.");
    providers.first.results[R"(eth_getBlockByNumber "0x5")"] = block_json(6, block_5_hash);
    expect("The provider one.example shows another block than the one asked for.");
    std::string other = receipt_json();
    for (std::size_t at; (at = other.find(to_string(paid))) != std::string::npos;)
        other.replace(at, 66, "0x" + std::string(64, '2'));
    providers.first.results["eth_getTransactionReceipt"] = other;
    expect("The provider one.example shows the receipt of another transaction.");
}

}  // namespace
}  // namespace berth::chain
