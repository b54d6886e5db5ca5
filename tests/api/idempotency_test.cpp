// An Idempotency-Key makes a request safe to repeat, race and lose.
#include <gtest/gtest.h>

#include <latch>

#include "api/idempotency.hpp"
#include "support/harness.hpp"

namespace berth::test {
namespace {

class Idempotency : public ::testing::Test {
protected:
    Ask deposit(std::string key, std::string body = R"({"amount_micro":"5"})") {
        return {.method = "POST",
                .target = "/test/deposits",
                .as = "renter " + me,
                .key = std::move(key),
                .body = std::move(body)};
    }
    std::string balance() {
        return harness.ask({.target = "/test/accounts/" + me, .as = "renter " + me}).body;
    }
    std::string balance_of(const char* amount) {
        return R"({"account_id":")" + me + R"(","balance_micro":")" + amount + R"("})";
    }

    Harness harness;
    std::string me = harness.new_id();
};

TEST_F(Idempotency, TheSameRequestAgainGivesTheFirstAnswerAndNoSecondEffect) {
    const std::string key = harness.new_id();
    const auto first = harness.ask(deposit(key));
    harness.clock.advance(std::chrono::hours(1));
    const auto second = harness.ask(deposit(key));
    EXPECT_EQ(first.status, 201);
    EXPECT_EQ(second.status, 201);
    EXPECT_EQ(first.body, second.body);
    EXPECT_EQ(balance(), balance_of("5"));
}

TEST_F(Idempotency, AnotherSpellingOfTheSameJsonIsTheSameRequest) {
    const std::string key = harness.new_id();
    harness.ask(deposit(key));
    EXPECT_EQ(harness.ask(deposit(key, "{ \"amount_micro\" : \"\\u0035\" }")).status, 201);
    EXPECT_EQ(balance(), balance_of("5"));
}

TEST_F(Idempotency, AnUnknownQueryParameterIsNoPartOfTheRequest) {
    const std::string key = harness.new_id();
    harness.ask(deposit(key));
    Ask query = deposit(key);
    query.target += "?utm_source=mail";
    EXPECT_EQ(harness.ask(query).status, 201);
    EXPECT_EQ(balance(), balance_of("5"));
}

TEST_F(Idempotency, TheLetterCaseOfAnIdIsNoPartOfTheRequest) {
    const auto upper = [](std::string text) {
        for (char& c : text)
            if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 32);
        return text;
    };
    harness.ask(deposit(harness.new_id()));
    const std::string key = harness.new_id();
    const std::string other = harness.new_id();
    Ask move{.method = "POST",
             .target = "/test/transfers",
             .as = "renter " + me,
             .key = key,
             .body = R"({"to":")" + other + R"(","amount_micro":"2"})"};
    EXPECT_EQ(harness.ask(move).status, 202);
    move.body = R"({"amount_micro":"2","to":")" + upper(other) + R"("})";
    EXPECT_EQ(harness.ask(move).status, 202);
    EXPECT_EQ(balance(), balance_of("3"));

    Ask close{
        .method = "DELETE", .target = "/test/accounts/" + me, .as = "admin " + me, .key = key};
    EXPECT_EQ(harness.ask(close).status, 204);
    close.target = "/test/accounts/" + upper(me);
    EXPECT_EQ(harness.ask(close).status, 204);
    close.target = "/test/accounts/" + other;
    EXPECT_EQ(harness.ask(close).status, 409);
}

TEST_F(Idempotency, TheSameKeyWithAnotherBodyIsAConflict) {
    const std::string key = harness.new_id();
    harness.ask(deposit(key));
    const auto other = harness.ask(deposit(key, R"({"amount_micro":"6"})"));
    EXPECT_EQ(other.status, 409);
    EXPECT_EQ(error_code(other), "IDEMPOTENCY_CONFLICT");
    EXPECT_EQ(balance(), balance_of("5"));
}

TEST_F(Idempotency, KeysOfAnotherAccountOrRouteAreApart) {
    const std::string key = harness.new_id();
    harness.ask(deposit(key));
    Ask other = deposit(key);
    other.as = "renter " + harness.new_id();
    EXPECT_EQ(harness.ask(other).status, 201);
    EXPECT_EQ(
        harness.ask({.method = "POST", .target = "/test/claims", .as = "renter " + me, .key = key})
            .status,
        202);
}

TEST_F(Idempotency, TheKeyIsTheSameInUpperCase) {
    std::string key = harness.new_id();
    harness.ask(deposit(key));
    for (char& c : key)
        if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 32);
    EXPECT_EQ(harness.ask(deposit(key)).status, 201);
    EXPECT_EQ(balance(), balance_of("5"));
}

TEST_F(Idempotency, ARefusalIsNotStored) {
    const std::string key = harness.new_id();
    const Ask transfer{.method = "POST",
                       .target = "/test/transfers",
                       .as = "renter " + me,
                       .key = key,
                       .body = R"({"amount_micro":"3","to":")" + harness.new_id() + "\"}"};
    EXPECT_EQ(error_code(harness.ask(transfer)), "INSUFFICIENT_FUNDS");
    harness.ask(deposit(harness.new_id()));
    EXPECT_EQ(harness.ask(transfer).status, 202);
    EXPECT_EQ(balance(), balance_of("2"));
}

TEST_F(Idempotency, AnAnswerThatIsNotFinalIsNotStored) {
    const Ask claim{
        .method = "POST", .target = "/test/claims", .as = "renter " + me, .key = harness.new_id()};
    EXPECT_EQ(harness.ask(claim).body, R"({"state":"PENDING"})");
    harness.controls->claims_confirm = true;
    EXPECT_EQ(harness.ask(claim).body, R"({"state":"CONFIRMED"})");
    harness.controls->claims_confirm = false;
    EXPECT_EQ(harness.ask(claim).body, R"({"state":"CONFIRMED"})");
}

TEST_F(Idempotency, AReplayDoesNotRepeatASecretNorStoresIt) {
    const Ask issue{.method = "POST",
                    .target = "/test/keys",
                    .as = "session " + me,
                    .key = harness.new_id(),
                    .body = R"({"name":"ci"})"};
    const auto first = harness.ask(issue);
    EXPECT_NE(first.body.find("ark_"), std::string::npos);
    EXPECT_EQ(harness.ask(issue).body, R"({"name":"ci","secret":null})");
    const auto stored = harness.app->database().read([](db::Transaction& tx) {
        return tx.run("SELECT response FROM idempotency_keys")[0].get<std::string>(0);
    });
    EXPECT_EQ(stored.find("ark_"), std::string::npos);
}

TEST_F(Idempotency, TheCredentialIsCheckedBeforeAReplay) {
    Ask request = deposit(harness.new_id());
    harness.ask(request);
    request.as = "";
    EXPECT_EQ(harness.ask(request).status, 401);
    request.as = "host " + me;
    EXPECT_EQ(harness.ask(request).status, 403);
}

TEST_F(Idempotency, AnAnswerWithoutABodyIsRepeatedToo) {
    const Ask close{.method = "DELETE",
                    .target = "/test/accounts/" + me,
                    .as = "admin " + me,
                    .key = harness.new_id()};
    EXPECT_EQ(harness.ask(close).status, 204);
    EXPECT_EQ(harness.ask(close).status, 204);
}

TEST_F(Idempotency, ThirtyTwoTwinsHaveOneEffectAndEqualAnswers) {
    constexpr std::size_t twins = 32;
    constexpr int rounds = 8;
    for (int round = 0; round < rounds; ++round) {
        const Ask request = deposit(harness.new_id());
        std::vector<http::Response> answers(twins);
        std::latch start(twins);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < twins; ++i)
            threads.emplace_back([&, i] {
                start.arrive_and_wait();
                answers[i] = harness.app->service().answer(make_request(request));
            });
        for (std::thread& thread : threads) thread.join();
        for (const http::Response& answer : answers) {
            EXPECT_EQ(answer.status, 201) << answer.body;
            EXPECT_EQ(answer.body, answers[0].body);
        }
    }
    EXPECT_EQ(balance(), balance_of("40"));
}

TEST_F(Idempotency, OldKeysArePrunedAndYoungOnesKept) {
    harness.ask(deposit(harness.new_id()));
    harness.clock.advance(api::idempotency_kept + std::chrono::seconds(1));
    harness.ask(deposit(harness.new_id()));
    while (harness.app->worker().run_one()) {
    }
    const auto left = harness.app->database().read([](db::Transaction& tx) {
        return tx.run("SELECT COUNT(*) FROM idempotency_keys")[0].get<int>(0);
    });
    EXPECT_EQ(left, 1);
}

}  // namespace
}  // namespace berth::test
