// Nobody pays for what a gate does not carry.
#include "ledger/days.hpp"
#include "rentals/figures.hpp"
#include "rentals/gated.hpp"

namespace berth::test {
namespace {

using agent_protocol::JobEventKind;

using UncarriedRental = GatedMarket;

TEST_F(UncarriedRental, IsBilledLikeAnyOtherWhileItIsCarried) {
    const JobId job = start();
    go(job, seconds(300), Says::linked);
    EXPECT_EQ(accepted_ms(job), 300'000);
    EXPECT_EQ(member(show(ben, job), "host_status"), "ok");
    EXPECT_EQ(member(show(ben, job), "uncarried_ms"), "0");
}

TEST_F(UncarriedRental, StandsFromTheSixtyFirstSecondWithoutALink) {
    const JobId job = start();
    go(job, seconds(100), Says::linked);
    go(job, seconds(60), Says::unlinked);  // told first at 105
    EXPECT_EQ(accepted_ms(job), 160'000);
    EXPECT_EQ(member(show(ben, job), "host_status"), "unreachable");
    go(job, seconds(140), Says::unlinked);
    EXPECT_EQ(accepted_ms(job), 165'000);
    go(job, seconds(100), Says::linked);  // told first at 305
    EXPECT_EQ(accepted_ms(job), 400'000 - 140'000);
    EXPECT_EQ(member(show(ben, job), "uncarried_ms"), "140000");
    EXPECT_EQ(member(show(ben, job), "host_status"), "ok");
}

// Its link is there, and its host answers nobody who comes by it.
TEST_F(UncarriedRental, StandsFromTheSixtyFirstSecondWhileNoCallIsAnswered) {
    const JobId job = start();
    go(job, seconds(100), Says::linked);
    go(job, seconds(200), Says::unanswered);
    EXPECT_EQ(accepted_ms(job), 165'000);
    EXPECT_EQ(member(show(ben, job), "host_status"), "unreachable");
    go(job, seconds(100), Says::linked);
    EXPECT_EQ(accepted_ms(job), 400'000 - 140'000);
    EXPECT_EQ(member(show(ben, job), "host_status"), "ok");
}

TEST_F(UncarriedRental, StandsFromTheSixtyFirstSecondOfAGatesSilence) {
    const JobId job = start();
    go(job, seconds(100), Says::linked);
    go(job, seconds(200), Says::nothing);
    go(job, seconds(100), Says::linked);  // heard again at 305
    EXPECT_EQ(accepted_ms(job), 400'000 - (305'000 - 160'000));
}

TEST_F(UncarriedRental, IsBilledForAMinuteOrLessInWhichItsLinkIsGone) {
    const JobId job = start();
    for (int i = 0; i < 5; ++i) {
        go(job, seconds(60), Says::unlinked);
        go(job, seconds(60), Says::linked);
    }
    EXPECT_EQ(accepted_ms(job), 600'000);
    EXPECT_EQ(member(receipt(job), "uncarried_ms"), "0");
}

TEST_F(UncarriedRental, StoodAlsoWhenItIsCarriedAgainBeforeAnybodyLooks) {
    const JobId job = start();
    go(job, seconds(100), Says::linked);
    go(job, seconds(150), Says::unlinked, Seen::no);
    go(job, seconds(40), Says::linked, Seen::no);
    beat(job, ran_ms());
    EXPECT_EQ(accepted_ms(job), 290'000 - (255'000 - 165'000));
}

TEST_F(UncarriedRental, StoodAlsoWhenItEndsBeforeAnybodyLooks) {
    const JobId job = start();
    go(job, seconds(100), Says::linked);
    go(job, seconds(150), Says::unlinked, Seen::no);
    stop(ben, job);
    EXPECT_EQ(end(job, ran_ms()), "STOPPED");
    EXPECT_EQ(accepted_ms(job), 165'000);
    EXPECT_EQ(member(receipt(job), "charge_micro"), "165000");
    EXPECT_EQ(member(receipt(job), "uncarried_ms"), "85000");
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 165'000});
}

TEST_F(UncarriedRental, StandsOnWhenItsDoorsMoveUntilTheNewGateHasALink) {
    const JobId job = start();
    go(job, seconds(100), Says::linked);
    const std::string before = access(job);
    const Gate second = add_gate("gate-2.example.com", "198.51.100.8");
    go(job, seconds(100), Says::nothing);
    report(second, false);
    const auto given = want(job, wanted_by(job));
    ASSERT_EQ(member(given.body, "gate.host"), second.host) << given.body;
    note_doors(given);
    EXPECT_EQ(doors.size(), named(job).size()) << "a door keeps its id";
    go(job, seconds(50), Says::nothing);  // the new one has no link yet
    report(second, true);
    beat(job, ran_ms());
    EXPECT_EQ(accepted_ms(job), 160'000) << "one gap, from the first gate's last word on";
    EXPECT_EQ(member(show(ben, job), "host_status"), "ok");
    const std::string after = access(job);
    EXPECT_EQ(member(before, "endpoints.0.external_host"), first.host);
    EXPECT_EQ(member(after, "endpoints.0.external_host"), second.host);
    EXPECT_EQ(member(after, "endpoints.0.external_port"), member(given.body, "doors.0.port"));
    EXPECT_NE(member(after, "ssh_command").find(second.host), std::string::npos);
}

TEST_F(UncarriedRental, IsNotBilledWhenItsHostGivesTheDoorsBack) {
    const JobId job = start();
    go(job, seconds(100), Says::linked);
    ASSERT_EQ(want(job, "").status, 200);
    doors.clear();
    go(job, seconds(300), Says::linked);
    EXPECT_EQ(accepted_ms(job), 160'000);
    EXPECT_EQ(member(show(ben, job), "host_status"), "unreachable");
    EXPECT_EQ(member(access(job), "endpoints.0.external_host"), "")
        << "the port may become another's";
}

TEST_F(UncarriedRental, IsPaidForLaterAndNeverAboveItsBudget) {
    const JobId job = start({.budget = 400'000});
    go(job, seconds(100), Says::linked);
    go(job, seconds(600), Says::unlinked);  // stands from 165 on
    EXPECT_EQ(state_of(job), JobState::RUNNING) << "the money would have been over at 400";
    EXPECT_EQ(member(show(ben, job), "funded_through"),
              to_rfc3339(ready_since + seconds(400 + 700 - 165)));
    const auto raised = send(ben, "POST", "/api/v1/jobs/" + to_string(job) + "/budget",
                             R"({"add_micro":"100000","expected_budget_version":"1"})");
    EXPECT_EQ(raised.status, 202) << raised.body;
    go(job, seconds(330), Says::linked);  // carried again at 705; 335 s are left
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    go(job, seconds(20), Says::linked);
    EXPECT_EQ(state_of(job), JobState::STOPPING);
    EXPECT_EQ(member(show(ben, job), "end_reason"), "funded_expiry");
    end(job, ran_ms());
    EXPECT_EQ(accepted_ms(job), 500'000);
    EXPECT_EQ(member(receipt(job), "charge_micro"), "500000");
}

TEST_F(UncarriedRental, EndsByTheClockWhereItsDurationDoes) {
    const JobId job = start({.budget = 5'000'000, .duration_s = 600});
    go(job, seconds(100), Says::linked);
    go(job, seconds(490), Says::unlinked);
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    go(job, seconds(20), Says::linked);
    EXPECT_EQ(member(show(ben, job), "end_reason"), "duration_limit");
}

TEST_F(UncarriedRental, EndsAfterFifteenMinutesAndThatIsNobodysFault) {
    const JobId job = start();
    go(job, seconds(100), Says::linked);
    go(job, seconds(900), Says::unlinked);  // since 105
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    go(job, seconds(10), Says::unlinked);
    EXPECT_EQ(state_of(job), JobState::STOPPING);
    EXPECT_EQ(member(show(ben, job), "end_reason"), "gate_lost");
    EXPECT_EQ(end(job, ran_ms()), "STOPPED");
    EXPECT_EQ(accepted_ms(job), 165'000);
    stop(ben, job, R"(,"skip_retrieval":true)");
    clean(job);
    EXPECT_EQ(machine_of(job), machines::MachineState::AVAILABLE);
    const MachineId machine = find(job).terms.machine_id;
    EXPECT_EQ(seen(town.harness, machine).starts_failed, 0);
    EXPECT_FALSE(find(job).live.unbilled_at);
    as_agent(machine, [](const db::Context& context, machines::Machine& row) {
        row.figures_due_at = context.now;
        machines::save(context, row);
    });
    while (count_figures({database(), town.harness.clock, town.harness.random}) > 0) {
    }
    const auto rated = database().read([&](db::Transaction& tx) {
        return tx.fetch_value<std::int64_t>(
            "SELECT rated_jobs FROM rental_days WHERE machine_id = $1", machine);
    });
    EXPECT_EQ(rated, 0) << "it counts neither for the host nor against it";
}

TEST_F(UncarriedRental, DoesNotEndWhenItIsCarriedAgainAndOnlyTheWorkerLooks) {
    const JobId job = start();
    go(job, seconds(890), Says::unlinked);
    go(job, seconds(20), Says::linked, Seen::no);
    look();
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    EXPECT_FALSE(find(job).live.uncarried_since);
}

TEST_F(UncarriedRental, IsNotMadeByAnOutageOfOurOwn) {
    const JobId job = start();
    go(job, seconds(100), Says::linked);
    town.harness.clock.advance(seconds(1000));  // nobody was there, and no gate could be heard
    listen();
    look();
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    beat(job, ran_ms());
    go(job, seconds(60), Says::linked);
    EXPECT_EQ(find(job).live.stood_ms, 0);
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    // Its lease had run out: nothing is billed that nobody could have heard of.
    EXPECT_EQ(accepted_ms(job), 100'000 + 390'000 + 60'000);
}

// Of time that we could not hear nothing is known; what is known adds up.
TEST_F(UncarriedRental, StandsOnAfterAnOutageAndTheGateHasHadItsTimeToBeHeard) {
    const JobId job = start();
    go(job, seconds(100), Says::linked);
    go(job, seconds(100), Says::unlinked);  // stands from 165 to 200
    town.harness.clock.advance(seconds(30));
    listen();
    go(job, seconds(120), Says::unlinked);
    EXPECT_EQ(find(job).live.stood_ms, 35'000 + 105'000);
    EXPECT_EQ(accepted_ms(job), 350'000 - 140'000);
}

TEST_F(UncarriedRental, AddsUpWhatWasUncarriedOnBothSidesOfAnOutage) {
    const JobId job = start();
    go(job, seconds(100), Says::linked);
    go(job, seconds(45), Says::unlinked);  // since 105: 40 seconds
    town.harness.clock.advance(seconds(30));
    listen();  // at 175
    go(job, seconds(100), Says::unlinked);
    EXPECT_EQ(find(job).live.stood_ms, 100'000 - 20'000);
    EXPECT_EQ(accepted_ms(job), 275'000 - 80'000);
}

TEST_F(UncarriedRental, ACarriedMomentBetweenAnOutageAndAGapBeginsTheMinuteAnew) {
    const JobId job = start();
    go(job, seconds(100), Says::linked);
    go(job, seconds(45), Says::unlinked);
    town.harness.clock.advance(seconds(30));
    listen();
    go(job, seconds(5), Says::linked);
    go(job, seconds(60), Says::unlinked);
    EXPECT_EQ(find(job).live.stood_ms, 0);
}

TEST_F(UncarriedRental, GatesNeverStartAMeter) {
    const JobId job = start();
    go(job, seconds(100), Says::linked, Seen::no);
    report(first, true, 1'000'000);
    look();
    EXPECT_EQ(accepted_ms(job), 0) << "no agent has reported anything";
    stop(ben, job);
    go(job, seconds(100), Says::linked, Seen::no);
    end(job, ran_ms());
    EXPECT_EQ(accepted_ms(job), 100'000) << "nothing after the stop";
    EXPECT_EQ(member(receipt(job), "carried_bytes"),
              std::to_string(1'000'000 * static_cast<int>(doors.size())));
}

TEST_F(UncarriedRental, EndsAsFundedWhenItsAgentStopsWhereItWasTold) {
    const Wish wish{.budget = 355'000, .what = fmt::format(R"("template_id":"{}")", model)};
    const JobId job = start(wish);
    go(job, seconds(280), Says::linked);
    go(job, seconds(100), Says::unlinked);  // stands from 345 on; 10 s are left
    ASSERT_EQ(state_of(job), JobState::RUNNING);
    // The end that it was told comes before the next word to it.
    town.harness.clock.advance(seconds(11));
    listen();
    EXPECT_EQ(tell(job, JobEventKind::stopped,
                   fmt::format(R"({{"container_id":"c1","runtime_ms":"{}",)"
                               R"("reason":"funded_through"}})",
                               ran_ms())),
              "STOPPED");
    EXPECT_EQ(member(show(ben, job), "end_reason"), "funded_expiry") << "and not the host's fault";
}

TEST_F(UncarriedRental, IsToldToItsRenterAndOnRecord) {
    const JobId job = start();
    go(job, seconds(100), Says::linked);
    go(job, seconds(100), Says::unlinked);
    go(job, seconds(20), Says::linked);
    const std::string page = send(ben, "GET", "/api/v1/events?limit=100&types=rental.*").body;
    std::vector<std::string> types;
    for (int i = 0; !member(page, fmt::format("items.{}.type", i)).empty(); ++i)
        types.push_back(member(page, fmt::format("items.{}.type", i)));
    std::erase(types, "rental.unreachable");  // nobody speaks for the machine here
    EXPECT_EQ(types,
              (std::vector<std::string>{"rental.reserved", "rental.starting", "rental.running",
                                        "rental.uncarried", "rental.carried"}));
    const std::string records =
        send(ben, "GET", "/api/v1/jobs/" + to_string(job) + "/evidence?limit=100").body;
    EXPECT_NE(records.find("\"UNCARRIED\""), std::string::npos);
    EXPECT_NE(records.find("\"CARRIED\""), std::string::npos);
}

TEST_F(UncarriedRental, KeepsItsEarningsOnTheDaysOnWhichTheyWereEarned) {
    const Time midnight{(now().micros / 86'400'000'000 + 1) * 86'400'000'000};
    town.harness.clock.advance(midnight - now() - seconds(200));
    const JobId job = start();
    go(job, seconds(300), Says::unlinked, Seen::no);  // from 195 s before midnight to 105 s after
    go(job, seconds(20), Says::linked, Seen::no);
    beat(job, ran_ms());
    EXPECT_EQ(accepted_ms(job), 320'000 - (300'000 - 60'000));
    const std::int64_t day = ledger::day_of(midnight) - 1;
    const auto earned = database().read([&](db::Transaction& tx) {
        return ledger::earnings_by_day(tx, ada.account, ledger::Asset::usdc, {day, day});
    });
    ASSERT_EQ(earned.size(), 1u);
    // 5 s carried, and 60 in which it does not stand yet, less the fee.
    EXPECT_EQ(earned.front().earned, Micro{65'000 - 6'500});
}

}  // namespace
}  // namespace berth::test
