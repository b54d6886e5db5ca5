// What hosts tell of the health of their cards: that it is heard, and that it fills no disk.
#include "machines/health_events.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "machines/listing.hpp"
#include "machines/store.hpp"
#include "support/machine_agent.hpp"
#include "support/machines.hpp"
#include "support/told.hpp"

namespace berth::test {
namespace {

using namespace machines;

class HealthEvents : public testing::Test {
protected:
    HealthEvents() { agent.enroll(MachineAgent::token_for(harness, owner)); }

    http::Response tell(const std::string& kind, const std::string& evidence) {
        harness.clock.advance(std::chrono::seconds(10));
        return agent.send(
            {.target = "/api/v1/host-agent/events",
             .body = fmt::format(R"({{"fence":"{}","kind":"{}","at":"{}",)"
                                 R"("evidence":{}}})",
                                 agent.fence, kind, to_rfc3339(harness.clock.now()), evidence)});
    }
    static std::string card(const std::string& address) {
        return fmt::format(R"({{"pci_address":"{}","text":"it says"}})", address);
    }
    bool is_blocked() {
        return harness.app->database().read([&](db::Transaction& tx) {
            const auto machine = find(tx, agent.machine).value();
            const auto blockers = listing_blockers(
                machine, {.now = harness.clock.now(), .last_healthy_at = harness.clock.now()});
            return std::ranges::find(blockers, Blocker::GPU_LOST) != blockers.end();
        });
    }
    std::int64_t number(const std::string& sql) {
        return harness.app->database().read([&](db::Transaction& tx) {
            return tx.fetch_value<std::int64_t>(sql, agent.machine).value_or(0);
        });
    }
    std::int64_t bytes_kept() {
        return number(
            "SELECT CAST(COALESCE(SUM(LENGTH(detail)), 0) AS BIGINT) FROM machine_events "
            "WHERE machine_id = $1 AND kind <> 'QUARANTINED'");
    }
    std::int64_t bytes_noted() {
        return number("SELECT bytes FROM machine_event_use WHERE machine_id = $1");
    }
    void keep(int count, std::size_t size) {
        harness.app->database().write([&](db::Transaction& tx) {
            for (int i = 0; i < count; ++i) {
                harness.clock.advance(std::chrono::seconds(1));
                keep_health_event(
                    tx, {MachineEventId::make(harness.clock.now(), harness.random), agent.machine,
                         "GPU_XID", harness.clock.now(), std::string(size, 'x')});
            }
        });
    }

    Harness harness{{.real_accounts = true}};
    const AccountId owner = AccountId::make(harness.clock.now(), harness.random);
    MachineAgent agent{harness};
};

TEST_F(HealthEvents, ALostCardBlocksTheListingUntilItIsBack) {
    EXPECT_FALSE(is_blocked());
    EXPECT_EQ(tell("GPU_XID", card("0000:01:00.0")).status, 200);
    EXPECT_EQ(tell("GPU_ECC", card("0000:01:00.0")).status, 200);
    EXPECT_FALSE(is_blocked()) << "what renters can cause blocks nobody";
    EXPECT_EQ(tell("GPU_LOST", card("0000:01:00.0")).status, 200);
    EXPECT_EQ(tell("GPU_LOST", card("0000:41:00.0")).status, 200);
    EXPECT_TRUE(is_blocked());
    EXPECT_EQ(tell("GPU_BACK", card("0000:01:00.0")).status, 200);
    EXPECT_TRUE(is_blocked()) << "the other is still lost";
    EXPECT_EQ(tell("GPU_BACK", card("0000:41:00.0")).status, 200);
    EXPECT_FALSE(is_blocked());
    tell("GPU_LOST", "{}");
    EXPECT_TRUE(is_blocked());
    tell("GPU_BACK", "{}");
    EXPECT_FALSE(is_blocked());
    EXPECT_EQ(untold(harness.app->database(), {"machine.health"}), "");
}

TEST_F(HealthEvents, ACardThatIsThereAnywayIsNotOnRecord) {
    tell("GPU_BACK", card("0000:01:00.0"));
    EXPECT_EQ(number("SELECT COUNT(*) FROM machine_events WHERE machine_id = $1"), 0);
}

TEST_F(HealthEvents, TooLargeAreRefused) {
    const auto refused = tell("GPU_XID", fmt::format(R"({{"x":"{}"}})", std::string(9000, 'x')));
    EXPECT_EQ(refused.status, 422);
    EXPECT_NE(refused.body.find("body.evidence"), std::string::npos) << refused.body;
    EXPECT_EQ(tell("GPU_XID", fmt::format(R"({{"x":"{}"}})", std::string(8000, 'x'))).status, 200);
    EXPECT_EQ(tell("GPU_XID", R"({"pci_address":7})").status, 422);
}

TEST_F(HealthEvents, EventsOfJobsThatAreTooLargeAreRefusedBesideTheirLog) {
    const auto tell_usage = [&](const std::string& more) {
        return agent.send(
            {.target = "/api/v1/host-agent/jobs/" + harness.new_id() + "/events",
             .body = fmt::format(
                 R"({{"fence":"{}","lease_seq":"1","kind":"USAGE","at":"{}","evidence":)"
                 R"({{"runtime_ms":"1","container_id":"c","boot_id":"b"{}}}}})",
                 agent.fence, to_rfc3339(harness.clock.now()), more)});
    };
    const auto refused = tell_usage(fmt::format(R"(,"x":"{}")", std::string(60'000, 'x')));
    EXPECT_EQ(refused.status, 422);
    EXPECT_NE(refused.body.find("body.evidence"), std::string::npos) << refused.body;
    // A log of 8 KiB fits, however it was written down; the job itself is not there.
    std::string escaped;
    for (int i = 0; i < 4000; ++i) escaped += "\\u0436";
    EXPECT_EQ(tell_usage(fmt::format(R"(,"log_tail":"{}")", escaped)).status, 404);
    EXPECT_EQ(
        tell_usage(fmt::format(R"(,"log_tail":"{}","x":"{}")", escaped, std::string(8200, 'x')))
            .status,
        422);
}

TEST_F(HealthEvents, AreGivenUpOldestFirstWhereAMachineHasTooMany) {
    harness.app->database().write([&](db::Transaction& tx) {
        add_machine_event(tx,
                          {MachineEventId::make(harness.clock.now(), harness.random), agent.machine,
                           std::string(quarantined_kind), harness.clock.now(), "host_lost"});
    });
    keep(1400, 8000);
    EXPECT_LE(bytes_kept(), event_bytes_of_machine_max);
    EXPECT_GT(bytes_kept(), event_bytes_of_machine_max - 16'000);
    EXPECT_EQ(bytes_noted(), bytes_kept());
    EXPECT_EQ(number("SELECT COUNT(*) FROM machine_events WHERE machine_id = $1 "
                     "AND kind = 'QUARANTINED'"),
              1)
        << "what it is judged by is not flushed away";
    const Time newest{number("SELECT MAX(at) FROM machine_events WHERE machine_id = $1")};
    EXPECT_EQ(newest, harness.clock.now());
    EXPECT_EQ(tell("GPU_LOST", card("0000:01:00.0")).status, 200);
    EXPECT_TRUE(is_blocked()) << "and what matters is still heard";
}

TEST_F(HealthEvents, AreKeptForALimitedTime) {
    keep(10, 100);
    const Time middle = harness.clock.now();
    keep(5, 100);
    const auto prune = [&](Time before) {
        return harness.app->database().write(
            [&](db::Transaction& tx) { return prune_machine_events(tx, before, 4); });
    };
    EXPECT_EQ(prune(middle), 4) << "some at a time";
    EXPECT_EQ(prune(middle), 4);
    EXPECT_EQ(prune(middle), 1);
    EXPECT_EQ(prune(middle), 0);
    EXPECT_EQ(bytes_kept(), 600);
    EXPECT_EQ(bytes_noted(), 600);
}

TEST_F(HealthEvents, AreShownNewestFirst) {
    tell("GPU_XID", R"({"pci_address":"0000:01:00.0","code":79,"text":"Xid 79"})");
    tell("GPU_LOST", card("0000:01:00.0"));
    const auto shown = harness.app->database().read([&](db::Transaction& tx) {
        return find_health_events(tx, agent.machine, Time{}, harness.clock.now());
    });
    ASSERT_EQ(shown.size(), 2u);
    EXPECT_EQ(shown[0].kind, "GPU_LOST");
    EXPECT_EQ(shown[1].kind, "GPU_XID");
    EXPECT_EQ(shown[1].code.value->value, 79);
    EXPECT_EQ(shown[1].pci_address.value, "0000:01:00.0");
}

}  // namespace
}  // namespace berth::test
