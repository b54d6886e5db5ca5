// What rentals and heartbeats say of a machine, as they are counted and as the catalog shows them.
#include "rentals/figures.hpp"

#include "catalog/catalog.hpp"
#include "machines/states.hpp"
#include "rentals/market.hpp"

namespace berth::test {
namespace {

class FiguresOf : public MarketTest {
protected:
    void count() {
        while (count_figures({database(), town.harness.clock, town.harness.random}) > 0) {
        }
    }
    // A job that became READY and ends as asked.
    JobId job(const machines::Machine& machine) {
        const JobId id = rent(ben, machine);
        get_ready(id);
        return id;
    }
    void serve(const machines::Machine& machine) {
        const JobId id = job(machine);
        stop(ben, id);
        end(id);
        pass(seconds(910));
        clean(id);
    }
    void due_now(const machines::Machine& machine) {
        as_agent(machine.machine_id, [&](const db::Context& context, machines::Machine& row) {
            row.figures_due_at = context.now;
            machines::save(context, row);
        });
    }
    machines::Figures figures(const machines::Machine& machine) {
        const db::Query<machines::Figures> sql("SELECT {} FROM machines WHERE machine_id = $1");
        return database().read(
            [&](db::Transaction& tx) { return tx.fetch_one(sql, machine.machine_id).value(); });
    }
    std::string item(const machines::Machine& machine) {
        hear(town.harness, machine.machine_id);
        town.harness.app->catalog().refresh(database(), now());
        const auto answer = town.harness.ask({.target = "/api/v1/offers"});
        const std::string page = answer.shared_body ? *answer.shared_body : answer.body;
        EXPECT_EQ(member(page, "items.0.offer_id"), to_string(machine.offer_id)) << page;
        return page;
    }
    void sample(int times) {
        for (int i = 0; i < times; ++i) {
            database().write([&](db::Transaction& tx) {
                EXPECT_TRUE(machines::sample_uptime(tx, now(), {}, 100));
            });
            town.harness.clock.advance(machines::sample_every);
        }
    }
};

TEST_F(FiguresOf, AMachineWithoutRentalsHasNoReliability) {
    const auto machine = put_up();
    due_now(machine);
    count();
    const std::string page = item(machine);
    EXPECT_EQ(member(page, "items.0.reliability"), "");
    EXPECT_EQ(member(page, "items.0.uptime_bps"), "");
    EXPECT_EQ(member(page, "items.0.interruption"), "");
}

TEST_F(FiguresOf, ReliabilityIsTheShareOfRentalsThatTheHostDidNotEnd) {
    const auto machine = put_up();
    serve(machine);
    count();
    EXPECT_EQ(figures(machine).rated_jobs, 1);
    EXPECT_EQ(figures(machine).faulted_jobs, 0);
    EXPECT_EQ(member(item(machine), "items.0.reliability.score"), "1");
    EXPECT_EQ(member(item(machine), "items.0.reliability.sample_jobs"), "1");

    const JobId lost = job(machine);
    pass(seconds(310));
    EXPECT_EQ(member(show(ben, lost), "end_reason"), "host_lost");
    count();
    EXPECT_EQ(figures(machine).rated_jobs, 2);
    EXPECT_EQ(figures(machine).faulted_jobs, 1);
}

TEST_F(FiguresOf, AnEndThatNobodyAskedForIsNoGoodJob) {
    const auto machine = put_up();
    const auto serve_until_it_stops = [&](const std::string& what) {
        const JobId id = rent(ben, machine, {.what = what});
        get_ready(id);
        town.harness.clock.advance(seconds(60));
        beat(id, 60'000);
        EXPECT_EQ(tell(id, agent_protocol::JobEventKind::stopped,
                       R"({"container_id":"c1","runtime_ms":"60000","exit_code":0})"),
                  "STOPPED");
        pass(seconds(910));
        clean(id);
        count();
        return id;
    };
    // Its renter may have ended what runs there, so that it says nothing of the host.
    const JobId shell = serve_until_it_stops("");
    EXPECT_EQ(member(show(ben, shell), "end_reason"), "workload_exited");
    EXPECT_EQ(figures(machine).rated_jobs, 0);
    // Nobody but the host can have ended a model.
    const JobId served = serve_until_it_stops(fmt::format(R"("template_id":"{}")", model));
    EXPECT_EQ(member(show(ben, served), "end_reason"), "engine_failed");
    EXPECT_EQ(member(show(ben, served), "failure.code"), "ENGINE_EXITED");
    EXPECT_EQ(figures(machine).rated_jobs, 1);
    EXPECT_EQ(figures(machine).faulted_jobs, 1);
}

// An agent that could not reach us stops what it runs, as it has to.
TEST_F(FiguresOf, AModelThatEndedWithItsLeaseInOurOutageIsNoFaultOfTheHost) {
    const auto machine = put_up();
    const JobId id = rent(ben, machine, {.what = fmt::format(R"("template_id":"{}")", model)});
    get_ready(id);
    town.harness.clock.advance(seconds(900));
    EXPECT_EQ(end(id, 390'000), "STOPPED");
    EXPECT_EQ(find(id).live.accepted_ms, 390'000);
    EXPECT_EQ(member(show(ben, id), "end_reason"), "workload_exited");
    count();
    EXPECT_EQ(figures(machine).rated_jobs, 0);
    EXPECT_EQ(figures(machine).faulted_jobs, 0);
}

TEST_F(FiguresOf, AreKeptByTheDayAndEachRentalIsCountedOnce) {
    const auto machine = put_up();
    serve(machine);
    count();
    serve(machine);
    count();
    due_now(machine);
    count();
    EXPECT_EQ(figures(machine).rated_jobs, 2);
    const auto left = database().read([](db::Transaction& tx) {
        return tx.fetch_value<std::int64_t>(
            "SELECT COUNT(*) FROM jobs WHERE is_counted = 0 AND ended_at IS NOT NULL");
    });
    EXPECT_EQ(left, 0) << "nothing of it is looked at again";
    const auto days = [&] {
        return database()
            .read([](db::Transaction& tx) {
                return tx.fetch_value<std::int64_t>("SELECT COUNT(*) FROM rental_days");
            })
            .value();
    };
    EXPECT_EQ(days(), 1);
    const auto prune = [&] {
        return database().write(
            [&](db::Transaction& tx) { return prune_rental_days(tx, now(), 100); });
    };
    EXPECT_EQ(prune(), 0);
    town.harness.clock.advance(hours(24 * 92));
    EXPECT_EQ(prune(), 1);
    EXPECT_EQ(days(), 0);
}

TEST_F(FiguresOf, ARentalThatNeverBecameReadySaysNothing) {
    const auto machine = put_up();
    const JobId id = rent(ben, machine);
    stop(ben, id);
    count();
    EXPECT_EQ(figures(machine).rated_jobs, 0);
}

TEST_F(FiguresOf, TheRowIsWrittenOnlyWhenAFigureChanged) {
    const auto machine = put_up();
    serve(machine);
    count();
    const auto counted = seen(town.harness, machine.machine_id);
    EXPECT_EQ(counted.figures_due_at, now() + hours(24)) << "it comes again by itself";
    town.harness.clock.advance(hours(24));
    count();
    EXPECT_EQ(seen(town.harness, machine.machine_id).version, counted.version);
    town.harness.clock.advance(hours(24 * 90));
    count();
    EXPECT_EQ(figures(machine).rated_jobs, 0) << "90 days later nothing of it is left";
    EXPECT_EQ(seen(town.harness, machine.machine_id).version, counted.version + 1);
}

TEST_F(FiguresOf, WhatComesInWhileItIsCountedIsCountedAgain) {
    const auto machine = put_up();
    due_now(machine);
    const auto due = database().read(
        [&](db::Transaction& tx) { return machines::find_uncounted(tx, now(), 10); });
    ASSERT_EQ(due.size(), 1U);
    town.harness.clock.advance(seconds(1));
    due_now(machine);
    machines::Figures counted;
    counted.rated_jobs = 7;
    database().write([&](db::Transaction& tx) {
        machines::save_figures({tx, town.harness.random, now()}, due[0], counted);
    });
    EXPECT_EQ(figures(machine).rated_jobs, 0);
    EXPECT_EQ(seen(town.harness, machine.machine_id).figures_due_at, now());
}

TEST_F(FiguresOf, UptimeIsTheShareOfSamplesInWhichTheMachineWasHeard) {
    const auto machine = put_up();
    hear(town.harness, machine.machine_id);
    sample(1);
    sample(3);  // not heard since
    database().write([&](db::Transaction& tx) {
        const auto again = now() - machines::sample_every;
        EXPECT_TRUE(machines::sample_uptime(tx, again + seconds(1), {}, 100));
    });
    due_now(machine);
    count();
    EXPECT_EQ(figures(machine).uptime_bps, std::nullopt) << "too few";
    sample(static_cast<int>(machines::uptime_samples_min) - 4);
    due_now(machine);
    count();
    const std::int64_t once = 10'000 / machines::uptime_samples_min;
    EXPECT_EQ(figures(machine).uptime_bps, once) << "the sample that was taken twice counts once";
    EXPECT_EQ(member(item(machine), "items.0.uptime_bps"), std::to_string(once));
}

TEST_F(FiguresOf, DaysThatCountNoMoreAreForgotten) {
    put_up();
    sample(1);
    const auto prune = [&] {
        return database().write(
            [&](db::Transaction& tx) { return machines::prune_days(tx, now(), 100); });
    };
    EXPECT_EQ(prune(), 0);
    town.harness.clock.advance(hours(24 * 31));
    EXPECT_EQ(prune(), 1);
}

class InterruptionsOf : public FiguresOf {
protected:
    void SetUp() override { town.harness.set("operations.availability_classes_released", "true"); }
    machines::Machine put_up_idle() {
        return put_up(R"(,"availability_class":"interruptible","preemption_notice_s":60)",
                      machines::HostMode::idle);
    }
    // A job that is interrupted when it has run for so long, and all that follows.
    void interrupt_after(const machines::Machine& machine, Duration runs) {
        const JobId id = job(machine);
        town.harness.clock.advance(runs);
        tell(id, agent_protocol::JobEventKind::preempt_notice, R"({"reason":"wanted"})");
        town.harness.clock.advance(seconds(60));
        end(id);
        pass(seconds(910));
        clean(id);
    }
};

TEST_F(InterruptionsOf, AreCountsOfRunsThatCameToTheHorizonOrWereEndedBeforeIt) {
    const auto machine = put_up_idle();
    serve(machine);  // ended by its renter: it says nothing of the host
    count();
    EXPECT_EQ(member(item(machine), "items.0.interruption"), "");
    interrupt_after(machine, hours(1));
    interrupt_after(machine, hours(25));
    count();
    const std::string page = item(machine);
    EXPECT_EQ(member(page, "items.0.interruption.runs"), "2");
    EXPECT_EQ(member(page, "items.0.interruption.uninterrupted"), "1");
    EXPECT_EQ(member(page, "items.0.interruption.horizon_h"), "24");
    EXPECT_EQ(member(page, "items.0.interruption.computed_at"), to_rfc3339(now()));
    EXPECT_EQ(member(page, "items.0.interruption.summary"),
              "1 of 2 runs reached 24 hours without interruption.");
    EXPECT_EQ(member(page, "items.0.reliability.score"), "1") << "a notice is no fault";
}

}  // namespace
}  // namespace berth::test
