// What JsonRpcChain makes of what its providers say.
#include "chain/json_rpc.hpp"

#include <gtest/gtest.h>

#include "chain/fake_providers.hpp"
#include "crypto/keccak.hpp"

namespace berth::chain {
namespace {

using namespace test;
using Seen = Sighting::Status;
using Became = Outcome::Status;

const Chain::Wanted deposits{{usdc}, treasury};

class JsonRpc : public testing::Test {
protected:
    JsonRpcChain with_both(std::int64_t confirmations = 0) {
        return {providers, {FakeProviders::urls(), 8453, confirmations}};
    }
    JsonRpcChain with_first() { return {providers, {{FakeProviders::urls()[0]}, 8453, 0}}; }

    FakeProviders providers;
};

std::string complaint(const std::function<void()>& call) {
    try {
        call();
    } catch (const ProviderError& error) {
        return error.what();
    }
    return "";
}

TEST_F(JsonRpc, SeesATransferThatIsFinal) {
    const Sighting seen = with_both().find_transfer(paid, transfer_index);
    ASSERT_EQ(seen.status, Seen::final);
    EXPECT_EQ(seen.transfer->token, usdc);
    EXPECT_EQ(seen.transfer->from, payer);
    EXPECT_EQ(seen.transfer->to, treasury);
    EXPECT_EQ(seen.transfer->amount, Micro{25'000'000});
    EXPECT_EQ(seen.transfer->transaction, paid);
    EXPECT_EQ(seen.transfer->ordinal, 1);
    EXPECT_EQ(seen.transfer->log_index, transfer_index);
    EXPECT_EQ(seen.transfer->block, 5);
    EXPECT_EQ(seen.transfer->block_time, Time{1'800'000'010'000'000});
}

TEST_F(JsonRpc, FindsNoTransferInAnotherLogOrNone) {
    EXPECT_EQ(with_both().find_transfer(paid, 7).status, Seen::no_transfer);
    EXPECT_EQ(with_both().find_transfer(paid, 9).status, Seen::no_transfer);
}

TEST_F(JsonRpc, TakesOnlyAPlainErc20TransferForOne) {
    const std::string receipt = receipt_json();
    const std::string topic = to_string(transfer_topic());
    const std::string to = to_string(topic_of(treasury));
    const std::string amount = fmt::format("{:064x}", 25'000'000);
    const std::vector<std::pair<std::string, std::string>> changes{
        {topic, "0x" + std::string(64, '9')},                        // another event
        {",\"" + to + "\"", ""},                                     // two topics
        {"\"" + to + "\"", "\"" + to + "\",\"" + to + "\""},         // four topics
        {to, "0x1" + to.substr(3)},                                  // no address
        {to, to.substr(0, 25) + "1" + to.substr(26)},                // one bit too long
        {"\"0x" + amount + "\"", "\"0x" + amount + "00\""},          // 33 bytes
        {"\"0x" + amount + "\"", "\"0x" + amount.substr(2) + "\""},  // 31 bytes
        {"\"0x" + amount + "\"", "\"0x\""},                          // none
    };
    for (const auto& [piece, other] : changes) {
        providers.first.results["eth_getTransactionReceipt"] = replaced(receipt, piece, other);
        EXPECT_EQ(with_first().find_transfer(paid, transfer_index).status, Seen::no_transfer)
            << other;
    }
}

TEST_F(JsonRpc, LeavesTheAmountEmptyWhenItIsTooLargeForOurs) {
    const std::string amount = fmt::format("{:064x}", 25'000'000);
    const std::vector<std::pair<std::string, std::optional<Micro>>> amounts{
        {fmt::format("{:064x}", 0), Micro{0}},
        {fmt::format("{:064x}", 0x7FFF'FFFF'FFFF'FFFF), Micro{0x7FFF'FFFF'FFFF'FFFF}},
        {fmt::format("{:064x}", 0x8000'0000'0000'0000), std::nullopt},
        {std::string(64, 'f'), std::nullopt},
        {"1" + std::string(63, '0'), std::nullopt},
        {std::string(47, '0') + "1" + std::string(16, '0'), std::nullopt},
    };
    for (const auto& [word, expected] : amounts) {
        providers.first.results["eth_getTransactionReceipt"] =
            replaced(receipt_json(), amount, word);
        const Sighting seen = with_first().find_transfer(paid, transfer_index);
        ASSERT_EQ(seen.status, Seen::final);
        EXPECT_EQ(seen.transfer->amount, expected) << word;
    }
}

TEST_F(JsonRpc, HasNotSeenWhatIsNotFinal) {
    const auto unseen = [&](std::int64_t confirmations = 0) {
        return with_both(confirmations).find_transfer(paid, transfer_index).status == Seen::unseen;
    };
    const FakeProvider usual;
    providers.first.results["eth_getTransactionReceipt"] = "null";
    EXPECT_TRUE(unseen()) << "no receipt";
    providers.first = usual;
    providers.first.results["eth_getTransactionReceipt"] =
        R"({"blockHash":null,"blockNumber":null})";
    EXPECT_TRUE(unseen()) << "pending";
    providers.first = usual;
    providers.first.results[R"(eth_getBlockByNumber "0x5")"] =
        block_json(5, "0x" + std::string(64, '6'));
    EXPECT_TRUE(unseen()) << "another block has its place";
    providers.first.results[R"(eth_getBlockByNumber "0x5")"] = "null";
    EXPECT_TRUE(unseen()) << "the block is unknown";
    providers.first = usual;
    providers.first.results[R"(eth_getBlockByNumber "finalized")"] = block_json(4, block_5_hash);
    EXPECT_TRUE(unseen()) << "above the finalized head";
    providers.first = usual;
    providers.first.results["eth_getTransactionReceipt"] =
        replaced(receipt_json(), R"("removed":false)", R"("removed":true)");
    EXPECT_TRUE(unseen()) << "removed";
    providers.first = usual;
    EXPECT_TRUE(unseen(8)) << "block 5 and 8 confirmations make 13";
    EXPECT_FALSE(unseen(7));
}

TEST_F(JsonRpc, TellsAFailedTransaction) {
    const std::string failed = replaced(
        replaced(receipt_json(), "[" + approval_json() + "," + transfer_json() + "]", "[]"),
        R"("status":"0x1")", R"("status":"0x0")");
    providers.first.results["eth_getTransactionReceipt"] = failed;
    providers.second.results["eth_getTransactionReceipt"] = failed;
    EXPECT_EQ(with_both().find_transfer(paid, transfer_index).status, Seen::failed);
    EXPECT_EQ(with_both().outcome(paid).status, Became::reverted);
}

TEST_F(JsonRpc, DecidesNothingWhenProvidersContradictEachOther) {
    const std::vector<std::pair<std::string, std::string>> lies{
        {fmt::format("{:064x}", 25'000'000), fmt::format("{:064x}", 26'000'000)},
        {to_string(topic_of(payer)), to_string(topic_of(usdc))},
        {R"("logIndex":"0x8")", R"("logIndex":"0x9")"},
        {"," + transfer_json(), ""},
        {approval_json() + ",", ""},
    };
    for (const auto& [truth, lie] : lies) {
        providers.second.results["eth_getTransactionReceipt"] =
            replaced(receipt_json(), truth, lie);
        EXPECT_EQ(complaint([&] { with_both().find_transfer(paid, transfer_index); }),
                  "The providers one.example and two.example:8443 contradict each other about " +
                      to_string(paid) + ".")
            << lie;
        EXPECT_THROW(with_both().outcome(paid), ProviderError) << lie;
    }
}

TEST_F(JsonRpc, DecidesNothingWhenOneProviderIsDown) {
    providers.second.is_down = true;
    JsonRpcChain chain = with_both();
    const std::vector<std::function<void()>> calls{
        [&] { chain.find_transfer(paid, transfer_index); },
        [&] { chain.finalized_block(); },   [&] { chain.transfers({1, 10}, deposits); },
        [&] { chain.outcome(paid); },       [&] { chain.finalized_nonce(payer); },
        [&] { chain.latest_nonce(payer); }, [&] { chain.fees(); },
    };
    for (const auto& call : calls)
        EXPECT_EQ(complaint(call),
                  "The provider two.example:8443 cannot be used: Failed to connect.");
}

TEST_F(JsonRpc, WantsEveryProviderOnItsChain) {
    EXPECT_NO_THROW(with_both().finalized_block());
    providers.second.results["eth_chainId"] = R"("0x1")";
    JsonRpcChain chain = with_both();
    const std::vector<std::function<void()>> calls{
        [&] { chain.find_transfer(paid, transfer_index); },
        [&] { chain.finalized_block(); },   [&] { chain.transfers({1, 10}, deposits); },
        [&] { chain.outcome(paid); },       [&] { chain.finalized_nonce(payer); },
        [&] { chain.latest_nonce(payer); }, [&] { chain.fees(); },
    };
    for (const auto& call : calls)
        EXPECT_EQ(complaint(call), "The provider two.example:8443 is on chain 1, not on 8453.");
}

TEST_F(JsonRpc, TakesTheLowestFinalizedBlock) {
    EXPECT_EQ(with_both().finalized_block(), 10);
    providers.second.results[R"(eth_getBlockByNumber "finalized")"] = block_json(9, block_5_hash);
    EXPECT_EQ(with_both().finalized_block(), 9);
    EXPECT_EQ(with_both(5).finalized_block(), 7);
    EXPECT_EQ(with_both(100).finalized_block(), 0);
}

TEST_F(JsonRpc, ListsTransfersWithTheirOrdinals) {
    const auto transfers = with_both().transfers({1, 10}, deposits);
    ASSERT_EQ(transfers.size(), 1U);
    EXPECT_EQ(transfers[0], with_both().find_transfer(paid, transfer_index).transfer);
    providers.first.results["eth_getLogs"] = providers.second.results["eth_getLogs"] = "[]";
    EXPECT_TRUE(with_both().transfers({1, 10}, deposits).empty());
}

TEST_F(JsonRpc, AsksForNoTransfersWhenThereAreNoTokensOrNoBlocks) {
    EXPECT_TRUE(with_both().transfers({1, 10}, {{}, treasury}).empty());
    EXPECT_TRUE(with_both().transfers({6, 5}, deposits).empty());
    for (const std::string& asked : providers.first.asked)
        EXPECT_NE(asked.find("eth_chainId"), std::string::npos) << asked;
}

TEST_F(JsonRpc, ListsNoTransfersWhenProvidersDisagreeOnThem) {
    providers.second.results["eth_getLogs"] = "[]";
    EXPECT_EQ(complaint([&] {
                  with_both().transfers({1, 10}, deposits);
              }),
              "The providers one.example and two.example:8443 contradict each other about the "
              "transfers in blocks 1 to 10.");
}

TEST_F(JsonRpc, ListsNoTransfersThatItCannotBelieve) {
    const std::string logs = "[" + transfer_json() + "]";
    const std::string to = to_string(topic_of(treasury));
    const std::vector<std::string> lies{
        replaced(logs, R"("removed":false)", R"("removed":true)"),
        replaced(logs, crypto::to_string(usdc), crypto::to_string(payer)),
        replaced(logs, to, to_string(topic_of(payer))),
        replaced(logs, to_string(transfer_topic()), "0x" + std::string(64, '9')),
        replaced(logs, R"("blockNumber":"0x5")", R"("blockNumber":"0xb")"),
        replaced(logs, R"("logIndex":"0x8")", R"("logIndex":"0x7")"),
        replaced(logs, fmt::format("{:064x}", 25'000'000), std::string(64, '0')),
        "[" + transfer_json() + "," + transfer_json() + "]",
        "null",
        "{}",
        "[null]",
    };
    for (const std::string& lie : lies) {
        providers.first.results["eth_getLogs"] = lie;
        EXPECT_THROW(with_first().transfers({1, 10}, deposits), ProviderError) << lie;
    }
    providers.first = {};
    EXPECT_THROW(with_first().transfers({1, 11}, deposits), ProviderError) << "not finalized";
    providers.first.results["eth_getTransactionReceipt"] = "null";
    EXPECT_THROW(with_first().transfers({1, 10}, deposits), ProviderError) << "no receipt";
    providers.first = {};
    providers.first.results[R"(eth_getBlockByNumber "0x5")"] =
        block_json(5, "0x" + std::string(64, '6'));
    EXPECT_THROW(with_first().transfers({1, 10}, deposits), ProviderError) << "another block";
}

TEST_F(JsonRpc, PassesOverLogsThatAreNoErc20Transfers) {
    const std::string to = "\"" + to_string(topic_of(treasury)) + "\"";
    providers.first.results["eth_getLogs"] =
        "[" + replaced(transfer_json(), to, to + "," + to) + "]";
    providers.first.results["eth_getTransactionReceipt"] =
        replaced(receipt_json(), to, to + "," + to);
    EXPECT_TRUE(with_first().transfers({1, 10}, deposits).empty());
}

TEST_F(JsonRpc, FollowsATransactionToItsEnd) {
    EXPECT_EQ(with_both().outcome(paid).status, Became::succeeded);
    ASSERT_EQ(with_both().outcome(paid).transfers.size(), 1U);
    EXPECT_EQ(with_both().outcome(paid).transfers[0].ordinal, 1);

    providers.second.results[R"(eth_getBlockByNumber "finalized")"] = block_json(4, block_5_hash);
    EXPECT_EQ(with_both().outcome(paid).status, Became::included);
    EXPECT_TRUE(with_both().outcome(paid).transfers.empty());
    providers.first.results["eth_getTransactionReceipt"] = "null";
    EXPECT_EQ(with_both().outcome(paid).status, Became::included) << "one of them sees it";
    providers.second.results["eth_getTransactionReceipt"] = "null";
    EXPECT_EQ(with_both().outcome(paid).status, Became::unseen);
}

TEST_F(JsonRpc, CountsNoncesAndFeesOnTheSafeSide) {
    providers.second.results["eth_getTransactionCount"] = R"("0x5")";
    EXPECT_EQ(with_both().finalized_nonce(payer), 5);
    EXPECT_EQ(with_both(3).finalized_nonce(payer), 5);
    EXPECT_EQ(with_both().latest_nonce(payer), 5);
    providers.second.results["eth_maxPriorityFeePerGas"] = R"("0xffffffff")";
    EXPECT_EQ(with_both().fees().base, 100);
    EXPECT_EQ(with_both().fees().priority, 3);
}

TEST_F(JsonRpc, HandsATransactionToEveryProvider) {
    const std::string signed_bytes = "\x02 bytes";
    const std::string hash =
        "\"" + to_string(parse_hash("0x" + to_hex(crypto::keccak256(signed_bytes))).value()) + "\"";
    providers.first.results["eth_sendRawTransaction"] = hash;
    providers.second.results["eth_sendRawTransaction"] = hash;
    with_both().send(signed_bytes);
    for (const FakeProvider* provider : {&providers.first, &providers.second}) {
        ASSERT_EQ(provider->asked.size(), 2U);
        EXPECT_NE(provider->asked[0].find("eth_chainId"), std::string::npos);
        EXPECT_NE(provider->asked[1].find(R"("params":["0x022062797465)"), std::string::npos);
    }
    providers.first.is_down = true;
    EXPECT_NO_THROW(with_both().send(signed_bytes)) << "one is enough";
    providers.second.results["eth_sendRawTransaction"] = to_string(paid);
    EXPECT_THROW(with_both().send(signed_bytes), ProviderError) << "another hash";
}

TEST_F(JsonRpc, CountsAKnownTransactionAsHandedOver) {
    for (const std::string text :
         {"already known", "nonce too low: next nonce 5, tx nonce 3", "Nonce too low",
          "transaction already imported", "replacement transaction underpriced",
          "known transaction: 1234", "INTERNAL_ERROR: could not replace existing tx"}) {
        providers.first.errors["eth_sendRawTransaction"] =
            fmt::format(R"({{"code":-32000,"message":"{}"}})", text);
        EXPECT_NO_THROW(with_first().send("bytes")) << text;
    }
    for (const std::string text :
         {"insufficient funds for gas * price + value", "max fee per gas less than block base fee",
          "intrinsic gas too low", "invalid sender", ""}) {
        providers.first.errors["eth_sendRawTransaction"] =
            fmt::format(R"({{"code":-32000,"message":"{}"}})", text);
        EXPECT_EQ(complaint([&] { with_first().send("bytes"); }),
                  "The provider one.example refused eth_sendRawTransaction: " + text + ".");
    }
}

TEST_F(JsonRpc, TellsOfAllProvidersWhenNoneTakesATransaction) {
    providers.first.is_down = true;
    providers.second.status = 503;
    providers.second.body = "busy";
    EXPECT_EQ(complaint([&] { with_both().send("bytes"); }),
              "The provider one.example cannot be used: Failed to connect. The provider "
              "two.example:8443 answered with HTTP status 503.");
}

TEST(Provider, IsNamedByItsHostAlone) {
    EXPECT_EQ(host_of("https://base.example/v2/key"), "base.example");
    EXPECT_EQ(host_of("https://base.example?apikey=key"), "base.example");
    EXPECT_EQ(host_of("https://base.example#key"), "base.example");
    EXPECT_EQ(host_of("https://user:p@ss@base.example:8443"), "base.example:8443");
    EXPECT_EQ(host_of("http://[::1]:8545/"), "[::1]:8545");
    EXPECT_EQ(host_of(""), "");
}

}  // namespace
}  // namespace berth::chain
