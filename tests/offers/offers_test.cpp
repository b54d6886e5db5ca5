// Offers: versions that are only ever added, and who may add the next one.
#include "offers/offers.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <set>

#include "offers/host.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;
using machines::Machine;
using machines::MachineState;

class Offers : public HostOf {};

TEST_F(Offers, TheFirstVersionExpectsZeroAndStartsUnlisted) {
    const Machine m = machine();
    const auto first = edit(m, body("0"));
    ASSERT_EQ(first.status, 202) << first.body;
    EXPECT_EQ(member(first.body, "offer_id"), to_string(m.offer_id));
    EXPECT_EQ(member(first.body, "offer_version"), "1");
    EXPECT_EQ(member(first.body, "state"), "unlisted");
    EXPECT_EQ(member(first.body, "rate_micro_per_hour"), "400000");
    EXPECT_EQ(member(first.body, "included_disk_gib"), "100");
    EXPECT_EQ(member(first.body, "included_egress_gib"), "1000");
    EXPECT_EQ(member(first.body, "availability_class"), "dedicated");
    EXPECT_EQ(member(first.body, "preemption_notice_s"), "null");
    EXPECT_NE(first.body.find(R"("ignored_fields":[])"), std::string::npos) << first.body;
    const auto second = edit(m, body("1"));
    EXPECT_EQ(member(second.body, "offer_version"), "2");
    EXPECT_EQ(seen(town.harness, m.machine_id).offer_version, 2);
}

TEST_F(Offers, AnotherVersionThanTheCurrentOneIsAConflictThatShowsIt) {
    const Machine m = machine();
    const auto none = edit(m, body("1"));
    EXPECT_EQ(none.status, 409);
    EXPECT_EQ(error_code(none), "VERSION_CONFLICT");
    EXPECT_EQ(member(none.body, "current.offer_version"), "0");
    EXPECT_EQ(member(none.body, "current.rate_micro_per_hour"), "null");
    const std::string until = member(edit(m, body("0")).body, "available_until");
    for (const char* wrong : {"0", "2", "9223372036854775807"}) {
        const auto response = edit(m, body(wrong));
        EXPECT_EQ(error_code(response), "VERSION_CONFLICT") << wrong;
        EXPECT_EQ(member(response.body, "current.offer_version"), "1");
        EXPECT_EQ(member(response.body, "current.rate_micro_per_hour"), "400000");
        EXPECT_EQ(member(response.body, "current.available_until"), until);
    }
    EXPECT_EQ(seen(town.harness, m.machine_id).offer_version, 1);
}

TEST_F(Offers, TheEarlierEndCountsAndIsShown) {
    const Machine m = machine();
    const auto earlier = edit(m, body("0", R"(,"listing_expires_at":")" + at(48h) + R"(")"));
    EXPECT_EQ(member(earlier.body, "available_until"), at(48h)) << earlier.body;
    EXPECT_EQ(earlier.body.find("listing_expires_at"), std::string::npos);
    const auto later = edit(m, body("1", R"(,"listing_expires_at":")" + at(2400h) + R"(")"));
    EXPECT_EQ(member(later.body, "available_until"), at(240h));
    EXPECT_EQ(seen(town.harness, m.machine_id).available_until, town.harness.clock.now() + 240h);
}

TEST_F(Offers, DurationsAreTakenAndNamedAsIgnored) {
    const Machine m = machine();
    const auto both = edit(m, body("0", R"(,"min_duration_s":0,"max_duration_s":86400)"));
    EXPECT_NE(both.body.find(R"("ignored_fields":["min_duration_s","max_duration_s"])"),
              std::string::npos)
        << both.body;
    const auto one = edit(m, body("1", R"(,"max_duration_s":1)"));
    EXPECT_NE(one.body.find(R"("ignored_fields":["max_duration_s"])"), std::string::npos);
}

TEST_F(Offers, BadEditsAreRefusedByName) {
    const Machine m = machine();
    const std::string good = body("0");
    const auto replaced = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        const auto where = text.find(from);
        EXPECT_NE(where, std::string::npos) << from;
        return text.replace(where, from.size(), to);
    };
    const std::string window =
        R"("available_from":")" + at(-1h) + R"(","available_until":")" + at(240h) + R"(")";
    const auto times = [&](const std::string& from, const std::string& until) {
        return replaced(window, R"("available_from":)" + from + R"(,"available_until":)" + until);
    };
    struct Case {
        std::string text;
        std::string named;
    };
    const std::string rate = R"("rate_micro_per_hour":"400000")";
    const std::vector<Case> cases{
        {replaced(R"("expected_version":"0",)", ""), "body.expected_version"},
        {replaced(R"("expected_version":"0")", R"("expected_version":0)"), "body.expected_version"},
        {replaced(R"("expected_version":"0")", R"("expected_version":"-1")"),
         "body.expected_version"},
        {replaced(R"("expected_version":"0")", R"("expected_version":"00")"),
         "body.expected_version"},
        {replaced(R"("expected_version":"0")", R"("expected_version":"9223372036854775808")"),
         "body.expected_version"},
        {replaced(rate + ",", ""), "body.rate_micro_per_hour"},
        {replaced(rate, R"("rate_micro_per_hour":400000)"), "body.rate_micro_per_hour"},
        {replaced(rate, R"("rate_micro_per_hour":"4.5")"), "body.rate_micro_per_hour"},
        {replaced(rate, R"("rate_micro_per_hour":"-1")"), "body.rate_micro_per_hour"},
        {replaced(rate, R"("rate_micro_per_hour":"1e6")"), "body.rate_micro_per_hour"},
        {replaced(rate, R"("rate_micro_per_hour":"")"), "body.rate_micro_per_hour"},
        {replaced(R"("included_disk_gib":100)", R"("included_disk_gib":-1)"),
         "body.included_disk_gib"},
        {replaced(R"("included_disk_gib":100)", R"("included_disk_gib":"100")"),
         "body.included_disk_gib"},
        {replaced(R"("included_disk_gib":100)", R"("included_disk_gib":1.5)"),
         "body.included_disk_gib"},
        // Its test found 10^12 bytes free.
        {replaced(R"("included_disk_gib":100)", R"("included_disk_gib":932)"),
         "body.included_disk_gib: must be at most 931"},
        {replaced(R"("included_egress_gib":1000)", R"("included_egress_gib":null)"),
         "body.included_egress_gib"},
        {times(R"("tomorrow")", R"("2030-01-01T00:00:00Z")"), "body.available_from"},
        {times(R"("2030-01-01T00:00:00+02:00")", R"("2031-01-01T00:00:00Z")"),
         "body.available_from"},
        {times(R"("2030-02-30T00:00:00Z")", R"("2031-01-01T00:00:00Z")"), "body.available_from"},
        {times(R"("2030-01-01T00:00:00Z")", R"("2030-01-01T00:00:00Z")"), "body.available_until"},
        {times(R"("2030-01-01T00:00:00Z")", R"("2029-01-01T00:00:00Z")"), "body.available_until"},
        {times(R"("2030-01-01T00:00:00Z")", "5"), "body.available_until"},
        {body("0", R"(,"listing_expires_at":")" + at(-2h) + R"(")"), "body.listing_expires_at"},
        {body("0", R"(,"listing_expires_at":null)"), "body.listing_expires_at"},
        {body("0", R"(,"min_duration_s":-1)"), "body.min_duration_s"},
        {body("0", R"(,"max_duration_s":"60")"), "body.max_duration_s"},
        {body("0", R"(,"availability_class":"spot")"), "body.availability_class"},
        {body("0", R"(,"preemption_notice_s":-1)"), "body.preemption_notice_s"},
        {body("0", R"(,"preemption_notice_s":3601)"), "body.preemption_notice_s"},
        {body("0", R"(,"preemption_notice_s":"60")"), "body.preemption_notice_s"},
        {body("0", R"(,"state":"listed")"), "body.state"},
        {body("0", R"(,"rate_micro_per_hour":"1")"), "body.rate_micro_per_hour"}};
    for (const Case& row : cases) {
        const auto response = edit(m, row.text);
        EXPECT_EQ(response.status, 422) << row.text;
        EXPECT_EQ(error_code(response), "INVALID_INPUT") << row.text;
        EXPECT_NE(error_message(response).find(row.named), std::string::npos)
            << row.named << ": " << response.body;
    }
    for (const char* text : {"", "[]", "null", "{", "\"x\"", "{}"})
        EXPECT_EQ(edit(m, text).status, 422) << text;
    EXPECT_EQ(seen(town.harness, m.machine_id).version, m.version) << "nothing was changed";
    EXPECT_EQ(town.harness
                  .ask({.method = "PATCH",
                        .target = "/api/v1/hosts/machines/mine/offer",
                        .as = ada.key,
                        .key = new_key(),
                        .body = good})
                  .status,
              422);
    EXPECT_EQ(send("PATCH", m, "/offer", good, "not-a-uuid").status, 422);
}

TEST_F(Offers, AFreeOfferAndAPastWindowAreTheHostsOwnBusiness) {
    const Machine m = machine();
    std::string text = body("0");
    text.replace(text.find(R"("400000")"), 8, R"("0")");
    EXPECT_EQ(member(edit(m, text).body, "rate_micro_per_hour"), "0");
    const auto past = edit(
        m, R"({"expected_version":"1","rate_micro_per_hour":"9223372036854775807",)"
           R"("included_disk_gib":0,"included_egress_gib":9007199254740991,)"
           R"("available_from":"2020-01-01T00:00:00Z","available_until":"2020-01-02T00:00:00Z"})");
    EXPECT_EQ(past.status, 202) << past.body;
}

TEST_F(Offers, AClassIsAConflictUntilItIsReleased) {
    const Machine m = machine();
    for (const char* more :
         {R"(,"availability_class":"dedicated")", R"(,"availability_class":"interruptible")",
          R"(,"preemption_notice_s":60)",
          R"(,"availability_class":"interruptible","preemption_notice_s":60)"}) {
        const auto response = edit(m, body("0", more));
        EXPECT_EQ(response.status, 409) << more;
        EXPECT_EQ(error_code(response), "CONFLICT") << more;
    }
    EXPECT_EQ(edit(m, body("0", R"(,"preemption_notice_s":3601)")).status, 422)
        << "what is out of range is told first";
}

TEST_F(Offers, AReleasedClassHasItsNoticeAndKeepsBoth) {
    town.harness.set("operations.availability_classes_released", "true");
    const Machine m = machine();
    const auto notice = [&](const std::string& version, const std::string& more) {
        const auto response = edit(m, body(version, more));
        if (response.status != 202) return std::to_string(response.status);
        return member(response.body, "availability_class") + " " +
               member(response.body, "preemption_notice_s");
    };
    EXPECT_EQ(notice("0", R"(,"availability_class":"interruptible")"), "422");
    EXPECT_EQ(notice("0", R"(,"preemption_notice_s":60)"), "422");
    EXPECT_EQ(notice("0", R"(,"availability_class":"dedicated","preemption_notice_s":60)"), "422");
    EXPECT_EQ(notice("7", R"(,"availability_class":"dedicated","preemption_notice_s":60)"), "422")
        << "what is wrong in itself is wrong whatever the version";
    EXPECT_EQ(notice("0", R"(,"availability_class":"interruptible","preemption_notice_s":0)"),
              "interruptible 0");
    EXPECT_EQ(notice("1", R"(,"preemption_notice_s":3600)"), "interruptible 3600");
    EXPECT_EQ(notice("2", ""), "interruptible 3600");
    EXPECT_EQ(notice("3", R"(,"availability_class":"interruptible")"), "interruptible 3600");
    EXPECT_EQ(seen(town.harness, m.machine_id).availability_class,
              machines::AvailabilityClass::interruptible);
    EXPECT_EQ(notice("4", R"(,"availability_class":"dedicated")"), "dedicated null");
    EXPECT_EQ(notice("5", R"(,"availability_class":"interruptible")"), "422")
        << "the notice went with the class";
    town.harness.set("operations.availability_classes_released", "false");
    EXPECT_EQ(notice("5", ""), "dedicated null");
}

TEST_F(Offers, WhatARentalWasPromisedIsNotTakenBack) {
    const Machine m = machine();
    edit(m, body("0"));
    job.until = town.harness.clock.now() + 240h;
    EXPECT_EQ(edit(m, body("1")).status, 202) << "the same time is enough";
    const auto shorter = edit(m, body("2", R"(,"listing_expires_at":")" + at(239h) + R"(")"));
    EXPECT_EQ(shorter.status, 409);
    EXPECT_EQ(error_code(shorter), "CONFLICT");
    std::string later = body("2");
    later.replace(later.find(at(-1h)), at(-1h).size(), at(1h));
    EXPECT_EQ(error_code(edit(m, later)), "CONFLICT") << "it runs now";
    job.until.reset();
    EXPECT_EQ(edit(m, later).status, 202);
}

TEST_F(Offers, ARepeatedEditGivesTheFirstAnswerAndAddsNothing) {
    const Machine m = machine();
    const std::string key = new_key();
    const auto first = send("PATCH", m, "/offer", body("0"), key);
    EXPECT_EQ(send("PATCH", m, "/offer", body("0"), key).body, first.body);
    const auto other = send("PATCH", m, "/offer", body("1"), key);
    EXPECT_EQ(other.status, 409);
    EXPECT_EQ(error_code(other), "IDEMPOTENCY_CONFLICT");
    EXPECT_EQ(seen(town.harness, m.machine_id).offer_version, 1);
}

TEST_F(Offers, StrangersFindNoMachine) {
    const Machine foreign =
        enrolled(town.harness, host().account, {.state = MachineState::UNLISTED});
    EXPECT_EQ(edit(foreign, body("0")).status, 404);
    EXPECT_EQ(send("POST", foreign, "/list").status, 404);
    EXPECT_EQ(send("POST", foreign, "/unlist").status, 404);
    EXPECT_EQ(send("POST", foreign, "/drain").status, 404);
    EXPECT_EQ(send("PUT", foreign, "/custom-images", R"({"accept":false})").status, 404);
    EXPECT_EQ(send("GET", foreign, "/offers").status, 404);
    EXPECT_EQ(send("GET", foreign, "/offers?cursor=x").status, 422);
    const Machine mine = machine();
    happen(town.harness, mine.machine_id, machines::MachineEvent::retire);
    EXPECT_EQ(edit(mine, body("0")).status, 404) << "it is gone";
}

TEST_F(Offers, VersionsAreKeptAsTheyWereAndPagedNewestFirst) {
    const Machine m = machine();
    for (int i = 0; i < 5; ++i) {
        std::string text = body(std::to_string(i));
        text.replace(text.find(R"("400000")"), 8, fmt::format(R"("{}")", 100 + i));
        ASSERT_EQ(edit(m, text).status, 202);
    }
    std::vector<std::string> rates;
    std::string query = "/offers?limit=2";
    for (int pages = 0; pages < 5; ++pages) {
        const auto page = send("GET", m, query);
        ASSERT_EQ(page.status, 200) << page.body;
        for (int i = 0; i < 2; ++i) {
            const std::string rate =
                member(page.body, fmt::format("items.{}.rate_micro_per_hour", i));
            if (!rate.empty()) rates.push_back(rate);
        }
        const std::string cursor = member(page.body, "next_cursor");
        if (cursor == "null") break;
        query = "/offers?limit=2&cursor=" + cursor;
    }
    EXPECT_EQ(rates, (std::vector<std::string>{"104", "103", "102", "101", "100"}));
    EXPECT_EQ(send("GET", machine(), query).status, 422) << "a cursor belongs to its machine";
    EXPECT_EQ(send("GET", machine(), "/offers").body, R"({"items":[],"next_cursor":null})");
}

TEST_F(Offers, OfTwoHundredEditsAtOnceOneWins) {
    const Machine m = machine();
    constexpr int racers = 200;
    std::atomic<int> won{0};
    std::atomic<int> late{0};
    std::latch together(racers);
    std::vector<std::thread> threads;
    const std::string text = body("0");
    for (int i = 0; i < racers; ++i)
        threads.emplace_back([&] {
            const std::string key = new_key();
            together.arrive_and_wait();
            const auto response = send("PATCH", m, "/offer", text, key);
            if (response.status == 202) ++won;
            if (error_code(response) == "VERSION_CONFLICT") ++late;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(won, 1);
    EXPECT_EQ(late, racers - 1);
    EXPECT_EQ(seen(town.harness, m.machine_id).offer_version, 1);
}

TEST_F(Offers, EachVersionIsWonOnceWhenAllTryAgain) {
    town.harness.set("operations.rate_account_per_minute", "1000000");
    const Machine m = machine();
    constexpr int editors = 10;
    constexpr int edits_each = 10;
    std::mutex won_mutex;
    std::multiset<std::string> won;
    std::vector<std::thread> threads;
    for (int i = 0; i < editors; ++i)
        threads.emplace_back([&] {
            std::string version = "0";
            for (int done = 0; done < edits_each;) {
                const auto response = edit(m, body(version));
                if (response.status == 202) {
                    version = member(response.body, "offer_version");
                    const std::lock_guard lock(won_mutex);
                    won.insert(version);
                    ++done;
                } else if (error_code(response) == "VERSION_CONFLICT") {
                    version = member(response.body, "current.offer_version");
                } else {
                    ADD_FAILURE() << response.body;
                    return;
                }
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(won.size(), std::size_t{editors * edits_each});
    EXPECT_EQ(std::set(won.begin(), won.end()).size(), won.size());
    EXPECT_EQ(seen(town.harness, m.machine_id).offer_version, editors * edits_each);
}

}  // namespace
}  // namespace berth::test
