// What a host reads of the rentals on its machines, and how it takes a machine back.
#include "machines/figures.hpp"
#include "rentals/market.hpp"

namespace berth::test {
namespace {

class HostsRentals : public MarketTest {
protected:
    std::string list(const Person& who, const std::string& query = "") {
        const auto answer = send(who, "GET", "/api/v1/hosts/rentals" + query);
        EXPECT_EQ(answer.status, 200) << answer.body;
        return answer.body;
    }
    static std::string place(const machines::Machine& machine) {
        return "/api/v1/hosts/machines/" + to_string(machine.machine_id);
    }
    std::string detail(const machines::Machine& machine) {
        return send(ada, "GET", place(machine)).body;
    }
    http::Response take_back(const Person& who, const machines::Machine& machine,
                             const std::string& body = R"({"reason":"I need it"})") {
        return send(who, "POST", place(machine) + "/preempt", body);
    }
    machines::Machine put_up_interruptible() {
        town.harness.set("operations.availability_classes_released", "true");
        return put_up(R"(,"availability_class":"interruptible","preemption_notice_s":120)",
                      machines::HostMode::idle);
    }
    void sample(int times) {
        for (int i = 0; i < times; ++i) {
            database().write(
                [&](db::Transaction& tx) { machines::sample_uptime(tx, now(), {}, 100); });
            town.harness.clock.advance(machines::sample_every);
        }
    }
};

TEST_F(HostsRentals, AreListedWithWhatTheyEarned) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    EXPECT_EQ(member(list(ada), "items.0.ready"), "false");
    EXPECT_EQ(member(list(ada), "items.0.end_reason"), "null");
    get_ready(job);
    town.harness.clock.advance(seconds(40));
    beat(job, 40'000);
    stop(ben, job, R"(,"skip_retrieval":true)");
    end(job, 40'000);
    clean(job);
    const std::string page = list(ada);
    EXPECT_EQ(member(page, "items.0.job_id"), to_string(job));
    EXPECT_EQ(member(page, "items.0.machine_id"), to_string(machine.machine_id));
    EXPECT_EQ(member(page, "items.0.state"), "CLOSED");
    EXPECT_EQ(member(page, "items.0.end_reason"), "renter_stop");
    EXPECT_EQ(member(page, "items.0.ready"), "true");
    EXPECT_EQ(member(page, "items.0.metered_ms"), "40000");
    EXPECT_EQ(member(page, "items.0.earned_micro"), "36000");
    EXPECT_NE(member(page, "items.0.ended_at"), "null");
    EXPECT_EQ(member(detail(machine), "recent_jobs.0.end_reason"), "renter_stop");
}

TEST_F(HostsRentals, SayNothingOfWhoRents) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    get_ready(job);
    for (const std::string& shown : {list(ada), detail(machine)}) {
        EXPECT_NE(shown.find(to_string(job)), std::string::npos);
        EXPECT_EQ(shown.find(to_string(ben.account)), std::string::npos) << shown;
        EXPECT_EQ(shown.find("renter_id"), std::string::npos);
    }
}

TEST_F(HostsRentals, AreOfOnesOwnMachinesAlone) {
    const auto first = put_up();
    const JobId one = rent(ben, first);
    town.harness.clock.advance(seconds(1));
    const auto second = put_up();
    const JobId two = rent(ben, second);
    const Person eve = join(R"(["host"])");
    EXPECT_EQ(member(list(eve), "items"), "[]");
    const std::string other = "?machine_id=" + to_string(first.machine_id);
    EXPECT_EQ(member(list(eve, other), "items"), "[]");
    EXPECT_EQ(member(list(ada, other), "items.0.job_id"), to_string(one));
    EXPECT_EQ(member(list(ada, other), "items.1.job_id"), "");
    const std::string page = list(ada, "?limit=1");
    EXPECT_EQ(member(page, "items.0.job_id"), to_string(two)) << "newest first";
    const std::string cursor = "&cursor=" + member(page, "next_cursor");
    EXPECT_EQ(member(list(ada, "?limit=1" + cursor), "items.0.job_id"), to_string(one));
    for (const std::string bad : {"?limit=0", "?machine_id=mine", "?cursor=AAAA"})
        EXPECT_EQ(send(ada, "GET", "/api/v1/hosts/rentals" + bad).status, 422) << bad;
    EXPECT_EQ(send(ada, "GET", "/api/v1/hosts/rentals" + other + cursor).status, 422)
        << "the cursor of another list";
    EXPECT_EQ(send(ben, "GET", "/api/v1/hosts/rentals").status, 403);
}

TEST_F(HostsRentals, GetNoticeByTheirOwner) {
    const auto machine = put_up_interruptible();
    EXPECT_EQ(error_code(take_back(ada, machine)), "CONFLICT") << "nothing is rented";
    const JobId job = rent(ben, machine);
    EXPECT_EQ(error_code(take_back(ada, machine)), "CONFLICT") << "it has not come up";
    get_ready(job);
    town.harness.clock.advance(seconds(30));
    beat(job, 30'000);
    const auto given = take_back(ada, machine, R"({"reason":"key sk-abcdefghijklmnopqrstuvwx"})");
    ASSERT_EQ(given.status, 202) << given.body;
    EXPECT_EQ(member(given.body, "job_id"), to_string(job));
    EXPECT_EQ(member(given.body, "notice_at"), to_rfc3339(now()));
    EXPECT_EQ(member(given.body, "deadline_at"), to_rfc3339(now() + seconds(120)));
    EXPECT_EQ(member(show(ben, job), "preemption.deadline_at"), member(given.body, "deadline_at"));
    EXPECT_EQ(error_code(take_back(ada, machine)), "CONFLICT") << "once is enough";

    const std::string told =
        send(ben, "GET", "/api/v1/jobs/" + to_string(job) + "/evidence?limit=100").body;
    EXPECT_NE(told.find(R"("kind":"PREEMPT_NOTICE","source":"server")"), std::string::npos) << told;
    town.harness.clock.advance(seconds(60));
    beat(job, 90'000);
    EXPECT_EQ(find(job).live.accepted_ms, 30'000) << "nothing after the notice is billed";
    pass(seconds(61));
    EXPECT_EQ(member(show(ben, job), "end_reason"), "preempted");
    end(job, 120'000);
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 30'000});
}

TEST_F(HostsRentals, AreNotTakenBackWhereTheyAreDedicatedOrAnothers) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    get_ready(job);
    EXPECT_EQ(error_code(take_back(ada, machine)), "CONFLICT");
    const Person eve = join(R"(["host"])");
    EXPECT_EQ(take_back(eve, machine).status, 404);
    EXPECT_EQ(take_back(ben, machine).status, 403);
    for (const std::string bad : {"{}", R"({"reason":""})", R"({"reason":7})"}) {
        const auto refused = take_back(ada, machine, bad);
        EXPECT_EQ(refused.status, 422) << bad;
        EXPECT_NE(error_message(refused).find("body.reason"), std::string::npos);
    }
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    EXPECT_EQ(member(show(ben, job), "preemption"), "null");
}

TEST_F(HostsRentals, FillHoursThatAreCounted) {
    const auto machine = put_up();
    const std::string before = detail(machine);
    EXPECT_EQ(member(before, "hours.window_days"), "30");
    EXPECT_EQ(member(before, "hours.observed_ms"), "0");
    EXPECT_EQ(member(before, "hours.rented_bps"), "null");
    EXPECT_EQ(member(before, "hours.listed_bps"), "null");
    sample(2);
    const JobId job = rent(ben, machine);
    get_ready(job);
    sample(1);
    stop(ben, job, R"(,"skip_retrieval":true)");
    end(job, 0);
    clean(job);
    EXPECT_EQ(send(ada, "POST", place(machine) + "/unlist").status, 202);
    sample(1);
    const std::string after = detail(machine);
    EXPECT_EQ(member(after, "hours.observed_ms"), "1200000");
    EXPECT_EQ(member(after, "hours.listed_ms"), "900000");
    EXPECT_EQ(member(after, "hours.rented_ms"), "300000");
    EXPECT_EQ(member(after, "hours.listed_bps"), "7500");
    EXPECT_EQ(member(after, "hours.rented_bps"), "3333");
    town.harness.clock.advance(hours(24 * 31));
    EXPECT_EQ(member(detail(machine), "hours.observed_ms"), "0") << "out of the window";
}

}  // namespace
}  // namespace berth::test
