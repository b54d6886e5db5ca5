// What was recorded can be read back whole, and every later alteration is found.
#include <gtest/gtest.h>

#include <thread>

#include "audit/audit.hpp"
#include "support/database.hpp"
#include "support/fakes.hpp"

namespace berth::test {
namespace {

using audit::Actor;

struct Trail {
    Trail() { db::migrate(*database, audit::migrations); }

    audit::AuditEventId record(audit::Event event) {
        return database->write([&](db::Transaction& tx) {
            return audit::record({tx, random, clock.now()}, event);
        });
    }
    // One of each kind of actor, with and without every optional part.
    void fill() {
        record({Actor::of(account),
                "suspend_account",
                {"account", "a"},
                "spam",
                {{"suspended", "false", "true"}, {"note", {}, ""}},
                RequestId{account.uuid}});
        record(
            {Actor::local_operator(), "change_setting", {"setting", "k"}, "try", {{"v", "1", {}}}});
        record({Actor::system(), "close_machine", {"machine", "m"}});
    }
    audit::Report check() {
        return database->read([](db::Transaction& tx) { return audit::check_events(tx); });
    }
    void alter(std::string_view sql) {
        database->write([&](db::Transaction& tx) { tx.script(sql); });
    }

    TestDatabase file;
    std::unique_ptr<db::Database> database = file.open();
    ManualClock clock;
    SeededRandom random;
    AccountId account = AccountId::make(clock.now(), random);
};

TEST(Audit, AnEmptyChainIsSound) {
    Trail trail;
    EXPECT_TRUE(trail.check().sound());
    EXPECT_EQ(trail.check().events, 0);
}

TEST(Audit, EventsAreChainedInTheOrderOfTheirCommits) {
    Trail trail;
    trail.fill();
    const audit::Report report = trail.check();
    EXPECT_TRUE(report.sound()) << audit::to_text(report);
    EXPECT_EQ(report.events, 3);
    EXPECT_NE(audit::to_text(report).find(to_hex(report.head)), std::string::npos);
}

TEST(Audit, AnEventIsUndoneWithWhatItTellsOf) {
    Trail trail;
    EXPECT_THROW(trail.database->write([&](db::Transaction& tx) {
        audit::record({tx, trail.random, trail.clock.now()},
                      {Actor::system(), "close_machine", {"machine", "m"}});
        throw std::runtime_error("no");
    }),
                 std::runtime_error);
    EXPECT_EQ(trail.check().events, 0);
    trail.fill();
    EXPECT_TRUE(trail.check().sound());
}

TEST(Audit, SecretsAreTakenOutAndHashesStay) {
    Trail trail;
    const std::string hex(64, 'a');
    trail.record({Actor::of(trail.account),
                  "refund",
                  {"job", "j"},
                  "his key is 0x" + hex + ", sent with sk-abcdefghijklmnopqrstuvwx in tx 0x" + hex,
                  {{"tx_hash", {}, "0x" + hex},
                   {"evidence_hash", {}, "sha256:" + hex},
                   {"note", "-----BEGIN PRIVATE KEY-----\nMHcCAQEE", "Cookie: sid=31d4d96e"}}});
    const auto texts = trail.database->read([](db::Transaction& tx) {
        return std::pair(tx.fetch_value<std::string>("SELECT reason FROM audit_events").value(),
                         tx.fetch_values<std::string>(
                             "SELECT COALESCE(before, '') || ' to ' || after FROM audit_changes "
                             "ORDER BY ordinal"));
    });
    EXPECT_EQ(texts.first, "his key is 0x[redacted], sent with [redacted] in tx 0x" + hex);
    EXPECT_EQ(texts.second, (std::vector<std::string>{" to 0x" + hex, " to sha256:" + hex,
                                                      "[redacted] to Cookie:[redacted]"}));
}

// What was written down elsewhere shows what the chain alone does not.
TEST(Audit, TheProofGoesOnFromAFileAndFindsAnEndThatWasCutOff) {
    Trail trail;
    trail.fill();
    const audit::Report first = trail.check();
    const std::string file = audit::write_verified({first.sequence, first.head});
    const auto from_file = [&] {
        return trail.database->read([&](db::Transaction& tx) {
            return audit::check_events_with(tx, {.verified = audit::parse_verified(file).value()});
        });
    };
    trail.record({Actor::system(), "close_machine", {"machine", "n"}});
    EXPECT_TRUE(from_file().sound()) << audit::to_text(from_file());
    EXPECT_EQ(from_file().events, 1) << "only what is new is read";
    EXPECT_EQ(from_file().head, trail.check().head);
    EXPECT_EQ(from_file().sequence, 4);
    for (int cut = 0; cut < 2; ++cut)
        trail.alter(
            "DELETE FROM audit_changes WHERE sequence = (SELECT sequence FROM audit_chain);"
            "UPDATE audit_chain SET head = (SELECT previous_hash FROM audit_events e "
            "WHERE e.sequence = audit_chain.sequence);"
            "DELETE FROM audit_events WHERE sequence = (SELECT sequence FROM audit_chain);"
            "UPDATE audit_chain SET sequence = sequence - 1");
    EXPECT_TRUE(trail.check().sound());
    EXPECT_FALSE(from_file().sound());
    trail.record({Actor::system(), "close_machine", {"machine", "another"}});
    EXPECT_FALSE(from_file().sound()) << "another in its place does not hide it";
    for (const std::string& text : {std::string(), std::string("berth audit verified 1\n3 ab\n"),
                                    file.substr(1), file + "\n", std::string(file, 0, 40)})
        EXPECT_FALSE(audit::parse_verified(text)) << text;
}

TEST(Audit, EveryAlterationIsFound) {
    const std::vector<std::string_view> alterations{
        "UPDATE audit_events SET reason = 'ham' WHERE sequence = 1",
        "UPDATE audit_events SET reason = NULL WHERE sequence = 1",
        "UPDATE audit_events SET reason = '' WHERE sequence = 3",
        "UPDATE audit_events SET action = 'x' WHERE sequence = 2",
        "UPDATE audit_events SET target_id = 'b' WHERE sequence = 1",
        "UPDATE audit_events SET target_kind = 'aa', target_id = '' WHERE sequence = 1",
        "UPDATE audit_events SET at = at + 1 WHERE sequence = 3",
        "UPDATE audit_events SET request_id = NULL WHERE sequence = 1",
        "UPDATE audit_events SET actor_kind = 'system' WHERE sequence = 2",
        "UPDATE audit_events SET actor_kind = 'system', account_id = NULL WHERE sequence = 1",
        "UPDATE audit_events SET hash = previous_hash WHERE sequence = 2",
        "UPDATE audit_changes SET after = 'false' WHERE sequence = 1 AND ordinal = 1",
        "UPDATE audit_changes SET after = NULL WHERE sequence = 1 AND ordinal = 2",
        "UPDATE audit_changes SET ordinal = 9 WHERE sequence = 1 AND ordinal = 1",
        "DELETE FROM audit_changes WHERE sequence = 2",
        "INSERT INTO audit_changes (sequence, ordinal, field) VALUES (3, 1, 'x')",
        "INSERT INTO audit_changes (sequence, ordinal, field) VALUES (7, 1, 'x')",
        "DELETE FROM audit_events WHERE sequence = 1",
        "DELETE FROM audit_events WHERE sequence = 2",
        "DELETE FROM audit_events WHERE sequence = 3",
        "UPDATE audit_chain SET sequence = 2",
        "UPDATE audit_chain SET head = (SELECT hash FROM audit_events WHERE sequence = 1)",
        "DELETE FROM audit_chain",
    };
    for (const std::string_view sql : alterations) {
        Trail trail;
        trail.fill();
        trail.alter(sql);
        EXPECT_FALSE(trail.check().sound()) << sql;
    }
}

TEST(Audit, SecretsAreNotWrittenDown) {
    Trail trail;
    const std::string key = "ark_" + std::string(49, 'x');
    trail.record({Actor::system(),
                  "act",
                  {"thing", key},
                  "because of " + key,
                  {{"field", key, key}, audit::secret_change("password", false, true)}});
    EXPECT_EQ(dump(*trail.database).find(key), std::string::npos);
    EXPECT_TRUE(trail.check().sound());
}

TEST(Audit, EventsOfManyThreadsMakeOneChain) {
    Trail trail;
    constexpr int threads_count = 8;
    constexpr int events_each = 25;
    std::vector<std::thread> threads;
    for (int i = 0; i < threads_count; ++i)
        threads.emplace_back([&] {
            for (int n = 0; n < events_each; ++n)
                trail.record({Actor::system(), "act", {"thing", "t"}, {}, {{"n", {}, "1"}}});
        });
    for (std::thread& thread : threads) thread.join();
    const audit::Report report = trail.check();
    EXPECT_TRUE(report.sound()) << audit::to_text(report);
    EXPECT_EQ(report.events, threads_count * events_each);
}

}  // namespace
}  // namespace berth::test
