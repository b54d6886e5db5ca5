#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/json_text.hpp"
#include "ledger/ledger.hpp"
#include "support/told.hpp"
#include "transfers/paying_town.hpp"
#include "transfers/store.hpp"
#include "transfers/transfers.hpp"

namespace berth::test {
namespace {

struct SmallWithdrawals : PayingTown {
    SmallWithdrawals() : PayingTown(options()) {}
    static Harness::Options options() {
        Harness::Options options;
        options.flags["transfer-min-micro"] = "1000000";
        return options;
    }
};
using Withdrawals = PayingTown;
using WithdrawalChallenges = PayingTown;

TEST_F(Withdrawals, ToANewAddressWaitUntilTheLinkConfirmsIt) {
    Browser ada = person("ada@example.org");
    const std::string code = code_for(ada, "ada@example.org", code_wish("2500000"));
    const auto parked =
        post(ada, "/api/v1/withdrawals", wish("2500000", with_code(code) + R"(,"label":"Cold")"));
    EXPECT_EQ(parked.status, 202);
    EXPECT_EQ(member(parked.body, "state"), "AWAITING_EMAIL_CONFIRMATION");
    EXPECT_NE(member(parked.body, "withdrawal_id"), "");
    EXPECT_EQ(member(parked.body, "payout_id"), "");
    EXPECT_EQ(balance(ada), "10000000");
    EXPECT_NE(town.mail_to("ada@example.org").find("2.5 USDC"), std::string::npos);

    const auto confirmed = confirm(town.link_to("ada@example.org"));
    EXPECT_EQ(member(confirmed.body, "state"), "INTENT") << confirmed.body;
    EXPECT_EQ(member(confirmed.body, "withdrawal_id"), member(parked.body, "withdrawal_id"));
    EXPECT_EQ(balance(ada), "7500000");
    EXPECT_EQ(balance(ada, "pending_micro"), "2500000");
    EXPECT_EQ(member(ada.send("GET", "/api/v1/withdrawals").body, "items.0.state"), "INTENT");
    EXPECT_EQ(untold(town.harness.app->database(), {"withdrawal.awaiting_email_confirmation"}), "");
}

TEST_F(Withdrawals, ALinkWhoseMoneyHasGoneSavesTheAddressAlone) {
    Browser ada = person("ada@example.org", 1000);
    const std::string code = code_for(ada, "ada@example.org", code_wish("900"));
    ASSERT_EQ(post(ada, "/api/v1/withdrawals", wish("900", with_code(code))).status, 202);
    const auto link = town.link_to("ada@example.org");
    save(ada, "ada@example.org", elsewhere);
    town.harness.clock.advance(std::chrono::seconds(1));
    const std::string other =
        code_for(ada, "ada@example.org", code_wish("500", "withdrawal", "", elsewhere));
    ASSERT_EQ(post(ada, "/api/v1/withdrawals", wish("500", with_code(other), elsewhere)).status,
              202);
    const auto poor = confirm(link);
    ASSERT_EQ(poor.status, 200) << poor.body;
    EXPECT_EQ(member(poor.body, "state"), "CANCELLED");
    const std::string list = ada.send("GET", "/api/v1/withdrawals").body;
    EXPECT_EQ(member(list, "items.1.id"), member(poor.body, "withdrawal_id"));
    EXPECT_EQ(member(list, "items.1.state"), "CANCELLED");
    EXPECT_EQ(member(list, "items.1.reason"), "the balance did not cover it any more");
    EXPECT_EQ(member(list, "items.0.reason"), "null");
    EXPECT_EQ(member(ada.send("GET", "/api/v1/withdrawal-addresses").body, "items.0.state"),
              "SAVED");
    deposit(account(ada), 400);
    EXPECT_EQ(error_code(confirm(link)), "AUTHORIZATION_INVALID");
    EXPECT_EQ(balance(ada), "900") << "nothing was locked";
}

TEST_F(Withdrawals, AParkedOneExpiresWithItsLink) {
    Browser ada = person("ada@example.org");
    const std::string code = code_for(ada, "ada@example.org", code_wish("500"));
    ASSERT_EQ(post(ada, "/api/v1/withdrawals", wish("500", with_code(code))).status, 202);
    town.harness.clock.advance(std::chrono::hours(24));
    town.run_tasks();
    Browser later = town.person("ada@example.org");
    EXPECT_EQ(member(later.send("GET", "/api/v1/withdrawals").body, "items.0.state"), "EXPIRED");
    EXPECT_EQ(balance(later), "10000000");
    EXPECT_EQ(untold(town.harness.app->database(), {"withdrawal.expired"}), "");
}

TEST_F(Withdrawals, AKeyReachesSavedAddressesAlone) {
    Browser ada = person("ada@example.org");
    save(ada, "ada@example.org");
    const std::string key = town.key_of(ada);
    const auto refused =
        town.with_key(key, "POST", "/api/v1/withdrawals", wish("5", "", elsewhere));
    EXPECT_EQ(error_code(refused), "FORBIDDEN");
    EXPECT_EQ(ada.send("GET", "/api/v1/withdrawals").body, R"({"items":[],"next_cursor":null})");
    const auto good = town.with_key(key, "POST", "/api/v1/withdrawals", wish("5"));
    EXPECT_EQ(good.status, 202) << good.body;
    EXPECT_EQ(member(good.body, "state"), "INTENT");
    EXPECT_EQ(member(good.body, "asset"), "USDC");
    EXPECT_EQ(
        town.with_key(key, "POST", "/api/v1/withdrawals", wish("5", with_code("123456"))).status,
        422);
    // An address that only waits is not saved.
    post(ada, "/api/v1/withdrawal-addresses", R"({"address":")" + std::string(elsewhere) + "\"}");
    EXPECT_EQ(town.with_key(key, "POST", "/api/v1/withdrawals", wish("5", "", elsewhere)).status,
              403);
}

TEST_F(Withdrawals, NeverMoreThanThereIs) {
    Browser ada = person("ada@example.org", 1000);
    save(ada, "ada@example.org");
    const std::string key = town.key_of(ada);
    EXPECT_EQ(error_code(town.with_key(key, "POST", "/api/v1/withdrawals", wish("1001"))),
              "INSUFFICIENT_FUNDS");
    std::vector<std::thread> threads;
    std::atomic<int> accepted{0};
    for (int i = 0; i < 16; ++i)
        threads.emplace_back([&] {
            if (town.with_key(key, "POST", "/api/v1/withdrawals", wish("300")).status == 202)
                ++accepted;
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(accepted, 3);
    EXPECT_EQ(balance(ada), "100");
    EXPECT_EQ(balance(ada, "pending_micro"), "900");
}

TEST_F(Withdrawals, ARetriedRequestLocksOnce) {
    Browser ada = person("ada@example.org", 1000);
    save(ada, "ada@example.org");
    const std::string key = town.key_of(ada);
    const std::string once = town.harness.new_id();
    const Ask ask{.method = "POST",
                  .target = "/api/v1/withdrawals",
                  .as = key,
                  .key = once,
                  .body = wish("300")};
    const auto first = town.harness.ask(ask);
    EXPECT_EQ(town.harness.ask(ask).body, first.body);
    EXPECT_EQ(balance(ada), "700");
}

TEST_F(Withdrawals, BadAmountsAreRefused) {
    Browser ada = person("ada@example.org");
    const std::string key = town.key_of(ada);
    for (const std::string amount : {"0", "-5", "1.5", "1e3", "", "05", "9223372036854775808"})
        EXPECT_EQ(town.with_key(key, "POST", "/api/v1/withdrawals", wish(amount)).status, 422)
            << amount;
    EXPECT_EQ(town.with_key(key, "POST", "/api/v1/withdrawals", wish("5", R"(,"siwe_message":"m")"))
                  .status,
              422);
}

TEST_F(Withdrawals, PayoutsComeFromEarnings) {
    const auto wallet = crypto::SigningKey::make(town.harness.random);
    const auto made = town.enlist(wallet, R"(["renter","host"])");
    const std::string key = member(made.body, "api_key.secret");
    const AccountId host{parse_uuid(member(made.body, "account_id")).value()};
    deposit(host, 5000);
    const std::string own = crypto::checksummed(wallet.address());
    EXPECT_EQ(error_code(town.with_key(key, "POST", "/api/v1/hosts/payouts", wish("1", "", own))),
              "INSUFFICIENT_FUNDS");
    town.harness.app->database().write([&](db::Transaction& tx) {
        const ledger::Context context{tx, town.harness.random, town.harness.clock.now()};
        const auto renter = AccountId::make(context.now, context.random);
        const auto job = JobId::make(context.now, context.random);
        ledger::deposit(context, {renter, ledger::Asset::usdc, Micro{1000}, "x"});
        ledger::hold(context,
                     {job, renter, host, {}, ledger::Asset::usdc, Micro{1000}, Micro{1}, 1000});
        ledger::capture(context, job, {Micro{1000}, 5});
        ledger::release(context, job);
    });
    const auto good = town.with_key(key, "POST", "/api/v1/hosts/payouts", wish("600", "", own));
    EXPECT_EQ(good.status, 202) << good.body;
    EXPECT_NE(member(good.body, "payout_id"), "");
    const auto earnings = town.with_key(key, "GET", "/api/v1/hosts/earnings").body;
    EXPECT_EQ(member(earnings, "earned_micro"), "900");
    EXPECT_EQ(member(earnings, "payable_micro"), "300");
    EXPECT_EQ(member(earnings, "requested_micro"), "600");
    EXPECT_EQ(member(town.with_key(key, "GET", "/api/v1/billing").body, "spendable_micro"), "5000");
    EXPECT_EQ(
        member(town.with_key(key, "GET", "/api/v1/hosts/payouts").body, "items.0.amount_micro"),
        "600");
    EXPECT_EQ(town.with_key(key, "GET", "/api/v1/withdrawals").body,
              R"({"items":[],"next_cursor":null})");
}

TEST_F(Withdrawals, APayoutFromASessionToANewAddressWaitsForItsLink) {
    Browser ada = town.person("ada@example.org");
    const AccountId host = account(ada);
    const auto enrolling = post(ada, "/api/v1/hosts/enrollments", R"({"tier":"container"})");
    ASSERT_EQ(enrolling.status, 201) << "asking makes the account one that hosts";
    town.harness.app->database().write([&](db::Transaction& tx) {
        const ledger::Context context{tx, town.harness.random, town.harness.clock.now()};
        const auto renter = AccountId::make(context.now, context.random);
        const auto job = JobId::make(context.now, context.random);
        ledger::deposit(context, {renter, ledger::Asset::usdc, Micro{1000}, "x"});
        ledger::hold(context,
                     {job, renter, host, {}, ledger::Asset::usdc, Micro{1000}, Micro{1}, 1000});
        ledger::capture(context, job, {Micro{1000}, 5});
        ledger::release(context, job);
    });
    const auto earned = [&](const std::string& which) {
        return member(ada.send("GET", "/api/v1/hosts/earnings").body, which);
    };
    const std::string payouts = "/api/v1/hosts/payouts";
    EXPECT_EQ(error_code(post(ada, payouts, wish("600"))), "FORBIDDEN") << "no code";
    const std::string other = code_for(ada, "ada@example.org", code_wish("600"));
    EXPECT_EQ(error_code(post(ada, payouts, wish("600", with_code(other)))),
              "AUTHORIZATION_INVALID")
        << "a withdrawal's code";
    const std::string code = code_for(ada, "ada@example.org", code_wish("600", "payout"));
    const auto parked = post(ada, payouts, wish("600", with_code(code) + R"(,"label":"Cold")"));
    ASSERT_EQ(parked.status, 202) << parked.body;
    EXPECT_EQ(member(parked.body, "state"), "AWAITING_EMAIL_CONFIRMATION");
    EXPECT_EQ(member(parked.body, "withdrawal_id"), "");
    for (const std::string id : {"payout_id", "confirmation_id", "address_id"})
        EXPECT_TRUE(parse_uuid(member(parked.body, id))) << id;
    EXPECT_EQ(member(parked.body, "asset"), "USDC");
    EXPECT_EQ(parse_rfc3339(member(parked.body, "expires_at")),
              town.harness.clock.now() + std::chrono::hours(24));
    EXPECT_EQ(earned("payable_micro"), "900") << "nothing is locked yet";
    EXPECT_EQ(earned("requested_micro"), "0");

    const auto confirmed = confirm(town.link_to("ada@example.org"));
    ASSERT_EQ(confirmed.status, 200) << confirmed.body;
    EXPECT_EQ(member(confirmed.body, "payout_id"), member(parked.body, "payout_id"));
    EXPECT_EQ(earned("payable_micro"), "300");
    EXPECT_EQ(earned("requested_micro"), "600");
    EXPECT_EQ(member(ada.send("GET", payouts).body, "items.0.state"), "INTENT");
    EXPECT_EQ(untold(town.harness.app->database(),
                     {"payout.awaiting_email_confirmation", "payout.intent"}),
              "");

    const std::string next =
        code_for(ada, "ada@example.org", code_wish("300", "payout", "", elsewhere));
    ASSERT_EQ(post(ada, payouts, wish("300", with_code(next), elsewhere)).status, 202);
    town.harness.clock.advance(std::chrono::hours(24));
    town.run_tasks();
    EXPECT_EQ(untold(town.harness.app->database(), {"payout.expired"}), "");
}

TEST_F(WithdrawalChallenges, AWalletSignsForOneTransfer) {
    const auto wallet = crypto::SigningKey::make(town.harness.random);
    const auto made = town.enlist(wallet);
    const std::string key = member(made.body, "api_key.secret");
    deposit({parse_uuid(member(made.body, "account_id")).value()}, 5000);
    const std::string own = crypto::checksummed(wallet.address());
    const auto challenge = [&](const std::string& amount) {
        const auto issued = town.harness.ask({.method = "POST",
                                              .target = "/api/v1/withdrawals/challenge",
                                              .as = key,
                                              .body = code_wish(amount, "withdrawal", "", own)});
        EXPECT_EQ(issued.status, 201) << issued.body;
        return member(issued.body, "message");
    };
    const auto pair = [&](const std::string& message, const crypto::SigningKey& signer) {
        return R"(,"siwe_message":)" + json_quoted(message) + R"(,"signature":")" +
               sign(signer, message) + "\"";
    };
    const auto ask = [&](const std::string& amount, const std::string& more) {
        return town.with_key(key, "POST", "/api/v1/withdrawals", wish(amount, more, own));
    };
    EXPECT_EQ(ask("10", "").status, 202);  // to its own wallet the key is enough
    std::string message = challenge("20");
    EXPECT_EQ(ask("20", pair(message, wallet)).status, 202);
    EXPECT_EQ(error_code(ask("20", pair(message, wallet))), "AUTHORIZATION_INVALID");
    message = challenge("20");
    EXPECT_EQ(error_code(ask("21", pair(message, wallet))), "AUTHORIZATION_INVALID");
    message = challenge("20");
    const auto stranger = crypto::SigningKey::make(town.harness.random);
    EXPECT_EQ(error_code(ask("20", pair(message, stranger))), "AUTHORIZATION_INVALID");
    message = challenge("20");
    town.harness.clock.advance(std::chrono::minutes(5));
    EXPECT_EQ(error_code(ask("20", pair(message, wallet))), "AUTHORIZATION_INVALID");
    // Not even a signature lets a key reach a new address.
    EXPECT_EQ(error_code(town.with_key(key, "POST", "/api/v1/withdrawals", wish("5"))),
              "FORBIDDEN");
    EXPECT_EQ(member(town.with_key(key, "GET", "/api/v1/billing").body, "spendable_micro"), "4970");
}

// A payment on chain costs gas that the platform pays: small parts stay, small rests may leave.
TEST_F(SmallWithdrawals, AreRefusedUnlessTheyAreTheWholeBalance) {
    Browser ada = person("ada@example.org", 900'000);
    save(ada, "ada@example.org");
    for (const std::string amount : {"1", "899999"}) {
        const auto refused = ada.send("POST", "/api/v1/withdrawals/code", code_wish(amount));
        EXPECT_EQ(refused.status, 422);
        EXPECT_EQ(error_message(refused),
                  "body.amount_micro: must be at least 1000000, or the whole balance");
    }
    const std::string code = code_for(ada, "ada@example.org", code_wish("900000"));
    EXPECT_EQ(post(ada, "/api/v1/withdrawals", wish("900000", with_code(code))).status, 202);
}

// An agent with money, and its withdrawals to its own wallet.
struct Withdrawer {
    explicit Withdrawer(PayingTown& paying_) : paying(paying_) {
        paying.deposit({parse_uuid(member(made.body, "account_id")).value()}, 1000);
    }
    http::Response ask(const std::string& amount) {
        return paying.town.with_key(key, "POST", "/api/v1/withdrawals", wish(amount, "", own));
    }
    http::Response cancel(const std::string& id, const std::string& list = "/api/v1/withdrawals/") {
        return paying.town.with_key(key, "POST", list + id + "/cancel");
    }
    std::string balance(const std::string& which = "spendable_micro") {
        return member(paying.town.with_key(key, "GET", "/api/v1/billing").body, which);
    }
    bool sign(const std::string& id) {
        auto& harness = paying.town.harness;
        return harness.app->database().write([&](db::Transaction& tx) {
            return transfers::move_transfer(
                {tx, harness.random, harness.clock.now()}, {parse_uuid(id).value()},
                {transfers::TransferState::INTENT, transfers::TransferState::SUBMITTED});
        });
    }

    PayingTown& paying;
    crypto::SigningKey wallet = crypto::SigningKey::make(paying.town.harness.random);
    http::Response made = paying.town.enlist(wallet, R"(["renter","host"])");
    std::string key = member(made.body, "api_key.secret");
    std::string own = crypto::checksummed(wallet.address());
};

TEST_F(Withdrawals, AreCancelledUntilTheyAreSignedAndTheMoneyIsBackAtOnce) {
    Withdrawer ada(*this);
    Withdrawer eve(*this);
    const std::string id = member(ada.ask("400").body, "withdrawal_id");
    EXPECT_EQ(ada.balance(), "600");
    EXPECT_EQ(eve.cancel(id).status, 404);
    EXPECT_EQ(ada.cancel(id, "/api/v1/hosts/payouts/").status, 404) << "it is no payout";
    const auto cancelled = ada.cancel(id);
    EXPECT_EQ(cancelled.status, 200) << cancelled.body;
    EXPECT_EQ(member(cancelled.body, "state"), "CANCELLED");
    EXPECT_EQ(ada.balance(), "1000");
    EXPECT_EQ(ada.balance("pending_micro"), "0");
    EXPECT_EQ(member(ada.cancel(id).body, "state"), "CANCELLED");
    EXPECT_EQ(ada.balance(), "1000");

    const std::string signed_one = member(ada.ask("300").body, "withdrawal_id");
    EXPECT_TRUE(ada.sign(signed_one));
    const auto late = ada.cancel(signed_one);
    EXPECT_EQ(late.status, 409);
    EXPECT_EQ(error_code(late), "CONFLICT");
    EXPECT_EQ(ada.balance(), "700");
    EXPECT_EQ(untold(town.harness.app->database(), {"withdrawal.cancelled"}), "");
}

TEST_F(Withdrawals, ACancelledOneLeavesALinkThatConfirmsNothing) {
    Browser ada = person("ada@example.org", 1000);
    const std::string code = code_for(ada, "ada@example.org", code_wish("600"));
    const auto parked = post(ada, "/api/v1/withdrawals", wish("600", with_code(code)));
    ASSERT_EQ(member(parked.body, "state"), "AWAITING_EMAIL_CONFIRMATION") << parked.body;
    const auto link = town.link_to("ada@example.org");
    const auto cancelled =
        post(ada, "/api/v1/withdrawals/" + member(parked.body, "withdrawal_id") + "/cancel", "");
    EXPECT_EQ(member(cancelled.body, "state"), "CANCELLED") << cancelled.body;
    EXPECT_EQ(error_code(confirm(link)), "AUTHORIZATION_INVALID");
    EXPECT_EQ(balance(ada), "1000");
}

// Keeps: money goes back or is signed for, never both.
TEST_F(Withdrawals, ARaceBetweenCancellingAndSigningHasOneWinner) {
    Withdrawer ada(*this);
    for (int i = 0; i < 20; ++i) {
        const std::string id = member(ada.ask("10").body, "withdrawal_id");
        bool was_signed = false;
        std::thread signer([&] { was_signed = ada.sign(id); });
        const int status = ada.cancel(id).status;
        signer.join();
        EXPECT_EQ(status, was_signed ? 409 : 200);
    }
    const std::int64_t spendable = std::stoll(ada.balance());
    EXPECT_EQ(spendable + std::stoll(ada.balance("pending_micro")), 1000);
}

TEST(WithdrawalsNotSetUp, AreRefusedAndLockNothing) {
    struct Plain : PayingTown {
        Plain() : PayingTown(NotSetUp{}) {}
        void TestBody() override {}
    } plain;
    Withdrawer ada(plain);
    const auto refused = ada.ask("400");
    EXPECT_EQ(refused.status, 503) << refused.body;
    EXPECT_EQ(error_code(refused), "UNAVAILABLE");
    EXPECT_EQ(ada.balance(), "1000");
    EXPECT_EQ(ada.balance("pending_micro"), "0");
}

// All at once for the last place: the others are told so.
TEST_F(Withdrawals, OpenOnesAreLimitedHoweverManyAskAtOnce) {
    auto& harness = town.harness;
    const auto wallet = crypto::SigningKey::make(harness.random);
    const auto made = town.enlist(wallet);
    ASSERT_EQ(made.status, 201) << made.body;
    const std::string key = member(made.body, "api_key.secret");
    const AccountId account{parse_uuid(member(made.body, "account_id")).value()};
    deposit(account, 1'000'000'000);
    harness.app->database().write([&](db::Transaction& tx) {
        for (std::int64_t i = 1; i < transfers::open_transfers_max; ++i) {
            transfers::TransferRow row;
            row.transfer_id = transfers::TransferId::make(harness.clock.now(), harness.random);
            row.account_id = account;
            row.amount = Micro{1};
            row.address = wallet.address();
            row.address_id = transfers::AddressId::make(harness.clock.now(), harness.random);
            row.state = transfers::TransferState::INTENT;
            row.created_at = harness.clock.now();
            transfers::add_transfer(tx, row);
        }
    });
    constexpr int racers = 8;
    std::atomic<int> accepted = 0;
    std::atomic<int> refused = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < racers; ++i)
        threads.emplace_back([&] {
            const auto answer =
                harness.ask({.method = "POST",
                             .target = "/api/v1/withdrawals",
                             .as = key,
                             .key = harness.new_id(),
                             .body = wish("1000000", "", crypto::checksummed(wallet.address()))});
            accepted += answer.status == 202 ? 1 : 0;
            refused += error_code(answer) == "CONFLICT" ? 1 : 0;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(accepted, 1);
    EXPECT_EQ(refused, racers - 1);
}

}  // namespace
}  // namespace berth::test
