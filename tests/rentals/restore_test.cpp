// What a server does whose books are those of a backup: its agents have gone on meanwhile. They
// show higher fences, leases and budgets, and hold jobs that were never heard of.
#include "agent_protocol/hashes.hpp"
#include "machines/qualification.hpp"
#include "rentals/market.hpp"
#include "support/machine_agent.hpp"

namespace berth::test {
namespace {

class Restored : public MarketTest {
protected:
    // A machine for rent, and the agent that signs for it.
    void put_up_with_agent() {
        const MachineId id = put_up().machine_id;
        database().write([&](db::Transaction& tx) {
            auto row = machines::hold(tx, id).value();
            row.public_key = agent_protocol::key_text(
                crypto::Ed25519Key{crypto::Secret(agent.seed.view())}.public_key());
            row.manifest_hash = agent_protocol::manifest_hash(agent.manifest);
            row.tested_manifest_hash = row.manifest_hash;
            machines::save({tx, town.harness.random, now()}, row);
        });
        agent.machine = id;
        agent.fence = row().fence;
    }
    machines::Machine row() { return seen(town.harness, agent.machine); }

    struct Says {
        JobId job;
        std::int64_t runtime_ms = 0;
        std::int64_t lease_seq = 1;
        std::int64_t budget_version = 1;
    };
    // A heartbeat that tells of these jobs; the agent takes the fence that it is given.
    agent_protocol::Orders beat_with(const std::vector<Says>& jobs) {
        agent.jobs.clear();
        for (const Says& each : jobs)
            agent.jobs.push_back({.job_id = each.job,
                                  .lease_seq = {each.lease_seq},
                                  .budget_version = {each.budget_version},
                                  .phase = agent_protocol::JobPhase::running,
                                  .container_id = wire::Text<1, 128>{"c1"},
                                  .runtime_ms = {each.runtime_ms}});
        const auto answer = agent.heartbeat();
        EXPECT_EQ(answer.status, 200) << answer.body;
        auto orders = wire::decode<agent_protocol::Orders>(answer.body, "answer");
        agent.fence = orders.fence.value;
        return orders;
    }
    http::Response say(JobId job, const std::string& kind, const std::string& evidence) {
        return agent.send(
            {.target = "/api/v1/host-agent/jobs/" + to_string(job) + "/events",
             .body = fmt::format(R"({{"fence":"{}","lease_seq":"{}","kind":"{}","at":"{}",)"
                                 R"("evidence":{}}})",
                                 agent.fence, lease, kind, to_rfc3339(now()), evidence)});
    }
    std::string say_cleaned(JobId job, bool is_wiped = true) {
        town.harness.clock.advance(seconds(1));
        const auto answer =
            say(job, "CLEANED",
                fmt::format(R"({{"volume_recreated":{},"gpus":[{{"total_bytes":"25757220864",)"
                            R"("wiped_bytes":"25000000000","verified_bytes":"25000000000"}}]}})",
                            is_wiped ? "true" : "false"));
        EXPECT_EQ(answer.status, 200) << answer.body;
        return member(answer.body, "state");
    }
    static std::size_t count(const agent_protocol::Orders& orders, machines::CommandKind kind,
                             JobId job) {
        return static_cast<std::size_t>(std::count_if(
            orders.commands.begin(), orders.commands.end(),
            [&](const auto& each) { return each.kind == kind && each.job_id == job; }));
    }
    JobId lost_job() { return JobId{make_uuid(now(), town.harness.random)}; }

    MachineAgent agent{town.harness};
    std::int64_t lease = 1;
};

TEST_F(Restored, AMachineThatHoldsAnUnknownJobIsNotRentedBeforeItWasCleaned) {
    put_up_with_agent();
    const auto quoted = quote(ben, row(), {});
    const JobId stray = lost_job();
    EXPECT_EQ(say(stray, "USAGE", "{}").status, 404);
    agent.fence = 9;
    const auto orders = beat_with({{.job = stray, .runtime_ms = 5000, .lease_seq = 4}});
    EXPECT_EQ(orders.fence.value, 10);
    EXPECT_TRUE(orders.leases.empty());
    EXPECT_EQ(count(orders, machines::CommandKind::stop, stray), 1u);
    EXPECT_EQ(count(orders, machines::CommandKind::clean, stray), 1u);
    EXPECT_EQ(row().state, machines::MachineState::CLEANING);
    EXPECT_EQ(error_code(reserve(ben, member(quoted.body, "quote_id"))), "CONFLICT");
    EXPECT_EQ(error_code(quote(ben, row(), {})), "CONFLICT");
    EXPECT_EQ(balances(ben).held, Micro{});

    // Told again, it is not asked twice.
    EXPECT_EQ(count(beat_with({{.job = stray}}), machines::CommandKind::clean, stray), 1u);
    EXPECT_EQ(member(say(stray, "STOPPED", R"({"runtime_ms":"9000"})").body, "state"), "STOPPING");
    EXPECT_EQ(row().state, machines::MachineState::CLEANING);
    EXPECT_EQ(say_cleaned(stray), "CLOSED");
    EXPECT_EQ(row().state, machines::MachineState::AVAILABLE);
    EXPECT_EQ(say_cleaned(stray), "CLOSED");
    EXPECT_EQ(row().job_id, std::nullopt);
    EXPECT_NE(rent(ben, row()), JobId{});
    EXPECT_EQ(balances(ben).available + balances(ben).held, Micro{10'000'000});
}

TEST_F(Restored, AMachineWithSeveralUnknownJobsWaitsForTheLast) {
    put_up_with_agent();
    const JobId first = lost_job();
    const JobId second = lost_job();
    beat_with({{.job = first}, {.job = second}});
    EXPECT_EQ(say_cleaned(second), "CLOSED");
    EXPECT_EQ(row().state, machines::MachineState::CLEANING);
    EXPECT_EQ(say_cleaned(first), "CLOSED");
    EXPECT_EQ(row().state, machines::MachineState::AVAILABLE);
}

TEST_F(Restored, AnUnknownJobThatIsNotWipedPutsTheMachineAside) {
    put_up_with_agent();
    const JobId stray = lost_job();
    beat_with({{.job = stray}});
    EXPECT_EQ(say_cleaned(stray, false), "STOPPING");
    EXPECT_EQ(row().state, machines::MachineState::QUARANTINED);
    EXPECT_EQ(count(beat_with({}), machines::CommandKind::clean, stray), 1u);
    EXPECT_EQ(say_cleaned(stray), "CLOSED");
    EXPECT_EQ(row().state, machines::MachineState::UNQUALIFIED);
}

TEST_F(Restored, AnUnknownJobThatIsNeverCleanedPutsTheMachineAside) {
    put_up_with_agent();
    const JobId stray = lost_job();
    beat_with({{.job = stray}});
    pass(seconds(600));
    town.harness.clock.advance(seconds(1000));  // nobody was there to be told
    pass(seconds(899));
    EXPECT_EQ(row().state, machines::MachineState::CLEANING);
    pass(seconds(2));
    EXPECT_EQ(row().state, machines::MachineState::QUARANTINED);
    beat_with({{.job = stray}});
    EXPECT_EQ(say_cleaned(stray), "CLOSED");
    EXPECT_EQ(row().state, machines::MachineState::UNQUALIFIED);
}

TEST_F(Restored, AnUntestedMachineThatHeldAnUnknownJobIsTestedBeforeItIsRented) {
    put_up_with_agent();
    happen(town.harness, agent.machine, machines::MachineEvent::quarantine,
           {.cause = machines::QuarantineCause::host_lost});
    happen(town.harness, agent.machine, machines::MachineEvent::release);
    EXPECT_EQ(row().state, machines::MachineState::UNQUALIFIED);
    const JobId stray = lost_job();
    beat_with({{.job = stray}});
    EXPECT_EQ(row().state, machines::MachineState::CLEANING);
    EXPECT_EQ(say_cleaned(stray), "CLOSED");
    EXPECT_EQ(row().state, machines::MachineState::UNQUALIFIED);
    EXPECT_TRUE(row().qualify_next_at.has_value());
}

// The books say that A runs; the agent has ended and cleaned it, and holds B of the lost time.
TEST_F(Restored, AJobThatIsGoneIsChargedOnceToItsLastReport) {
    put_up_with_agent();
    const JobId job = rent(ben, row());
    get_ready(job);
    agent.fence = row().fence;
    town.harness.clock.advance(seconds(30));
    beat_with({{.job = job, .runtime_ms = 30'000, .lease_seq = 2}});
    EXPECT_EQ(charge_of(find(job)), Micro{30'000});

    side().note_listening(database(), now());
    const JobId stray = lost_job();
    agent.fence += 4;
    for (int i = 0; i < 31; ++i) {
        EXPECT_TRUE(beat_with({{.job = stray, .lease_seq = 7}}).leases.empty());
        EXPECT_NE(row().state, machines::MachineState::AVAILABLE);
        pass(seconds(10));
    }
    EXPECT_EQ(member(show(ben, job), "end_reason"), "host_lost");
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 30'000});
    EXPECT_EQ(balances(ben).held, Micro{});
    EXPECT_EQ(balances(ada).payable, Micro{27'000});
    EXPECT_EQ(row().state, machines::MachineState::QUARANTINED);
    const auto orders = beat_with({{.job = stray}});
    EXPECT_EQ(count(orders, machines::CommandKind::clean, job), 1u);
    EXPECT_EQ(count(orders, machines::CommandKind::clean, stray), 1u);
    lease = find(job).live.lease_seq;
    EXPECT_EQ(say_cleaned(job), "CLOSED");
    EXPECT_EQ(row().state, machines::MachineState::QUARANTINED);
    EXPECT_EQ(say_cleaned(stray), "CLOSED");
    EXPECT_EQ(row().state, machines::MachineState::UNQUALIFIED);
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 30'000});
}

// A raise of the budget was lost with the books: what is held is what may be charged.
TEST_F(Restored, AJobThatGoesOnUnderHigherLeasesAndBudgetsIsChargedByOurs) {
    put_up_with_agent();
    const JobId job = rent(ben, row(), {.budget = 60'000});
    get_ready(job);
    agent.fence = row().fence;
    town.harness.clock.advance(seconds(20));
    const auto orders =
        beat_with({{.job = job, .runtime_ms = 20'000, .lease_seq = 12, .budget_version = 3}});
    ASSERT_EQ(orders.leases.size(), 1u);
    EXPECT_EQ(orders.leases[0].lease_seq.value, 13);
    EXPECT_EQ(orders.leases[0].budget_version.value, 4);
    EXPECT_EQ(orders.leases[0].budget_micro, Micro{60'000});
    EXPECT_EQ(count(orders, machines::CommandKind::budget, job), 1u);
    town.harness.clock.advance(seconds(100));
    beat_with({{.job = job, .runtime_ms = 120'000, .lease_seq = 13, .budget_version = 4}});
    pass(seconds(1));
    EXPECT_EQ(member(show(ben, job), "end_reason"), "funded_expiry");
    lease = find(job).live.lease_seq;
    EXPECT_EQ(
        member(say(job, "STOPPED", R"({"container_id":"c1","runtime_ms":"120000"})").body, "state"),
        "STOPPED");
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 60'000});
}

TEST_F(Restored, ALeaseBeyondAnyThatCouldBeGivenIsRefused) {
    put_up_with_agent();
    const JobId job = rent(ben, row());
    get_ready(job);
    agent.fence = row().fence;
    agent.jobs = {{.job_id = job,
                   .lease_seq = {std::numeric_limits<std::int64_t>::max()},
                   .budget_version = {1},
                   .phase = agent_protocol::JobPhase::running,
                   .container_id = wire::Text<1, 128>{"c1"},
                   .runtime_ms = {1}}};
    EXPECT_EQ(error_code(agent.heartbeat()), "INVALID_INPUT");
}

// Its last sign of life may be of before the backup, and only it knows what it holds.
TEST_F(Restored, AMachineIsRentedOnlyOnceItWasHeardAfterAnOutage) {
    put_up_with_agent();
    side().note_listening(database(), now());
    const auto old_quote = quote(ben, row(), {});
    ASSERT_EQ(old_quote.status, 201) << old_quote.body;
    town.harness.clock.advance(seconds(40));
    const auto ask = [&] { return send(ben, "POST", "/api/v1/quotes", quote_body(row(), {})); };
    EXPECT_EQ(error_code(ask()), "CONFLICT");  // also before anybody noted that we are back
    side().note_listening(database(), now());
    EXPECT_EQ(error_code(ask()), "CONFLICT");
    EXPECT_EQ(error_code(reserve(ben, member(old_quote.body, "quote_id"))), "CONFLICT");
    beat_with({});
    const auto reserved = reserve(ben, member(old_quote.body, "quote_id"));
    EXPECT_EQ(reserved.status, 202) << reserved.body;
}

}  // namespace
}  // namespace berth::test
