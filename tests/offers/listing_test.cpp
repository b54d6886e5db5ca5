// On the market and off it: admission and its findings, expiry, custom images, and races.
#include <gtest/gtest.h>

#include <latch>

#include "offers/host.hpp"
#include "offers/offers.hpp"
#include "support/told.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;
using machines::Machine;
using machines::MachineEvent;
using machines::MachineState;
using machines::OfferState;

class Listing : public HostOf {
protected:
    // With an offer of a first version.
    Machine offered(NewMachine wanted = {.state = MachineState::UNLISTED}) {
        const Machine m = machine(wanted);
        EXPECT_EQ(edit(m, body("0")).status, 202);
        return now(m);
    }
    Machine listed() {
        const Machine m = offered();
        EXPECT_EQ(decision(list(m)), "admitted");
        return now(m);
    }
    Machine rented() {
        const Machine m = listed();
        return happen(town.harness, m.machine_id, MachineEvent::reserve,
                      {.job_id = JobId::make(town.harness.clock.now(), town.harness.random)});
    }
    http::Response list(const Machine& m) { return send("POST", m, "/list"); }
    std::string decision(const http::Response& response) {
        EXPECT_EQ(response.status, 202) << response.body;
        return member(response.body, "decision");
    }
    std::vector<std::string> codes(const http::Response& response) {
        std::vector<std::string> found;
        for (int i = 0;; ++i) {
            const std::string code = member(response.body, fmt::format("findings.{}.code", i));
            if (code.empty()) return found;
            EXPECT_EQ(member(response.body, fmt::format("findings.{}.severity", i)), "blocker");
            EXPECT_GT(member(response.body, fmt::format("findings.{}.message", i)).size(), 20u);
            found.push_back(code);
        }
    }
    std::int64_t expire() {
        return town.harness.app->database().write([&](db::Transaction& tx) {
            return offers::expire_offers({tx, town.harness.random, town.harness.clock.now()}, 100);
        });
    }
};

using Codes = std::vector<std::string>;

TEST_F(Listing, AGoodMachineIsAdmitted) {
    const Machine m = offered();
    const auto response = list(m);
    EXPECT_EQ(decision(response), "admitted") << response.body;
    EXPECT_EQ(member(response.body, "state"), "AVAILABLE");
    EXPECT_EQ(member(response.body, "offer_version"), "1");
    EXPECT_EQ(member(response.body, "machine_id"), to_string(m.machine_id));
    EXPECT_TRUE(parse_uuid(member(response.body, "operation_id")));
    EXPECT_EQ(codes(response), Codes{});
    EXPECT_EQ(now(m).state, MachineState::AVAILABLE);
    EXPECT_EQ(now(m).offer_state, OfferState::listed);
    EXPECT_EQ(now(m).listed_at, town.harness.clock.now());
}

TEST_F(Listing, ARepeatedRequestIsTheSameOperation) {
    const Machine m = offered();
    const std::string key = new_key();
    const auto first = send("POST", m, "/list", "", key);
    EXPECT_EQ(send("POST", m, "/list", "", key).body, first.body);
    EXPECT_EQ(now(m).version, m.version + 1);
    EXPECT_EQ(send("POST", m, "/list", "{}").status, 202) << "an empty body is none";
    EXPECT_EQ(send("POST", m, "/list", R"({"force":true})").status, 422);
}

TEST_F(Listing, WithoutAnOfferNothingIsListed) {
    const Machine m = machine();
    const auto response = list(m);
    EXPECT_EQ(decision(response), "rejected");
    EXPECT_EQ(codes(response), Codes{"NO_OFFER"});
    EXPECT_EQ(member(response.body, "offer_version"), "null");
    for (const char* what : {"/unlist", "/drain"}) {
        const auto taken = send("POST", m, what);
        EXPECT_EQ(decision(taken), "rejected") << what;
        EXPECT_EQ(codes(taken), Codes{"NO_OFFER"}) << what;
    }
    EXPECT_EQ(now(m).version, m.version);
}

TEST_F(Listing, WhatPassesByItselfKeepsTheWish) {
    const Machine untested = offered({.state = MachineState::UNQUALIFIED});
    const auto response = list(untested);
    EXPECT_EQ(decision(response), "rejected");
    EXPECT_EQ(codes(response), Codes{"NOT_QUALIFIED"});
    EXPECT_EQ(now(untested).offer_state, OfferState::listed);
    EXPECT_EQ(now(untested).state, MachineState::UNQUALIFIED);
    EXPECT_EQ(
        happen(town.harness, untested.machine_id, MachineEvent::test_passed, {.admitted = true})
            .state,
        MachineState::AVAILABLE);

    const Machine silent = offered();
    town.harness.clock.advance(91s);
    EXPECT_EQ(codes(list(silent)), Codes{"HEARTBEAT_STALE"});
    EXPECT_EQ(now(silent).offer_state, OfferState::listed);
    EXPECT_EQ(now(silent).state, MachineState::UNLISTED);
    hear(town.harness, silent.machine_id);
    EXPECT_EQ(decision(list(silent)), "admitted");
}

TEST_F(Listing, AnOfferOfMoreDiskThanWasFoundFreeIsAFinding) {
    const Machine m = offered();
    const auto measure = [&](std::int64_t disk_bytes) {
        town.harness.app->database().write([&](db::Transaction& tx) {
            auto measured = measured_4090();
            measured.disk_bytes = disk_bytes;
            machines::save_measured(tx, m.machine_id, measured);
        });
    };
    measure(99LL << 30);  // the offer has 100
    const auto refused = list(m);
    EXPECT_EQ(decision(refused), "rejected");
    EXPECT_EQ(codes(refused), Codes{"DISK_TOO_SMALL"});
    EXPECT_EQ(now(m).offer_state, OfferState::unlisted);
    const std::string shown = send("GET", m, "").body;
    EXPECT_EQ(member(shown, "listing_blockers.0"), "DISK_TOO_SMALL") << shown;
    measure(100LL << 30);
    EXPECT_EQ(decision(list(m)), "admitted");
}

TEST_F(Listing, EveryOtherObstacleIsNamedAndChangesNothing) {
    struct Case {
        std::string code;
        std::function<void(Machine&)> cause;
    };
    const std::vector<Case> cases{
        {"MODE_NOT_OFFERABLE", [](Machine& m) { m.offerable = false; }},
        {"CLASS_MODE_MISMATCH", [](Machine& m) { m.mode = machines::HostMode::idle; }},
        {"GPU_MEMORY_SHARED", [](Machine& m) { m.gpu_memory_shared = true; }},
        {"MANIFEST_CHANGED",
         [](Machine& m) { m.manifest_hash = "sha256:" + std::string(64, 'c'); }},
        {"WIPE_UNAVAILABLE", [](Machine& m) { m.wipe_available = false; }},
        {"RUNTIME_NOT_ALLOWED",
         [](Machine& m) { m.runtime_kind = machines::RuntimeKind::simulated; }}};
    for (const Case& row : cases) {
        const Machine m = offered({.state = MachineState::UNLISTED, .adjust = row.cause});
        const auto response = list(m);
        EXPECT_EQ(decision(response), "rejected") << row.code;
        EXPECT_EQ(codes(response), Codes{row.code});
        EXPECT_EQ(now(m).offer_state, OfferState::unlisted) << row.code;
        EXPECT_EQ(now(m).version, m.version) << row.code;
    }
    EXPECT_EQ(untold(town.harness.app->database(), {"machine.listing_rejected"}), "");
}

TEST_F(Listing, AQuarantinedMachineAndATwinGpuAreRefused) {
    const Machine put_aside = offered();
    happen(town.harness, put_aside.machine_id, MachineEvent::quarantine,
           {.cause = machines::QuarantineCause::operator_});
    const Codes found = codes(list(put_aside));
    EXPECT_NE(std::ranges::find(found, "QUARANTINED"), found.end());
    EXPECT_EQ(now(put_aside).offer_state, OfferState::unlisted);
    EXPECT_EQ(decision(send("POST", put_aside, "/unlist")), "admitted");

    const Machine first = offered({.state = MachineState::UNLISTED, .gpu_uuids = {"GPU-1"}});
    const Machine twin = offered({.state = MachineState::UNLISTED, .gpu_uuids = {"GPU-1"}});
    const auto refused = list(twin);
    EXPECT_EQ(decision(refused), "rejected");
    EXPECT_EQ(codes(refused), Codes{"GPU_DUPLICATE"});
    EXPECT_NE(refused.body.find("before this one"), std::string::npos) << refused.body;
    // The first is told of it, and is sold all the same.
    const auto taken = list(first);
    EXPECT_EQ(decision(taken), "admitted");
    EXPECT_EQ(member(taken.body, "findings.0.code"), "GPU_DUPLICATE");
    EXPECT_EQ(member(taken.body, "findings.0.severity"), "warning");
    EXPECT_EQ(now(first).state, MachineState::AVAILABLE);
}

TEST_F(Listing, WhileAdmissionIsPausedNothingIsListedAndEverythingElseGoesOn) {
    const Machine m = offered();
    town.harness.set("operations.admission_paused", "true");
    const auto paused = list(m);
    EXPECT_EQ(paused.status, 403);
    EXPECT_EQ(error_code(paused), "ADMISSION_PAUSED");
    EXPECT_EQ(edit(m, body("1")).status, 202);
    EXPECT_EQ(send("POST", m, "/unlist").status, 202);
    EXPECT_EQ(send("POST", m, "/drain").status, 202);
    town.harness.set("operations.admission_paused", "false");
    EXPECT_EQ(decision(list(m)), "admitted");
}

TEST_F(Listing, ANewVersionOfAListedOfferIsListedAtOnce) {
    const Machine m = listed();
    const auto response = edit(m, body("1"));
    EXPECT_EQ(member(response.body, "state"), "listed");
    EXPECT_EQ(now(m).state, MachineState::AVAILABLE);
    EXPECT_EQ(now(m).listed_at, m.listed_at) << "it was on the market all the time";
    const auto versions = send("GET", m, "/offers");
    EXPECT_EQ(member(versions.body, "items.0.state"), "listed");
    EXPECT_EQ(member(versions.body, "items.1.state"), "unlisted");
}

TEST_F(Listing, UnlistingAnIdleMachineTakesItOffTheMarket) {
    const Machine m = listed();
    const auto response = send("POST", m, "/unlist");
    EXPECT_EQ(decision(response), "admitted");
    EXPECT_EQ(member(response.body, "state"), "UNLISTED");
    EXPECT_EQ(now(m).offer_state, OfferState::unlisted);
    EXPECT_EQ(decision(send("POST", m, "/unlist")), "admitted") << "again is harmless";
    EXPECT_EQ(decision(list(m)), "admitted");
    EXPECT_EQ(member(send("POST", m, "/drain").body, "state"), "UNLISTED");
    EXPECT_EQ(now(m).offer_state, OfferState::unlisted);
    EXPECT_EQ(untold(town.harness.app->database(), {"offer.unlisted", "machine.unlisted"}), "");
}

TEST_F(Listing, ARentalGoesOnWhateverItsHostSays) {
    const Machine m = rented();
    EXPECT_EQ(member(send("POST", m, "/unlist").body, "state"), "ALLOCATED");
    EXPECT_EQ(now(m).offer_state, OfferState::unlisted);
    EXPECT_EQ(member(list(m).body, "state"), "ALLOCATED");
    EXPECT_EQ(now(m).offer_state, OfferState::listed);
    EXPECT_EQ(member(send("POST", m, "/drain").body, "state"), "DRAINING");
    EXPECT_EQ(now(m).offer_state, OfferState::draining);
    EXPECT_EQ(member(list(m).body, "state"), "ALLOCATED") << "it takes the draining back";
    send("POST", m, "/drain");
    EXPECT_EQ(member(send("POST", m, "/unlist").body, "state"), "DRAINING");
    EXPECT_EQ(now(m).offer_state, OfferState::unlisted);
    EXPECT_EQ(now(m).fence, m.fence) << "none of it is a new allocation";
    EXPECT_EQ(untold(town.harness.app->database(), {"offer.draining", "machine.draining"}), "");
}

TEST_F(Listing, AnOfferWhoseTimeIsOverLeavesTheMarket) {
    const Machine idle = listed();
    const Machine busy = rented();
    const Machine drained = rented();
    send("POST", drained, "/drain");
    const Machine longer = listed();
    town.harness.clock.advance(1h);
    EXPECT_EQ(edit(longer, body("1")).status, 202);
    EXPECT_EQ(expire(), 0);
    town.harness.clock.advance(239h);
    EXPECT_EQ(expire(), 3);
    EXPECT_EQ(now(idle).state, MachineState::UNLISTED);
    EXPECT_EQ(now(idle).offer_state, OfferState::unlisted);
    EXPECT_EQ(now(busy).state, MachineState::ALLOCATED);
    EXPECT_EQ(now(busy).offer_state, OfferState::unlisted);
    EXPECT_EQ(now(drained).state, MachineState::DRAINING);
    EXPECT_EQ(now(drained).offer_state, OfferState::unlisted);
    EXPECT_EQ(now(longer).offer_state, OfferState::listed);
    EXPECT_EQ(expire(), 0);
    hear(town.harness, idle.machine_id);
    EXPECT_EQ(codes(list(idle)), Codes{"OFFER_EXPIRED"});
}

TEST_F(Listing, TheWorkerExpiresOffersByItself) {
    const Machine m = listed();
    town.harness.clock.advance(240h);
    town.run_tasks();
    EXPECT_EQ(now(m).offer_state, OfferState::unlisted);
}

TEST_F(Listing, CustomImagesAreTakenOnlyWhereTheServiceHasThem) {
    const Machine m = machine();
    const auto put = [&](const char* accept) {
        return send("PUT", m, "/custom-images", fmt::format(R"({{"accept":{}}})", accept));
    };
    const auto refused = put("true");
    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(error_code(refused), "CONFLICT");
    EXPECT_EQ(put("false").status, 200) << "opting out always works";
    town.harness.set("operations.custom_images_enabled", "true");
    const auto on = put("true");
    EXPECT_EQ(on.body, fmt::format(R"({{"machine_id":"{}","accepts_custom_images":true}})",
                                   to_string(m.machine_id)));
    EXPECT_TRUE(now(m).accepts_custom_images);
    EXPECT_EQ(job.told, 0);
    town.harness.set("operations.custom_images_enabled", "false");
    EXPECT_EQ(put("false").status, 200);
    EXPECT_FALSE(now(m).accepts_custom_images);
    EXPECT_EQ(job.told, 1) << "whoever keeps the jobs hears of it in the same transaction";
    EXPECT_EQ(put("false").status, 200);
    EXPECT_EQ(job.told, 1);
    const auto audited = town.harness.app->database().read([](db::Transaction& tx) {
        return tx.fetch_value<std::int64_t>(
            "SELECT COUNT(*) FROM audit_events WHERE action = 'set_custom_images'");
    });
    EXPECT_EQ(audited, 2) << "each change, and nothing that changed nothing";
    for (const char* bad : {"", "{}", R"({"accept":"yes"})", R"({"accept":1})",
                            R"({"accept":null})", R"({"accept":true,"x":1})"})
        EXPECT_EQ(send("PUT", m, "/custom-images", bad).status, 422) << bad;
}

// Requests of every kind at once: each is answered, none is half done, and the row stays whole.
TEST_F(Listing, ListUnlistDrainQuarantineAndReservationsRaceAndLeaveALegalMachine) {
    town.harness.set("operations.rate_account_per_minute", "1000000");
    constexpr int rounds = 12;
    for (int round = 0; round < rounds; ++round) {
        const Machine m = listed();
        std::latch together(6);
        std::vector<std::thread> threads;
        for (const char* what : {"/list", "/unlist", "/drain", "/list"})
            threads.emplace_back([&, what] {
                const std::string key = new_key();
                together.arrive_and_wait();
                const auto response = send("POST", m, what, "", key);
                EXPECT_EQ(response.status, 202) << response.body;
            });
        const auto internal = [&](MachineEvent event, const machines::Details& details) {
            SeededRandom random;
            together.arrive_and_wait();
            try {
                town.harness.app->database().write([&](db::Transaction& tx) {
                    auto held = machines::hold(tx, m.machine_id);
                    machines::apply({tx, random, town.harness.clock.now()}, held.value(), event,
                                    details);
                });
            } catch (const Problem& problem) {
                EXPECT_EQ(problem.code, Code::conflict);
            }
        };
        const JobId rental = JobId::make(town.harness.clock.now(), town.harness.random);
        threads.emplace_back([&] { internal(MachineEvent::reserve, {.job_id = rental}); });
        threads.emplace_back([&] {
            internal(MachineEvent::quarantine, {.cause = machines::QuarantineCause::operator_});
        });
        for (std::thread& thread : threads) thread.join();
        const Machine after = now(m);
        EXPECT_EQ(after.state, MachineState::QUARANTINED) << "nothing lists it out of quarantine";
        EXPECT_EQ(after.quarantined_by, machines::QuarantineCause::operator_);
        EXPECT_LE(after.fence, m.fence + 2);
    }
}

TEST_F(Listing, OptingOutOfCustomImagesIsNotLostInARace) {
    town.harness.set("operations.custom_images_enabled", "true");
    const Machine m = listed();
    send("PUT", m, "/custom-images", R"({"accept":true})");
    std::latch together(3);
    std::vector<std::thread> threads;
    const auto race = [&](const std::string& method, const std::string& what,
                          const std::string& text) {
        threads.emplace_back([&, method, what, text] {
            const std::string key = new_key();
            together.arrive_and_wait();
            EXPECT_LT(send(method, m, what, text, key).status, 300);
        });
    };
    race("PUT", "/custom-images", R"({"accept":false})");
    race("PATCH", "/offer", body("1"));
    race("POST", "/unlist", "");
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(now(m).accepts_custom_images);
    EXPECT_EQ(now(m).offer_version, 2);
    EXPECT_EQ(now(m).offer_state, OfferState::unlisted);
}

TEST_F(Listing, TheMarketPriceComesFromListingsOnceThereAreThree) {
    const auto price = [&](const Machine& m) {
        return town.harness.app->database().read([&](db::Transaction& tx) {
            return offers::market_price(tx, machines::find(tx, m.machine_id).value());
        });
    };
    const Machine first = listed();
    ASSERT_TRUE(price(first));
    EXPECT_EQ(price(first)->basis, offers::PriceBasis::reference);
    EXPECT_EQ(price(first)->gpu_model, "RTX 4090");
    EXPECT_FALSE(price(first)->sources.empty());
    listed();
    offered();  // not on the market
    EXPECT_EQ(price(first)->basis, offers::PriceBasis::reference);
    const Machine pair =
        offered({.state = MachineState::UNLISTED, .adjust = [](Machine& m) { m.gpu_count = 2; }});
    EXPECT_EQ(decision(list(pair)), "admitted");
    const auto own = price(first);
    EXPECT_EQ(own->basis, offers::PriceBasis::amplerun);
    EXPECT_EQ(own->sample_size.value, 3);
    EXPECT_EQ(own->median_micro_per_gpu_hour.value, 400'000);
    EXPECT_TRUE(own->sources.empty());
    const Machine unknown = machine({.gpu_model = "Toaster", .gpu_model_key = std::nullopt});
    EXPECT_FALSE(price(unknown));
    const Machine other = machine({.gpu_model = "NVIDIA RTX A5000", .gpu_model_key = "rtx-a5000"});
    EXPECT_EQ(price(other)->basis, offers::PriceBasis::throughput);
}

}  // namespace
}  // namespace berth::test
