// Where money may go: addresses that their owner confirmed, and codes for one transfer each.
#include <gtest/gtest.h>

#include "funding/store.hpp"
#include "transfers/paying_town.hpp"

namespace berth::test {
namespace {

using WithdrawalAddresses = PayingTown;
using WithdrawalCodes = PayingTown;

TEST_F(WithdrawalAddresses, ANewOneWaitsForItsMailedLink) {
    Browser ada = person("ada@example.org");
    const auto asked = post(ada, "/api/v1/withdrawal-addresses",
                            R"({"address":"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",)"
                            R"("network":"base","label":"Cold"})");
    EXPECT_EQ(asked.status, 202);
    EXPECT_EQ(member(asked.body, "state"), "AWAITING_EMAIL_CONFIRMATION");
    EXPECT_NE(member(asked.body, "confirmation_id"), "");
    const auto listed = ada.send("GET", "/api/v1/withdrawal-addresses").body;
    EXPECT_EQ(member(listed, "items.0.state"), "AWAITING_EMAIL_CONFIRMATION");
    EXPECT_EQ(member(listed, "items.0.address"), somewhere);

    const auto link = town.link_to("ada@example.org");
    // Opening the link confirms nothing: only the button's request does.
    EXPECT_EQ(town.harness.ask({.target = link.path}).status, 200);
    EXPECT_EQ(member(ada.send("GET", "/api/v1/withdrawal-addresses").body, "items.0.state"),
              "AWAITING_EMAIL_CONFIRMATION");
    std::string wrong = link.token;
    wrong[10] = wrong[10] == 'a' ? 'b' : 'a';
    EXPECT_EQ(error_code(confirm(link, wrong)), "AUTHORIZATION_INVALID");
    const auto confirmed = confirm(link);
    EXPECT_EQ(confirmed.status, 200) << confirmed.body;
    EXPECT_EQ(member(confirmed.body, "state"), "SAVED");
    EXPECT_EQ(error_code(confirm(link)), "AUTHORIZATION_INVALID");
    EXPECT_EQ(member(ada.send("GET", "/api/v1/withdrawal-addresses").body, "items.0.state"),
              "SAVED");

    const auto again = post(ada, "/api/v1/withdrawal-addresses", wish("1").substr(0, 55) + "}");
    EXPECT_EQ(member(again.body, "state"), "SAVED") << again.body;
    EXPECT_EQ(member(again.body, "confirmation_id"), "");
}

TEST_F(WithdrawalAddresses, ALinkThatIsTooOldConfirmsNothing) {
    Browser ada = person("ada@example.org");
    post(ada, "/api/v1/withdrawal-addresses", R"({"address":")" + std::string(somewhere) + "\"}");
    const auto link = town.link_to("ada@example.org");
    town.harness.clock.advance(std::chrono::hours(24));
    EXPECT_EQ(error_code(confirm(link)), "AUTHORIZATION_INVALID");
    town.run_tasks();
    Browser later = town.person("ada@example.org");
    EXPECT_EQ(later.send("GET", "/api/v1/withdrawal-addresses").body, R"({"items":[]})");
}

TEST_F(WithdrawalAddresses, AnAccountWithAnAuthenticatorSendsItsCode) {
    Browser ada = person("ada@example.org");
    ada.enroll();
    const std::string body = R"({"address":")" + std::string(somewhere) + "\"";
    EXPECT_EQ(error_code(post(ada, "/api/v1/withdrawal-addresses", body + "}")), "FORBIDDEN");
    EXPECT_EQ(
        error_code(post(ada, "/api/v1/withdrawal-addresses", body + with_code("000000") + "}")),
        "AUTHORIZATION_INVALID");
    const auto good = post(ada, "/api/v1/withdrawal-addresses", body + with_code(ada.code()) + "}");
    EXPECT_EQ(good.status, 202) << good.body;
}

TEST_F(WithdrawalAddresses, RemovingOneCallsOffWhatWaitsForIt) {
    Browser ada = person("ada@example.org");
    const std::string code = code_for(ada, "ada@example.org", code_wish("500"));
    const auto parked = post(ada, "/api/v1/withdrawals", wish("500", with_code(code)));
    ASSERT_EQ(member(parked.body, "state"), "AWAITING_EMAIL_CONFIRMATION") << parked.body;
    const auto link = town.link_to("ada@example.org");
    const std::string path = "/api/v1/withdrawal-addresses/" + member(parked.body, "address_id");
    EXPECT_EQ(ada.send("DELETE", path, "", town.harness.new_id()).status, 403);
    ada.step_up("account-sensitive");
    EXPECT_EQ(ada.send("DELETE", path, "", town.harness.new_id()).status, 204);
    EXPECT_EQ(error_code(confirm(link)), "AUTHORIZATION_INVALID");
    EXPECT_EQ(member(ada.send("GET", "/api/v1/withdrawals").body, "items.0.state"), "CANCELLED");
    EXPECT_EQ(balance(ada), "10000000");
}

TEST_F(WithdrawalAddresses, BadOnesAreRefused) {
    Browser ada = person("ada@example.org");
    for (const std::string address : {"", "0x", "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
                                      "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD",
                                      "0x0000000000000000000000000000000000000000",
                                      "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"}) {
        const auto answer =
            post(ada, "/api/v1/withdrawal-addresses", R"({"address":")" + address + "\"}");
        EXPECT_EQ(answer.status, 422) << address;
        EXPECT_NE(error_message(answer).find("body.address"), std::string::npos);
    }
    for (const std::string more : {R"(,"network":"ethereum")", R"(,"label":"")",
                                   R"(,"code":"12345")", R"(,"code":"abcdef")", R"(,"extra":1)"})
        EXPECT_EQ(post(ada, "/api/v1/withdrawal-addresses",
                       R"({"address":")" + std::string(somewhere) + "\"" + more + "}")
                      .status,
                  422)
            << more;
}

// What is sent there comes back to us without an owner.
TEST_F(WithdrawalAddresses, ATreasuryOfEarlierDaysIsRefused) {
    Browser ada = person("ada@example.com");
    town.harness.app->database().write([](db::Transaction& tx) {
        funding::watch(tx, {crypto::parse_address(elsewhere).value(),
                            crypto::parse_address("0x" + std::string(40, '2')).value()});
    });
    const auto saved = post(ada, "/api/v1/withdrawal-addresses",
                            R"({"address":")" + std::string(elsewhere) + "\"}");
    EXPECT_EQ(error_code(saved), "INVALID_INPUT") << saved.body;
    const auto coded = ada.send("POST", "/api/v1/withdrawals/code",
                                code_wish("1000000", "withdrawal", "", elsewhere));
    EXPECT_EQ(error_code(coded), "INVALID_INPUT") << coded.body;
}

TEST_F(WithdrawalCodes, ACodeIsForOneTransferAlone) {
    Browser ada = person("ada@example.org");
    save(ada, "ada@example.org");
    save(ada, "ada@example.org", elsewhere);
    const std::string code = code_for(ada, "ada@example.org", code_wish("500"));
    const std::vector<std::pair<std::string, std::string>> other{
        {"/api/v1/withdrawals", wish("501", with_code(code))},
        {"/api/v1/withdrawals", wish("500", with_code(code), elsewhere)},
        {"/api/v1/withdrawals", wish("500", with_code(code) + R"(,"asset":"USDT")")}};
    for (const auto& [target, body] : other) {
        const auto answer = post(ada, target, body);
        EXPECT_EQ(error_code(answer), "AUTHORIZATION_INVALID") << body;
    }
    const std::string of_payout = code_for(ada, "ada@example.org", code_wish("500", "payout"));
    EXPECT_EQ(error_code(post(ada, "/api/v1/withdrawals", wish("500", with_code(of_payout)))),
              "AUTHORIZATION_INVALID");
    const auto good = post(ada, "/api/v1/withdrawals", wish("500", with_code(code)));
    EXPECT_EQ(good.status, 202) << good.body;
    EXPECT_EQ(member(good.body, "state"), "INTENT");
    EXPECT_EQ(error_code(post(ada, "/api/v1/withdrawals", wish("500", with_code(code)))),
              "AUTHORIZATION_INVALID");
    EXPECT_EQ(balance(ada), "9999500");
    EXPECT_EQ(balance(ada, "pending_micro"), "500");
}

TEST_F(WithdrawalCodes, FiveWrongTriesSpoilACode) {
    Browser ada = person("ada@example.org");
    save(ada, "ada@example.org");
    const std::string code = code_for(ada, "ada@example.org", code_wish("500"));
    const std::string wrong = code == "111111" ? "222222" : "111111";
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(error_code(post(ada, "/api/v1/withdrawals", wish("500", with_code(wrong)))),
                  "AUTHORIZATION_INVALID");
    EXPECT_EQ(error_code(post(ada, "/api/v1/withdrawals", wish("500", with_code(code)))),
              "AUTHORIZATION_INVALID");
    EXPECT_EQ(balance(ada), "10000000");
    const std::string next = code_for(ada, "ada@example.org", code_wish("500"));
    for (int i = 0; i < 4; ++i)
        post(ada, "/api/v1/withdrawals",
             wish("500", with_code(next == "111111" ? "222222" : "111111")));
    EXPECT_EQ(post(ada, "/api/v1/withdrawals", wish("500", with_code(next))).status, 202)
        << "the fifth try";
}

TEST_F(WithdrawalCodes, FiveAnHourAndNotAfterTenMinutes) {
    Browser ada = person("ada@example.org");
    save(ada, "ada@example.org");
    const std::string code = code_for(ada, "ada@example.org", code_wish("500"));
    town.harness.clock.advance(std::chrono::minutes(10));
    EXPECT_EQ(error_code(post(ada, "/api/v1/withdrawals", wish("500", with_code(code)))),
              "AUTHORIZATION_INVALID");
    for (int i = 0; i < 4; ++i) code_for(ada, "ada@example.org", code_wish("500"));
    const auto sixth = ada.send("POST", "/api/v1/withdrawals/code", code_wish("500"));
    EXPECT_EQ(sixth.status, 429);
    EXPECT_EQ(error_code(sixth), "UNAVAILABLE");
}

TEST_F(WithdrawalCodes, AnAccountWithAnAuthenticatorGetsNone) {
    Browser ada = person("ada@example.org");
    save(ada, "ada@example.org");
    ada.enroll();
    EXPECT_EQ(ada.send("POST", "/api/v1/withdrawals/code", code_wish("500")).status, 409);
    const std::string code = ada.code();
    const auto good = post(ada, "/api/v1/withdrawals", wish("500", with_code(code)));
    EXPECT_EQ(good.status, 202) << good.body;
    EXPECT_EQ(error_code(post(ada, "/api/v1/withdrawals", wish("500", with_code(code)))),
              "AUTHORIZATION_INVALID");
    EXPECT_EQ(balance(ada), "9999500");
}

}  // namespace
}  // namespace berth::test
