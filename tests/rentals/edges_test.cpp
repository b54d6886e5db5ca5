// Where two things come close together: a quote and its offer, a stop and a report, two clocks.
#include "machines/commands.hpp"
#include "rentals/market.hpp"

namespace berth::test {
namespace {

using agent_protocol::JobEventKind;

class Edges : public MarketTest {
protected:
    JobId started() {
        const JobId job = rent(ben, put_up());
        accept(job);
        return job;
    }
    std::string told_progress(JobId job, const std::string& step) {
        return tell(job, JobEventKind::progress, R"({"step":")" + step + R"("})");
    }
};

TEST_F(Edges, AQuoteOfAClassIsNoneOfAnother) {
    town.harness.set("operations.availability_classes_released", "true");
    const auto machine = put_up();
    const auto quoted = quote(ben, machine, {});
    ASSERT_EQ(quoted.status, 201) << quoted.body;
    const auto edited =
        send(ada, "PATCH", "/api/v1/hosts/machines/" + to_string(machine.machine_id) + "/offer",
             fmt::format(R"({{"expected_version":"1","rate_micro_per_hour":"{}",)"
                         R"("included_disk_gib":100,"included_egress_gib":1000,)"
                         R"("available_from":"{}","available_until":"{}",)"
                         R"("availability_class":"interruptible","preemption_notice_s":60}})",
                         rate, to_rfc3339(now() - hours(1)), to_rfc3339(now() + hours(2000))));
    ASSERT_EQ(edited.status, 202) << edited.body;
    as_agent(machine.machine_id, [](const db::Context& context, machines::Machine& row) {
        row.mode = machines::HostMode::idle;
        machines::save(context, row);
    });
    const auto reserved = reserve(ben, member(quoted.body, "quote_id"));
    EXPECT_EQ(reserved.status, 409) << reserved.body;
    EXPECT_EQ(error_code(reserved), "CONFLICT");
    EXPECT_EQ(balances(ben).held, Micro{});
}

TEST_F(Edges, AStartThatTookTooLongSaysAtWhichStep) {
    const struct {
        std::string step, code;
    } cases[] = {{"pull", "PULL_TIMEOUT"}, {"load", "PROBE_FAILED"}, {"probe", "PROBE_FAILED"}};
    for (const auto& each : cases) {
        const JobId job = started();
        EXPECT_EQ(told_progress(job, each.step), "STARTING");
        pass(seconds(901));
        EXPECT_EQ(state_of(job), JobState::FAILED);
        EXPECT_EQ(member(show(ben, job), "failure.code"), each.code) << each.step;
    }
}

TEST_F(Edges, AWorkloadThatBrokeSaysHowAndOneThatEndedDoesNot) {
    const struct {
        std::string said, code;
    } cases[] = {{R"("oom":true)", "OUT_OF_MEMORY"},
                 {R"("exit_code":3)", "ENGINE_EXITED"},
                 {R"("exit_code":0,"oom":false)", ""}};
    for (const auto& each : cases) {
        const JobId job = rent(ben, put_up());
        get_ready(job);
        town.harness.clock.advance(seconds(20));
        EXPECT_EQ(tell(job, JobEventKind::exited,
                       R"({"container_id":"c1","runtime_ms":"20000",)" + each.said + "}"),
                  "STOPPING");
        EXPECT_EQ(end(job, 20'000), "STOPPED");
        const std::string shown = show(ben, job);
        EXPECT_EQ(member(shown, "end_reason"), "workload_exited");
        EXPECT_EQ(member(shown, "failure.code"), each.code);
    }
}

TEST_F(Edges, AStopByAClockThatIsBehindEndsTheMeterWhereItWas) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    town.harness.clock.advance(seconds(20));
    beat(job, 20'000);
    const Time heard = now();
    town.harness.clock.advance(-seconds(3));
    EXPECT_EQ(stop(ben, job).status, 202);
    const JobLive live = find(job).live;
    EXPECT_EQ(live.meter_stopped_at, heard);
    EXPECT_LE(live.accepted_ms,
              (*live.meter_stopped_at - live.meter_started_at.value()).count() / 1000);
    town.harness.clock.advance(seconds(3));
    EXPECT_EQ(end(job, 23'000), "STOPPED");
    EXPECT_EQ(charge_of(find(job)), Micro{20'000});
}

TEST_F(Edges, TheEndOfAJobTakesBackNoCommandThatIsNotAboutIt) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    get_ready(job);
    const auto asked = send(
        ada, "POST", "/api/v1/hosts/machines/" + to_string(machine.machine_id) + "/rotate-key");
    ASSERT_EQ(asked.status, 202) << asked.body;
    stop(ben, job);
    pass(seconds(301));
    ASSERT_EQ(machine_of(job), machines::MachineState::QUARANTINED);
    const auto states = database().read([&](db::Transaction& tx) {
        return tx.fetch_values<std::string>(
            "SELECT kind || ' ' || state FROM machine_commands WHERE machine_id = $1 "
            "AND kind IN ('ROTATE_KEY', 'STOP') ORDER BY 1",
            machine.machine_id);
    });
    EXPECT_EQ(states, (std::vector<std::string>{"ROTATE_KEY queued", "STOP cancelled"}));
}

TEST_F(Edges, AnAgentMayStopByItselfALittleBeforeWeWould) {
    const struct {
        std::int64_t early_s;
        std::string said, reason;
    } cases[] = {{2, R"(,"reason":"funded_through")", "funded_expiry"},
                 {2, "", "workload_exited"},
                 {10, R"(,"reason":"funded_through")", "workload_exited"}};
    for (const auto& each : cases) {
        const JobId job = rent(ben, put_up(), {.budget = 100'000});
        get_ready(job);
        const std::int64_t ran_s = 100 - each.early_s;
        town.harness.clock.advance(seconds(ran_s));
        EXPECT_EQ(tell(job, JobEventKind::stopped,
                       fmt::format(R"({{"container_id":"c1","runtime_ms":"{}"{}}})", ran_s * 1000,
                                   each.said)),
                  "STOPPED");
        EXPECT_EQ(member(show(ben, job), "end_reason"), each.reason) << each.early_s;
        EXPECT_EQ(charge_of(find(job)), Micro{ran_s * 1000});
        EXPECT_EQ(find(job).live.meter_stopped_at, now());
    }
}

}  // namespace
}  // namespace berth::test
