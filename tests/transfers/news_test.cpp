// Whoever sent money away is told by mail what became of it, whichever way it ended.
#include <algorithm>

#include "support/told.hpp"
#include "transfers/paying_town.hpp"
#include "transfers/transfers.hpp"

namespace berth::test {
namespace {

using transfers::TransferState;

struct TransferNews : PayingTown {
    // As the settler books an end that it found on the chain.
    void end(const std::string& id, TransferState state) {
        const ledger::TransferId transfer{parse_uuid(id).value()};
        const bool paid = state == TransferState::SETTLED;
        town.harness.app->database().write([&](db::Transaction& tx) {
            const Time now = town.harness.clock.now();
            const ledger::Context context{tx, town.harness.random, now};
            transfers::move_transfer(context, transfer,
                                     {TransferState::INTENT, TransferState::SUBMITTED});
            transfers::move_transfer(
                context, transfer,
                {TransferState::SUBMITTED, state, paid ? "" : "the chain refused the payment"});
            if (paid)
                ledger::settle(context, transfer);
            else
                ledger::give_back(context, transfer);
        });
    }
    std::int64_t told(const std::string& email, const std::string& words) {
        town.harness.clock.advance(std::chrono::seconds(10));
        const auto mails = town.mails_to(email);
        return std::count_if(mails.begin(), mails.end(), [&](const std::string& mail) {
            return mail.find(words) != std::string::npos;
        });
    }
};

TEST_F(TransferNews, OfAPaymentAndOfAFailureReachTheOwnerOnce) {
    Browser ada = person("ada@example.org");
    save(ada, "ada@example.org");
    const std::string key = town.key_of(ada);
    const auto ask = [&](const std::string& amount) {
        const auto asked = town.with_key(key, "POST", "/api/v1/withdrawals", wish(amount));
        EXPECT_EQ(asked.status, 202) << asked.body;
        return member(asked.body, "withdrawal_id");
    };
    const std::string paid = ask("2500000");
    const std::string failed = ask("1000000");
    EXPECT_EQ(told("ada@example.org", "was paid"), 0);
    end(paid, TransferState::SETTLED);
    end(failed, TransferState::FAILED);
    EXPECT_EQ(told("ada@example.org", "withdrawal was paid"), 1);
    EXPECT_EQ(told("ada@example.org", paid), 1);
    EXPECT_EQ(told("ada@example.org", "withdrawal could not be paid"), 1);
    EXPECT_EQ(told("ada@example.org", "the chain refused the payment"), 1);
    EXPECT_EQ(told("ada@example.org", failed), 1) << "later runs do not tell it again";
}

TEST_F(TransferNews, EveryStepOfATransferIsToldAsAnEvent) {
    Browser ada = person("ada@example.org");
    save(ada, "ada@example.org");
    const std::string key = town.key_of(ada);
    const auto ask = [&] {
        return member(town.with_key(key, "POST", "/api/v1/withdrawals", wish("1000000")).body,
                      "withdrawal_id");
    };
    const std::string paid = ask();
    const std::string failed = ask();
    end(paid, TransferState::SETTLED);
    end(failed, TransferState::FAILED);
    const auto types = [&](const std::string& id) {
        const std::string page =
            town.with_key(key, "GET", "/api/v1/events?limit=100&subject=" + id).body;
        std::string all;
        for (int i = 0; !member(page, "items." + std::to_string(i) + ".type").empty(); ++i)
            all += member(page, "items." + std::to_string(i) + ".type") + " ";
        return all;
    };
    EXPECT_EQ(types(paid), "withdrawal.intent withdrawal.submitted withdrawal.settled ");
    EXPECT_EQ(types(failed), "withdrawal.intent withdrawal.submitted withdrawal.failed ");
    const std::string last =
        town.with_key(key, "GET", "/api/v1/events?types=withdrawal.failed").body;
    EXPECT_EQ(member(last, "items.0.data.amount_micro"), "1000000");
    EXPECT_EQ(member(last, "items.0.data.reason"), "the chain refused the payment");
    EXPECT_EQ(untold(town.harness.app->database(), {"withdrawal.intent", "withdrawal.submitted",
                                                    "withdrawal.settled", "withdrawal.failed"}),
              "");
}

TEST_F(TransferNews, EveryStepOfAPayoutIsToldToTheHost) {
    const auto wallet = crypto::SigningKey::make(town.harness.random);
    const auto made = town.enlist(wallet, R"(["renter","host"])");
    const std::string key = member(made.body, "api_key.secret");
    const AccountId host{parse_uuid(member(made.body, "account_id")).value()};
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
    const std::string payouts = "/api/v1/hosts/payouts";
    const auto ask = [&] {
        const auto asked = town.with_key(key, "POST", payouts,
                                         wish("100", "", crypto::checksummed(wallet.address())));
        EXPECT_EQ(asked.status, 202) << asked.body;
        return member(asked.body, "payout_id");
    };
    const std::string paid = ask();
    const std::string failed = ask();
    const std::string unwanted = ask();
    end(paid, TransferState::SETTLED);
    end(failed, TransferState::FAILED);
    EXPECT_EQ(town.with_key(key, "POST", payouts + "/" + unwanted + "/cancel").status, 200);
    EXPECT_EQ(
        untold(town.harness.app->database(), {"payout.intent", "payout.submitted", "payout.settled",
                                              "payout.failed", "payout.cancelled"}),
        "");
}

TEST_F(TransferNews, OfOneThatExpiredOrWasCalledOffReachTheOwner) {
    Browser ada = person("ada@example.org");
    const std::string code = code_for(ada, "ada@example.org", code_wish("500"));
    ASSERT_EQ(post(ada, "/api/v1/withdrawals", wish("500", with_code(code))).status, 202);
    town.harness.clock.advance(std::chrono::hours(24));
    town.run_tasks();
    EXPECT_EQ(told("ada@example.org", "withdrawal has expired"), 1);
    Browser later = town.person("ada@example.org");
    save(later, "ada@example.org", elsewhere);
    const auto asked = town.with_key(town.key_of(later), "POST", "/api/v1/withdrawals",
                                     wish("700", "", elsewhere));
    ASSERT_EQ(asked.status, 202) << asked.body;
    ASSERT_EQ(
        post(later, "/api/v1/withdrawals/" + member(asked.body, "withdrawal_id") + "/cancel", "")
            .status,
        200);
    EXPECT_EQ(told("ada@example.org", "withdrawal was called off"), 1);
}

TEST_F(TransferNews, AreNoneForAgentsWhoHaveNoMailbox) {
    const auto wallet = crypto::SigningKey::make(town.harness.random);
    const auto agent = town.enlist(wallet);
    ASSERT_EQ(agent.status, 201) << agent.body;
    deposit({parse_uuid(member(agent.body, "account_id")).value()}, 5000);
    const auto asked =
        town.with_key(member(agent.body, "api_key.secret"), "POST", "/api/v1/withdrawals",
                      wish("5000", "", crypto::checksummed(wallet.address())));
    ASSERT_EQ(asked.status, 202) << asked.body;
    const std::size_t before = town.transport->sent().size();
    end(member(asked.body, "withdrawal_id"), TransferState::SETTLED);
    EXPECT_EQ(told("nobody@example.org", "was paid"), 0);
    EXPECT_EQ(town.transport->sent().size(), before);
}

}  // namespace
}  // namespace berth::test
