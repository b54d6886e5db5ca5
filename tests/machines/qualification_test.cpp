#include <gtest/gtest.h>

#include "accounts/accounts.hpp"
#include "crypto/seal.hpp"
#include "http/server.hpp"
#include "machines/upkeep.hpp"
#include "support/machines.hpp"
#include "wire/wire.hpp"

namespace berth::test {
namespace {

using namespace machines;

// The worker's side of tests. What agents report comes through their routes, in another file.
struct Qualifying : ::testing::Test {
    Harness harness;
    AccountId owner{make_uuid(harness.clock.now(), harness.random)};
    crypto::Sealer sealer{crypto::Secret(Bytes(32, 's'))};
    agent_protocol::CommandKey key{crypto::Ed25519Key(crypto::Secret(Bytes(32, 'k')))};
    Commands commands{sealer, key};
    Qualifications tests{commands, http::Reach::public_only, {.unproven_allowed = true}};
    ListingRules rules;

    template <class Function>
    auto write(Function function) {
        return harness.app->database().write([&](db::Transaction& tx) {
            return function(db::Context{tx, harness.random, harness.clock.now()});
        });
    }
    bool begin(MachineId id) {
        return write([&](const db::Context& context) { return tests.begin(context, id); });
    }
    machines::Run last_run(MachineId id) {
        return harness.app->database().read(
            [&](db::Transaction& tx) { return find_last_run(tx, id).value(); });
    }
    std::vector<MachineId> waiting() {
        return harness.app->database().read([&](db::Transaction& tx) {
            return find_untested(tx, harness.clock.now(), upkeep_rows_max);
        });
    }
    // An owner that may host, since admission asks.
    AccountId host() {
        const auto id = AccountId::make(harness.clock.now(), harness.random);
        harness.app->database().write([&](db::Transaction& tx) {
            accounts::add_agent(tx, id, harness.clock.now());
            accounts::become_host(tx, id);
        });
        return id;
    }
    // As if the agent had reported a good result with an endpoint.
    machines::Run dialling(MachineId id) {
        begin(id);
        machines::Run run = last_run(id);
        run.state = RunState::dialling;
        run.endpoint_host = "203.0.113.7";
        run.endpoint_port = 40000;
        std::vector<Check> checks;
        for (const std::string name :
             {"driver.version", "gpu.uniform", "gpu.memory", "gpu.idle", "gpu.vram_write_read",
              "gpu.compute", "gpu.mem_bandwidth", "gpu.pcie", "disk.free", "ram",
              "container.profile", "cleanup.wipe"}) {
            Check check;
            check.id.value = name;
            check.status = CheckStatus::pass;
            checks.push_back(check);
        }
        run.checks = wire::encode(checks);
        run.measurements = R"({"vram_bytes":"25757220864","download_mbps":900.4})";
        write([&](const db::Context& context) { save_run(context.tx, run); });
        return run;
    }
    bool dialled(const machines::Run& run, Dialled how, const std::string& reason = "") {
        return write([&](const db::Context& context) {
            return tests.end_dialling(context, run.run_id, {how, reason}, rules);
        });
    }
};

TEST_F(Qualifying, AMachineIsTestedOnlyWhileItIsHeard) {
    const Machine quiet = enrolled(harness, owner, {.heard = false});
    const Machine heard = enrolled(harness, owner);
    EXPECT_EQ(waiting(), std::vector{heard.machine_id});
    harness.clock.advance(std::chrono::seconds(91));
    EXPECT_TRUE(waiting().empty());
    hear(harness, quiet.machine_id);
    EXPECT_EQ(waiting(), std::vector{quiet.machine_id});
}

TEST_F(Qualifying, BeginningATestTellsTheAgentOnce) {
    const Machine machine = enrolled(harness, owner);
    EXPECT_TRUE(begin(machine.machine_id));
    EXPECT_FALSE(begin(machine.machine_id));
    const Machine testing = seen(harness, machine.machine_id);
    EXPECT_EQ(testing.qualify_state, QualifyState::testing);
    EXPECT_EQ(testing.qualify_run_id, last_run(machine.machine_id).run_id);
    const auto queued = harness.app->database().read([&](db::Transaction& tx) {
        return commands.waiting(tx, machine.machine_id, harness.clock.now());
    });
    ASSERT_EQ(queued.size(), 1U);
    EXPECT_EQ(queued[0].kind, CommandKind::qualify);
    const auto payload = wire::decode<QualifyPayload>(queued[0].payload.text, "payload");
    EXPECT_EQ(payload.run_id, *testing.qualify_run_id);
    EXPECT_EQ(payload.limits.min_vram_bytes.value, 8'000'000'000);
    EXPECT_TRUE(waiting().empty());
}

TEST_F(Qualifying, WhatTheManifestShowsToBeHopelessIsNotTested) {
    const Machine none = enrolled(
        harness, owner,
        {.gpu_model = std::nullopt, .gpu_model_key = std::nullopt, .gpu_count = std::nullopt});
    const Machine shared = enrolled(
        harness, owner, {.adjust = [](Machine& machine) { machine.gpu_memory_shared = true; }});
    for (const Machine& machine : {none, shared}) {
        EXPECT_FALSE(begin(machine.machine_id));
        const Machine told = seen(harness, machine.machine_id);
        EXPECT_EQ(told.qualify_state, QualifyState::needs_attention);
        EXPECT_TRUE(told.qualify_reason);
        EXPECT_EQ(told.qualify_next_at, std::nullopt);
    }
}

TEST_F(Qualifying, FailuresAreTriedAgainLaterAndLater) {
    const Machine machine = enrolled(harness, owner);
    const auto time_out = [&] {
        const machines::Run run = last_run(machine.machine_id);
        return write(
            [&](const db::Context& context) { return tests.time_out(context, run.run_id); });
    };
    for (const int minutes : {1, 5, 15, 60, 360}) {
        ASSERT_TRUE(begin(machine.machine_id));
        EXPECT_FALSE(time_out());  // not yet
        harness.clock.advance(run_lasts);
        EXPECT_TRUE(time_out());
        EXPECT_FALSE(time_out());
        const Machine failed = seen(harness, machine.machine_id);
        EXPECT_EQ(failed.qualify_state, QualifyState::retrying);
        EXPECT_EQ(failed.qualify_next_at, harness.clock.now() + std::chrono::minutes(minutes));
        harness.clock.advance(std::chrono::minutes(minutes) - std::chrono::seconds(1));
        EXPECT_FALSE(begin(machine.machine_id));
        harness.clock.advance(std::chrono::seconds(1));
    }
    ASSERT_TRUE(begin(machine.machine_id));
    harness.clock.advance(run_lasts);
    EXPECT_TRUE(time_out());
    const Machine given_up = seen(harness, machine.machine_id);
    EXPECT_EQ(given_up.qualify_state, QualifyState::needs_attention);
    EXPECT_EQ(given_up.qualify_next_at, std::nullopt);
    EXPECT_NE(given_up.qualify_reason.value_or("").find("agent"), std::string::npos);
}

TEST_F(Qualifying, AnEndpointThatAnswersEndsATestWell) {
    const Machine machine = enrolled(harness, host(), {.offer = OfferState::listed});
    const machines::Run run = dialling(machine.machine_id);
    EXPECT_TRUE(dialled(run, Dialled::answered));
    EXPECT_FALSE(dialled(run, Dialled::unreachable));
    const Machine passed = seen(harness, machine.machine_id);
    EXPECT_EQ(passed.state, MachineState::AVAILABLE);
    EXPECT_EQ(passed.qualify_state, QualifyState::passed);
    EXPECT_EQ(passed.verification_level, VerificationLevel::auto_verified);
    EXPECT_EQ(passed.tested_manifest_hash, machine.manifest_hash);
    EXPECT_EQ(last_run(machine.machine_id).state, RunState::passed);
    harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_EQ(find_measured(tx, machine.machine_id)->vram_bytes, 25'757'220'864);
        EXPECT_EQ(find_measured(tx, machine.machine_id)->download_mbps_milli, 900'400);
        EXPECT_EQ(find_measured(tx, machine.machine_id)->tflops_milli, std::nullopt);
    });
}

TEST_F(Qualifying, AnEndpointThatDoesNotAnswerFailsTheTest) {
    const Machine machine = enrolled(harness, owner);
    const machines::Run run = dialling(machine.machine_id);
    EXPECT_TRUE(dialled(run, Dialled::unreachable, "connection refused"));
    EXPECT_EQ(seen(harness, machine.machine_id).qualify_state, QualifyState::retrying);
    EXPECT_NE(last_run(machine.machine_id).checks->find("connection refused"), std::string::npos);
}

TEST_F(Qualifying, AMachineThatWasPutAsideMeanwhileDoesNotComeBackByItsTest) {
    const Machine machine = enrolled(harness, host(), {.offer = OfferState::listed});
    const machines::Run run = dialling(machine.machine_id);
    happen(harness, machine.machine_id, MachineEvent::quarantine,
           {.cause = QuarantineCause::operator_});
    EXPECT_FALSE(dialled(run, Dialled::answered));
    EXPECT_EQ(seen(harness, machine.machine_id).state, MachineState::QUARANTINED);
    harness.clock.advance(run_lasts);
    EXPECT_TRUE(
        write([&](const db::Context& context) { return tests.time_out(context, run.run_id); }));
    EXPECT_EQ(seen(harness, machine.machine_id).qualify_failures, 0);
}

TEST_F(Qualifying, APassedMachineThatIsBlockedWaitsUnlistedAndIsAdmittedLater) {
    const AccountId account = host();
    const Machine machine = enrolled(harness, account, {.offer = OfferState::listed});
    const machines::Run run = dialling(machine.machine_id);
    rules.admission_paused = true;
    EXPECT_TRUE(dialled(run, Dialled::answered));
    EXPECT_EQ(seen(harness, machine.machine_id).state, MachineState::UNLISTED);
    const auto admitted = [&] {
        return write(
            [&](const db::Context& context) { return admit(context, machine.machine_id, rules); });
    };
    EXPECT_FALSE(admitted());
    rules.admission_paused = false;
    EXPECT_TRUE(admitted());
    EXPECT_FALSE(admitted());
    EXPECT_EQ(seen(harness, machine.machine_id).state, MachineState::AVAILABLE);
}

TEST_F(Qualifying, OnlyMachinesThatAreWantedAndHeardAreLookedAtForAdmission) {
    const Machine wanted =
        enrolled(harness, owner, {.state = MachineState::UNLISTED, .offer = OfferState::listed});
    enrolled(harness, owner, {.state = MachineState::UNLISTED, .offer = OfferState::unlisted});
    enrolled(harness, owner,
             {.state = MachineState::UNLISTED, .offer = OfferState::listed, .heard = false});
    harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_EQ(find_unadmitted(tx, harness.clock.now(), {}, 10), std::vector{wanted.machine_id});
    });
}

TEST_F(Qualifying, AMachineThatDoesNotCleanInTimeIsPutAside) {
    const Time deadline = harness.clock.now() + std::chrono::seconds(900);
    const Machine machine =
        enrolled(harness, owner, {.state = MachineState::CLEANING, .adjust = [&](Machine& it) {
                                      it.clean_deadline = deadline;
                                  }});
    Time up_since;
    const auto put_aside = [&] {
        return write([&](const db::Context& context) {
            return quarantine_uncleaned(context, machine.machine_id, up_since);
        });
    };
    EXPECT_FALSE(put_aside());
    harness.clock.advance(std::chrono::seconds(900));
    up_since = deadline - std::chrono::seconds(1);
    EXPECT_FALSE(put_aside()) << "it could not have told us";
    up_since = {};
    EXPECT_TRUE(put_aside());
    EXPECT_FALSE(put_aside());
    const Machine aside = seen(harness, machine.machine_id);
    EXPECT_EQ(aside.state, MachineState::QUARANTINED);
    EXPECT_EQ(aside.quarantined_by, QuarantineCause::wipe_timed_out);
    EXPECT_EQ(aside.fence, machine.fence + 1);
    EXPECT_EQ(aside.job_id, machine.job_id);
}

TEST_F(Qualifying, OldTestsAreForgottenButForTheNewestAndThoseThatRun) {
    const auto add = [&](MachineId id, RunState state) {
        machines::Run run;
        run.run_id = RunId::make(harness.clock.now(), harness.random);
        run.machine_id = id;
        run.state = state;
        run.started_at = harness.clock.now();
        run.deadline_at = harness.clock.now();
        if (state != RunState::sent) run.finished_at = harness.clock.now();
        write([&](const db::Context& context) { add_run(context.tx, run); });
        harness.clock.advance(std::chrono::hours(1));
        return run.run_id;
    };
    const MachineId id = enrolled(harness, owner).machine_id;
    const RunId old = add(id, RunState::failed);
    const RunId open = add(id, RunState::sent);
    const RunId newest = add(id, RunState::passed);
    const auto prune = [&](Time before) {
        return write(
            [&](const db::Context& context) { return prune_runs(context.tx, before, 100); });
    };
    EXPECT_EQ(prune(harness.clock.now() - std::chrono::hours(24)), 0);
    EXPECT_EQ(prune(harness.clock.now()), 1);
    harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_FALSE(find_run(tx, old));
        EXPECT_TRUE(find_run(tx, open));
        EXPECT_TRUE(find_run(tx, newest));
    });
}

// What a host serves on the port that it announced.
struct Endpoint final : http::Handler {
    void handle(http::Request request, http::Reply reply) override {
        asked = request.target;
        http::Response response;
        response.content_type = "text/plain";
        response.body = says;
        reply(std::move(response));
    }
    std::string says;
    std::string asked;
};

TEST_F(Qualifying, AnAnnouncedEndpointIsDialledAndHasToSayTheToken) {
    Endpoint endpoint;
    http::Server server({}, endpoint);
    machines::Run run;
    run.endpoint_token = "bet_token";
    run.endpoint_host = "127.0.0.1";
    run.endpoint_port = server.port();
    endpoint.says = "bet_token";
    server.start();
    EXPECT_EQ(dial_endpoint(run, http::Reach::anywhere).dialled, Dialled::answered);
    run.endpoint_token = "bet_another";
    const auto wrong = dial_endpoint(run, http::Reach::anywhere);
    EXPECT_EQ(wrong.dialled, Dialled::unreachable);
    EXPECT_NE(wrong.reason.find("token"), std::string::npos) << wrong.reason;
    server.stop();
    EXPECT_EQ(endpoint.asked, "/berth-endpoint");
    const auto gone = dial_endpoint(run, http::Reach::anywhere);
    EXPECT_EQ(gone.dialled, Dialled::unreachable) << "nobody listens any more";
    EXPECT_NE(gone.reason, "");
}

TEST_F(Qualifying, AnEndpointInOurOwnHouseIsNotDialled) {
    machines::Run run;
    run.endpoint_token = "bet_x";
    run.endpoint_port = 80;
    for (const std::string host : {"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"}) {
        run.endpoint_host = host;
        const auto result = dial_endpoint(run, http::Reach::public_only);
        EXPECT_EQ(result.dialled, Dialled::unreachable) << host;
        EXPECT_NE(result.reason.find("cannot be dialled"), std::string::npos) << result.reason;
    }
}

}  // namespace
}  // namespace berth::test
