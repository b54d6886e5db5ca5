// The proof of cards, met by hosts that have them and by hosts that only say so. What they send is
// written from docs/agent-messages.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "card_proof/lanes.hpp"
#include "card_proof/product.hpp"
#include "card_proof/tree.hpp"
#include "crypto/hash.hpp"
#include "machines/qualification.hpp"
#include "support/machine_agent.hpp"
#include "support/machines.hpp"
#include "support/town.hpp"
#include "wire/wire.hpp"

namespace berth::test {
namespace {

using namespace machines;
using namespace std::chrono_literals;

constexpr std::uint64_t lane_words = 1024;
constexpr std::uint64_t blocks_in_lane = lane_words / card_proof::block_words;
constexpr std::uint64_t lanes_needed = 320;  // of 64 MiB, for an RTX 4090
constexpr card_proof::ProductSize product{.rows = 64, .columns = 128, .depth = 64};

Harness::Options proving(bool unproven_allowed = false) {
    Harness::Options options;
    options.real_accounts = true;
    options.flags = {{"allow-private-endpoints", "true"}};  // nobody has to reach this machine
    options.overrides.proof_rules = ProofRules{.unproven_allowed = unproven_allowed,
                                               .product = product,
                                               .lane_words = lane_words,
                                               .tops_a_gigabyte_min = 0};
    return options;
}

std::string base64(const Bytes& bytes) { return to_base64url(bytes); }

// A card's memory and what it computed, with the trees over both.
struct Card {
    std::vector<Bytes> blocks;
    std::vector<Bytes> rows;
    std::optional<card_proof::Tree> block_tree;
    std::optional<card_proof::Tree> row_tree;

    void multiply(const std::string& seed, std::uint64_t number = 0) {
        std::vector<Bytes> leaves;
        for (std::uint64_t row = 0; row < product.rows; ++row) {
            rows.push_back(card_proof::bytes_of_row(
                card_proof::product_row(product, card_proof::product_seeds(seed, number), row)));
            leaves.push_back(crypto::sha256(rows.back()));
        }
        row_tree.emplace(std::move(leaves));
    }
    // Of so many lanes only the first are made; the others are what happened to be there.
    void fill(const std::string& seed, std::uint64_t lanes, std::uint64_t made,
              std::uint64_t number = 0) {
        std::vector<Bytes> leaves;
        blocks.clear();
        std::vector<std::uint64_t> words(lane_words);
        for (std::uint64_t lane = 0; lane < lanes; ++lane) {
            const std::uint64_t own = card_proof::lane_seed(seed, number, lane);
            if (lane < made)
                card_proof::make_lane(own, words);
            else
                std::fill(words.begin(), words.end(), own);
            for (std::uint64_t block = 0; block < blocks_in_lane; ++block) {
                blocks.push_back(card_proof::bytes_of(std::span(words).subspan(
                    block * card_proof::block_words, card_proof::block_words)));
                leaves.push_back(crypto::sha256(blocks.back()));
            }
        }
        // Lanes are filled up to a power of two by lanes whose hash is zero.
        block_tree.emplace(tree_of(leaves));
    }
    static card_proof::Tree tree_of(const std::vector<Bytes>& leaves) {
        std::vector<Bytes> lane_roots;
        for (std::size_t at = 0; at < leaves.size(); at += blocks_in_lane)
            lane_roots.push_back(card_proof::Tree({leaves.begin() + static_cast<std::ptrdiff_t>(at),
                                                   leaves.begin() + static_cast<std::ptrdiff_t>(
                                                                        at + blocks_in_lane)})
                                     .root());
        return card_proof::Tree(lane_roots);
    }
    Bytes block_path(std::uint64_t lane, std::uint64_t block) const {
        std::vector<Bytes> leaves;
        for (std::uint64_t i = 0; i < blocks_in_lane; ++i)
            leaves.push_back(crypto::sha256(blocks[lane * blocks_in_lane + i]));
        return card_proof::Tree(leaves).path(block) + block_tree->path(lane);
    }
};

struct Proving : ::testing::Test {
    explicit Proving(bool unproven_allowed = false) : town(proving(unproven_allowed)) {
        const auto made = town.enlist(crypto::SigningKey::make(town.harness.random), R"(["host"])");
        key = member(made.body, "api_key.secret");
        owner = {parse_uuid(member(made.body, "account_id")).value()};
        EXPECT_EQ(agent.enroll(MachineAgent::token_for(town.harness, owner)).status, 201);
        EXPECT_EQ(agent.heartbeat().status, 200);
        begin_test();
    }
    void begin_test() {
        town.harness.clock.advance(2s);
        town.run_tasks();
        for (const auto& command : agent.orders().commands)
            if (command.kind == CommandKind::qualify)
                run =
                    to_string(wire::decode<QualifyPayload>(command.payload.text, "payload").run_id);
    }
    http::Response send(const std::string& step, const std::string& body) {
        return agent.send(
            {.target = "/api/v1/host-agent/qualification/" + run + step, .body = body});
    }
    std::string good(const http::Response& response) {
        EXPECT_EQ(response.status, 200) << response.body;
        return response.body;
    }
    static std::string hash_text(const Bytes& hash) { return "sha256:" + to_hex(hash); }

    std::string product_message(const Bytes& root) const {
        return fmt::format(
            R"({{"fence":"1","cards":[{{"pci_address":"0000:01:00.0","root":"{}"}}]}})",
            hash_text(root));
    }
    std::string lanes_message(std::uint64_t lanes) const {
        std::string rows;
        for (int i = 0; !member(lane_order, fmt::format("rows.0.{}", i)).empty(); ++i) {
            const auto row = std::stoull(member(lane_order, fmt::format("rows.0.{}", i)));
            rows += fmt::format(R"({}{{"bytes":"{}","path":"{}"}})", i == 0 ? "" : ",",
                                base64(card.rows[row]), base64(card.row_tree->path(row)));
        }
        return fmt::format(R"({{"fence":"1","cards":[{{"lanes":{},"root":"{}","rows":[{}]}}]}})",
                           lanes, hash_text(card.block_tree->root()), rows);
    }
    std::string blocks_message(const std::string& order) const {
        std::string blocks;
        for (int i = 0; !member(order, fmt::format("blocks.0.{}.lane", i)).empty(); ++i) {
            const auto lane = std::stoull(member(order, fmt::format("blocks.0.{}.lane", i)));
            const auto block = std::stoull(member(order, fmt::format("blocks.0.{}.block", i)));
            blocks += fmt::format(R"({}{{"bytes":"{}","path":"{}"}})", i == 0 ? "" : ",",
                                  base64(card.blocks[lane * blocks_in_lane + block]),
                                  base64(card.block_path(lane, block)));
        }
        return fmt::format(R"({{"fence":"1","cards":[{{"blocks":[{}]}}]}})", blocks);
    }
    // Up to where lanes are asked for.
    void compute() {
        const std::string order = good(send("/proof", R"({"fence":"1"})"));
        card.multiply(member(order, "seed"));
        lane_order = good(send("/proof/product", product_message(card.row_tree->root())));
    }
    // Up to where blocks are asked for.
    std::string commit(std::uint64_t made = lanes_needed) {
        compute();
        card.fill(member(lane_order, "seed"), lanes_needed, made);
        return good(send("/proof/lanes", lanes_message(lanes_needed)));
    }
    http::Response result(const std::string& vram = "25757220864") {
        std::string checks = R"({"id":"gpu.proof","status":"pass"})";
        for (const std::string id : test::checks_of_host)
            checks += fmt::format(R"(,{{"id":"{}","status":"pass"}})", id);
        return send("/result", fmt::format(R"({{"fence":"1","checks":[{}],"measurements":)"
                                           R"({{"vram_bytes":"{}","download_mbps":900,)"
                                           R"("upload_mbps":400}},"endpoint":{}}})",
                                           checks, vram, endpoint));
    }
    // How the test ends, and the finding that decided.
    std::string outcome(const std::string& vram = "25757220864") {
        result(vram);
        town.run_tasks();
        const std::string shown =
            town.with_key(key, "GET",
                          "/api/v1/hosts/machines/" + to_string(agent.machine) + "/qualification")
                .body;
        return member(shown, "outcome") + " " + member(shown, "findings.0.code") + " " +
               member(shown, "findings.0.message");
    }
    void expect_failure(const std::string& words) {
        const std::string ended = outcome();
        EXPECT_TRUE(ended.starts_with("failed gpu.proof ")) << ended;
        EXPECT_NE(ended.find(words), std::string::npos) << ended;
        EXPECT_EQ(seen(town.harness, agent.machine).state, MachineState::UNQUALIFIED);
    }
    std::int64_t kept() {
        return town.harness.app->database().read([](db::Transaction& tx) {
            return tx.fetch_value<std::int64_t>("SELECT count(*) FROM machine_proofs").value();
        });
    }

    Town town;
    std::string key;
    AccountId owner;
    MachineAgent agent{town.harness};
    std::string run;
    std::string lane_order;
    std::string endpoint = "null";
    Card card;
};

TEST_F(Proving, ACardThatIsThereIsProven) {
    const std::string order = commit();
    EXPECT_EQ(member(order, "within_ms"), "1500");
    town.harness.clock.advance(1s);
    EXPECT_EQ(send("/proof/blocks", blocks_message(order)).status, 200);
    EXPECT_EQ(kept(), 1);
    EXPECT_EQ(member(result().body, "outcome"), "pending");
    EXPECT_TRUE(outcome().starts_with("passed net.endpoint")) << outcome();
    EXPECT_EQ(seen(town.harness, agent.machine).state, MachineState::UNLISTED);
    EXPECT_EQ(seen(town.harness, agent.machine).verification_level,
              VerificationLevel::auto_verified);
    EXPECT_EQ(kept(), 0);
}

// The proof is examined after the endpoint was dialled; both must hold.
TEST_F(Proving, AnEndpointIsDialledBeforeTheProofIsExamined) {
    const std::string order = commit();
    EXPECT_EQ(send("/proof/blocks", blocks_message(order)).status, 200);
    endpoint = R"({"host":"127.0.0.1","port":1024})";  // an address of our own house
    const std::string ended = outcome();
    EXPECT_TRUE(ended.starts_with("failed net.endpoint")) << ended;
    EXPECT_EQ(kept(), 0);
}

// The hole that this closes: the agent's own word for every check.
TEST_F(Proving, AWordForItIsNotEnough) { expect_failure("did not prove its cards"); }

TEST_F(Proving, AProofThatIsNotCarriedThroughIsNone) {
    commit();
    expect_failure("not carried through");
}

TEST_F(Proving, ARootOfNothingHasNoBlocks) {
    compute();
    card.fill("another seed", lanes_needed, lanes_needed);
    auto message = lanes_message(lanes_needed);
    const std::string root = hash_text(card.block_tree->root());
    message.replace(message.find(root), root.size(), hash_text(crypto::sha256("made up")));
    const std::string order = good(send("/proof/lanes", message));
    EXPECT_EQ(send("/proof/blocks", blocks_message(order)).status, 200);
    expect_failure("not the one that was committed to");
}

TEST_F(Proving, BlocksOfOtherLanesAreNotWhatWasNamed) {
    std::string order = commit();
    const std::string lane = "\"lane\":" + member(order, "blocks.0.0.lane");
    const auto other = std::stoull(member(order, "blocks.0.0.lane")) ^ 1;
    order.replace(order.find(lane), lane.size(), fmt::format("\"lane\":{}", other));
    EXPECT_EQ(send("/proof/blocks", blocks_message(order)).status, 200);
    expect_failure("not the one that was committed to");
}

// Who holds six lanes of ten commits to something else in place of the others. What is named is
// what the tree holds, but not what the seed makes of it.
TEST_F(Proving, APartOfTheMemoryIsNotEnough) {
    const std::string order = commit(0);
    EXPECT_EQ(send("/proof/blocks", blocks_message(order)).status, 200);
    expect_failure("not what the seed makes it");
}

TEST_F(Proving, FewerLanesThanTheCardWouldHoldAreRefused) {
    compute();
    card.fill(member(lane_order, "seed"), 192, 192);  // 60 % of what is asked for
    const auto answer = send("/proof/lanes", lanes_message(192));
    EXPECT_EQ(answer.status, 409);
    EXPECT_NE(answer.body.find("less than 80 %"), std::string::npos) << answer.body;
    card.fill(member(lane_order, "seed"), lanes_needed, lanes_needed);
    EXPECT_EQ(send("/proof/lanes", lanes_message(lanes_needed)).status, 409);
    expect_failure("less than 80 %");
}

TEST_F(Proving, MoreMemoryThanWasProvenIsNotSold) {
    const std::string order = commit();
    EXPECT_EQ(send("/proof/blocks", blocks_message(order)).status, 200);
    EXPECT_TRUE(outcome("48000000000").starts_with("failed gpu.proof"));
}

TEST_F(Proving, BlocksThatComeLateWereMadeAgain) {
    const std::string order = commit();
    town.harness.clock.advance(1501ms);
    const auto answer = send("/proof/blocks", blocks_message(order));
    EXPECT_EQ(answer.status, 409);
    EXPECT_NE(answer.body.find("1501 ms"), std::string::npos) << answer.body;
    expect_failure("1501 ms");
}

TEST_F(Proving, LanesThatComeLateFail) {
    compute();
    card.fill(member(lane_order, "seed"), lanes_needed, lanes_needed);
    town.harness.clock.advance(lanes_within + 1ms);
    EXPECT_EQ(send("/proof/lanes", lanes_message(lanes_needed)).status, 409);
    expect_failure("The memory's lanes came 40001 ms");
}

TEST_F(Proving, AProductThatComesLateFails) {
    const std::string order = good(send("/proof", R"({"fence":"1"})"));
    card.multiply(member(order, "seed"));
    town.harness.clock.advance(product_within + 1ms);
    EXPECT_EQ(send("/proof/product", product_message(card.row_tree->root())).status, 409);
    expect_failure("The product came 60001 ms");
}

// Nothing that is sent again moves the time or the question, and nothing is taken back.
TEST_F(Proving, ARetryMovesNothingAndAChangedRootIsRefused) {
    const std::string begun = good(send("/proof", R"({"fence":"1"})"));
    town.harness.clock.advance(1s);
    EXPECT_EQ(good(send("/proof", R"({"fence":"1"})")), begun);
    const std::string order = commit();
    EXPECT_EQ(good(send("/proof/product", product_message(card.row_tree->root()))), lane_order);
    EXPECT_EQ(send("/proof/product", product_message(crypto::sha256("other"))).status, 409);
    town.harness.clock.advance(1s);
    EXPECT_EQ(good(send("/proof/lanes", lanes_message(lanes_needed))), order);
    card.fill(member(lane_order, "seed"), lanes_needed, 1);
    EXPECT_EQ(send("/proof/lanes", lanes_message(lanes_needed)).status, 409);
    card.fill(member(lane_order, "seed"), lanes_needed, lanes_needed);
    town.harness.clock.advance(501ms);  // since the blocks were first named
    EXPECT_EQ(send("/proof/blocks", blocks_message(order)).status, 409);
    expect_failure("1501 ms");
}

TEST_F(Proving, OtherBlocksAfterTheFirstAreRefused) {
    const std::string order = commit(0);
    const std::string wrong = blocks_message(order);
    EXPECT_EQ(send("/proof/blocks", wrong).status, 200);
    card.fill(member(lane_order, "seed"), lanes_needed, lanes_needed);
    EXPECT_EQ(send("/proof/blocks", blocks_message(order)).status, 409);
    EXPECT_EQ(send("/proof/blocks", wrong).status, 200);
    expect_failure("not what the seed makes it");
}

TEST_F(Proving, StepsCannotBeLeftOut) {
    EXPECT_EQ(send("/proof/product", product_message(crypto::sha256("x"))).status, 409);
    good(send("/proof", R"({"fence":"1"})"));
    card.fill("x", lanes_needed, 0);
    card.multiply("x");
    EXPECT_EQ(send("/proof/lanes", lanes_message(lanes_needed)).status, 409);
    EXPECT_EQ(send("/proof/blocks", R"({"fence":"1","cards":[{"blocks":[]}]})").status, 409);
}

TEST_F(Proving, AWrongProductIsSeen) {
    const std::string order = good(send("/proof", R"({"fence":"1"})"));
    card.multiply(member(order, "seed"));
    // One number of every row, and a tree that is right over it.
    std::vector<Bytes> leaves;
    for (Bytes& row : card.rows) {
        row[4] = static_cast<char>(row[4] ^ 2);
        leaves.push_back(crypto::sha256(row));
    }
    card.row_tree.emplace(leaves);
    lane_order = good(send("/proof/product", product_message(card.row_tree->root())));
    card.fill(member(lane_order, "seed"), lanes_needed, lanes_needed);
    const std::string blocks = good(send("/proof/lanes", lanes_message(lanes_needed)));
    EXPECT_EQ(send("/proof/blocks", blocks_message(blocks)).status, 200);
    expect_failure("a row of the product is wrong");
}

// A card that was proven for one test is not for the next: every test has seeds of its own.
TEST_F(Proving, AnswersOfAnotherTestAreWorthNothing) {
    const std::string order = commit();
    send("/proof/blocks", blocks_message(order));
    ASSERT_TRUE(outcome().starts_with("passed"));
    const Card before = card;
    ASSERT_EQ(town.harness
                  .ask({.method = "POST",
                        .target = "/api/v1/hosts/machines/" + to_string(agent.machine) +
                                  "/qualification/retry",
                        .as = key,
                        .key = town.harness.new_id()})
                  .status,
              202);
    begin_test();
    good(send("/proof", R"({"fence":"1"})"));
    card = before;
    lane_order = good(send("/proof/product", product_message(card.row_tree->root())));
    const std::string again = good(send("/proof/lanes", lanes_message(lanes_needed)));
    EXPECT_EQ(send("/proof/blocks", blocks_message(again)).status, 200);
    EXPECT_TRUE(outcome().starts_with("failed gpu.proof ")) << outcome();
}

TEST_F(Proving, WhatMakesNoSenseIsRefusedByName) {
    good(send("/proof", R"({"fence":"1"})"));
    const std::string root = hash_text(crypto::sha256("x"));
    const auto elsewhere = send(
        "/proof/product",
        fmt::format(R"({{"fence":"1","cards":[{{"pci_address":"0000:09:00.0","root":"{}"}}]}})",
                    root));
    EXPECT_EQ(elsewhere.status, 422);
    EXPECT_NE(elsewhere.body.find("pci_address"), std::string::npos);
    const auto twice = send("/proof/product",
                            fmt::format(R"({{"fence":"1","cards":[{{"pci_address":"0000:01:00.0",)"
                                        R"("root":"{0}"}},{{"pci_address":"0000:01:00.0",)"
                                        R"("root":"{0}"}}]}})",
                                        root));
    EXPECT_EQ(twice.status, 422);
    EXPECT_EQ(send("/proof", R"({"fence":"0"})").status, 409);
    EXPECT_EQ(send("/proof", R"({})").status, 422);
    EXPECT_EQ(send("/proof/product", R"({"fence":"1","cards":[]})").status, 422);
    MachineAgent stranger(town.harness, "GPU-2");
    EXPECT_EQ(stranger.enroll(MachineAgent::token_for(town.harness, owner)).status, 201);
    EXPECT_EQ(stranger
                  .send({.target = "/api/v1/host-agent/qualification/" + run + "/proof",
                         .body = R"({"fence":"1"})"})
                  .status,
              404);
}

TEST_F(Proving, RubbishThatWasShownFailsTheTestAndNothingElse) {
    const std::string order = commit();
    EXPECT_EQ(
        send("/proof/blocks", R"({"fence":"1","cards":[{"blocks":[{"bytes":"!","path":"="}]}]})")
            .status,
        200);
    expect_failure("other blocks of memory were shown");
}

TEST_F(Proving, ATestThatTimesOutKeepsNoProof) {
    commit();
    EXPECT_EQ(kept(), 1);
    town.harness.clock.advance(run_lasts + 1s);
    EXPECT_EQ(agent.heartbeat().status, 200);
    town.run_tasks();
    EXPECT_EQ(kept(), 0);
    EXPECT_EQ(send("/proof", R"({"fence":"1"})").status, 409);
}

struct ProvingWhereNoneIsNeeded : Proving {
    ProvingWhereNoneIsNeeded() : Proving(true) {}
};

TEST_F(ProvingWhereNoneIsNeeded, AnUnprovenCardPasses) {
    EXPECT_TRUE(outcome().starts_with("passed")) << outcome();
}

TEST_F(ProvingWhereNoneIsNeeded, AFalseProofFailsAllTheSame) {
    const std::string order = commit(0);
    send("/proof/blocks", blocks_message(order));
    expect_failure("not what the seed makes it");
}

}  // namespace
}  // namespace berth::test
