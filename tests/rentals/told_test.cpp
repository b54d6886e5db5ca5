// What renters and hosts hear of a rental, from the reservation to its end.
#include "rentals/told.hpp"

#include "rentals/market.hpp"

namespace berth::test {
namespace {

using agent_protocol::JobEventKind;

TEST(RentalEvents, EveryLineOfTheTableTellsSomethingOrIsListedAsSilent) {
    for (const Transition& line : transitions())
        EXPECT_EQ(told_by(line).nothing(), is_silent(line))
            << enum_name(line.from) << " " << enum_name(line.event);
}

class RentalTold : public MarketTest {
protected:
    // The types that somebody has heard, in order, after a number.
    std::vector<std::string> heard(const Person& who, const std::string& types = "") {
        const auto page =
            send(who, "GET", "/api/v1/events?limit=100" + (types.empty() ? "" : "&types=" + types));
        EXPECT_EQ(page.status, 200) << page.body;
        std::vector<std::string> all;
        for (int i = 0;; ++i) {
            const std::string type = member(page.body, fmt::format("items.{}.type", i));
            if (type.empty()) return all;
            all.push_back(type);
        }
    }
    std::string event(const Person& who, const std::string& type, const std::string& path) {
        const auto page = send(who, "GET", "/api/v1/events?limit=100&types=" + type);
        return member(page.body, "items.0." + path);
    }
    using Types = std::vector<std::string>;
};

TEST_F(RentalTold, BothSidesHearOfTheWholeLifeEachItsPart) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    town.harness.clock.advance(seconds(20));
    beat(job, 20'000);
    stop(ben, job);
    end(job, 20'000);
    stop(ben, job, R"(,"skip_retrieval":true)");
    clean(job);
    EXPECT_EQ(heard(ben, "rental.*"),
              (Types{"rental.reserved", "rental.starting", "rental.running", "rental.stopping",
                     "rental.stopped", "rental.closed"}));
    EXPECT_EQ(heard(ada, "hosting.*"), (Types{"hosting.started", "hosting.ended"}));
    EXPECT_EQ(heard(ada, "machine.*"), (Types{"machine.available", "machine.allocated",
                                              "machine.cleaning", "machine.available"}));
    EXPECT_EQ(heard(ada, "offer.*"), (Types{"offer.published", "offer.listed"}));
    EXPECT_EQ(event(ben, "rental.running", "subject.id"), to_string(job));
    EXPECT_EQ(event(ben, "rental.running", "data.time_to_ready.load_ms"), "2");
    EXPECT_EQ(event(ben, "rental.stopped", "data.cumulative_charge_micro"), "20000");
    EXPECT_EQ(event(ben, "rental.stopped", "data.end_reason"), "renter_stop");
    EXPECT_EQ(event(ada, "hosting.ended", "data.earned_micro"), "18000");
    EXPECT_EQ(event(ada, "hosting.ended", "data.job_id"), to_string(job));
    const std::string all = send(ada, "GET", "/api/v1/events?limit=100").body;
    EXPECT_EQ(all.find(to_string(ben.account)), std::string::npos) << "whose it was is not told";
}

TEST_F(RentalTold, AStartThatFailsSaysWhy) {
    const JobId job = rent(ben, put_up());
    accept(job);
    tell(job, JobEventKind::exited, R"({"container_id":"c1","exit_code":1})");
    EXPECT_EQ(heard(ben, "rental.*"),
              (Types{"rental.reserved", "rental.starting", "rental.failed"}));
    const std::string why = event(ben, "rental.failed", "data.failure.message");
    EXPECT_NE(why, "");
    EXPECT_EQ(event(ada, "hosting.ended", "data.ready"), "false");
    EXPECT_EQ(event(ada, "hosting.ended", "data.failure.message"), why);
}

TEST_F(RentalTold, LittleMoneyIsToldOnceForEachBudget) {
    const JobId job = rent(ben, put_up(), {.budget = 100'000});
    get_ready(job);
    const auto go_on = [&](std::int64_t until_s) {
        while (now() < find(job).live.meter_started_at.value() + seconds(until_s)) {
            pass(seconds(10));
            const auto ran = now() - find(job).live.meter_started_at.value();
            beat(job, ran / milliseconds(1));
        }
    };
    go_on(40);
    EXPECT_EQ(heard(ben, "rental.funds_low"), Types{});
    go_on(60);
    EXPECT_EQ(heard(ben, "rental.funds_low"), Types{"rental.funds_low"});
    EXPECT_EQ(event(ben, "rental.funds_low", "data.left_s"), "50");
    const auto raised = send(ben, "POST", "/api/v1/jobs/" + to_string(job) + "/budget",
                             R"({"add_micro":"100000","expected_budget_version":"1"})");
    ASSERT_EQ(raised.status, 202) << raised.body;
    go_on(80);
    EXPECT_EQ(heard(ben, "rental.funds_low").size(), 1U);
    go_on(120);
    EXPECT_EQ(heard(ben, "rental.funds_low").size(), 2U);
    EXPECT_EQ(heard(ben, "rental.budget_raised").size(), 1U);
    EXPECT_EQ(state_of(job), JobState::RUNNING);
}

TEST_F(RentalTold, AnEngineThatIsDownAndUpAgainIsToldOnceEach) {
    const JobId job = rent(ben, put_up(), {.what = fmt::format(R"("template_id":"{}")", model)});
    get_ready(job);
    const auto say = [&](const std::string& engine, std::int64_t ran) {
        town.harness.clock.advance(seconds(10));
        tell(job, JobEventKind::usage,
             fmt::format(R"({{"runtime_ms":"{}","container_id":"c1","boot_id":"boot-1",)"
                         R"("engine":"{}"}})",
                         ran, engine));
    };
    say("down", 10'000);
    say("down", 20'000);
    say("up", 30'000);
    EXPECT_EQ(heard(ben, "rental.engine_down,rental.engine_up"),
              (Types{"rental.engine_down", "rental.engine_up"}));
}

TEST_F(RentalTold, MostOfTheEgressIsToldOnce) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    const auto sent = [&](std::int64_t gib) {
        town.harness.clock.advance(seconds(10));
        tell(job, JobEventKind::usage,
             fmt::format(R"({{"runtime_ms":"1","container_id":"c1","boot_id":"boot-1",)"
                         R"("egress_bytes":"{}"}})",
                         gib * (std::int64_t{1} << 30)));
    };
    sent(800);
    EXPECT_EQ(heard(ben, "rental.egress_low"), Types{});
    sent(801);
    sent(900);
    sent(1001);
    EXPECT_EQ(heard(ben, "rental.egress_low"), Types{"rental.egress_low"});
    EXPECT_EQ(event(ben, "rental.egress_low", "data.egress.used_bytes"), "860067201024");
    EXPECT_EQ(event(ben, "rental.egress_low", "data.egress.included_bytes"), "1073741824000");
    EXPECT_EQ(event(ben, "rental.egress_low", "data.egress.state"), "nearly_used");
}

TEST_F(RentalTold, AMachineThatIsNotHeardIsToldOnceAndWhenItIsBack) {
    const auto machine = put_up();
    hear(town.harness, machine.machine_id);
    pass(seconds(60));
    EXPECT_EQ(heard(ada, "machine.silent,machine.heard"), Types{});
    pass(seconds(120));
    EXPECT_EQ(heard(ada, "machine.silent,machine.heard"), Types{"machine.silent"});
    hear(town.harness, machine.machine_id);
    pass(seconds(30));
    EXPECT_EQ(heard(ada, "machine.silent,machine.heard"),
              (Types{"machine.silent", "machine.heard"}));
}

TEST_F(RentalTold, AHostThatIsNotHeardIsToldToItsRenterOnceAndWhenItIsBack) {
    const std::string both = "rental.unreachable,rental.reachable";
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    get_ready(job);
    hear(town.harness, machine.machine_id);
    pass(seconds(60));
    EXPECT_EQ(heard(ben, both), Types{});
    pass(seconds(90));
    EXPECT_EQ(heard(ben, both), Types{"rental.unreachable"});
    EXPECT_EQ(event(ben, "rental.unreachable", "subject.id"), to_string(job));
    hear(town.harness, machine.machine_id);
    pass(seconds(30));
    EXPECT_EQ(heard(ben, both), (Types{"rental.unreachable", "rental.reachable"}));
    EXPECT_EQ(state_of(job), JobState::RUNNING);
}

TEST_F(RentalTold, ARentalOfAMachineThatWasSilentBeforeItIsNotToldOfItsReturn) {
    const auto machine = put_up();
    hear(town.harness, machine.machine_id);
    pass(seconds(150));
    EXPECT_EQ(heard(ada, "machine.silent"), Types{"machine.silent"});
    get_ready(rent(ben, machine));
    pass(seconds(30));
    EXPECT_EQ(heard(ada, "machine.heard"), Types{"machine.heard"});
    EXPECT_EQ(heard(ben, "rental.unreachable,rental.reachable"), Types{});
}

TEST_F(RentalTold, AMachineThatWasAwayForLongBeforeAnybodyLookedIsNoNews) {
    const auto machine = put_up();
    hear(town.harness, machine.machine_id);
    town.harness.clock.advance(std::chrono::hours(48));
    pass(seconds(300));
    EXPECT_EQ(heard(ada, "machine.silent"), Types{});
    hear(town.harness, machine.machine_id);
    pass(seconds(30));
    EXPECT_EQ(heard(ada, "machine.heard"), Types{"machine.heard"});
    pass(seconds(150));
    EXPECT_EQ(heard(ada, "machine.silent"), Types{"machine.silent"});
}

TEST_F(RentalTold, OurOwnOutageIsNoSilenceOfTheirs) {
    const auto machine = put_up();
    hear(town.harness, machine.machine_id);
    pass(seconds(10));
    pass_unheard(seconds(600));
    hear(town.harness, machine.machine_id);
    pass(seconds(60));
    EXPECT_EQ(heard(ada, "machine.silent"), Types{});
}

}  // namespace
}  // namespace berth::test
