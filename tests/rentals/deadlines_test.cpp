// The table of deadlines as the code reads it: which of them comes first, from which moment, and
// that the end of the funding is the one that money is reckoned by.
#include "rentals/deadlines.hpp"

#include <gtest/gtest.h>

#include "base/enum_names.hpp"

namespace berth::rentals {
namespace {

using std::chrono::seconds;

constexpr Time began{1'800'000'000'000'000};

JobRow job_in(JobState state) {
    JobRow job;
    job.terms.rate = Micro{3'600'000'000};  // a unit in each second
    job.terms.duration_limit_s = 7200;
    job.terms.available_until = began + seconds(1'000'000);
    job.terms.start_deadline_s = 3600;
    job.live.state = state;
    job.live.budget = Micro{1'000'000'000};
    job.live.waiting_since = began;
    return job;
}

JobRow running() {
    JobRow job = job_in(JobState::RUNNING);
    job.live.meter_started_at = job.live.seen_at = began;
    job.live.funds_low_at = began;  // it is told once; see below
    return job;
}

void expect_due(const JobRow& job, Duration after, Event event, Time up_since = Time{}) {
    const auto due = next_due(job, up_since);
    ASSERT_TRUE(due.has_value());
    EXPECT_EQ((due->at - began).count(), after.count()) << enum_name(due->event);
    EXPECT_EQ(due->event, event) << enum_name(due->event);
}

TEST(JobDeadlines, OfAStartAreItsProgressAndItsTemplate) {
    expect_due(job_in(JobState::RESERVED), seconds(120), Event::start_expired);
    JobRow job = job_in(JobState::STARTING);
    job.live.accepted_at = began;
    expect_due(job, seconds(900), Event::start_overdue);
    job.live.waiting_since = began + seconds(3000);
    expect_due(job, seconds(3600), Event::start_overdue);
}

TEST(JobDeadlines, BeginAgainAfterAnOutageWhereTheAgentIsWaitedFor) {
    expect_due(job_in(JobState::RESERVED), seconds(1120), Event::start_expired,
               began + seconds(1000));
    JobRow job = running();
    job.live.budget = Micro{100'000'000};
    expect_due(job, seconds(100), Event::funded_expiry, began + seconds(1000));
    job.live.budget = Micro{2'000'000'000};
    expect_due(job, seconds(1300), Event::host_lost, began + seconds(1000));
}

TEST(JobDeadlines, OfARunningJobAreWhateverComesFirst) {
    JobRow job = running();
    expect_due(job, seconds(300), Event::host_lost);
    job.live.engine_down_at = began - seconds(1);
    expect_due(job, seconds(299), Event::engine_failed);
    job.terms.available_until = began + seconds(250);
    expect_due(job, seconds(250), Event::availability_ended);
    job.terms.duration_limit_s = 240;
    expect_due(job, seconds(240), Event::duration_limit);
    job.live.budget = Micro{230'000'000};
    expect_due(job, seconds(230), Event::funded_expiry);
    job.live.notice_at = began;
    job.terms.preemption_notice_s = 60;
    job.live.notice_until = time_to_tell(job, Event::preempt_deadline);
    expect_due(job, seconds(60), Event::preempt_deadline);
}

TEST(JobDeadlines, AfterANoticeAreNoLongerThoseOfTheMoney) {
    JobRow job = running();
    job.live.budget = Micro{10'000'000};
    job.terms.available_until = began + seconds(20);
    job.live.notice_until = began + seconds(30);
    expect_due(job, seconds(30), Event::preempt_deadline);
    job.terms.duration_limit_s = 25;
    expect_due(job, seconds(25), Event::duration_limit);
}

TEST(JobDeadlines, OfAStopAreTheHostsOnlyWhereItRan) {
    JobRow job = job_in(JobState::STOPPING);
    job.live.seen_at = began - seconds(200);
    expect_due(job, seconds(300), Event::stop_overdue);
    job.live.meter_started_at = began - seconds(500);
    expect_due(job, seconds(100), Event::host_lost);
}

TEST(JobDeadlines, AfterTheEndAreTheRetrievalAndThenTheCleaning) {
    JobRow job = job_in(JobState::STOPPED);
    EXPECT_FALSE(next_due(job, Time{}).has_value());
    job.live.ended_at = began;
    job.terms.retrieval_min_s = 60;
    for (const auto& [billed_ms, window_s] : {std::pair{0, 60}, {61'000, 61}, {901'000, 900}}) {
        job.live.accepted_ms = billed_ms;
        job.live.retrieval_until = time_to_tell(job, Event::retrieval_over);
        expect_due(job, seconds(window_s), Event::retrieval_over);
    }
    job.live.retrieval_until.reset();
    job.live.clean_sent_at = began + seconds(10);
    expect_due(job, seconds(910), Event::clean_overdue);
    job.live.state = JobState::CLOSED;
    EXPECT_FALSE(next_due(job, Time{}).has_value());
}

// Two ways to the same end, one for the money and one for the table.
TEST(JobDeadlines, EndTheFundingWhereTheMeterDoes) {
    for (const std::int64_t rate : {0, 1, 3'600'000, 7'000'001})
        for (const std::int64_t budget : {1L, 60'000'000L, 7'200'000'000L})
            for (const std::int64_t duration_s : {60, 3600, 7200})
                for (const std::int64_t available_s : {30, 60, 3600, 100'000}) {
                    JobRow job = running();
                    job.live.stood_ms = budget % 1'000 * 40'000;  // what stood is paid for later
                    job.terms.rate = Micro{rate};
                    job.live.budget = Micro{budget};
                    job.terms.duration_limit_s = duration_s;
                    job.terms.available_until = began + seconds(available_s);
                    const FundedThrough end =
                        funded_through(terms_of(job), began, job.live.stood_ms);
                    const auto due = funding_end(job);
                    ASSERT_TRUE(due.has_value());
                    EXPECT_EQ(due->at, end.at);
                    const Event event = end.limit == Limit::funded_expiry ? Event::funded_expiry
                                        : end.limit == Limit::duration_limit
                                            ? Event::duration_limit
                                            : Event::availability_ended;
                    EXPECT_EQ(due->event, event) << enum_name(due->event);
                }
}

// What the budget pays for, less a tenth or five minutes, and no more than half of it.
TEST(JobDeadlines, TellBeforeTheMoneyIsSpentAndOnlyWhereItEndsTheJob) {
    const auto low_after = [](std::int64_t funded_s) {
        JobRow job = running();
        job.live.seen_at = began + seconds(1'000'000);
        job.terms.duration_limit_s = 1'000'000;
        job.live.budget = Micro{funded_s * 1'000'000};
        job.live.funds_low_at.reset();
        return job;
    };
    expect_due(low_after(36'000), seconds(32'400), Event::funds_low);
    expect_due(low_after(1000), seconds(700), Event::funds_low);
    expect_due(low_after(100), seconds(50), Event::funds_low);
    JobRow job = low_after(1000);
    EXPECT_EQ(funding_end(job)->event, Event::funded_expiry);
    EXPECT_EQ(next_change(job, Time{})->event, Event::funded_expiry);
    job.terms.duration_limit_s = 900;
    expect_due(job, seconds(900), Event::duration_limit);
    job = low_after(1000);
    job.live.notice_until = began + seconds(950);
    EXPECT_NE(next_due(job, Time{})->event, Event::funds_low);
    job = low_after(1000);
    job.terms.rate = Micro{};
    EXPECT_NE(next_due(job, Time{})->event, Event::funds_low);
}

TEST(JobDeadlines, EndNoFundingThatHasNotBegun) {
    EXPECT_FALSE(funding_end(job_in(JobState::STARTING)).has_value());
    EXPECT_FALSE(funded_through(job_in(JobState::RESERVED)).has_value());
}

}  // namespace
}  // namespace berth::rentals
