// What operators see of everybody's transfers, and do with one that nobody has signed.
#include "transfers/operators.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "accounts/accounts.hpp"
#include "accounts/operators.hpp"
#include "transfers/addresses.hpp"
#include "transfers/brakes.hpp"
#include "transfers/paying_town.hpp"
#include "transfers/settlement.hpp"

namespace berth::test {
namespace {

const std::string good_reason = R"({"reason":"for a good reason"})";

struct OperatorsOfTransfers : PayingTown {
    OperatorsOfTransfers()
        : PayingTown(Harness::Options{.flags = {{"address-cooling-hours", "0"}}}) {}

    db::Database& database() { return town.harness.app->database(); }
    Browser admin(const std::string& email) {
        database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, town.harness.random, town.harness.clock.now()}, email);
        });
        Browser browser = town.person(email);
        browser.enroll();
        EXPECT_EQ(browser.step_up("admin-sensitive").status, 200);
        return browser;
    }
    // A withdrawal to a saved address; its id.
    std::string withdraw(Browser& browser, const std::string& email, const std::string& amount,
                         const std::string& address = somewhere) {
        town.harness.clock.advance(std::chrono::seconds(1));
        const std::string code =
            code_for(browser, email, code_wish(amount, "withdrawal", "", address));
        const auto asked =
            post(browser, "/api/v1/withdrawals", wish(amount, with_code(code), address));
        EXPECT_EQ(asked.status, 202) << asked.body;
        return member(asked.body, "withdrawal_id");
    }
    http::Response decide(Browser& by, const std::string& id, const std::string& act) {
        return post(by, "/api/v1/admin/transfers/" + id + "/" + act, good_reason);
    }
    std::string list(const std::string& query = "") {
        const auto answer = root.send("GET", "/api/v1/admin/transfers" + query);
        EXPECT_EQ(answer.status, 200) << answer.body;
        return answer.body;
    }
    std::int64_t mails(const std::string& email, const std::string& words) {
        town.harness.clock.advance(std::chrono::seconds(10));
        const auto texts = town.mails_to(email);
        return std::count_if(texts.begin(), texts.end(), [&](const std::string& text) {
            return text.find(words) != std::string::npos;
        });
    }
    // The same without asking anybody.
    transfers::TransferRow made(AccountId owner, std::int64_t amount) {
        town.harness.clock.advance(std::chrono::milliseconds(1));
        const Time now = town.harness.clock.now();
        transfers::TransferRow fresh;
        fresh.transfer_id = transfers::TransferId::make(now, town.harness.random);
        fresh.account_id = owner;
        fresh.amount = Micro{amount};
        fresh.created_at = now;
        database().write([&](db::Transaction& tx) {
            transfers::add_transfer(tx, fresh);
            ledger::lock({tx, town.harness.random, now},
                         {fresh.transfer_id, owner, ledger::Asset::usdc, fresh.amount,
                          ledger::Source::withdrawal});
        });
        return fresh;
    }
    transfers::TransferRow row(const std::string& id) {
        return database().read([&](db::Transaction& tx) {
            return transfers::find_transfer(tx, {parse_uuid(id).value()}).value();
        });
    }
    // As the settler does it, with what it chose a moment ago.
    bool sign(const transfers::TransferRow& chosen) {
        const Time now = town.harness.clock.now();
        return database().write([&](db::Transaction& tx) {
            transfers::take_signing_turn(tx);
            using enum transfers::TransferState;
            return transfers::move_transfer({tx, town.harness.random, now}, chosen.transfer_id,
                                            {INTENT, SUBMITTED, {}, true});
        });
    }
    bool leaves(const std::string& id) {
        return database().read([&](db::Transaction& tx) {
            return transfers::Brakes(tx, limits_, town.harness.clock.now())
                .let_go(transfers::find_transfer(tx, {parse_uuid(id).value()}).value());
        });
    }
    std::int64_t events(const std::string& action) {
        return database().read([&](db::Transaction& tx) {
            return tx
                .fetch_value<std::int64_t>("SELECT COUNT(*) FROM audit_events WHERE action = $1",
                                           action)
                .value();
        });
    }

    static transfers::Settings without_cooling() {
        transfers::Settings limits;
        limits.address_cooling_hours.read("0");
        return limits;
    }
    const transfers::Settings limits_ = without_cooling();
    Browser root = admin("root@example.org");
};

TEST_F(OperatorsOfTransfers, SeeThoseOfAllAccountsByFilterAndCursor) {
    Browser ada = person("ada@example.org");
    Browser ben = person("ben@example.org");
    save(ada, "ada@example.org");
    save(ben, "ben@example.org", elsewhere);
    const std::string first = withdraw(ada, "ada@example.org", "2000000");
    const std::string second = withdraw(ben, "ben@example.org", "3000000", elsewhere);
    const std::string all = list();
    EXPECT_EQ(member(all, "items.0.transfer_id"), second) << "newest first";
    EXPECT_EQ(member(all, "items.1.transfer_id"), first);
    EXPECT_EQ(member(all, "items.1.account_id"), to_string(account(ada)));
    EXPECT_EQ(member(all, "items.1.amount_micro"), "2000000");
    EXPECT_EQ(member(all, "items.1.kind"), "withdrawal");
    EXPECT_EQ(member(all, "items.1.held_why"), "null");
    EXPECT_EQ(member(list("?account=" + to_string(account(ada))), "items.0.transfer_id"), first);
    EXPECT_EQ(member(list("?account=" + to_string(account(ada))), "items.1.transfer_id"), "");
    EXPECT_EQ(member(list("?address=" + std::string(elsewhere)), "items.0.transfer_id"), second);
    EXPECT_EQ(member(list("?kind=payout"), "items.0.transfer_id"), "");
    EXPECT_EQ(member(list("?state=SUBMITTED"), "items.0.transfer_id"), "");
    EXPECT_EQ(member(list("?state=INTENT&asset=USDC"), "items.1.transfer_id"), first);
    EXPECT_EQ(member(list("?held=true"), "items.0.transfer_id"), "");
    const std::string page = list("?limit=1");
    const std::string next = member(page, "next_cursor");
    EXPECT_EQ(member(list("?limit=1&cursor=" + next), "items.0.transfer_id"), first);
    const std::string of_another = "/api/v1/admin/transfers?limit=1&kind=payout&cursor=" + next;
    EXPECT_EQ(root.send("GET", of_another).status, 422);
    EXPECT_EQ(root.send("GET",
                        "/api/v1/admin/transfers?address="
                        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed")
                  .status,
              422)
        << "a wrong checksum";
}

TEST_F(OperatorsOfTransfers, HoldOneBackUntilItIsReleased) {
    Browser ada = person("ada@example.org");
    save(ada, "ada@example.org");
    const std::string id = withdraw(ada, "ada@example.org", "2000000");
    const transfers::TransferRow chosen = row(id);
    EXPECT_TRUE(leaves(id));
    const auto held = decide(root, id, "hold");
    ASSERT_EQ(held.status, 200) << held.body;
    EXPECT_EQ(member(held.body, "state"), "INTENT");
    EXPECT_EQ(member(held.body, "held_why"), "for a good reason");
    EXPECT_FALSE(leaves(id));
    EXPECT_FALSE(sign(chosen)) << "the settler chose it before it was held back";
    EXPECT_EQ(member(ada.send("GET", "/api/v1/withdrawals").body, "items.0.waits_for"),
              "settlement_hold");
    EXPECT_EQ(member(list("?held=true"), "items.0.transfer_id"), id);

    // Its owner would only ask for it anew.
    const auto refused = post(ada, "/api/v1/withdrawals/" + id + "/cancel", "");
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(balance(ada), "8000000");

    ASSERT_EQ(decide(root, id, "release").status, 200);
    EXPECT_EQ(decide(root, id, "release").status, 409) << "nobody holds it";
    EXPECT_TRUE(leaves(id));
    EXPECT_TRUE(sign(chosen));
    EXPECT_EQ(decide(root, id, "hold").status, 409) << "what was signed is the chain's";
    EXPECT_EQ(decide(root, id, "cancel").status, 409);
    EXPECT_EQ(events("hold_transfer"), 1);
    EXPECT_EQ(events("release_transfer"), 1);
    EXPECT_EQ(events("cancel_transfer"), 0);
}

TEST_F(OperatorsOfTransfers, CallOneOffAndItsMoneyIsBack) {
    Browser ada = person("ada@example.org");
    save(ada, "ada@example.org");
    const std::string id = withdraw(ada, "ada@example.org", "2000000");
    ASSERT_EQ(decide(root, id, "hold").status, 200);
    const std::string key = town.harness.new_id();
    const std::string target = "/api/v1/admin/transfers/" + id + "/cancel";
    const auto done = root.send("POST", target, good_reason, key);
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(member(done.body, "state"), "CANCELLED");
    EXPECT_EQ(balance(ada), "10000000");
    EXPECT_EQ(root.send("POST", target, good_reason, key).body, done.body);
    EXPECT_EQ(balance(ada), "10000000") << "once";
    EXPECT_EQ(decide(root, id, "cancel").status, 409);
    EXPECT_EQ(events("cancel_transfer"), 1);
    EXPECT_EQ(member(ada.send("GET", "/api/v1/withdrawals").body, "items.0.reason"),
              "called off by an operator");
    EXPECT_EQ(mails("ada@example.org", "called off"), 1) << "it is told once";
    EXPECT_EQ(decide(root, town.harness.new_id(), "cancel").status, 404);
    EXPECT_EQ(post(root, target, R"({"reason":"no"})").status, 422) << "too short a reason";
}

TEST_F(OperatorsOfTransfers, CallOffOneThatWaitsForItsLinkAndTheLinkIsWorthNothing) {
    Browser ada = person("ada@example.org");
    const std::string code = code_for(ada, "ada@example.org", code_wish("2500000"));
    const auto parked = post(ada, "/api/v1/withdrawals", wish("2500000", with_code(code)));
    ASSERT_EQ(parked.status, 202) << parked.body;
    const auto link = town.link_to("ada@example.org");
    ASSERT_EQ(decide(root, member(parked.body, "withdrawal_id"), "cancel").status, 200);
    EXPECT_EQ(error_code(confirm(link)), "AUTHORIZATION_INVALID");
    EXPECT_EQ(balance(ada), "10000000");
    EXPECT_EQ(mails("ada@example.org", "called off"), 1);
    EXPECT_EQ(mails("ada@example.org", "back in your account"), 0) << "nothing was set aside";
}

TEST_F(OperatorsOfTransfers, ReleaseAndCallOffNoneOfTheirOwn) {
    Browser other = admin("other@example.org");
    const AccountId own = account(other);
    deposit(own, 10'000'000);
    database().write([&](db::Transaction& tx) {
        transfers::save_own_address({tx, town.harness.random, town.harness.clock.now()}, own,
                                    crypto::parse_address(somewhere).value());
    });
    const auto asked = post(other, "/api/v1/withdrawals", wish("2000000", with_code(other.code())));
    ASSERT_EQ(asked.status, 202) << asked.body;
    const std::string id = member(asked.body, "withdrawal_id");
    ASSERT_EQ(decide(root, id, "hold").status, 200);
    EXPECT_EQ(decide(other, id, "release").status, 403);
    EXPECT_EQ(decide(other, id, "cancel").status, 403) << "it would be asked for anew";
    EXPECT_FALSE(leaves(id));
    EXPECT_EQ(decide(root, id, "release").status, 200);
}

TEST_F(OperatorsOfTransfers, ForMoneyDoNotLetGoWhatSomebodyElseHolds) {
    Browser ada = person("ada@example.org");
    save(ada, "ada@example.org");
    const std::string id = withdraw(ada, "ada@example.org", "1000000");
    Browser finance = town.person("fin@example.org");
    finance.enroll();
    const AccountId clerk = account(finance);
    database().write([&](db::Transaction& tx) {
        const auto record = accounts::find_record(tx, clerk).value();
        EXPECT_TRUE(
            accounts::put_desk_role(tx, {clerk, record.version}, accounts::DeskRole::finance));
    });
    finance.sign_in("fin@example.org");
    ASSERT_EQ(finance.step_up("admin-sensitive").status, 200);
    ASSERT_EQ(decide(root, id, "hold").status, 200);
    ASSERT_EQ(decide(finance, id, "hold").status, 200) << "which does not make it theirs";
    EXPECT_EQ(decide(finance, id, "release").status, 403);
    EXPECT_EQ(decide(finance, id, "cancel").status, 403);
    EXPECT_FALSE(leaves(id));
    ASSERT_EQ(decide(root, id, "release").status, 200);
    ASSERT_EQ(decide(finance, id, "hold").status, 200);
    EXPECT_EQ(decide(finance, id, "release").status, 200) << "their own";
    ASSERT_EQ(decide(finance, id, "hold").status, 200);
    ASSERT_EQ(decide(root, id, "hold").status, 200);
    EXPECT_EQ(decide(finance, id, "release").status, 403) << "it is not theirs alone any more";
    EXPECT_EQ(decide(finance, id, "cancel").status, 403);
    EXPECT_FALSE(leaves(id));
    EXPECT_EQ(decide(root, id, "release").status, 200);
}

// The update asks once more whose hold it is, whatever was looked at before.
TEST_F(OperatorsOfTransfers, AHoldThatCameMeanwhileIsNotLetGo) {
    Browser ada = person("ada@example.org");
    const transfers::TransferRow waiting = made(account(ada), 500'000);
    const AccountId boss = account(root);
    const AccountId clerk = waiting.account_id;
    database().write([&](db::Transaction& tx) {
        const transfers::TransferId id = waiting.transfer_id;
        ASSERT_TRUE(transfers::hold_back(tx, id, "mine", clerk));
        ASSERT_TRUE(transfers::hold_back(tx, id, "in earnest", boss));
        EXPECT_FALSE(transfers::release_held(tx, id, clerk));
        EXPECT_FALSE(transfers::release_held(tx, id, boss)) << "nobody's alone";
        EXPECT_TRUE(transfers::release_held(tx, id, std::nullopt));
        EXPECT_FALSE(transfers::release_held(tx, id, std::nullopt)) << "nobody holds it";
    });
}

// Whoever signs at that moment has committed before the answer, or finds the account suspended.
TEST_F(OperatorsOfTransfers, SuspendAnAccountWhenNobodySigns) {
    const auto turns = [&] {
        return database().read([](db::Transaction& tx) {
            return tx.fetch_value<std::int64_t>("SELECT taken FROM signing_turns WHERE turn = 1")
                .value();
        });
    };
    Browser ada = person("ada@example.org");
    const std::string user = "/api/v1/admin/users/" + to_string(account(ada));
    const std::int64_t before = turns();
    const auto done = post(root, user + "/actions",
                           R"({"action":"set_suspension","suspended":true,"reason":"looked into",)"
                           R"("expected_version":")" +
                               member(root.send("GET", user).body, "version") + "\"}");
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(turns(), before + 1);
}

TEST_F(OperatorsOfTransfers, HoldOneBackOrItIsSignedAndNeverBoth) {
    Browser ada = person("ada@example.org");
    const AccountId owner = account(ada);
    for (int turn = 0; turn < 10; ++turn) {
        const transfers::TransferRow chosen = made(owner, 500'000);
        std::atomic<bool> held = false;
        std::atomic<bool> is_signed = false;
        std::thread holder([&] {
            held = database().write([&](db::Transaction& tx) {
                return transfers::hold_back(tx, chosen.transfer_id, "held");
            });
        });
        std::thread signer([&] { is_signed = sign(chosen); });
        holder.join();
        signer.join();
        EXPECT_NE(held.load(), is_signed.load());
        const auto after = row(to_string(chosen.transfer_id));
        EXPECT_EQ(after.held_why.has_value(), held.load());
        EXPECT_EQ(after.state == transfers::TransferState::SUBMITTED, is_signed.load());
    }
}

TEST_F(OperatorsOfTransfers, SeeWhatIsLateAndWhatIsHeldWhenever) {
    Browser ada = person("ada@example.org");
    save(ada, "ada@example.org");
    const std::string late = withdraw(ada, "ada@example.org", "1000000");
    const auto stuck = [&] {
        const auto answer = root.send("GET", "/api/v1/admin/stuck?kind=transfer");
        EXPECT_EQ(answer.status, 200) << answer.body;
        return answer.body;
    };
    EXPECT_EQ(member(stuck(), "items.0.id"), "") << "it has only just been asked for";
    town.harness.clock.advance(std::chrono::minutes(16));
    EXPECT_EQ(member(stuck(), "items.0.id"), late);
    const std::string held = withdraw(ada, "ada@example.org", "1000000");
    ASSERT_EQ(root.step_up("admin-sensitive").status, 200);
    EXPECT_EQ(member(stuck(), "items.1.id"), "");
    ASSERT_EQ(decide(root, held, "hold").status, 200);
    EXPECT_EQ(member(stuck(), "items.1.id"), held);
    EXPECT_EQ(member(stuck(), "items.1.why"), "An operator holds it back: for a good reason");
    EXPECT_EQ(member(stuck(), "items.1.account_id"), to_string(account(ada)));
    // What keeps it is named as it is.
    const auto why = [&] { return member(stuck(), "items.0.why"); };
    database().write([&](db::Transaction& tx) {
        transfers::note_short(tx, {parse_uuid(late).value()}, transfers::ShortOf::token);
    });
    EXPECT_NE(why().find("not signed"), std::string::npos) << why();
    ASSERT_EQ(post(root, "/api/v1/admin/blocked-addresses",
                   R"({"address":")" + std::string(somewhere) + R"(","reason":"named by a court"})")
                  .status,
              201);
    EXPECT_EQ(why(), "Its address is on the block list.");
}

}  // namespace
}  // namespace berth::test
