// What a machine is told of itself by requests that it signs.
#include <gtest/gtest.h>

#include "rentals/market.hpp"
#include "support/machine_agent.hpp"

namespace berth::test {
namespace {

struct Standing : MarketTest {
    // Gives the machine of a row a key, so that it can speak for itself.
    MachineAgent voice_of(MachineId id) {
        MachineAgent agent(town.harness);
        agent.machine = id;
        const crypto::Ed25519Key key{crypto::Secret(agent.seed.view())};
        database().write([&](db::Transaction& tx) {
            tx.run("UPDATE machines SET public_key = $2 WHERE machine_id = $1", id,
                   agent_protocol::key_text(key.public_key()));
        });
        return agent;
    }
    // Without a shell there is nothing to be fetched when it is over.
    JobId rent_model(const machines::Machine& machine) {
        return rent(ben, machine, {.what = fmt::format(R"("template_id":"{}")", model)});
    }
    static http::Response ask(MachineAgent& agent) {
        return agent.send({.method = "GET", .target = "/api/v1/host-agent/standing"});
    }
    static std::string standing(MachineAgent& agent) {
        const auto answer = ask(agent);
        EXPECT_EQ(answer.status, 200) << answer.body;
        return answer.body;
    }
};

TEST_F(Standing, TellsOfTheRentalAndOfWhatItEarned) {
    const auto machine = put_up();
    MachineAgent agent = voice_of(machine.machine_id);
    const std::string idle = standing(agent);
    EXPECT_EQ(member(idle, "machine_id"), to_string(machine.machine_id));
    EXPECT_EQ(member(idle, "state"), "AVAILABLE");
    EXPECT_EQ(member(idle, "rental"), "null");
    EXPECT_EQ(member(idle, "offer.state"), "listed");
    EXPECT_EQ(member(idle, "offer.rate_micro_per_hour"), std::to_string(rate));
    EXPECT_EQ(member(idle, "test"), "passed");
    EXPECT_EQ(member(idle, "findings.0.code"), "") << idle;
    EXPECT_EQ(member(idle, "earned_today_micro"), "0");
    EXPECT_EQ(member(idle, "reach"), "direct");

    const JobId job = rent_model(machine);
    get_ready(job);
    const Time ready_at = now();
    pass(seconds(100));
    beat(job, 100'000);
    const std::string rented = standing(agent);
    EXPECT_EQ(member(rented, "state"), "ALLOCATED");
    EXPECT_EQ(member(rented, "rental.job_id"), to_string(job));
    EXPECT_EQ(member(rented, "rental.since"), to_rfc3339(ready_at));
    EXPECT_EQ(member(rented, "rental.ready"), "true");
    EXPECT_EQ(member(rented, "rental.metered_ms"), "100000");
    // 3.60 an hour for 100 seconds is 0.10, less a tenth.
    EXPECT_EQ(member(rented, "rental.earned_micro"), "90000") << rented;
    EXPECT_EQ(member(rented, "earned_today_micro"), "0") << "it is booked at the end";

    end(job, 100'000);
    clean(job);
    hear(town.harness, machine.machine_id);
    const std::string after = standing(agent);
    EXPECT_EQ(member(after, "rental"), "null");
    EXPECT_EQ(member(after, "earned_today_micro"), "90000");
    EXPECT_EQ(member(after, "earned_month_micro"), "90000");

    town.harness.clock.advance(hours(24));
    const std::string tomorrow = standing(agent);
    EXPECT_EQ(member(tomorrow, "earned_today_micro"), "0");
    town.harness.clock.advance(hours(24 * 31));
    EXPECT_EQ(member(standing(agent), "earned_month_micro"), "0");
}

TEST_F(Standing, TellsWhatIsMissingAndWhatToDo) {
    const auto bare = enrolled(town.harness, ada.account, {.heard = false});
    MachineAgent agent = voice_of(bare.machine_id);
    const std::string told = standing(agent);
    EXPECT_EQ(member(told, "offer"), "null");
    EXPECT_EQ(member(told, "findings.0.code"), "NO_OFFER");
    EXPECT_NE(member(told, "findings.0.message").find("set a price"), std::string::npos);
    EXPECT_EQ(member(told, "findings.1.code"), "NOT_QUALIFIED");
    EXPECT_EQ(member(told, "findings.2.code"), "HEARTBEAT_STALE");

    const auto ready = put_up();
    MachineAgent other = voice_of(ready.machine_id);
    send(ada, "POST", "/api/v1/hosts/machines/" + to_string(ready.machine_id) + "/unlist");
    EXPECT_EQ(member(standing(other), "findings.0.code"), "NOT_LISTED");
}

TEST_F(Standing, OfATestThatFailedSaysWhichCheck) {
    const auto machine = enrolled(town.harness, ada.account, {.adjust = [](machines::Machine& m) {
                                      m.qualify_state = machines::QualifyState::retrying;
                                      m.qualify_reason = "A GPU is in use.";
                                  }});
    database().write([&](db::Transaction& tx) {
        tx.run(
            "INSERT INTO machine_runs (run_id, machine_id, state, manifest_hash, seed, "
            "endpoint_token, started_at, deadline_at, finished_at, findings) "
            "VALUES ($1, $2, 'failed', 'x', 'x', 'x', $3, $3, $3, $4)",
            machines::RunId::make(now(), town.harness.random), machine.machine_id, now(),
            R"([{"code":"gpu.idle","severity":"blocker","message":"End Xorg."},)"
            R"({"code":"net.up","severity":"warning","message":"Slow."}])");
    });
    MachineAgent agent = voice_of(machine.machine_id);
    const std::string told = standing(agent);
    EXPECT_EQ(member(told, "findings.0.code"), "gpu.idle");
    EXPECT_EQ(member(told, "findings.0.message"), "End Xorg.");
    EXPECT_EQ(told.find("net.up"), std::string::npos) << told;
    EXPECT_EQ(told.find("NOT_QUALIFIED"), std::string::npos) << told;
}

TEST_F(Standing, IsToldToTheMachineAlone) {
    const auto machine = put_up();
    voice_of(machine.machine_id);
    MachineAgent stranger(town.harness);
    stranger.machine = machine.machine_id;
    EXPECT_EQ(ask(stranger).status, 401);
    EXPECT_EQ(stranger.send({.target = "/api/v1/host-agent/drain"}).status, 401);
    EXPECT_EQ(seen(town.harness, machine.machine_id).state, machines::MachineState::AVAILABLE);
    EXPECT_EQ(send(ada, "GET", "/api/v1/host-agent/standing").status, 401);
}

TEST_F(Standing, ADrainLetsTheRentalGoOnAndIsSafeToRepeat) {
    const auto machine = put_up();
    MachineAgent agent = voice_of(machine.machine_id);
    const JobId job = rent_model(machine);
    get_ready(job);
    for (int time = 0; time < 2; ++time) {
        const auto drained = agent.send({.target = "/api/v1/host-agent/drain"});
        EXPECT_EQ(drained.status, 200) << drained.body;
        EXPECT_EQ(member(drained.body, "state"), "DRAINING");
        EXPECT_EQ(member(drained.body, "rental.job_id"), to_string(job));
        EXPECT_EQ(member(drained.body, "offer.state"), "draining");
    }
    EXPECT_EQ(state_of(job), rentals::JobState::RUNNING);
    end(job, 1000);
    clean(job);
    EXPECT_EQ(seen(town.harness, machine.machine_id).state, machines::MachineState::UNLISTED);

    const auto bare = enrolled(town.harness, ada.account);
    MachineAgent other = voice_of(bare.machine_id);
    const auto nothing = other.send({.target = "/api/v1/host-agent/drain"});
    EXPECT_EQ(nothing.status, 200) << nothing.body;
    EXPECT_EQ(member(nothing.body, "offer"), "null");
}

}  // namespace
}  // namespace berth::test
