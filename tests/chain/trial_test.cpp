// Calls that are tried and never sent: what providers say of them, and what a real node does.
#include <gtest/gtest.h>

#include "chain/erc1271.hpp"
#include "chain/fake_providers.hpp"
#include "chain/json_rpc.hpp"
#include "chain/transaction.hpp"
#include "support/evm_node.hpp"

namespace berth::chain {
namespace {

using namespace test;
using Tried = Trial::Status;

const std::string reverted_error =
    R"({"code":3,"message":"execution reverted: barred","data":"0x08c379a0"})";

class Trials : public testing::Test {
protected:
    static Call pay(const crypto::Address& to) {
        return {.to = usdc,
                .data = erc20_transfer({to, Micro{5}}),
                .gas_max = 100'000,
                .from = treasury};
    }
    JsonRpcChain with_all() { return {providers, {FakeProviders::all_urls(), 8453, 0}}; }
    std::vector<FakeProvider*> all() {
        return {&providers.first, &providers.second, &providers.third};
    }

    FakeProviders providers;
};

TEST_F(Trials, SayWhatACallWouldDo) {
    EXPECT_EQ(with_all().try_calls({pay(payer)}).at(0).result,
              Bytes(31, '\0') + static_cast<char>(6));
    for (FakeProvider* one : all()) one->errors["eth_call"] = reverted_error;
    EXPECT_EQ(with_all().try_calls({pay(payer)}).at(0).status, Tried::reverts);
    EXPECT_TRUE(with_all().try_calls({}).empty());
}

TEST_F(Trials, KnowARevertInTheWordsOfEveryNode) {
    for (const std::string error :
         {R"({"code":-32000,"message":"Execution reverted"})",
          R"({"code":-32015,"message":"VM execution error."})",
          R"({"code":-32000,"message":"out of gas"})", R"({"code":3,"message":"no"})"}) {
        for (FakeProvider* one : all()) one->errors["eth_call"] = error;
        EXPECT_EQ(with_all().try_calls({pay(payer)}).at(0).status, Tried::reverts) << error;
    }
    for (const std::string error : {R"({"code":-32005,"message":"too many requests"})",
                                    R"({"code":-32601,"message":"no such method"})"}) {
        for (FakeProvider* one : all()) one->errors["eth_call"] = error;
        EXPECT_EQ(with_all().try_calls({pay(payer)}).at(0).status, Tried::disputed)
            << error << ": the provider says no, and not the contract";
    }
}

TEST_F(Trials, OneOfThreeAloneDecidesNothing) {
    providers.first.errors["eth_call"] = reverted_error;
    EXPECT_EQ(with_all().try_calls({pay(payer)}).at(0).status, Tried::succeeds);
    providers.second.errors["eth_call"] = reverted_error;
    EXPECT_EQ(with_all().try_calls({pay(payer)}).at(0).status, Tried::reverts);
    providers.second.errors.clear();
    providers.second.results["eth_call"] = word_json_of(7);
    EXPECT_EQ(with_all().try_calls({pay(payer)}).at(0).status, Tried::disputed)
        << "no two say the same";
}

TEST_F(Trials, ManyTravelInOneRequest) {
    JsonRpcChain chain{providers, {{FakeProviders::urls()[0]}, 8453, 0}};
    chain.finalized_block();
    providers.first.asked.clear();
    EXPECT_EQ(chain.try_calls(std::vector<Call>(50, pay(payer))).size(), 50U);
    EXPECT_EQ(providers.first.asked.size(), 1U);
}

TEST_F(Trials, OneProviderAloneCannotVouchForASignature) {
    const ContractSignature signed_by{payer, Bytes(32, 'h'), Bytes(70, 's')};
    const std::string yes = "\"0x1626ba7e" + std::string(56, '0') + "\"";
    for (FakeProvider* one : all()) one->results["eth_call"] = R"("0x")";
    JsonRpcChain chain = with_all();
    EXPECT_FALSE(is_signed_by_contract(chain, signed_by)) << "there is no contract";
    providers.first.results["eth_call"] = yes;
    EXPECT_FALSE(is_signed_by_contract(chain, signed_by));
    providers.second.results["eth_call"] = yes;
    EXPECT_TRUE(is_signed_by_contract(chain, signed_by));
    for (const std::string& other :
         {std::string(R"("0x1626ba7e")"), "\"0x" + std::string(64, 'f') + "\"", word_json_of(1),
          word_json_of(0x1626ba7e)}) {
        for (FakeProvider* one : all()) one->results["eth_call"] = other;
        EXPECT_FALSE(is_signed_by_contract(chain, signed_by)) << other;
    }
    providers.first.is_down = providers.second.is_down = true;
    EXPECT_THROW(is_signed_by_contract(chain, signed_by), ProviderError);
}

struct TrialsOnANode : testing::Test {
    berth::test::EvmNode& node = berth::test::shared_evm_node();
    http::CurlClient client;
    JsonRpcChain chain{client, {.urls = {node.url()}, .chain_id = berth::test::EvmNode::chain_id}};
};

TEST_F(TrialsOnANode, TellAPaymentThatWouldRevertAndChangeNothing) {
    const auto from = berth::test::EvmNode::account(1).address();
    const auto to = berth::test::EvmNode::account(2).address();
    node.mint(node.usdc(), {from, Micro{100}});
    const auto pay = [&](std::int64_t amount) {
        return Call{.to = node.usdc(),
                    .data = erc20_transfer({to, Micro{amount}}),
                    .gas_max = 120'000,
                    .from = from};
    };
    const auto trials = chain.try_calls({pay(100), pay(101)});
    EXPECT_EQ(trials.at(0).status, Tried::succeeds);
    EXPECT_EQ(trials.at(0).result, Bytes(31, '\0') + '\x01');
    EXPECT_EQ(trials.at(1).status, Tried::reverts) << "it has less";
    node.set_barred(node.usdc(), to, true);
    EXPECT_EQ(chain.try_calls({pay(100)}).at(0).status, Tried::reverts);
    EXPECT_EQ(node.balance(node.usdc(), from), Micro{100});
}

}  // namespace
}  // namespace berth::chain
