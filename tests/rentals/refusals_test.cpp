// What is not rented, whoever asks: the rules about time, number and ownership.
#include "rentals/market.hpp"
#include "rentals/settings.hpp"

namespace berth::test {
namespace {

class NotRented : public MarketTest {
protected:
    // The offer's window from now on.
    void offer_between(const machines::Machine& machine, int expected, Duration from,
                       Duration until) {
        const auto edited =
            send(ada, "PATCH", "/api/v1/hosts/machines/" + to_string(machine.machine_id) + "/offer",
                 fmt::format(R"({{"expected_version":"{}","rate_micro_per_hour":"{}",)"
                             R"("included_disk_gib":100,"included_egress_gib":1000,)"
                             R"("available_from":"{}","available_until":"{}"}})",
                             expected, rate, to_rfc3339(now() + from), to_rfc3339(now() + until)));
        ASSERT_EQ(edited.status, 202) << edited.body;
    }
    void clean_after_window(JobId job, Duration window) {
        pass(window - seconds(1));
        EXPECT_EQ(state_of(job), JobState::STOPPED);
        EXPECT_FALSE(find(job).live.clean_sent_at);
        pass(seconds(2));
        EXPECT_TRUE(find(job).live.clean_sent_at);
        clean(job);
    }
    // The payload of the START that waits for a machine.
    std::string start_of(const machines::Machine& machine) {
        return database().read([&](db::Transaction& tx) {
            const auto commands = town.harness.app->rentals().lifecycle().commands().waiting(
                tx, machine.machine_id, now());
            return commands.empty() ? "" : commands.back().payload.text;
        });
    }
};

TEST_F(NotRented, IsAnOfferThatHasNotBegunOrEndsWithinTheMinute) {
    const auto machine = put_up();
    offer_between(machine, 1, seconds(1), hours(1));
    EXPECT_EQ(error_code(quote(ben, machine, {})), "CONFLICT") << "not begun";
    offer_between(machine, 2, -seconds(1), seconds(59));
    EXPECT_EQ(error_code(quote(ben, machine, {})), "CONFLICT") << "ends too soon";
    offer_between(machine, 3, Duration{}, seconds(60));
    const auto quoted = quote(ben, machine, {});
    ASSERT_EQ(quoted.status, 201) << quoted.body;
    EXPECT_EQ(member(quoted.body, "estimated_total_micro"), "86400000")
        << "of the whole duration, whatever the budget";
    town.harness.clock.advance(seconds(1));
    EXPECT_EQ(error_code(reserve(ben, member(quoted.body, "quote_id"))), "CONFLICT");
}

TEST_F(NotRented, IsAMachineOfOnesOwn) {
    ada = join(R"(["renter","host"])", 10'000'000);
    const auto quoted = quote(ada, put_up(), {});
    ASSERT_EQ(quoted.status, 201) << quoted.body;
    EXPECT_EQ(error_code(reserve(ada, member(quoted.body, "quote_id"))), "CONFLICT");
    EXPECT_EQ(balances(ada).held, Micro{});
}

TEST_F(NotRented, IsAMachineThatWasNeverMeasuredWhateverIsToRunOnIt) {
    const auto machine = put_up();
    database().write([&](db::Transaction& tx) {
        auto row = machines::hold(tx, machine.machine_id).value();
        row.verification_level = machines::VerificationLevel::unverified;
        machines::save({tx, town.harness.random, now()}, row);
        tx.run("UPDATE machines SET vram_bytes = NULL WHERE machine_id = $1", row.machine_id);
    });
    EXPECT_EQ(error_code(quote(ben, machine, {})), "CONFLICT");
}

TEST_F(NotRented, IsMoreThanTenAtOnceThatHaveNotBeenBilledForFiveMinutes) {
    town.harness.set("operations.starts_open_max", "10");
    std::vector<JobId> jobs;
    for (int i = 0; i < 10; ++i) jobs.push_back(rent(ben, put_up(), {.budget = 900'000}));
    const machines::Machine next = put_up();
    const auto more = [&] {
        const auto quoted = quote(ben, next, {.budget = 900'000});
        return reserve(ben, member(quoted.body, "quote_id"));
    };
    EXPECT_EQ(error_code(more()), "CONFLICT");
    // READY alone does not free anything, nor does an end before the machine is clean.
    get_ready(jobs[0]);
    get_ready(jobs[1]);
    accept(jobs[2]);
    tell(jobs[2], agent_protocol::JobEventKind::exited, R"({"container_id":"c1","exit_code":1})");
    ASSERT_EQ(state_of(jobs[2]), JobState::FAILED);
    stop(ben, jobs[0]);
    end(jobs[0]);
    ASSERT_EQ(state_of(jobs[0]), JobState::STOPPED);
    EXPECT_EQ(error_code(more()), "CONFLICT");
    for (int i = 1; i <= 14; ++i) {
        town.harness.clock.advance(seconds(20));
        beat(jobs[1], i * 20'000);
    }
    EXPECT_EQ(error_code(more()), "CONFLICT") << "billed for 280 s";
    town.harness.clock.advance(seconds(20));
    beat(jobs[1], 300'000);
    EXPECT_EQ(more().status, 202);
}

TEST_F(NotRented, IsMoreWhileTenMachinesAreStillBeingCleaned) {
    town.harness.set("operations.starts_open_max", "10");
    std::vector<JobId> jobs;
    for (int i = 0; i < 10; ++i) jobs.push_back(rent(ben, put_up(), {.budget = 900'000}));
    const machines::Machine next = put_up();
    const auto more = [&] {
        const auto quoted = quote(ben, next, {.budget = 900'000});
        return reserve(ben, member(quoted.body, "quote_id"));
    };
    accept(jobs[2]);
    tell(jobs[2], agent_protocol::JobEventKind::exited, R"({"container_id":"c1","exit_code":1})");
    EXPECT_EQ(error_code(more()), "CONFLICT");
    clean(jobs[2]);
    EXPECT_EQ(more().status, 202);
}

class Griefing : public NotRented {
protected:
    // As a service is started without a word about it.
    void SetUp() override {
        town.harness.set("operations.starts_open_max", "10");
        town.harness.set("operations.funded_time_min_s", "300");
        town.harness.set("operations.unbilled_starts_per_hour", "20");
        town.harness.set("operations.retrieval_min_s", "60");
    }
    http::Response reserved(const Wish& wish) {
        const auto quoted = quote(ben, put_up(), wish);
        EXPECT_EQ(quoted.status, 201) << quoted.body;
        return reserve(ben, member(quoted.body, "quote_id"));
    }
};

TEST(GriefingDefaults, AreOnUnlessAnOperatorTurnsThemOff) {
    const Settings settings;
    EXPECT_EQ(*settings.starts_open_max, 10);
    EXPECT_EQ(*settings.funded_time_min_s, 300);
    EXPECT_EQ(*settings.unbilled_starts_per_hour, 20);
    EXPECT_EQ(*settings.retrieval_min_s, 60);
}

TEST_F(Griefing, ABudgetOfOnePaysForNoMachine) {
    const auto refused = reserved({.budget = 1});
    EXPECT_EQ(error_code(refused), "CONFLICT");
    EXPECT_NE(error_message(refused).find("300 s"), std::string::npos) << refused.body;
    EXPECT_EQ(balances(ben).held, Micro{});
    EXPECT_EQ(error_code(reserved({.budget = 299'999})), "CONFLICT");
    EXPECT_EQ(reserved({.budget = 300'000}).status, 202);
    EXPECT_EQ(error_code(reserved({.budget = 59'999, .duration_s = 60})), "CONFLICT");
    EXPECT_EQ(reserved({.budget = 60'000, .duration_s = 60}).status, 202)
        << "the whole of a short duration";
}

TEST_F(Griefing, StartsThatCostNothingAreCountedByTheHour) {
    const auto start_and_stop = [&] {
        const JobId job = rent(ben, put_up(), {.budget = 400'000});
        accept(job);
        EXPECT_EQ(stop(ben, job).status, 202);
        end(job);
        clean(job);
        EXPECT_EQ(state_of(job), JobState::CLOSED);
    };
    for (int i = 0; i < 19; ++i) start_and_stop();
    town.harness.clock.advance(std::chrono::minutes(30));
    const JobId last = rent(ben, put_up(), {.budget = 400'000});
    EXPECT_EQ(error_code(reserved({.budget = 400'000})), "CONFLICT")
        << "the one that starts may be the twentieth";
    get_ready(last);
    town.harness.clock.advance(seconds(20));
    beat(last, 20'000);
    start_and_stop();
    const auto refused = reserved({.budget = 400'000});
    EXPECT_EQ(error_code(refused), "CONFLICT");
    EXPECT_NE(error_message(refused).find("20"), std::string::npos);
    town.harness.clock.advance(std::chrono::minutes(30));
    EXPECT_EQ(reserved({.budget = 400'000}).status, 202) << "nineteen are an hour ago";
}

TEST_F(Griefing, WhatAHostSpoiltIsNotHeldAgainstTheRenter) {
    for (int i = 0; i < 25; ++i) {
        const JobId job = rent(ben, put_up(), {.budget = 300'000});
        accept(job);
        tell(job, agent_protocol::JobEventKind::exited, R"({"container_id":"c1","exit_code":1})");
        EXPECT_FALSE(find(job).live.unbilled_at) << i;
        clean(job);
    }
    town.harness.set("operations.custom_images_enabled", "true");
    const JobId own = rent(
        ben, put_up(),
        {.budget = 300'000,
         .what = fmt::format(R"("image":"docker.io/library/x@sha256:{}")", std::string(64, 'a'))});
    EXPECT_EQ(find(own).terms.start_deadline_s, 1800);
    accept(own);
    tell(own, agent_protocol::JobEventKind::exited, R"({"container_id":"c1","exit_code":1})");
    EXPECT_TRUE(find(own).live.unbilled_at) << "the image was the renter's own";
}

TEST_F(Griefing, FilesCanBeFetchedForAsLongAsWasBilled) {
    const auto window_after = [&](int billed_s) {
        const JobId job = rent(ben, put_up(), {.budget = 1'500'000});
        get_ready(job);
        for (int i = 20; i <= billed_s; i += 20) {
            town.harness.clock.advance(seconds(20));
            beat(job, i * 1000);
        }
        stop(ben, job);
        end(job);
        const JobLive live = find(job).live;
        EXPECT_EQ(live.state, JobState::STOPPED);
        const Duration window = live.retrieval_until.value() - live.ended_at.value();
        clean_after_window(job, window);
        return window / seconds(1);
    };
    EXPECT_EQ(window_after(0), 60);
    EXPECT_EQ(window_after(40), 60);
    EXPECT_EQ(window_after(200), 200);
    EXPECT_EQ(window_after(1200), 900);
}

TEST_F(Griefing, APullMustBringSomethingWorthTheWait) {
    const auto told = [&](JobId job, std::int64_t done) {
        tell(job, agent_protocol::JobEventKind::progress,
             fmt::format(R"({{"step":"pull","done_bytes":"{}","total_bytes":null}})", done));
    };
    constexpr std::int64_t mib = 1024 * 1024;
    const JobId slow = rent(ben, put_up());
    const JobId steady = rent(ben, put_up());
    accept(slow);
    accept(steady);
    for (int i = 1; i <= 89; ++i) {
        pass(seconds(10));
        told(slow, i * mib);
        told(steady, i * 2 * mib);
    }
    EXPECT_EQ(state_of(slow), JobState::STARTING);
    pass(seconds(10));
    EXPECT_EQ(state_of(slow), JobState::FAILED);
    EXPECT_EQ(member(show(ben, slow), "failure.code"), "PULL_TIMEOUT");
    EXPECT_EQ(state_of(steady), JobState::STARTING);
    // Bytes that came before do not come again, whatever the registry lets be repeated.
    for (int i = 0; i < 60; ++i) {
        pass(seconds(10));
        told(steady, (i % 2) * 150 * mib);
    }
    EXPECT_EQ(state_of(steady), JobState::FAILED);
}

// Of a template that needs it, when the renter says so, and never otherwise.
TEST_F(NotRented, IsAGatedTemplateWithoutTheTokenThatWasPromised) {
    const std::string more = R"(,"use_hub_token":true})";
    const auto rented = [&](const machines::Machine& machine, const std::string& ending) {
        const auto quoted = quote(ben, machine, {});
        std::string body = reserve_body(member(quoted.body, "quote_id"));
        body.replace(body.size() - 1, 1, ending);
        return send(ben, "POST", "/api/v1/jobs", body);
    };
    const auto open = put_up();
    EXPECT_EQ(rented(open, more).status, 202) << "not gated: there is nothing to send";
    EXPECT_EQ(member(start_of(open), "hub_token"), "null");

    database().write([&](db::Transaction& tx) {
        tx.run("UPDATE templates SET gated = 1 WHERE template_id = $1",
               offers::TemplateId{parse_uuid(classical).value()});
    });
    const auto refused = rented(put_up(), more);
    EXPECT_EQ(error_code(refused), "CONFLICT") << refused.body;
    const auto saved =
        send(ben, "PUT", "/api/v1/account/integrations/huggingface", R"({"token":"hf_abcdef"})");
    ASSERT_EQ(saved.status, 200) << saved.body;
    const auto silent = put_up();
    EXPECT_EQ(rented(silent, "}").status, 202);
    EXPECT_EQ(member(start_of(silent), "hub_token"), "null");
    const auto asked = put_up();
    EXPECT_EQ(rented(asked, more).status, 202);
    EXPECT_EQ(member(start_of(asked), "hub_token"), "hf_abcdef");
}

using LogsOfJobs = MarketTest;

TEST_F(LogsOfJobs, AreShownToTheRenterWithoutSecrets) {
    const JobId job = rent(ben, put_up());
    const auto logs = [&](const Person& who) {
        return send(who, "GET", "/api/v1/jobs/" + to_string(job) + "/logs");
    };
    get_ready(job);
    EXPECT_EQ(member(logs(ben).body, "log_tail"), "null");
    EXPECT_EQ(member(logs(ben).body, "at"), "null");
    tell(job, agent_protocol::JobEventKind::usage,
         R"({"runtime_ms":"1","container_id":"c1","boot_id":"boot-1","log_tail":)"
         R"("Authorization: Bearer sk-abcdefghijklmnopqrstuvwxyz\nServing"})");
    EXPECT_EQ(member(logs(ben).body, "at"), to_rfc3339(now()));
    EXPECT_NE(member(logs(ben).body, "log_tail").find("Serving"), std::string::npos);
    EXPECT_EQ(logs(ben).body.find("abcdefghijklmnop"), std::string::npos) << logs(ben).body;
    EXPECT_EQ(logs(join(R"(["renter"])")).status, 404);
}

}  // namespace
}  // namespace berth::test
