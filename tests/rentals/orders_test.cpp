// What a job wants of its agent is said for as long as it does: an outage of ours takes no command
// away for good, and what never reached an agent is held against nobody.
#include "machines/commands.hpp"
#include "machines/states.hpp"
#include "machines/store.hpp"
#include "rentals/market.hpp"

namespace berth::test {
namespace {

using agent_protocol::CommandKind;
using machines::MachineState;

class Orders : public MarketTest {
protected:
    // A heartbeat of an agent that holds this job, or nothing of it, and what it is told.
    std::vector<agent_protocol::Command> told(JobId job, bool holds) {
        const JobRow row = find(job);
        HostAgentDouble host;
        if (holds) {
            agent_protocol::JobReport& report = host.jobs.emplace_back();
            report.job_id = job;
            report.lease_seq = {row.live.lease_seq};
            report.container_id = wire::Text<1, 128>{"c1"};
        }
        const auto beat = host.heartbeat(now());
        return as_agent(row.terms.machine_id,
                        [&](const db::Context& context, machines::Machine& machine) {
                            side().heartbeat(context, machine, beat, some_message);
                            return town.harness.app->rentals().lifecycle().commands().deliver(
                                context.tx, machine.machine_id, context.now);
                        });
    }
    static std::int64_t count(const std::vector<agent_protocol::Command>& commands,
                              CommandKind kind) {
        return std::count_if(commands.begin(), commands.end(),
                             [&](const auto& command) { return command.kind == kind; });
    }
    void be_away(Duration span) {
        town.harness.clock.advance(span);
        pass(seconds(1));
    }
    JobId stopped_model() {
        const JobId job =
            rent(ben, put_up(), {.what = fmt::format(R"("template_id":"{}")", model)});
        get_ready(job);
        stop(ben, job);
        EXPECT_EQ(end(job), "STOPPED");
        return job;
    }
};

TEST_F(Orders, ACleanThatWasLostInAnOutageIsSaidAgain) {
    const JobId job = stopped_model();
    pass(seconds(1));
    be_away(seconds(1000));
    EXPECT_EQ(count(told(job, false), CommandKind::clean), 1);
    pass(seconds(890));
    EXPECT_EQ(count(told(job, false), CommandKind::clean), 1) << "the same, until it is taken up";
    EXPECT_EQ(machine_of(job), MachineState::CLEANING);
    EXPECT_EQ(clean(job), "CLOSED");
    EXPECT_EQ(machine_of(job), MachineState::AVAILABLE);
}

TEST_F(Orders, TheWaitForACleanBeginsWhenItCanHaveBeenHeard) {
    const JobId job = stopped_model();
    pass(seconds(1));
    be_away(seconds(1000));
    pass(seconds(600));
    EXPECT_EQ(count(told(job, false), CommandKind::clean), 1);
    pass(seconds(890));
    EXPECT_EQ(machine_of(job), MachineState::CLEANING);
    // One that heard of it has no more than its time.
    pass(seconds(20));
    EXPECT_EQ(machine_of(job), MachineState::QUARANTINED);
}

TEST_F(Orders, AStartThatWasLostInAnOutageIsSaidAgainAsItWas) {
    const JobId job = rent(ben, put_up());
    const auto payload = [](const std::vector<agent_protocol::Command>& commands) {
        return commands.empty() ? std::string() : commands.front().payload.text;
    };
    const MachineId machine = find(job).terms.machine_id;
    const std::string first = database().read([&](db::Transaction& tx) {
        return payload(
            town.harness.app->rentals().lifecycle().commands().waiting(tx, machine, now()));
    });
    EXPECT_NE(first, "");
    pass(seconds(1));
    be_away(seconds(1000));
    const auto again = told(job, false);
    ASSERT_EQ(count(again, CommandKind::start), 1);
    EXPECT_EQ(payload(again), first);
    EXPECT_GT(again.front().expires_at, now());
    accept(job);
    EXPECT_EQ(state_of(job), JobState::STARTING);
    EXPECT_EQ(count(told(job, true), CommandKind::start), 1) << "until it is acknowledged";
}

// After a restored backup the machine may hold what the books do not know.
TEST_F(Orders, AStartIsNotSaidAgainToAMachineThatHoldsAnotherJob) {
    const JobId job = rent(ben, put_up());
    pass(seconds(1));
    be_away(seconds(1000));
    HostAgentDouble host;
    host.jobs.emplace_back().job_id = JobId::make(now(), town.harness.random);
    const auto beat = host.heartbeat(now());
    const MachineId id = find(job).terms.machine_id;
    const auto commands = as_agent(id, [&](const db::Context& context, machines::Machine& machine) {
        side().heartbeat(context, machine, beat, some_message);
        return town.harness.app->rentals().lifecycle().commands().deliver(context.tx, id,
                                                                          context.now);
    });
    EXPECT_EQ(count(commands, CommandKind::start), 0);
    pass(seconds(121));
    EXPECT_EQ(state_of(job), JobState::FAILED);
    EXPECT_EQ(seen(town.harness, id).starts_failed, 0);
}

TEST_F(Orders, AStopThatWasLostInAnOutageIsSaidAgain) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    stop(ben, job);
    pass(seconds(1));
    be_away(seconds(1000));
    const auto again = told(job, true);
    EXPECT_EQ(count(again, CommandKind::stop), 1);
    EXPECT_EQ(state_of(job), JobState::STOPPING);
    EXPECT_EQ(end(job), "STOPPED");
}

TEST_F(Orders, AStartThatNeverReachedItsAgentIsNoFailedStart) {
    const auto machine = put_up();
    for (int i = 0; i < 3; ++i) {
        const JobId job = rent(ben, machine);
        pass(seconds(121));
        EXPECT_EQ(state_of(job), JobState::FAILED);
        EXPECT_EQ(seen(town.harness, machine.machine_id).starts_failed, 0);
        EXPECT_EQ(clean(job), "FAILED");
    }
    EXPECT_EQ(seen(town.harness, machine.machine_id).state, MachineState::AVAILABLE);
    const JobId heard = rent(ben, machine);
    EXPECT_EQ(count(told(heard, false), CommandKind::start), 1);
    pass(seconds(121));
    EXPECT_EQ(seen(town.harness, machine.machine_id).starts_failed, 1);
}

TEST_F(Orders, AMachineThatNeverHeardOfItsCleanIsPutAsideByNobodysFault) {
    const auto counted = [&](JobId job) {
        const MachineId machine = find(job).terms.machine_id;
        return database().read([&](db::Transaction& tx) {
            return machines::count_machine_events(tx, machine, machines::quarantined_kind, Time{});
        });
    };
    const JobId unheard = stopped_model();
    pass(seconds(910));
    EXPECT_EQ(machine_of(unheard), MachineState::QUARANTINED);
    EXPECT_EQ(counted(unheard), 0);
    const JobId heard = stopped_model();
    told(heard, false);
    pass(seconds(910));
    EXPECT_EQ(machine_of(heard), MachineState::QUARANTINED);
    EXPECT_EQ(counted(heard), 1);
}

}  // namespace
}  // namespace berth::test
