#include <gtest/gtest.h>

#include <set>

#include "accounts/accounts.hpp"
#include "catalog/catalog.hpp"
#include "support/machines.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

using namespace machines;

struct HostPages : ::testing::Test {
    struct Party {
        std::string key;
        AccountId account;
    };
    Party party(const std::string& scopes = R"(["host"])") {
        const auto made = town.enlist(crypto::SigningKey::make(town.harness.random), scopes);
        EXPECT_EQ(made.status, 201) << made.body;
        return {member(made.body, "api_key.secret"),
                {parse_uuid(member(made.body, "account_id")).value()}};
    }
    Machine made(const NewMachine& wanted = {}) {
        return enrolled(town.harness, host.account, wanted);
    }
    http::Response get(const Party& who, const std::string& target) {
        return town.with_key(who.key, "GET", "/api/v1/hosts/machines" + target);
    }
    std::string detail(const Machine& machine) {
        const auto answer = get(host, "/" + to_string(machine.machine_id));
        EXPECT_EQ(answer.status, 200) << answer.body;
        return answer.body;
    }
    http::Response remove(const Party& who, MachineId id) {
        return town.harness.ask({.method = "DELETE",
                                 .target = "/api/v1/hosts/machines/" + to_string(id),
                                 .as = who.key,
                                 .key = town.harness.new_id()});
    }
    void publish(const Machine& machine, std::int64_t rate) {
        town.harness.app->database().write([&](db::Transaction& tx) {
            tx.run(
                "INSERT INTO offer_versions (offer_id, offer_version, machine_id, "
                "rate_micro_per_hour, included_disk_gib, included_egress_gib, available_from, "
                "available_until, availability_class, preemption_notice_s, created_at) "
                "VALUES ($1, 1, $2, $3, 0, 0, 0, $4, 'dedicated', NULL, 0)",
                machine.offer_id, machine.machine_id, rate, *machine.available_until);
        });
    }
    Browser admin() {
        town.harness.app->database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, town.harness.random, town.harness.clock.now()},
                                 "root@example.org");
        });
        Browser root = town.person("root@example.org");
        root.enroll();
        return root;
    }

    Town town;
    Party host = party();
};

TEST_F(HostPages, AMachineThatJustEnrolledHasNullsForWhatNobodyMeasured) {
    const Machine machine = made({.heard = false});
    const std::string page = get(host, "").body;
    EXPECT_EQ(member(page, "items.0.machine_id"), to_string(machine.machine_id));
    EXPECT_EQ(member(page, "items.0.state"), "UNQUALIFIED");
    EXPECT_EQ(member(page, "items.0.fence"), "1");
    EXPECT_EQ(member(page, "items.0.gpu_model"), "NVIDIA GeForce RTX 4090");
    EXPECT_EQ(member(page, "items.0.gpu_count"), "1");
    EXPECT_EQ(member(page, "items.0.gpu_inventory.0.memory_bytes"), "25757220864");
    EXPECT_EQ(member(page, "items.0.gpu_inventory.0.memory_class"), "dedicated");
    for (const std::string name :
         {"last_healthy_at", "vram_bytes", "ram_bytes", "disk_bytes", "region", "current_offer"})
        EXPECT_EQ(member(page, "items.0." + name), "null") << name;
    EXPECT_EQ(page.find("uuid"), std::string::npos);  // of a GPU: nobody else's business
}

TEST_F(HostPages, ATestedMachineShowsWhatWasMeasuredAndItsOffer) {
    const Machine machine =
        made({.state = machines::MachineState::UNLISTED, .offer = OfferState::listed});
    publish(machine, 390'000);
    const std::string page = get(host, "").body;
    EXPECT_EQ(member(page, "items.0.vram_bytes"), "25757220864");
    EXPECT_EQ(member(page, "items.0.ram_bytes"), "68719476736");
    EXPECT_EQ(member(page, "items.0.current_offer.offer_version"), "1");
    EXPECT_EQ(member(page, "items.0.current_offer.rate_micro_per_hour"), "390000");
    EXPECT_EQ(member(page, "items.0.current_offer.state"), "listed");
    EXPECT_EQ(member(page, "items.0.last_healthy_at"), to_rfc3339(machine.enrolled_at));
}

TEST_F(HostPages, TheSpecsAreThoseOfThePublicCatalog) {
    const Machine machine = made(
        {.state = machines::MachineState::AVAILABLE, .gpu_count = 2, .offer = OfferState::listed});
    publish(machine, 390'000);
    town.harness.app->catalog().refresh(town.harness.app->database(), town.harness.clock.now());
    const auto answer = town.harness.ask({.target = "/api/v1/offers"});
    const std::string sold = answer.shared_body ? *answer.shared_body : answer.body;
    const std::string own = get(host, "").body;
    EXPECT_EQ(member(own, "items.0.gpu_model"), member(sold, "items.0.model"));
    for (const std::string name : {"gpu_count", "vram_bytes", "ram_bytes", "disk_bytes"}) {
        EXPECT_NE(member(own, "items.0." + name), "null") << name;
        EXPECT_EQ(member(own, "items.0." + name), member(sold, "items.0." + name)) << name;
        EXPECT_EQ(member(detail(machine), name), member(sold, "items.0." + name)) << name;
    }
}

TEST_F(HostPages, PagesNeitherRepeatNorLoseAMachine) {
    std::set<std::string> expected;
    for (int i = 0; i < 5; ++i) expected.insert(to_string(made().machine_id));
    enrolled(town.harness, party().account);
    std::set<std::string> found;
    std::string cursor;
    for (int pages = 1; pages <= 3; ++pages) {
        const std::string page = get(host, "?limit=2" + cursor).body;
        for (const std::string at : {"items.0.machine_id", "items.1.machine_id"})
            if (const std::string id = member(page, at); !id.empty()) {
                EXPECT_TRUE(found.insert(id).second);
            }
        cursor = "&cursor=" + member(page, "next_cursor");
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(cursor, "&cursor=null");
    EXPECT_EQ(get(host, "?limit=0").status, 422);
    EXPECT_EQ(get(host, "?limit=101").status, 422);
}

TEST_F(HostPages, TheDetailHasEverythingItsOwnerMayKnow) {
    const Machine machine = made();
    const std::string shown = detail(machine);
    EXPECT_EQ(member(shown, "machine_id"), to_string(machine.machine_id));
    EXPECT_EQ(member(shown, "accepts_custom_images"), "false");
    EXPECT_EQ(member(shown, "tier"), "container");
    EXPECT_EQ(member(shown, "host_mode.mode"), "dedicated");
    EXPECT_EQ(member(shown, "host_mode.offerable"), "true");
    EXPECT_EQ(member(shown, "host_mode.observed_at"), to_rfc3339(machine.enrolled_at));
    EXPECT_EQ(member(shown, "kernel_driver_runtime"), "6.1.0 / 570.86.10 / podman 4.3.1");
    EXPECT_EQ(member(shown, "recent_jobs"), "[]");
    EXPECT_EQ(member(shown, "listing_blockers.0"), "NO_OFFER");
    EXPECT_EQ(member(shown, "listing_blockers.1"), "NOT_QUALIFIED");
    EXPECT_EQ(member(shown, "listing_blockers.2"), "");
    EXPECT_EQ(member(shown, "auto_qualify.state"), "waiting");
    EXPECT_EQ(member(shown, "auto_qualify.reason"), "null");
    EXPECT_EQ(member(shown, "market_price.basis"), "reference");
    EXPECT_EQ(member(shown, "telemetry"), "null");
}

TEST_F(HostPages, HostModeIsNullUntilAHeartbeatTells) {
    const Machine machine = made({.mode = std::nullopt, .offerable = std::nullopt});
    EXPECT_EQ(member(detail(machine), "host_mode"), "null");
}

TEST_F(HostPages, AReasonIsShownOnlyWhereThereIsSomethingToDo) {
    const Machine failing = made({.adjust = [](Machine& machine) {
        machine.qualify_state = QualifyState::needs_attention;
        machine.qualify_reason = "Install a newer driver.";
    }});
    EXPECT_EQ(member(detail(failing), "auto_qualify.reason"), "Install a newer driver.");
}

TEST_F(HostPages, TelemetryAgesByTheServersClockAndLeavesOutWhatWasNotMeasured) {
    const Machine machine = made();
    const Time at = town.harness.clock.now();
    town.harness.app->database().write([&](db::Transaction& tx) {
        note_heard(tx, {machine.machine_id, at, "boot-1",
                        R"({"cpu_util_pct":12.5,"gpus":[{"util_pct":0}]})", at});
    });
    town.harness.clock.advance(std::chrono::seconds(95));
    town.harness.app->database().write([&](db::Transaction& tx) {
        // without a sample: the last one only grows older, and stays one of its boot
        note_heard(tx, {machine.machine_id, town.harness.clock.now(), "boot-2", {}, {}});
    });
    const std::string shown = detail(machine);
    EXPECT_EQ(member(shown, "telemetry.age_s"), "95");
    EXPECT_EQ(member(shown, "telemetry.observed_at"), to_rfc3339(at));
    EXPECT_NE(shown.find("\"cpu_util_pct\":12.5"), std::string::npos) << shown;
    EXPECT_EQ(member(shown, "telemetry.uptime_ms"), "");
    EXPECT_EQ(member(shown, "telemetry.gpus.0.fan_pct"), "");
    EXPECT_EQ(member(shown, "telemetry.boot_id"), "boot-1");
    const Time later = town.harness.clock.now();
    town.harness.app->database().write([&](db::Transaction& tx) {
        note_heard(tx, {machine.machine_id, later, "boot-2", R"({"load_1m":1})", later});
    });
    const std::string fresh = detail(machine);
    EXPECT_EQ(member(fresh, "telemetry.boot_id"), "boot-2");
    EXPECT_EQ(member(fresh, "telemetry.cpu_util_pct"), "") << "nothing of the sample before";
}

TEST_F(HostPages, NobodyElseFindsAMachine) {
    const Machine machine = made({.state = machines::MachineState::UNLISTED});
    const Party other = party();
    const std::string at = "/" + to_string(machine.machine_id);
    EXPECT_EQ(get(other, at).status, 404);
    EXPECT_EQ(remove(other, machine.machine_id).status, 404);
    EXPECT_EQ(member(get(other, "").body, "items"), "[]");
    EXPECT_EQ(member(get(other, "?owner=" + to_string(host.account)).body, "items"), "[]");
    EXPECT_EQ(get(host, "/" + town.harness.new_id()).status, 404);
    EXPECT_EQ(get(host, "/not-a-uuid").status, 422);
}

TEST_F(HostPages, AnOperatorReadsAllMachinesOrOneOwners) {
    const Machine own = made();
    enrolled(town.harness, party().account);
    Browser root = admin();
    const std::string all = root.send("GET", "/api/v1/hosts/machines").body;
    EXPECT_NE(member(all, "items.1.machine_id"), "");
    const std::string one =
        root.send("GET", "/api/v1/hosts/machines?owner=" + to_string(host.account)).body;
    EXPECT_EQ(member(one, "items.0.machine_id"), to_string(own.machine_id));
    EXPECT_EQ(member(one, "items.1.machine_id"), "");
    EXPECT_EQ(root.send("GET", "/api/v1/hosts/machines/" + to_string(own.machine_id)).status, 200);
}

TEST_F(HostPages, ARetiredMachineIsGoneFromListsAndItsHistoryIsKept) {
    const Machine machine =
        made({.state = machines::MachineState::UNLISTED, .offer = OfferState::unlisted});
    EXPECT_EQ(remove(host, machine.machine_id).status, 204);
    EXPECT_EQ(member(get(host, "").body, "items"), "[]");
    EXPECT_EQ(get(host, "/" + to_string(machine.machine_id)).status, 404);
    EXPECT_EQ(remove(host, machine.machine_id).status, 404);
    EXPECT_EQ(get(host, "/" + to_string(machine.machine_id) + "/earnings").status, 200);
}

TEST_F(HostPages, AMachineInUseOrForSaleIsNotRetired) {
    for (const machines::MachineState state :
         {machines::MachineState::AVAILABLE, machines::MachineState::ALLOCATED,
          machines::MachineState::DRAINING, machines::MachineState::CLEANING}) {
        const Machine machine = made({.state = state, .offer = OfferState::listed});
        const auto answer = remove(host, machine.machine_id);
        EXPECT_EQ(answer.status, 409) << enum_name(state);
        EXPECT_EQ(error_code(answer), "CONFLICT");
        EXPECT_EQ(seen(town.harness, machine.machine_id).version, machine.version);
    }
}

}  // namespace
}  // namespace berth::test
