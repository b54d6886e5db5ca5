// Routes that ask the outside between two transactions.
#include <gtest/gtest.h>

#include "support/harness.hpp"

namespace berth::test {
namespace {

struct Question {
    wire::Text<1, 20> question;
};
BOOST_DESCRIBE_STRUCT(Question, (), (question))

struct Reply {
    std::string reply;
};
BOOST_DESCRIBE_STRUCT(Reply, (), (reply))

class Asking : public ::testing::Test {
protected:
    // A route on a service of its own, beside the app's: the harness brings the database.
    Asking() {
        router.add_asking(
            {.method = "POST",
             .path = "/ask",
             .name = "ask",
             .group = "test",
             .summary = "Asks.",
             .access = api::Access::renter,
             .work = api::Work::write,
             .idempotent = true,
             .errors = {Code::not_found, Code::unavailable}},
            [this](api::Call& call,
                   const api::Body<Question>& body) -> std::function<std::string()> {
                call.tx().run("SELECT 1");
                ++prepared;
                if (body->question.value == "unknown")
                    throw Problem(Code::not_found, "no such thing");
                return [this, question = body->question.value] {
                    ++asked;
                    harness.clock.advance(seconds_to_answer);
                    if (away) throw Problem(Code::unavailable, "nobody answers");
                    // No transaction is open here: one more may be.
                    harness.app->database().read([](db::Transaction& tx) { tx.run("SELECT 1"); });
                    return "about " + question;
                };
            },
            [this](api::Call& call, const std::string& heard, const api::Body<Question>&) {
                ++handled;
                handled_at = call.now;
                return Reply{heard};
            });
    }
    http::Response ask(const std::string& question, const std::string& key) {
        api::Service service({router,
                              harness.app->database(),
                              {.accounts = &callers},
                              harness.clock,
                              harness.random,
                              Bytes(32, 'c'),
                              metrics,
                              harness.app->settings()});
        return service.answer(make_request({.method = "POST",
                                            .target = "/ask",
                                            .as = "renter " + me,
                                            .key = key,
                                            .body = R"({"question":")" + question + "\"}"}));
    }

    Harness harness;
    api::Router router;
    api::Metrics metrics;
    BankCallers callers;
    std::string me = harness.new_id();
    int prepared = 0;
    int asked = 0;
    int handled = 0;
    Time handled_at;
    std::chrono::seconds seconds_to_answer{0};
    bool away = false;
};

// Whoever is slow to answer must not gain or lose the time that it took.
TEST_F(Asking, WhatFollowsHappensWhenTheAnswerCame) {
    seconds_to_answer = std::chrono::seconds(9);
    const Time before = harness.clock.now();
    EXPECT_EQ(ask("prices", harness.new_id()).status, 200);
    EXPECT_EQ(handled_at, before + seconds_to_answer);
}

TEST_F(Asking, WhatWasLearnedReachesTheHandler) {
    const auto answer = ask("prices", harness.new_id());
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.body, R"({"reply":"about prices"})");
}

TEST_F(Asking, AStoredAnswerIsRepeatedWithoutAskingAgain) {
    const std::string key = harness.new_id();
    const auto first = ask("prices", key);
    away = true;
    EXPECT_EQ(ask("prices", key).body, first.body);
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(handled, 1);
    EXPECT_EQ(ask("weather", key).status, 409);
    EXPECT_EQ(asked, 1);
}

TEST_F(Asking, WhatCanBeRefusedFromOurOwnRecordsIsRefusedWithoutAsking) {
    EXPECT_EQ(ask("unknown", harness.new_id()).status, 404);
    EXPECT_EQ(asked, 0);
}

TEST_F(Asking, WhenNobodyAnswersNothingIsDoneAndTheKeyCanBeUsedAgain) {
    const std::string key = harness.new_id();
    away = true;
    EXPECT_EQ(ask("prices", key).status, 503);
    EXPECT_EQ(handled, 0);
    away = false;
    EXPECT_EQ(ask("prices", key).status, 200);
    EXPECT_EQ(handled, 1);
}

}  // namespace
}  // namespace berth::test
