// What is on record of a job, and what is not: enough to settle a dispute, and no more than a host
// can be allowed to write.
#include "rentals/market.hpp"
#include "support/machine_agent.hpp"

namespace berth::test {
namespace {

using agent_protocol::JobEventKind;

class Records : public MarketTest {
protected:
    std::vector<Evidence> chain(JobId job) {
        return database().read([&](db::Transaction& tx) {
            std::vector<Evidence> list;
            for (const EvidenceRow& row : list_evidence(tx, job, 0, 2000))
                list.push_back(shown(row));
            EXPECT_EQ(find_break(list), std::nullopt);
            return list;
        });
    }
    std::int64_t count(JobId job, const std::string& kind) {
        std::int64_t found = 0;
        for (const Evidence& record : chain(job)) found += record.kind == kind ? 1 : 0;
        return found;
    }
    std::string last(JobId job, const std::string& kind) {
        std::string payload;
        for (const Evidence& record : chain(job))
            if (record.kind == kind) payload = record.payload.text;
        return payload;
    }
    std::string ready_at_nowhere(JobId job) {
        return fmt::format(R"({{"container_id":"c1","boot_id":"boot-1","endpoints":[{},)"
                           R"({{"kind":"http","name":"more","host":"{}","port":{}}}]}})",
                           promised_endpoints(job), double_host, dark_port);
    }
};

TEST_F(Records, HaveTheReportThatEndedTheJob) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    town.harness.clock.advance(seconds(20));
    beat(job, 20'000);
    const std::int64_t before = count(job, "USAGE");
    town.harness.clock.advance(seconds(20));
    beat(job, 40'000, "boot-2");
    EXPECT_EQ(state_of(job), JobState::CLOSED);
    EXPECT_EQ(count(job, "USAGE"), before + 1);
    EXPECT_EQ(member(last(job, "USAGE"), "runtime_ms"), "40000");
}

TEST_F(Records, HaveWhatWasSettledAndWhy) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    town.harness.clock.advance(seconds(20));
    beat(job, 20'000);
    town.harness.clock.advance(seconds(20));
    beat(job, 39'000);
    const Time heard = now();
    pass(seconds(310));
    ASSERT_EQ(state_of(job), JobState::CLOSED);
    std::string lost;
    for (const Evidence& record : chain(job))
        if (record.kind == "STATE" && member(record.payload.text, "event") == "host_lost")
            lost = record.payload.text;
    EXPECT_EQ(member(lost, "accepted_runtime_ms"), "39000");
    EXPECT_EQ(member(lost, "reported_runtime_ms"), "39000");
    EXPECT_EQ(member(lost, "charge_micro"), "39000");
    EXPECT_EQ(member(lost, "meter_stopped_at"), to_rfc3339(heard));
}

TEST_F(Records, HaveUsageOnceAMinuteAndWhateverWasCut) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    std::int64_t runtime = 0;
    for (int i = 0; i < 6; ++i) {
        town.harness.clock.advance(seconds(20));
        beat(job, runtime += 20'000);
    }
    EXPECT_EQ(count(job, "USAGE"), 2);
    town.harness.clock.advance(seconds(5));
    beat(job, runtime += 5'500);
    EXPECT_EQ(count(job, "USAGE"), 2) << "half a second is the way of a message";
    town.harness.clock.advance(seconds(5));
    beat(job, runtime += 60'000);
    EXPECT_EQ(count(job, "USAGE"), 3);
    EXPECT_EQ(member(last(job, "USAGE"), "runtime_ms"), std::to_string(runtime));
}

TEST_F(Records, OfWhatIsToldWithoutEndAreKeptOnceAMinuteWhenThereArePlenty) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    const auto usage = [&](std::int64_t runtime) {
        town.harness.clock.advance(std::chrono::milliseconds(100));
        tell(job, JobEventKind::usage,
             fmt::format(R"({{"container_id":"c1","boot_id":"boot-1","runtime_ms":"{}"}})",
                         runtime));
    };
    std::int64_t runtime = 0;
    while (find(job).live.evidence_count < records_in_plenty) usage(runtime += 100);
    const std::int64_t kept = count(job, "USAGE");
    EXPECT_GT(kept, 900);
    for (int i = 0; i < 1200; ++i) usage(runtime += 100);
    EXPECT_EQ(count(job, "USAGE"), kept + 2);
    EXPECT_EQ(find(job).live.accepted_ms, runtime) << "each is accepted all the same";
}

TEST_F(Records, HaveHowAStartWasTaken) {
    const JobId job = rent(ben, put_up());
    as_agent(find(job).terms.machine_id,
             [&](const db::Context& context, machines::Machine& machine) {
                 machines::CommandAck ack;
                 ack.kind = agent_protocol::CommandKind::start;
                 ack.job_id = job;
                 ack.ack.result = agent_protocol::AckResult::rejected;
                 ack.ack.code = decltype(ack.ack.code)::value_type{"DISK_FULL"};
                 std::string deepest = "{}";
                 for (int i = 1; i < 16; ++i) deepest = R"({"a":)" + deepest + "}";
                 ack.ack.detail = agent_protocol::OpenObject{deepest};
                 side().acknowledge(context, machine, ack, some_message);
             });
    EXPECT_EQ(state_of(job), JobState::FAILED);
    ASSERT_EQ(count(job, "ACK"), 1);
    EXPECT_EQ(member(last(job, "ACK"), "ack.result"), "rejected");
    EXPECT_EQ(member(last(job, "ACK"), "ack.code"), "DISK_FULL");
    for (const Evidence& record : chain(job))
        EXPECT_EQ(record.kind == "ACK", record.signed_.value.has_value());
}

TEST_F(Records, HaveAReadyThatWasNotBelievedOnceAMinute) {
    const JobId job = rent(ben, put_up());
    accept(job);
    for (int i = 0; i < 4; ++i) {
        EXPECT_THROW(tell(job, JobEventKind::ready, ready_at_nowhere(job)), Problem);
        town.harness.clock.advance(seconds(20));
    }
    EXPECT_EQ(count(job, "READY_REFUSED"), 2);
    EXPECT_NE(member(last(job, "READY_REFUSED"), "why").find("does not answer"), std::string::npos);
    EXPECT_EQ(member(last(job, "READY_REFUSED"), "evidence"), "") << "it is in what was signed";
    pass(seconds(901));
    ASSERT_EQ(state_of(job), JobState::FAILED);
    EXPECT_EQ(member(show(ben, job), "failure.code"), "PROBE_FAILED");
    EXPECT_NE(member(show(ben, job), "failure.message").find("does not answer"), std::string::npos);
}

TEST_F(Records, HaveWhatTheHostSaidOfAFailureAndTheRenterReadsItWithoutSecrets) {
    const JobId job = rent(ben, put_up());
    accept(job);
    agent_protocol::EndEvidence end;
    end.code.emplace(agent_protocol::Name{"DISK_FULL"});
    end.message.emplace(
        agent_protocol::HostText{"No room for\nhttps://me:hunter2@registry.example/x."});
    tell(job, JobEventKind::exited, wire::encode(end));
    ASSERT_EQ(state_of(job), JobState::FAILED);
    EXPECT_EQ(member(last(job, "EXITED"), "message"), end.message->value->value);
    EXPECT_EQ(member(show(ben, job), "failure.code"), "DISK_FULL");
    const std::string told = member(show(ben, job), "failure.message");
    EXPECT_EQ(told.find("The workload ended before it was ready. The host says: No room for "), 0u)
        << told;
    EXPECT_EQ(told.find("hunter2"), std::string::npos) << told;
}

TEST_F(Records, AreClosedWhenTheJobIsOver) {
    const JobId job = rent(ben, put_up(), {.what = fmt::format(R"("template_id":"{}")", model)});
    get_ready(job);
    town.harness.clock.advance(seconds(20));
    stop(ben, job);
    EXPECT_EQ(tell(job, JobEventKind::stopped,
                   R"({"container_id":"c1","runtime_ms":"20000","log_tail":"the end"})"),
              "STOPPED");
    const std::string usage =
        R"({"runtime_ms":"1","container_id":"c1","boot_id":"boot-1","log_tail":"forged"})";
    const std::string head = find(job).live.evidence_head.value();
    EXPECT_EQ(tell(job, JobEventKind::usage, usage), "STOPPED");
    EXPECT_EQ(tell(job, JobEventKind::exited, R"({"container_id":"c1","log_tail":"forged"})"),
              "STOPPED");
    EXPECT_EQ(find(job).live.evidence_head.value(), head);
    EXPECT_EQ(clean(job), "CLOSED");
    EXPECT_EQ(count(job, "CLEANED"), 1);
    const std::string closed = find(job).live.evidence_head.value();
    EXPECT_EQ(tell(job, JobEventKind::usage, usage), "CLOSED");
    EXPECT_EQ(clean(job), "CLOSED");
    EXPECT_EQ(find(job).live.evidence_head.value(), closed);
    EXPECT_EQ(member(send(ben, "GET", "/api/v1/jobs/" + to_string(job) + "/logs").body, "log_tail"),
              "the end");
}

TEST_F(Records, GrowNoFasterThanAMachineMayTellOfItsJobs) {
    town.harness.set("operations.rate_job_events_per_minute", "3");
    MachineAgent agent(town.harness);
    ASSERT_EQ(agent.enroll(MachineAgent::token_for(town.harness, ada.account)).status, 201);
    const auto told = [&] {
        return agent
            .send({.target = "/api/v1/host-agent/jobs/" + new_key() + "/events",
                   .body = fmt::format(R"({{"fence":"1","lease_seq":"1","kind":"USAGE",)"
                                       R"("at":"{}","evidence":{{}}}})",
                                       to_rfc3339(now()))})
            .status;
    };
    for (int i = 0; i < 3; ++i) EXPECT_EQ(told(), 404);
    EXPECT_EQ(told(), 429);
    EXPECT_EQ(agent.heartbeat().status, 200);
}

}  // namespace
}  // namespace berth::test
