// How rentals end: given up, stopped, lost, settled by themselves, and cleaned up after.
#include "machines/host_agents.hpp"
#include "rentals/whole_rental.hpp"

namespace berth::test::whole_rentals {
namespace {

using agent_protocol::JobEventKind;

TEST_F(Rental, IsGivenUpWhenTheHostDoesNotTakeItUp) {
    const JobId job = rent(ben, put_up());
    pass(seconds(119));
    EXPECT_EQ(state_of(job), JobState::RESERVED);
    pass(seconds(2));
    EXPECT_EQ(state_of(job), JobState::FAILED);
    EXPECT_EQ(balances(ben).held, Micro{});
}

TEST_F(Rental, IsGivenUpWithoutProgressAndTheThirdTimeTheMachineIsPutAside) {
    const auto machine = put_up();
    for (int i = 1; i <= 3; ++i) {
        const JobId job = rent(ben, machine);
        accept(job);
        pass(seconds(901));
        EXPECT_EQ(state_of(job), JobState::FAILED);
        if (i < 3) {
            EXPECT_EQ(clean(job), "FAILED");
        }
        EXPECT_EQ(machine_of(job),
                  i < 3 ? machines::MachineState::AVAILABLE : machines::MachineState::QUARANTINED);
    }
}

TEST_F(Rental, IsStoppedAtOnceWhenItsStartWasNeverDelivered) {
    const JobId job = rent(ben, put_up());
    town.harness.clock.advance(seconds(1));
    hear(town.harness, find(job).terms.machine_id);  // that is not to be given a command
    EXPECT_EQ(member(stop(ben, job).body, "state"), "STOPPED");
    EXPECT_EQ(balances(ben).held, Micro{});
    EXPECT_EQ(machine_of(job), machines::MachineState::CLEANING);
}

TEST_F(Rental, IsStoppingWhenItsAgentWasAnsweredWithItsStart) {
    const JobId job = rent(ben, put_up());
    as_agent(find(job).terms.machine_id,
             [&](const db::Context& context, machines::Machine& machine) {
                 EXPECT_EQ(town.harness.app->host_agents()
                               .commands()
                               .deliver(context.tx, machine.machine_id, context.now)
                               .size(),
                           1u);
             });
    EXPECT_EQ(member(stop(ben, job).body, "state"), "STOPPING");
    EXPECT_EQ(end(job), "STOPPED");
    EXPECT_EQ(balances(ben).held, Micro{});
}

TEST_F(Rental, OfAnImageOfOnesOwnThatNobodyTakesUpIsNoFaultOfTheMachine) {
    town.harness.set("operations.custom_images_enabled", "true");
    const auto machine = put_up();
    const Wish own{.what = R"("image":"example.org/a/b@sha256:)" + std::string(64, 'a') + R"(")"};
    for (int i = 1; i <= 3; ++i) {
        database().write([&](db::Transaction& tx) {
            auto row = machines::hold(tx, machine.machine_id).value();
            row.accepts_custom_images = true;
            machines::save({tx, town.harness.random, now()}, row);
        });
        const JobId job = rent(ben, machine, own);
        pass(seconds(121));
        EXPECT_EQ(state_of(job), JobState::FAILED);
        EXPECT_EQ(clean(job), "FAILED");
        EXPECT_EQ(machine_of(job), machines::MachineState::AVAILABLE);
    }
}

TEST_F(Rental, IsLostWithItsHostAndBilledToTheLastReport) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    town.harness.clock.advance(seconds(40));
    beat(job, 40'000);
    pass(seconds(301));
    EXPECT_EQ(state_of(job), JobState::CLOSED);
    EXPECT_EQ(member(show(ben, job), "end_reason"), "host_lost");
    EXPECT_EQ(machine_of(job), machines::MachineState::QUARANTINED);
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 40'000});
    // Its agent comes back, is told to clean, and the machine is tested anew.
    EXPECT_EQ(clean(job), "CLOSED");
    EXPECT_EQ(machine_of(job), machines::MachineState::UNQUALIFIED);
}

TEST_F(Rental, IsLostWhenTheHostOrTheContainerWasStartedAnew) {
    for (const bool boot : {true, false}) {
        const JobId job = rent(ben, put_up());
        get_ready(job);
        town.harness.clock.advance(seconds(40));
        beat(job, 40'000);
        town.harness.clock.advance(seconds(40));
        beat(job, 80'000, boot ? "boot-2" : "boot-1", boot ? "c1" : "c2");
        EXPECT_EQ(state_of(job), JobState::CLOSED);
        EXPECT_EQ(find(job).live.accepted_ms, 40'000);
    }
}

TEST_F(Rental, IsNotLostByAnOutageOfOurOwn) {
    const JobId job = rent(ben, put_up(), {.budget = 9'000'000});
    get_ready(job);
    pass(seconds(10));
    town.harness.clock.advance(seconds(1000));  // nobody was there
    pass(seconds(299));
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    // Its lease ran out in the outage, and the workload had to be gone five minutes later.
    beat(job, 400'000);
    EXPECT_EQ(find(job).live.accepted_ms, 390'000);
    pass(seconds(299));
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    pass(seconds(2));
    EXPECT_EQ(state_of(job), JobState::CLOSED);
}

TEST_F(Rental, IsCleanedAtLastAfterAWipeThatFailed) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    stop(ben, job, R"(,"skip_retrieval":true)");
    end(job, 1'000);
    stop(ben, job, R"(,"skip_retrieval":true)");
    const auto wiped = [&](int percent) {
        return tell(job, JobEventKind::cleaned, wire::encode(cleaned_evidence(percent)));
    };
    EXPECT_EQ(tell(job, JobEventKind::cleaned, R"({"volume_recreated":true,"gpus":[]})"), "CLOSED")
        << "a GPU that is not told of was not wiped";
    EXPECT_EQ(machine_of(job), machines::MachineState::QUARANTINED);
    EXPECT_EQ(wiped(50), "CLOSED");
    EXPECT_EQ(machine_of(job), machines::MachineState::QUARANTINED);
    // A worker that died tells noughts, and why.
    for (const char* nothing :
         {R"({"total_bytes":"0","wiped_bytes":"0","verified_bytes":"0"})",
          R"({"total_bytes":"25757220864","wiped_bytes":"25757220864",)"
          R"("verified_bytes":"25757220864","error":"lost"})",
          // Less than the card was measured with, whatever it is said to have.
          R"({"total_bytes":"100","wiped_bytes":"95","verified_bytes":"95"})",
          R"({"total_bytes":"100","wiped_bytes":"95","verified_bytes":"95","simulated":true})"}) {
        EXPECT_EQ(tell(job, JobEventKind::cleaned,
                       fmt::format(R"({{"volume_recreated":true,"gpus":[{}]}})", nothing)),
                  "CLOSED");
        EXPECT_EQ(machine_of(job), machines::MachineState::QUARANTINED) << nothing;
    }
    EXPECT_EQ(wiped(95), "CLOSED");
    EXPECT_EQ(machine_of(job), machines::MachineState::UNQUALIFIED);
    EXPECT_EQ(seen(town.harness, find(job).terms.machine_id).job_id, std::nullopt);
}

// The smallest card is no measure for the others, and which is which is the host's word.
TEST_F(Rental, IsWipedWhenEachCardWasAndNotTheSmallestTwice) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    stop(ben, job, R"(,"skip_retrieval":true)");
    end(job, 1'000);
    const MachineId id = find(job).terms.machine_id;
    town.harness.app->database().write([&](db::Transaction& tx) {
        auto machine = machines::hold(tx, id).value();
        machine.gpu_count = 2;
        machines::save({tx, town.harness.random, town.harness.clock.now()}, machine);
        auto measured = test::measured_4090();
        measured.gpus_bytes = R"(["25757220864","80000000000"])";
        machines::save_measured(tx, id, measured);
    });
    const auto cleaned = [&](const std::string& first, const std::string& second) {
        constexpr std::string_view gpu =
            R"({{"pci_address":"0000:0{}:00.0","total_bytes":"{}","wiped_bytes":"{}",)"
            R"("verified_bytes":"{}"}})";
        tell(job, JobEventKind::cleaned,
             R"({"volume_recreated":true,"gpus":[)" + fmt::format(gpu, 1, first, first, first) +
                 "," + fmt::format(gpu, 2, second, second, second) + "]}");
        return machine_of(job) != machines::MachineState::QUARANTINED;
    };
    EXPECT_FALSE(cleaned("25757220864", "25757220864"));
    EXPECT_FALSE(cleaned("25757220864", "71000000000"));
    EXPECT_TRUE(cleaned("72000000000", "25757220864"));
}

// One message about its progress does not make a host's failures its renters' own.
TEST_F(Rental, ThatFailsAfterProgressCountsAgainstItsMachineLikeAnyOther) {
    const auto machine = put_up();
    for (int i = 1; i <= 3; ++i) {
        const JobId job = rent(ben, machine);
        accept(job);
        tell(job, JobEventKind::progress, R"({"step":"load"})");
        tell(job, JobEventKind::exited, R"({"container_id":"c1","exit_code":1})");
        EXPECT_EQ(machine_of(job),
                  i < 3 ? machines::MachineState::CLEANING : machines::MachineState::QUARANTINED)
            << i;
        clean(job);
    }
}

TEST_F(Rental, IsCleanedUnderWhateverLeaseTheAgentRemembers) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    pass(seconds(301));
    ASSERT_EQ(machine_of(job), machines::MachineState::QUARANTINED);
    EXPECT_THROW(tell(job, JobEventKind::stopped, "{}", 40), Problem);
    const std::string wiped = wire::encode(cleaned_evidence());
    EXPECT_EQ(tell(job, JobEventKind::cleaned, wiped, 40), "CLOSED");
    EXPECT_EQ(machine_of(job), machines::MachineState::UNQUALIFIED);
    const JobId other = rent(ben, put_up());
    get_ready(other);
    for (int i = 1; i <= 3; ++i) {
        town.harness.clock.advance(seconds(20));
        beat(other, i * 20'000);
    }
    pass(seconds(301));
    EXPECT_EQ(tell(other, JobEventKind::cleaned, wiped, 1), "CLOSED");
    EXPECT_EQ(machine_of(other), machines::MachineState::UNQUALIFIED);
}

TEST_F(Rental, LeavesNothingToFetchWhenItsStopSaysSo) {
    const auto machine = put_up();
    for (const bool at_once : {true, false}) {
        const JobId job = rent(ben, machine);
        get_ready(job);
        stop(ben, job, at_once ? R"(,"skip_retrieval":true)" : "");
        if (!at_once) stop(ben, job, R"(,"skip_retrieval":true)");
        EXPECT_EQ(end(job), "STOPPED");
        EXPECT_EQ(member(show(ben, job), "retrieval_until"), "null");
        EXPECT_EQ(clean(job), "CLOSED");
    }
}

// The agent stops where the funding ends, by its own clock and before we have looked.
TEST_F(Rental, IsSettledRightWhenItsAgentStopsByItself) {
    const auto machine = put_up();
    struct Case {
        Wish wish;
        const char* reason;
        std::int64_t charge;
    };
    Micro left = balances(ben).available;
    const Case by_money{{.budget = 30'000}, "funded_expiry", 30'000};
    const Case by_time{{.budget = 90'000, .duration_s = 60}, "duration_limit", 60'000};
    for (const Case& each : {by_money, by_time}) {
        for (const bool exits_first : {false, true}) {
            const JobId job = rent(ben, machine, each.wish);
            get_ready(job);
            town.harness.clock.advance(milliseconds(each.charge) + milliseconds(400));
            if (exits_first) {
                EXPECT_EQ(tell(job, JobEventKind::exited,
                               fmt::format(R"({{"container_id":"c1","runtime_ms":"{}"}})",
                                           each.charge + 400)),
                          "STOPPING");
            }
            EXPECT_EQ(end(job, each.charge + 400), "STOPPED");
            EXPECT_EQ(member(show(ben, job), "end_reason"), each.reason);
            left = left - Micro{each.charge};
            EXPECT_EQ(balances(ben).available, left);
            EXPECT_EQ(balances(ben).held, Micro{});
            pass(seconds(901));  // time for everything that could still charge it
            EXPECT_EQ(balances(ben).available, left);
            EXPECT_EQ(clean(job), "CLOSED");
        }
    }
    // One that stops before its time has ended for a reason of its own.
    const JobId early = rent(ben, machine, {.budget = 30'000});
    get_ready(early);
    town.harness.clock.advance(seconds(10));
    EXPECT_EQ(end(early, 10'000), "STOPPED");
    EXPECT_EQ(member(show(ben, early), "end_reason"), "workload_exited");
    EXPECT_EQ(balances(ben).available, left - Micro{10'000});
}

}  // namespace
}  // namespace berth::test::whole_rentals
