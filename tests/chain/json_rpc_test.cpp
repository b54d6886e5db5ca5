// What JsonRpcChain makes of what its providers say.
#include "chain/json_rpc.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <limits>
#include <mutex>

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
    JsonRpcChain with_all() { return {providers, {FakeProviders::all_urls(), 8453, 0}}; }
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
        [&] { chain.finalized_block(); },
        [&] {
            chain.transfers({1, 10}, deposits);
        },
        [&] { chain.outcome(paid); },
        [&] { chain.standing(payer, {usdc}); },
        [&] { chain.decimals(usdc); },
        [&] { chain.original(paid); },
        [&] { chain.glimpse(paid); },
    };
    for (const auto& call : calls)
        EXPECT_EQ(complaint(call),
                  "The provider two.example:8443 cannot be used: Failed to connect.");
}

TEST_F(JsonRpc, ShowsATransactionBeforeItIsFinal) {
    using Status = Glimpse::Status;
    const Glimpse final_one = with_both().glimpse(paid);
    EXPECT_EQ(final_one.seen.status, Status::included);
    EXPECT_TRUE(final_one.is_final());
    EXPECT_EQ(final_one.seen.block, 5);
    EXPECT_EQ(final_one.latest_block, 12);
    EXPECT_EQ(final_one.final_block, 10);
    ASSERT_EQ(final_one.seen.transfers.size(), 1u) << "an approval is none";
    EXPECT_EQ(final_one.seen.transfers[0].log_index, transfer_index);
    EXPECT_EQ(final_one.seen.transfers[0].amount, Micro{25'000'000});
    for (FakeProvider* each : {&providers.first, &providers.second})
        each->results[R"(eth_getBlockByNumber "finalized")"] = block_json(4, block_5_hash);
    const Glimpse early = with_both().glimpse(paid);
    EXPECT_EQ(early.seen, final_one.seen);
    EXPECT_FALSE(early.is_final());

    // Before it is final providers may differ: then nothing is shown, and nobody has lied.
    const std::string other =
        replaced(receipt_json(), R"("logIndex":"0x8")", R"("logIndex":"0x9")");
    providers.second.results["eth_getTransactionReceipt"] = other;
    EXPECT_EQ(with_both().glimpse(paid).seen.status, Status::unseen);
    EXPECT_EQ(with_all().glimpse(paid).seen, final_one.seen) << "two of three say the same";
    providers.second.results["eth_getTransactionReceipt"] = "null";
    EXPECT_EQ(with_both().glimpse(paid).seen.status, Status::unseen);
}

TEST_F(JsonRpc, ShowsNothingWhenProvidersContradictEachOtherAboutWhatIsFinal) {
    providers.second.results["eth_getTransactionReceipt"] =
        replaced(receipt_json(), R"("logIndex":"0x8")", R"("logIndex":"0x9")");
    EXPECT_EQ(complaint([&] { with_both().glimpse(paid); }),
              "The providers one.example and two.example:8443 contradict each other about " +
                  to_string(paid) + ".");
}

TEST_F(JsonRpc, ShowsThatATransactionWasReverted) {
    const std::string failed = replaced(
        replaced(receipt_json(), "[" + approval_json() + "," + transfer_json() + "]", "[]"),
        R"("status":"0x1")", R"("status":"0x0")");
    providers.first.results["eth_getTransactionReceipt"] = failed;
    EXPECT_EQ(with_first().glimpse(paid).seen.status, Glimpse::Status::reverted);
}

TEST_F(JsonRpc, WantsEveryProviderOnItsChain) {
    EXPECT_NO_THROW(with_both().finalized_block());
    providers.second.results["eth_chainId"] = R"("0x1")";
    JsonRpcChain chain = with_both();
    const std::vector<std::function<void()>> calls{
        [&] { chain.find_transfer(paid, transfer_index); },
        [&] { chain.finalized_block(); },
        [&] {
            chain.transfers({1, 10}, deposits);
        },
        [&] { chain.outcome(paid); },
        [&] { chain.standing(payer, {usdc}); },
        [&] { chain.decimals(usdc); },
        [&] { chain.original(paid); },
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

TEST_F(JsonRpc, CountsNoncesMoneyAndFeesOnTheSafeSide) {
    providers.second.results["eth_getTransactionCount"] = R"("0x5")";
    providers.second.results["eth_getBalance"] = R"("0x8")";
    providers.second.results["eth_call"] = word_json_of(4);
    for (const std::int64_t confirmations : {0, 3}) {
        const Standing standing = with_both(confirmations).standing(payer, {usdc});
        EXPECT_EQ(standing.finalized_nonce, 5);
        EXPECT_EQ(standing.latest_nonce, 5);
        EXPECT_EQ(standing.pending_nonce, 7) << "one that knows of more stops us";
        EXPECT_EQ(standing.gas, 8);
        EXPECT_EQ(standing.balances, std::vector{Micro{4}});
        EXPECT_EQ(standing.finalized_block, confirmations == 0 ? 10 : 9);
    }
    providers.second.results["eth_maxPriorityFeePerGas"] = R"("0xffffffff")";
    EXPECT_EQ(with_both().standing(payer, {}).fees.base, 100);
    EXPECT_EQ(with_both().standing(payer, {}).fees.priority, 3);
}

TEST_F(JsonRpc, TellsAStandingInOneRequest) {
    JsonRpcChain chain = with_first();
    chain.standing(payer, {usdc});
    EXPECT_EQ(providers.first.asked.size(), 2U) << "the chain, and one batch";
}

TEST_F(JsonRpc, CountsWhatIsTooLargeAsTheMost) {
    providers.first.results["eth_getBalance"] = "\"0x" + std::string(64, 'f') + "\"";
    providers.first.results["eth_call"] = "\"0x" + std::string(64, 'f') + "\"";
    const Standing standing = with_first().standing(payer, {usdc});
    EXPECT_EQ(standing.gas, std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(standing.balances.at(0).value, std::numeric_limits<std::int64_t>::max());
    for (const std::string bad : {R"("0x")", R"("0x01")", R"("1")", "null", R"("0xG")"}) {
        providers.first.results["eth_getBalance"] = bad;
        EXPECT_THROW(with_first().standing(payer, {}), ProviderError) << bad;
    }
}

// The money of three providers: two that agree are enough, and two that contradict each other stop
// everything, whatever the third says.
TEST_F(JsonRpc, GoesOnWhenOneOfThreeIsAway) {
    for (FakeProvider* away : {&providers.first, &providers.second, &providers.third}) {
        away->is_down = true;
        JsonRpcChain chain = with_all();
        EXPECT_EQ(chain.find_transfer(paid, transfer_index).status, Seen::final);
        EXPECT_EQ(chain.outcome(paid).status, Became::succeeded);
        EXPECT_EQ(chain.finalized_block(), 10);
        EXPECT_EQ(chain.standing(payer, {usdc}).latest_nonce, 7);
        EXPECT_EQ(chain.transfers({1, 10}, deposits).size(), 1U);
        EXPECT_EQ(chain.decimals(usdc), 6);
        away->is_down = false;
    }
    providers.first.is_down = providers.third.is_down = true;
    EXPECT_EQ(complaint([&] { with_all().finalized_block(); }),
              "The provider one.example cannot be used: Failed to connect. The provider "
              "three.example cannot be used: Failed to connect.");
}

TEST_F(JsonRpc, IsNotHeldUpByOneOfThreeThatLags) {
    providers.second.results[R"(eth_getBlockByNumber "finalized")"] = block_json(4, block_5_hash);
    providers.second.results["eth_getTransactionCount"] = R"("0x1")";
    EXPECT_EQ(with_all().outcome(paid).status, Became::succeeded);
    EXPECT_EQ(with_all().finalized_block(), 10);
    EXPECT_EQ(with_all().standing(payer, {}).finalized_nonce, 7);
}

TEST_F(JsonRpc, DecidesNothingWhenOneOfThreeContradicts) {
    providers.third.results["eth_getTransactionReceipt"] = replaced(
        receipt_json(), fmt::format("{:064x}", 25'000'000), fmt::format("{:064x}", 26'000'000));
    EXPECT_THROW(with_all().outcome(paid), ProviderError);
    const Hash other = parse_hash("0x" + std::string(64, '2')).value();
    for (FakeProvider* provider : {&providers.first, &providers.second, &providers.third})
        provider->results["eth_getTransactionReceipt \"" + to_string(other) + "\""] = "null";
    const auto outcomes = with_all().outcomes({paid, other});
    EXPECT_EQ(outcomes[0].status, Became::disputed);
    EXPECT_EQ(outcomes[1].status, Became::unseen) << "the others are told all the same";
    EXPECT_THROW(with_all().find_transfer(paid, transfer_index), ProviderError);
}

TEST_F(JsonRpc, OneOfThreeAloneCannotRaiseANonceNorMoney) {
    providers.first.results["eth_getTransactionCount"] = R"("0x99")";
    providers.first.results["eth_getBalance"] = R"("0xfffffffffffffff")";
    const Standing standing = with_all().standing(payer, {});
    EXPECT_EQ(standing.finalized_nonce, 7);
    EXPECT_EQ(standing.latest_nonce, 7);
    EXPECT_EQ(standing.gas, 1'000'000'000'000'000'000);
    EXPECT_EQ(standing.pending_nonce, 0x99);
}

TEST_F(JsonRpc, PassesOverAProviderThatFailsForAWhile) {
    providers.second.is_down = true;
    JsonRpcChain chain = with_all();
    for (int i = 0; i < 100; ++i) chain.finalized_block();
    EXPECT_LT(providers.second.asked.size(), 10U);
    providers.second.is_down = false;
    for (int i = 0; i < 100; ++i) chain.finalized_block();
    EXPECT_GT(providers.second.asked.size(), 30U) << "it is asked again once it answers";
}

// Each answer waits until all three were asked: one after the other would wait for ever.
TEST_F(JsonRpc, AsksAllProvidersAtTheSameTime) {
    JsonRpcChain chain = with_all();
    chain.finalized_block();  // they are known to be on the chain
    std::mutex mutex;
    std::condition_variable all_here;
    int here = 0;
    bool in_time = true;
    providers.before_each = [&] {
        std::unique_lock lock(mutex);
        if (++here == 3) all_here.notify_all();
        in_time &= all_here.wait_for(lock, std::chrono::seconds(10), [&] { return here >= 3; });
    };
    chain.finalized_block();
    EXPECT_TRUE(in_time);
}

TEST_F(JsonRpc, FollowsManyTransactionsInTwoRequests) {
    JsonRpcChain chain = with_first();
    chain.finalized_block();
    providers.first.asked.clear();
    const Hash other = parse_hash("0x" + std::string(64, '2')).value();
    providers.first.results["eth_getTransactionReceipt \"" + to_string(other) + "\""] = "null";
    std::vector<Hash> many;
    for (int i = 0; i < 50; ++i) many.insert(many.end(), {paid, other});
    const auto outcomes = chain.outcomes(many);
    ASSERT_EQ(outcomes.size(), 100U);
    for (std::size_t i = 0; i < outcomes.size(); ++i)
        EXPECT_EQ(outcomes[i].status, i % 2 == 0 ? Became::succeeded : Became::unseen);
    EXPECT_EQ(providers.first.asked.size(), 3U) << "the final block, the receipts, their block";
}

TEST_F(JsonRpc, BelievesNoBatchThatIsNotTheOneAskedFor) {
    const auto one = [](int id) {
        return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":null}})", id);
    };
    const std::vector<std::pair<std::string, std::string>> lies{
        {"[" + one(3) + "]", "another number of answers"},
        {"[" + one(3) + "," + one(3) + "]", "two answers to one request"},
        {"[" + one(3) + "," + one(99) + "]", "the answer to another request"},
        {"[" + one(3) + ",7]", "an answer that is no object"},
        {"{}", "one answer to many requests"},
        {"[]", "another number of answers"},
        {"no", "something that is no JSON"},
    };
    for (const auto& [lie, why] : lies) {
        FakeProviders fresh;
        JsonRpcChain asked(fresh, {{FakeProviders::urls()[0]}, 8453, 0});
        asked.finalized_block();  // with the ids 1 and 2
        fresh.first.body = lie;
        EXPECT_EQ(complaint([&] {
                      asked.outcomes({paid, paid});
                  }),
                  "The provider one.example answered a batch with " + why + ".");
    }
}

TEST_F(JsonRpc, HandsTransactionsToEveryProvider) {
    const std::vector<Bytes> signed_bytes{"\x02 bytes", "\x02 more"};
    for (const Bytes& bytes : signed_bytes)
        for (FakeProvider* provider : {&providers.first, &providers.second})
            provider->results["eth_sendRawTransaction \"0x" + to_hex(bytes) + "\""] =
                "\"0x" + to_hex(crypto::keccak256(bytes)) + "\"";
    const auto all_taken = [](const std::vector<Sent>& sent) {
        return sent.size() == 2 && std::ranges::all_of(sent, [](const Sent& one) {
                   return one.status == Sent::Status::taken && one.why.empty();
               });
    };
    EXPECT_TRUE(all_taken(with_both().send(signed_bytes)));
    for (const FakeProvider* provider : {&providers.first, &providers.second}) {
        ASSERT_EQ(provider->asked.size(), 2U);
        EXPECT_NE(provider->asked[0].find("eth_chainId"), std::string::npos);
        EXPECT_NE(provider->asked[1].find(R"("params":["0x022062797465)"), std::string::npos);
    }
    providers.first.is_down = true;
    EXPECT_TRUE(all_taken(with_both().send(signed_bytes))) << "one is enough";
    providers.second.results["eth_sendRawTransaction \"0x" + to_hex(signed_bytes[0]) + "\""] =
        "\"" + to_string(paid) + "\"";
    const auto sent = with_both().send(signed_bytes);
    EXPECT_EQ(sent[0].status, Sent::Status::refused) << "another hash";
    EXPECT_EQ(sent[1].status, Sent::Status::taken);
}

TEST_F(JsonRpc, TellsFeesThatAreTooLowFromOtherRefusals) {
    const auto sent = [&](const std::string& text) {
        providers.first.errors["eth_sendRawTransaction"] =
            fmt::format(R"({{"code":-32000,"message":"{}"}})", text);
        return with_first().send({"bytes"}).at(0);
    };
    for (const std::string text :
         {"already known", "nonce too low: next nonce 5, tx nonce 3", "Nonce too low",
          "transaction already imported", "replacement transaction underpriced",
          "known transaction: 1234", "INTERNAL_ERROR: could not replace existing tx"})
        EXPECT_EQ(sent(text).status, Sent::Status::taken) << text;
    for (const std::string text :
         {"transaction underpriced", "max fee per gas less than block base fee: address 0x1",
          "FeeTooLow", "Gas price below configured minimum gas price", "fee too low"})
        EXPECT_EQ(sent(text).status, Sent::Status::underpriced) << text;
    for (const std::string text : {"insufficient funds for gas * price + value",
                                   "intrinsic gas too low", "invalid sender", ""}) {
        EXPECT_EQ(sent(text).status, Sent::Status::refused) << text;
        EXPECT_EQ(sent(text).why, "The provider one.example refused it: " + text + ".");
    }
}

TEST_F(JsonRpc, TellsOfAllProvidersWhenNoneTakesATransaction) {
    providers.first.is_down = true;
    providers.second.status = 503;
    providers.second.body = "busy";
    const auto sent = with_both().send({"bytes"}).at(0);
    EXPECT_EQ(sent.status, Sent::Status::refused);
    EXPECT_EQ(sent.why,
              "The provider one.example cannot be used: Failed to connect. The provider "
              "two.example:8443 answered with HTTP status 503.");
}

TEST(Provider, IsNamedByItsHostAlone) {
    EXPECT_EQ(host_of("https://base.example/v2/key"), "base.example");
    EXPECT_EQ(host_of("https://base.example?apikey=key"), "base.example");
    EXPECT_EQ(host_of("https://base.example#key"), "base.example");
    EXPECT_EQ(host_of("https://user:p%40ss@base.example:8443"), "base.example:8443");
    EXPECT_EQ(host_of("http://[::1]:8545/"), "[::1]:8545");
    for (const std::string no_url : {"", "base.example", "https://user:p@ss@base.example"})
        EXPECT_EQ(host_of(no_url), "") << no_url;
}

}  // namespace
}  // namespace berth::chain
