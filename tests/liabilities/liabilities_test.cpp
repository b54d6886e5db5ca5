#include "liabilities/liabilities.hpp"

#include "liabilities/verify.hpp"

#include <gtest/gtest.h>

#include <set>

#include "audit/audit.hpp"
#include "crypto/hash.hpp"
#include "events/events.hpp"
#include "events/reading.hpp"
#include "ledger/ledger.hpp"
#include "server/census.hpp"
#include "simulated/simulated_chain.hpp"
#include "support/eventually.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

using namespace liabilities;

Leaf leaf(int number, std::int64_t balance) {
    AccountId account;
    account.uuid.bytes.back() = static_cast<char>(number);
    return {account, Bytes(salt_bytes, static_cast<char>(number)), Micro{balance}};
}

TEST(LiabilityTree, ALeafIsHashedAsDocumented) {
    Bytes input(1, '\0');
    input += Bytes(15, '\0') + '\7' + Bytes(32, '\7') + Bytes(6, '\0') + "\1\2";
    EXPECT_EQ(node_of(leaf(7, 258)).hash, crypto::sha256(input));
    const Node left = node_of(leaf(1, 1));
    const Node right = node_of(leaf(2, 2));
    EXPECT_EQ(join(left, right).hash, crypto::sha256("\1" + left.hash + Bytes(7, '\0') + '\1' +
                                                     right.hash + Bytes(7, '\0') + '\2'));
    EXPECT_EQ(join(left, right).sum, Micro{3});
}

TEST(LiabilityTree, EveryLeafOfEverySizeHasAPathToTheRoot) {
    for (int size = 1; size <= 33; ++size) {
        liabilities::Level leaves;
        for (int i = 0; i < size; ++i) leaves.push_back(node_of(leaf(i, 10 * i)));
        const auto levels = grow(leaves);
        ASSERT_EQ(levels.back().size(), 1U);
        const Node& root = levels.back().front();
        EXPECT_EQ(root.sum, Micro{10 * size * (size - 1) / 2});
        for (int i = 0; i < size; ++i) {
            std::vector<Step> path;
            for (const Place& place : neighbours(static_cast<std::size_t>(i), leaves.size()))
                path.push_back({place.side, levels[place.level][place.index]});
            EXPECT_EQ(climb(leaves[static_cast<std::size_t>(i)], path), root);
            EXPECT_NE(climb(node_of(leaf(i, 10 * i + 1)), path), root);
        }
    }
}

struct LiabilityProofs : ::testing::Test {
    void deposit(Browser& browser, std::int64_t amount) {
        const AccountId account{
            parse_uuid(member(browser.send("GET", "/api/v1/auth/session").body, "account_id"))
                .value()};
        const std::string reference = town.harness.new_id();
        town.harness.app->database().write([&](db::Transaction& tx) {
            ledger::deposit({tx, town.harness.random, town.harness.clock.now()},
                            {account, ledger::Asset::usdc, Micro{amount}, reference});
        });
    }
    std::string published() {
        const auto answer = town.harness.ask({.target = "/api/v1/proof-of-liabilities"});
        EXPECT_EQ(answer.status, 200) << answer.body;
        return answer.body;
    }
    void an_hour_later() {
        town.harness.clock.advance(std::chrono::hours(1));
        town.run_tasks();
    }

    Town town;
    Browser ada = town.person("ada@example.org");
    Browser bob = town.person("bob@example.org");
};

TEST_F(LiabilityProofs, EveryAccountFindsItsBalanceInTheTotal) {
    deposit(ada, 700);
    deposit(bob, 41);
    an_hour_later();
    ada.sign_in("ada@example.org");
    const std::string all = published();
    EXPECT_EQ(member(all, "items.0.asset"), "USDC");
    EXPECT_EQ(member(all, "items.0.total_micro"), "741");
    EXPECT_EQ(member(all, "items.0.count"), "9")
        << "three for each of two accounts, and for what nobody has claimed";
    EXPECT_EQ(member(all, "items.0.block_number"), "null");
    EXPECT_EQ(member(all, "items.0.covered"), "null");
    const auto own = ada.send("GET", "/api/v1/billing/proof");
    ASSERT_EQ(own.status, 200) << own.body;
    EXPECT_EQ(member(own.body, "balance_micro"), "700");
    EXPECT_EQ(member(own.body, "root"), member(all, "items.0.root"));
    const Verdict verdict = verify(own.body);
    EXPECT_TRUE(verdict.good) << verdict.sentence;
    EXPECT_EQ(member(own.body, "parts.3.salt"), "");
    std::int64_t sum = 0;
    for (const std::string part : {"0", "1", "2"})
        sum += std::stoll(member(own.body, "parts." + part + ".amount_micro"));
    EXPECT_EQ(sum, 700);

    std::string less = own.body;
    less.replace(less.find("\"700\""), 5, "\"699\"");
    EXPECT_FALSE(verify(less).good) << "a reduced balance breaks its own proof";
    std::string total = own.body;
    total.replace(total.find("\"741\""), 5, "\"742\"");
    EXPECT_FALSE(verify(total).good);
    EXPECT_THROW(verify("{}"), Problem);
}

TEST_F(LiabilityProofs, RecordsAreChainedSignedAndFresh) {
    deposit(ada, 700);
    an_hour_later();
    const std::string first = published();
    town.harness.clock.advance(std::chrono::minutes(30));
    town.run_tasks();
    EXPECT_EQ(published(), first) << "it is not time yet";
    an_hour_later();
    const std::string second = published();
    EXPECT_EQ(std::stoi(member(second, "items.0.number")),
              std::stoi(member(first, "items.0.number")) + 1);
    EXPECT_EQ(member(second, "items.0.previous_hash"), member(first, "items.0.hash"));
    EXPECT_NE(member(second, "items.0.root"), member(first, "items.0.root")) << "fresh salts";
    ada.sign_in("ada@example.org");
    EXPECT_TRUE(verify(ada.send("GET", "/api/v1/billing/proof").body).good);
}

TEST_F(LiabilityProofs, ARecordHasTheKeyThatSignedItAlsoAfterAnother) {
    deposit(ada, 700);
    an_hour_later();
    const std::string record = published();
    const crypto::Ed25519Key next(crypto::Secret(Bytes(32, 'n')));
    const ledger::Treasury treasury{};
    const Liabilities successor(treasury, nullptr,
                                crypto::Ed25519Key(crypto::Secret(Bytes(32, 'n'))));
    worker::Options options;
    options.settings = &town.harness.app->settings();
    auto& harness = town.harness;
    const Liabilities::Parts parts{harness.app->database(), harness.clock, harness.random};
    harness.clock.advance(std::chrono::hours(1));
    worker::Worker worker(parts.database, parts.clock, parts.random, successor.prove_kinds(parts),
                          options);
    EXPECT_TRUE(worker.run_one());
    EXPECT_EQ(member(published(), "items.0.previous_hash"), member(record, "items.0.hash"));
    EXPECT_EQ(member(published(), "items.0.public_key"), to_base64(next.public_key().view()));
    const Bytes hash = from_hex(member(published(), "items.0.hash").substr(7)).value();
    EXPECT_EQ(member(published(), "items.0.signature"), to_base64(next.sign(hash)));
    // Whoever makes up records signs them, too: a verdict names the key and every change of it.
    const std::string all =
        harness.ask({.target = "/api/v1/proof-of-liabilities/records?limit=100"}).body;
    const Verdict verdict = verify(all);
    EXPECT_TRUE(verdict.good) << verdict.sentence;
    EXPECT_NE(verdict.sentence.find("THE KEY CHANGED between records 2 and 3"), std::string::npos)
        << verdict.sentence;
    EXPECT_NE(verdict.sentence.find(to_base64(next.public_key().view())), std::string::npos);
    EXPECT_NE(verdict.sentence.find(member(published(), "items.0.hash")), std::string::npos);
    EXPECT_EQ(verify(record).sentence.find("THE KEY CHANGED"), std::string::npos);
}

TEST_F(LiabilityProofs, AndWhatIsHeldForJobsAreAmongTheOperatorsFigures) {
    deposit(ada, 700);
    auto& harness = town.harness;
    auto& database = harness.app->database();
    const AccountId renter{
        parse_uuid(member(ada.send("GET", "/api/v1/auth/session").body, "account_id")).value()};
    database.write([&](db::Transaction& tx) {
        const ledger::Context context{tx, harness.random, harness.clock.now()};
        const auto job = JobId::make(context.now, context.random);
        ledger::hold(context, {job, renter, AccountId{job.uuid}, MachineId{job.uuid},
                               ledger::Asset::usdc, Micro{300}, Micro{3'600'000}, 1000});
        ledger::capture(context, job, {Micro{100}, 100});
    });
    an_hour_later();
    const auto figures = [&](const std::string& awaited) {
        api::Metrics metrics;
        server::Census census(database, harness.clock, metrics);
        EXPECT_TRUE(support::eventually([&] {
            return metrics.prometheus_text().find("\n" + awaited + "\n") != std::string::npos;
        })) << awaited
            << metrics.prometheus_text();
        return metrics.prometheus_text();
    };
    const std::string before = figures(R"(berth_liabilities_total_micro{asset="USDC"} 690)");
    EXPECT_NE(before.find(R"(berth_jobs_held_micro{asset="USDC"} 200)"), std::string::npos);
    EXPECT_EQ(before.find("berth_liabilities_covered{"), std::string::npos) << "nobody looked";
    EXPECT_NE(before.find(R"(berth_liabilities_as_of_timestamp_seconds{asset="USDC"} )"),
              std::string::npos);
    const auto treasury = [&](std::int64_t amount) {
        database.write([&](db::Transaction& tx) {
            tx.run("UPDATE liability_records SET treasury = $1 WHERE asset = 'USDC'", amount);
        });
    };
    treasury(690);
    figures(R"(berth_liabilities_covered{asset="USDC"} 1)");
    treasury(689);
    figures(R"(berth_liabilities_covered{asset="USDC"} 0)");
}

// Whoever has the treasury's key can take from it what no book knows of.
TEST_F(LiabilityProofs, OperatorsHearOnceOfEachTimeThatTheTreasuryHasLessThanIsOwed) {
    auto& harness = town.harness;
    const auto address = [](char letter) {
        crypto::Address made;
        made.bytes.fill(letter);
        return made;
    };
    ledger::Treasury treasury{.address = address('t'), .tokens = {}};
    for (const ledger::Asset asset : ledger::assets) {
        const auto index = static_cast<std::size_t>(asset);
        treasury.tokens[index] = address(static_cast<char>('a' + index));
    }
    simulated::SimulatedChain chain({harness.folder.path() + "/chain.db",
                                     8453,
                                     {treasury.tokens.begin(), treasury.tokens.end()}},
                                    harness.clock);
    const Liabilities looking(treasury, &chain, crypto::Ed25519Key(crypto::Secret(Bytes(32, 'k'))));
    const Liabilities::Parts parts{harness.app->database(), harness.clock, harness.random};
    worker::Options options;
    options.settings = &harness.app->settings();
    worker::Worker worker(parts.database, parts.clock, parts.random, looking.prove_kinds(parts),
                          options);
    // What operators have been told of it when the next record is there.
    const auto told = [&] {
        harness.clock.advance(std::chrono::hours(1));
        while (worker.run_one()) {
        }
        std::vector<std::string> all;
        for (const events::Kept& kept : parts.database.read([](db::Transaction& tx) {
                 return events::read_after(tx, events::operators_stream, 0, 100);
             }))
            if (kept.event.type == "operations.books_unsound")
                all.push_back(events::text_of(kept.event));
        return all;
    };
    deposit(ada, 700);
    const crypto::Address& usdc = treasury.token(ledger::Asset::usdc);
    chain.mint(usdc, *treasury.address, Micro{700});
    EXPECT_EQ(told().size(), 0U);
    EXPECT_EQ(member(published(), "items.0.covered"), "true");
    const auto take = [&] { chain.transfer_as({usdc, *treasury.address, address('x'), Micro{1}}); };
    take();
    const auto first = told();
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(member(first[0], "data.owed_micro"), "700");
    EXPECT_EQ(member(first[0], "data.treasury_micro"), "699");
    EXPECT_EQ(member(first[0], "subject.id"), "USDC/" + member(published(), "items.0.number"));
    EXPECT_EQ(member(published(), "items.0.covered"), "false");
    EXPECT_EQ(told().size(), 1U) << "it is known by now";
    chain.mint(usdc, *treasury.address, Micro{1});
    EXPECT_EQ(told().size(), 1U);
    EXPECT_EQ(member(published(), "items.0.covered"), "true");
    take();
    EXPECT_EQ(told().size(), 2U);
}

// Whoever has a leaf sees what its neighbour adds up to.
TEST_F(LiabilityProofs, ANeighbourOfALeafIsNobodysBalance) {
    for (int i = 0; i < 6; ++i) {
        Browser other = town.person("other" + std::to_string(i) + "@example.org");
        deposit(other, 1'000'000'000 + i);
    }
    deposit(ada, 700);
    deposit(bob, 41);
    std::set<std::string> seen;
    for (int hour = 0; hour < 3; ++hour) {
        an_hour_later();
        ada.sign_in("ada@example.org");
        const std::string own = ada.send("GET", "/api/v1/billing/proof").body;
        for (const std::string part : {"0", "1", "2"}) {
            seen.insert(member(own, "parts." + part + ".amount_micro"));
            const std::string neighbour = member(own, "parts." + part + ".path.0.sum_micro");
            for (int i = 0; i < 6; ++i)
                EXPECT_NE(neighbour, std::to_string(1'000'000'000 + i)) << own;
        }
    }
    EXPECT_GT(seen.size(), 4U) << "the cuts are fresh in every record";
}

TEST_F(LiabilityProofs, EveryRecordIsPublicAndAThirdPartyFollowsThem) {
    deposit(ada, 700);
    for (int hour = 0; hour < 5; ++hour) an_hour_later();
    const auto listed = [&](const std::string& query) {
        const auto answer =
            town.harness.ask({.target = "/api/v1/proof-of-liabilities/records" + query});
        EXPECT_EQ(answer.status, 200) << answer.body;
        return answer.body;
    };
    const std::string all = listed("?limit=100");
    EXPECT_EQ(member(all, "items.0.hash"), member(published(), "items.0.hash"));
    EXPECT_EQ(member(all, "items.5.previous_hash"), "sha256:" + std::string(64, '0'));
    EXPECT_TRUE(verify(all).good) << verify(all).sentence;
    EXPECT_TRUE(verify(published()).good) << verify(published()).sentence;
    const std::string page = listed("?limit=2");
    const std::string rest = listed("?limit=2&cursor=" + member(page, "next_cursor"));
    EXPECT_EQ(member(page, "items.1.previous_hash"), member(rest, "items.0.hash"));

    const auto altered = [&](const std::string& from, const std::string& to) {
        std::string text = all;
        text.replace(text.rfind(from), from.size(), to);
        return verify(text);
    };
    EXPECT_FALSE(altered(R"("total_micro":"700")", R"("total_micro":"600")").good);
    EXPECT_FALSE(altered(R"("audit_events":)", R"("audit_events":1)").good);
    const std::string hash = member(all, "items.2.hash");
    EXPECT_FALSE(altered(hash, "sha256:" + std::string(64, 'a')).good);
    std::string without = all;  // one is left out
    const std::size_t second = without.find(R"({"asset")", without.find(R"({"asset")") + 1);
    without.erase(second, without.find(R"({"asset")", second + 1) - second);
    EXPECT_FALSE(verify(without).good) << verify(without).sentence;
    EXPECT_THROW(verify(R"({"items":[],"next_cursor":1})"), Problem);
    EXPECT_FALSE(verify(R"({"items":[],"next_cursor":null})").good);
}

TEST_F(LiabilityProofs, AnAccountThatIsLeftOutHasThatInWriting) {
    const std::string path = "/api/v1/billing/proof/absence";
    town.harness.app->database().write(
        [](db::Transaction& tx) { tx.script("DELETE FROM liability_records"); });
    EXPECT_EQ(ada.send("GET", path).status, 404) << "there is no record";
    deposit(bob, 41);
    an_hour_later();
    ada.sign_in("ada@example.org");
    bob.sign_in("bob@example.org");
    EXPECT_EQ(bob.send("GET", path).status, 409);
    const auto absent = ada.send("GET", path);
    ASSERT_EQ(absent.status, 200) << absent.body;
    EXPECT_EQ(member(absent.body, "record_hash"), member(published(), "items.0.hash"));
    EXPECT_EQ(member(absent.body, "public_key"), member(published(), "items.0.public_key"));
    EXPECT_TRUE(verify(absent.body).good) << verify(absent.body).sentence;
    std::string other = absent.body;
    const std::string number = R"("number":)" + member(absent.body, "number");
    other.replace(other.find(number), number.size(), R"("number":77)");
    EXPECT_FALSE(verify(other).good);
    std::string forged = absent.body;
    const std::string signature = member(absent.body, "signature");
    forged.replace(forged.find(signature), 4, signature.starts_with("AAAA") ? "BBBB" : "AAAA");
    EXPECT_FALSE(verify(forged).good);
}

// A record from before balances were cut says nothing of who is in it.
TEST_F(LiabilityProofs, NoAbsenceIsStatedOfARecordThatCannotBeRead) {
    deposit(ada, 700);
    an_hour_later();
    town.harness.app->database().write([](db::Transaction& tx) {
        tx.run("UPDATE liability_records SET audit_head = NULL, audit_events = NULL");
    });
    ada.sign_in("ada@example.org");
    EXPECT_EQ(ada.send("GET", "/api/v1/billing/proof/absence").status, 404);
    EXPECT_EQ(ada.send("GET", "/api/v1/billing/proof").status, 404);
}

TEST_F(LiabilityProofs, TheEndOfTheAuditRecordIsSignedWithThem) {
    auto& database = town.harness.app->database();
    const auto record = [&] {
        database.write([&](db::Transaction& tx) {
            audit::record({tx, town.harness.random, town.harness.clock.now()},
                          {.actor = audit::Actor::local_operator(),
                           .action = "try",
                           .target = {"thing", "1"}});
        });
    };
    record();
    record();
    an_hour_later();
    const auto check = [&] {
        return database.read([](db::Transaction& tx) {
            return audit::check_events_with(tx, {.marks = audit_marks(tx).marks});
        });
    };
    EXPECT_TRUE(check().sound()) << audit::to_text(check());
    EXPECT_EQ(member(published(), "items.0.audit_events"), std::to_string(check().sequence));
    EXPECT_EQ(member(published(), "items.0.audit_head"), "sha256:" + to_hex(check().head));
    // Somebody cuts the last event off, and puts the end of the chain where it would have been.
    database.write([](db::Transaction& tx) {
        const auto last = tx.fetch_value<std::int64_t>("SELECT sequence FROM audit_chain").value();
        tx.run("DELETE FROM audit_changes WHERE sequence = $1", last);
        tx.run(
            "UPDATE audit_chain SET sequence = sequence - 1, head = "
            "(SELECT previous_hash FROM audit_events WHERE sequence = $1)",
            last);
        tx.run("DELETE FROM audit_events WHERE sequence = $1", last);
    });
    EXPECT_TRUE(database.read([](db::Transaction& tx) { return audit::check_events(tx); }).sound())
        << "the chain alone does not show it";
    EXPECT_FALSE(check().sound());
    EXPECT_NE(audit::to_text(check()).find("is missing, and record "), std::string::npos);
    record();
    EXPECT_NE(audit::to_text(check()).find("is not the one that record "), std::string::npos)
        << "nor does another in its place hide it";
}

// They stand in the same database: whoever cuts the audit record can reach them.
TEST_F(LiabilityProofs, AMarkCountsOnlyInARecordThatIsWhole) {
    auto& database = town.harness.app->database();
    for (int hour = 0; hour < 3; ++hour) an_hour_later();
    const auto marks = [&] { return database.read([](auto& tx) { return audit_marks(tx); }); };
    const std::size_t whole = marks().marks.size();
    EXPECT_EQ(marks().faults, std::vector<std::string>{});
    EXPECT_EQ(std::to_string(count_audited(published())),
              member(published(), "items.0.audit_events"));
    ASSERT_FALSE(marks().newest.empty());
    EXPECT_NE(marks().newest.front().find(member(published(), "items.0.public_key")),
              std::string::npos);
    for (const std::string change :
         {"UPDATE liability_records SET audit_events = audit_events + 1 WHERE asset = 'USDC' AND "
          "number = 3",
          "UPDATE liability_records SET signature = hash WHERE asset = 'USDC' AND number = 3",
          "UPDATE liability_records SET public_key = root WHERE asset = 'USDC' AND number = 2",
          "DELETE FROM liability_records WHERE asset = 'USDC' AND number = 2"}) {
        struct Undo {};
        try {
            database.write([&](db::Transaction& tx) {
                tx.script(change);
                const AuditMarks found = audit_marks(tx);
                EXPECT_FALSE(found.faults.empty()) << change;
                EXPECT_LT(found.marks.size(), whole) << change;
                throw Undo{};
            });
        } catch (const Undo&) {
        }
    }
}

TEST_F(LiabilityProofs, WhoIsOwedNothingHasNoProof) {
    EXPECT_EQ(ada.send("GET", "/api/v1/billing/proof").status, 404);
    an_hour_later();
    ada.sign_in("ada@example.org");
    EXPECT_EQ(ada.send("GET", "/api/v1/billing/proof").status, 404);
    EXPECT_EQ(ada.send("GET", "/api/v1/billing/proof?asset=EUR").status, 422);
}

}  // namespace
}  // namespace berth::test
