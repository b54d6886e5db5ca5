#include <latch>
#include <random>
#include <thread>

#include "rentals/market.hpp"

namespace berth::test {
namespace {

using agent_protocol::JobEventKind;

class RentalRace : public MarketTest {
protected:
    void together(std::vector<std::function<void()>> works) {
        std::latch start(static_cast<std::ptrdiff_t>(works.size()));
        std::vector<std::thread> threads;
        for (auto& work : works)
            threads.emplace_back([&start, &work] {
                start.arrive_and_wait();
                work();
            });
        for (std::thread& thread : threads) thread.join();
    }
};

TEST_F(RentalRace, OfTwoRentersForOneMachineOneWins) {
    const Person cora = join(R"(["renter"])", 10'000'000);
    for (int i = 0; i < 10; ++i) {
        const auto machine = put_up();
        const auto first = quote(ben, machine, {});
        const auto second = quote(cora, machine, {});
        http::Response a;
        http::Response b;
        together({[&] { a = reserve(ben, member(first.body, "quote_id")); },
                  [&] { b = reserve(cora, member(second.body, "quote_id")); }});
        EXPECT_EQ((a.status == 202) + (b.status == 202), 1) << a.body << b.body;
        EXPECT_EQ(error_code(a.status == 202 ? b : a), "CONFLICT");
        stop(a.status == 202 ? ben : cora,
             JobId{parse_uuid(member(a.status == 202 ? a.body : b.body, "job_id")).value()});
        EXPECT_EQ(balances(ben).held + balances(cora).held, Micro{});
    }
}

TEST_F(RentalRace, AnOptOutOfCustomImagesWinsEveryReservationInFlight) {
    town.harness.set("operations.custom_images_enabled", "true");
    const auto machine = put_up();
    const std::string place = "/api/v1/hosts/machines/" + to_string(machine.machine_id);
    const Wish wish{.what = R"("image":"example.org/a/b@sha256:)" + std::string(64, 'a') + R"(")"};
    int won = 0;
    for (int i = 0; i < 100; ++i) {
        town.harness.clock.advance(seconds(3));  // an account may ask for 30 quotes a minute
        EXPECT_EQ(send(ada, "PUT", place + "/custom-images", R"({"accept":true})").status, 200);
        const auto quoted = quote(ben, machine, wish);
        ASSERT_EQ(quoted.status, 201) << quoted.body;
        http::Response reserved;
        http::Response out;
        together(
            {[&] { reserved = reserve(ben, member(quoted.body, "quote_id")); },
             [&] { out = send(ada, "PUT", place + "/custom-images", R"({"accept":false})"); }});
        EXPECT_EQ(out.status, 200) << out.body;
        if (reserved.status == 202) {
            ++won;
            const JobId job{parse_uuid(member(reserved.body, "job_id")).value()};
            EXPECT_TRUE(is_over(state_of(job)) || state_of(job) == JobState::STOPPING);
            EXPECT_EQ(find(job).live.end_reason, EndReason::custom_images_off);
            if (state_of(job) == JobState::STOPPING) end(job);
            clean(job);
        } else {
            EXPECT_EQ(error_code(reserved), "CONFLICT") << reserved.body;
        }
        EXPECT_EQ(balances(ben).held, Micro{});
    }
    RecordProperty("reservations_overtaken", won);
}

TEST_F(RentalRace, StopExpiryAndEventsAtOnceSettleOnce) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 12; ++i) {
        const auto machine = put_up();
        const JobId job = rent(ben, machine, {.budget = 30'000});
        const Micro before = balances(ben).available + balances(ben).held;
        get_ready(job);
        town.harness.clock.advance(milliseconds(29'000 + random() % 2'000));
        DeadlineWorker deadlines({town.harness.app->rentals().lifecycle(), database(),
                                  town.harness.clock, town.harness.random});
        const auto said = [](const std::function<void()>& work) {
            try {
                work();
            } catch (const Problem&) {
                // Whoever comes second may be refused.
            }
        };
        http::Response raised;
        together(
            {[&] { stop(ben, job); },
             [&] {
                 raised = send(ben, "POST", "/api/v1/jobs/" + to_string(job) + "/budget",
                               R"({"add_micro":"500","expected_budget_version":"1"})");
             },
             [&] { deadlines.look(); }, [&] { said([&] { beat(job, 29'500); }); },
             [&] { said([&] { end(job, 31'000); }); },
             [&] { said([&] { tell(job, JobEventKind::exited, R"({"container_id":"c1"})"); }); }});
        if (state_of(job) == JobState::STOPPING) end(job, 31'000);
        const JobRow row = find(job);
        EXPECT_EQ(row.live.state, JobState::STOPPED);
        EXPECT_TRUE(row.live.is_settled);
        const Micro charge = charge_of(row);
        EXPECT_EQ(row.live.budget, Micro{raised.status == 202 ? 30'500 : 30'000}) << raised.body;
        EXPECT_LE(charge, row.live.budget);
        EXPECT_EQ(balances(ben).held, Micro{});
        EXPECT_EQ(balances(ben).available, before - charge);
        database().read(
            [&](db::Transaction& tx) { EXPECT_EQ(ledger::find_job(tx, job)->charged, charge); });
    }
}

// Reports that are lost, come twice, late, or from clocks that run fast, slow and backwards,
// against a bookkeeper who shares no code with the meter.
TEST_F(RentalRace, ReportsInAnyOrderAgreeWithABookkeeper) {
    std::mt19937_64 random(20'261'115);
    for (int run = 0; run < 8; ++run) {
        const JobId job = rent(ben, put_up(), {.budget = 400'000});
        get_ready(job);
        const std::int64_t start = now().micros;
        std::int64_t counted = 0;
        std::int64_t agent_high = 0;
        std::int64_t last_ours = 0;
        std::int64_t skew = 0;
        std::int64_t spare = 0;  // of our time, which late reports left
        const double speed = static_cast<double>(random() % 2500) / 1000.0;
        for (int i = 0; i < 25; ++i) {
            town.harness.clock.advance(Duration(static_cast<std::int64_t>(random() % 20'000'000)));
            if (random() % 6 == 0) skew -= static_cast<std::int64_t>(random() % 15'000);
            const std::int64_t ours = (now().micros - start) / 1000;
            auto agents = static_cast<std::int64_t>(static_cast<double>(ours) * speed) + skew;
            if (random() % 4 == 0)
                agents = agent_high - static_cast<std::int64_t>(random() % 9'000);
            agents = std::max<std::int64_t>(0, agents);
            if (random() % 5 == 0) continue;  // lost
            for (std::uint64_t times = 1 + random() % 2; times > 0; --times) beat(job, agents);
            if (agents > agent_high) {
                const std::int64_t funded = std::min<std::int64_t>(ours, 400'000);
                if (ours > funded) spare = 0;
                const std::int64_t room = std::max<std::int64_t>(0, funded - last_ours) + spare;
                const std::int64_t more = std::min(agents - agent_high, room);
                counted += more;
                spare = ours > funded ? 0 : std::min<std::int64_t>(30'000, room - more);
                agent_high = agents;
                last_ours = ours;
            }
            ASSERT_EQ(find(job).live.accepted_ms, counted) << "run " << run << ", step " << i;
        }
        stop(ben, job);
        end(job);
        EXPECT_EQ(balances(ben).held, Micro{});
        database().read([&](db::Transaction& tx) {
            EXPECT_EQ(ledger::find_job(tx, job)->charged.value,
                      std::min<std::int64_t>(counted, 400'000));
        });
    }
}

}  // namespace
}  // namespace berth::test
