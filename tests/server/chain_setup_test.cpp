// What money is not trusted to, unless somebody says so by name.
#include "server/chain_setup.hpp"

#include <gtest/gtest.h>

#include "http/client.hpp"
#include "support/database.hpp"

namespace berth::server {
namespace {

struct NoClient final : http::Client {
    http::Response send(const http::Outbound&) override { throw http::TransportError("none"); }
};

std::string chain_complaint(const std::map<std::string, std::string>& flags) {
    NoClient client;
    try {
        const auto start = registry().snapshot(load_settings({.flags = flags}));
        make_chain(client, start->get<chain::Settings>());
        return "";
    } catch (const BadSettings& bad) {
        return bad.what();
    }
}

TEST(ChainSetup, RefusesProvidersThatMoneyCannotBeTrustedTo) {
    const std::string good = "https://one.example/key,https://two.example";
    EXPECT_EQ(chain_complaint({{"chain-rpc", good}}), "");
    EXPECT_EQ(chain_complaint({{"chain-rpc", "http://127.0.0.1:8545,https://two.example"}}), "");
    EXPECT_EQ(chain_complaint({{"chain-rpc", "http://[::1]:8545,http://localhost:1"}}), "");
    EXPECT_EQ(chain_complaint({{"chain-rpc", "http://127.0.0.1:8545"}}), "")
        << "the operator's own node";
    struct Case {
        std::string urls;
        std::string says;
        std::string name;
    };
    const std::vector<Case> cases{
        {"http://one.example,https://two.example", "one.example must be https", "plain-http"},
        {"https://one.example", "on two hosts at least", "few-providers"},
        {"https://one.example/a,https://one.example:8443/b", "on two hosts at least",
         "few-providers"},
        {"https://one.example,https://two.example,https://one.example",
         "one.example is there twice", "same-provider"},
    };
    for (const auto& [urls, says, name] : cases) {
        const std::string told = chain_complaint({{"chain-rpc", urls}});
        EXPECT_NE(told.find(says), std::string::npos) << told;
        EXPECT_NE(told.find("--allow-unsafe " + name), std::string::npos) << told;
        EXPECT_EQ(told.find("/key"), std::string::npos) << "addresses may hold keys";
        EXPECT_EQ(chain_complaint({{"chain-rpc", urls}, {"allow-unsafe", name}}), "");
    }
    const std::string token = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
    EXPECT_NE(chain_complaint({{"chain-rpc", good}, {"token-usdt", token}}).find("two contracts"),
              std::string::npos);
    EXPECT_NE(chain_complaint({{"chain-rpc", good}, {"chain-quorum", "3"}}).find("--chain-quorum"),
              std::string::npos);
    EXPECT_NE(chain_complaint({{"allow-unsafe", "everything"}}).find("--allow-unsafe"),
              std::string::npos);
}

// Only tells decimals.
struct TokenChain final : chain::Chain {
    std::int64_t said = 6;
    chain::Sighting find_transfer(const chain::Hash&, std::int64_t) override { return {}; }
    std::int64_t finalized_block() override { return 0; }
    std::vector<chain::Transfer> transfers(const Range&, const Wanted&) override { return {}; }
    std::vector<chain::Outcome> outcomes(const std::vector<chain::Hash>&) override { return {}; }
    chain::Glimpse glimpse(const chain::Hash&) override { return {}; }
    chain::Standing standing(const crypto::Address&, const std::vector<crypto::Address>&) override {
        return {};
    }
    Micro balance(const crypto::Address&, const crypto::Address&, std::int64_t) override {
        return {};
    }
    std::vector<chain::Sent> send(const std::vector<Bytes>&) override { return {}; }
    std::vector<chain::Trial> try_calls(const std::vector<chain::Call>&) override { return {}; }
    std::int64_t decimals(const crypto::Address&) override {
        if (said < 0) throw chain::ProviderError("away");
        return said;
    }
    std::optional<chain::Original> original(const chain::Hash&) override { return {}; }
};

TEST(ChainSetup, RefusesATokenThatDoesNotCountInMillionths) {
    TokenChain chain;
    const auto settings_with = [](const std::string& unsafe) {
        return registry()
            .snapshot(load_settings({.flags = {{"allow-unsafe", unsafe}}}))
            ->get<chain::Settings>();
    };
    const chain::Settings settings = settings_with("");
    EXPECT_NO_THROW(require_tokens(settings, chain, {}));
    chain.said = 18;
    EXPECT_THROW(require_tokens(settings, chain, {}), BadSettings);
    EXPECT_NO_THROW(require_tokens(settings_with("decimals"), chain, {}));
    chain.said = -1;
    EXPECT_NO_THROW(require_tokens(settings, chain, {})) << "the settler asks before it signs";
}

// The tests' own server commits to memory alone; a SQLite file never does.
TEST(ChainSetup, RefusesADatabaseThatForgetsWhatItCommitted) {
    test::TestDatabase database;
    const auto open = database.open();
    const chain::Settings settings;
    if (open->engine() == db::Engine::sqlite) {
        EXPECT_NO_THROW(require_durable(settings, *open));
        return;
    }
    EXPECT_THROW(require_durable(settings, *open), BadSettings);
    const auto allowing =
        registry().snapshot(load_settings({.flags = {{"allow-unsafe", "undurable-db"}}}));
    EXPECT_NO_THROW(require_durable(allowing->get<chain::Settings>(), *open));
}

}  // namespace
}  // namespace berth::server
