#include "base/problem.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/check.hpp"

namespace berth {
namespace {

TEST(Problem, EveryCodeHasItsOwnNameAndAnErrorStatus) {
    std::set<std::string_view> names;
    for (int i = 0; i < code_count; ++i) {
        const auto code = static_cast<Code>(i);
        names.insert(code_name(code));
        EXPECT_GE(code_status(code), 400) << code_name(code);
        EXPECT_LT(code_status(code), 600) << code_name(code);
        for (const char c : code_name(code)) EXPECT_TRUE((c >= 'A' && c <= 'Z') || c == '_');
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(code_count));
}

TEST(Problem, CodesHaveTheStatusThatClientsWerePromised) {
    const std::map<int, std::set<std::string_view>> promised{
        {401, {"UNAUTHENTICATED"}},
        {403, {"FORBIDDEN", "ADMISSION_PAUSED", "AUTHORIZATION_INVALID"}},
        {404, {"NOT_FOUND"}},
        {422, {"INVALID_INPUT"}},
        {409,
         {"IDEMPOTENCY_CONFLICT", "CONFLICT", "VERSION_CONFLICT", "STALE_VERSION", "STALE_FENCE",
          "QUOTE_EXPIRED", "INSUFFICIENT_FUNDS", "STOP_IRREVERSIBLE", "EVENTS_EXPIRED"}},
        {503, {"UNAVAILABLE"}}};
    std::set<std::string_view> of_host_agents{"BUDGET_VERSION_OLDER",
                                              "BUDGET_FUNDING_MISMATCH",
                                              "LEASE_SEQ_REPLAY",
                                              "COMMAND_EXPIRED",
                                              "UNSUPPORTED_PROTOCOL_VERSION",
                                              "UNKNOWN_COMMAND_KIND",
                                              "NO_GATE"};
    std::map<int, std::set<std::string_view>> told;
    for (int i = 0; i < code_count; ++i)
        if (of_host_agents.erase(code_name(Code{i})) == 0)
            told[code_status(Code{i})].insert(code_name(Code{i}));
    EXPECT_EQ(told, promised);
    EXPECT_TRUE(of_host_agents.empty());
}

TEST(Problem, CarriesStatusAndWhetherToTryAgain) {
    const Problem missing(Code::not_found, "no such job");
    EXPECT_EQ(missing.status, 404);
    EXPECT_FALSE(missing.retryable);
    EXPECT_STREQ(missing.what(), "no such job");
    EXPECT_TRUE(Problem(Code::unavailable, "").retryable);
    EXPECT_EQ(Problem(Code::unavailable, "").status, 503);
}

TEST(Problem, RateLimitAndSizeHaveTheirOwnStatus) {
    EXPECT_EQ(Problem::rate_limited().status, 429);
    EXPECT_EQ(Problem::rate_limited().code, Code::unavailable);
    EXPECT_TRUE(Problem::rate_limited().retryable);
    EXPECT_EQ(Problem::too_large("big").status, 413);
    EXPECT_EQ(Problem::too_large("big").code, Code::invalid_input);
}

TEST(Problem, CollectsSiblingsOfTheError) {
    const Problem problem = Problem(Code::version_conflict, "stale")
                                .with_sibling("current", R"({"version":"3"})")
                                .with_sibling("od\"d", "[1]");
    EXPECT_EQ(problem.siblings, R"(,"current":{"version":"3"},"od\"d":[1])");
}

TEST(Require, ThrowsWhatAndWhere) {
    require(true, "nothing happens");
    try {
        require(false, "the sky is up");
        FAIL() << "nothing was thrown";
    } catch (const Bug& bug) {
        const std::string text = bug.what();
        EXPECT_TRUE(text.starts_with("the sky is up (")) << text;
        EXPECT_NE(text.find("problem_test.cpp:"), std::string::npos) << text;
    }
}

TEST(CheckDeathTest, EndsTheProcessAndSaysWhatAndWhere) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    check(true, "nothing happens");
    EXPECT_DEATH(check(false, "the sky is up"), "the sky is up.*problem_test.cpp");
}

}  // namespace
}  // namespace berth
