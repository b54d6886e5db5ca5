// What a dishonest operator tries against the others, and against a market of one.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "admin/office.hpp"
#include "four_eyes/four_eyes.hpp"
#include "support/told.hpp"
#include "transfers/store.hpp"

namespace berth::test {
namespace {

constexpr std::string_view promote = R"("action":"set_role","role":"admin")";

struct FourEyes : Office {
    FourEyes() : Office({.flags = {{"four-eyes", "auto"}}}) {}

    http::Response confirm(Browser& by, const std::string& id) { return decide(by, id, "confirm"); }
    http::Response decide(Browser& by, const std::string& id, const std::string& word) {
        return post(by, "pending-actions/" + id + "/" + word,
                    R"({"reason":"looked at the evidence"})");
    }
    http::Response refund(Browser& by, JobId job, std::int64_t amount,
                          const std::string& query = "") {
        return post(by, "refunds" + query,
                    fmt::format(R"({{"job_id":"{}","amount_micro":"{}","reason":"it was down",)"
                                R"("evidence":["ticket 1"]}})",
                                to_string(job), amount));
    }
    static std::string pending(const http::Response& answer) {
        EXPECT_EQ(answer.status, 202) << answer.body;
        const std::string id = member(answer.body, "pending_action_id");
        EXPECT_NE(id, "") << answer.body;
        return id;
    }
    void renew(Browser& by) {
        if (by.send("GET", "/api/v1/auth/session").status != 200) by.sign_in("eve@example.org");
        ASSERT_EQ(by.step_up("admin-sensitive").status, 200);
    }
    void pay_out(AccountId host, std::int64_t amount) {
        const auto id = book([&](ledger::Context context) {
            const auto made = ledger::TransferId::make(context.now, context.random);
            ledger::lock(context,
                         {made, host, ledger::Asset::usdc, Micro{amount}, ledger::Source::payout});
            return made;
        });
        book([&](ledger::Context context) { ledger::settle(context, id); });
    }
    std::string role(const std::string& user) { return member(get(root, "users/" + user), "role"); }
    four_eyes::TurnedOff turn_off(const std::string& reason) {
        return town.harness.app->database().write([&](db::Transaction& tx) {
            const crypto::Sealer sealer{crypto::Secret(Bytes(32, 'k'))};
            const mail::Outbox outbox(sealer, "market@example.org");
            return four_eyes::turn_off({tx, town.harness.random, town.harness.clock.now()}, outbox,
                                       "Berth", reason);
        });
    }
};

TEST_F(FourEyes, OneAdminRunsASmallMarketAlone) {
    const std::string id = id_of(ada);
    EXPECT_EQ(act(root, id, std::string(promote)).status, 200);
    EXPECT_EQ(role(id), "admin");
}

TEST_F(FourEyes, WhatOneHasFrozenAnotherDoesNotEndAlone) {
    Browser eve = admin("eve@example.org");
    const std::string id = id_of(ada);
    const auto freeze = [&](Browser& by, bool frozen) {
        return by.send("PUT", "/api/v1/admin/users/" + id + "/freeze",
                       fmt::format(R"({{"frozen":{},"reason":"for a good reason",)"
                                   R"("expected_version":"{}"}})",
                                   frozen, version(id)),
                       town.harness.new_id());
    };
    const auto is_frozen = [&] { return member(get(root, "users/" + id), "frozen"); };
    ASSERT_EQ(freeze(root, true).status, 200);
    ASSERT_EQ(freeze(eve, true).status, 200) << "which does not make it hers";
    const std::string asked = pending(freeze(eve, false));
    EXPECT_EQ(is_frozen(), "true");
    EXPECT_EQ(confirm(eve, asked).status, 403);
    EXPECT_EQ(confirm(root, asked).status, 200);
    EXPECT_EQ(is_frozen(), "false");
    ASSERT_EQ(freeze(eve, true).status, 200);
    EXPECT_EQ(freeze(eve, false).status, 200) << "her own";
    ASSERT_EQ(freeze(eve, true).status, 200);
    ASSERT_EQ(freeze(root, true).status, 200);
    EXPECT_EQ(freeze(eve, false).status, 202) << "it is not hers alone any more";
    EXPECT_EQ(is_frozen(), "true");
}

TEST_F(FourEyes, ThePromotionToAdminWaitsForASecondOne) {
    Browser eve = admin("eve@example.org");
    const std::string id = id_of(ada);
    const auto asked = act(eve, id, std::string(promote));
    const std::string pending_id = pending(asked);
    EXPECT_EQ(role(id), "renter");
    EXPECT_EQ(member(get(root, "pending-actions?state=waiting"), "items.0.pending_action_id"),
              pending_id);
    const std::string seen = get(root, "pending-actions/" + pending_id);
    EXPECT_EQ(member(seen, "action"), "set_role");
    EXPECT_EQ(member(seen, "asked_by"), id_of(eve));
    EXPECT_EQ(member(seen, "target.id"), id);
    EXPECT_EQ(member(seen, "confirmable"), "true");
    EXPECT_EQ(member(get(eve, "pending-actions/" + pending_id), "confirmable"), "false");

    EXPECT_EQ(confirm(eve, pending_id).status, 403) << "who asked does not confirm";
    EXPECT_EQ(role(id), "renter");
    const auto done = confirm(root, pending_id);
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(member(done.body, "result.user_id"), id);
    EXPECT_EQ(role(id), "admin");
    EXPECT_EQ(confirm(root, pending_id).status, 409) << "once";
    EXPECT_EQ(events("ask_second_admin"), 1);
    EXPECT_EQ(events("confirm_pending_action"), 1);
    EXPECT_EQ(events("set_role"), 1);
}

TEST_F(FourEyes, ARepeatedRequestIsOnePendingAction) {
    Browser eve = admin("eve@example.org");
    const std::string id = id_of(ada);
    const std::string key = town.harness.new_id();
    const std::string body = "{" + std::string(promote) +
                             R"(,"reason":"for a good reason","expected_version":")" + version(id) +
                             "\"}";
    const std::string path = "/api/v1/admin/users/" + id + "/actions";
    const auto first = eve.send("POST", path, body, key);
    const auto again = eve.send("POST", path, body, key);
    EXPECT_EQ(pending(first), pending(again));
    EXPECT_EQ(member(get(root, "pending-actions"), "items.1.pending_action_id"), "");
}

TEST_F(FourEyes, TheConfirmationNeedsAFreshProof) {
    Browser eve = admin("eve@example.org");
    const std::string pending_id = pending(act(eve, id_of(ada), std::string(promote)));
    town.harness.clock.advance(std::chrono::minutes(6));
    EXPECT_EQ(confirm(root, pending_id).status, 403);
    EXPECT_EQ(role(id_of(ada)), "renter");
    ASSERT_EQ(root.step_up("admin-sensitive").status, 200);
    EXPECT_EQ(confirm(root, pending_id).status, 200);
}

TEST_F(FourEyes, AnAccountThatChangedMeanwhileIsAskedForAnew) {
    Browser eve = admin("eve@example.org");
    const std::string id = id_of(ada);
    const std::string pending_id = pending(act(eve, id, std::string(promote)));
    ASSERT_EQ(act(root, id, R"("action":"set_host_capability","enabled":true)").status, 200);
    const auto late = confirm(root, pending_id);
    EXPECT_EQ(late.status, 409);
    EXPECT_EQ(error_code(late), "STALE_VERSION");
    EXPECT_EQ(role(id), "renter");
}

TEST_F(FourEyes, WhatNobodyConfirmsEndsAfterADay) {
    Browser eve = admin("eve@example.org");
    const std::string pending_id = pending(act(eve, id_of(ada), std::string(promote)));
    town.harness.clock.advance(std::chrono::hours(24));
    root.sign_in("root@example.org");
    ASSERT_EQ(root.step_up("admin-sensitive").status, 200);
    EXPECT_EQ(confirm(root, pending_id).status, 409);
    EXPECT_EQ(member(get(root, "pending-actions?state=expired"), "items.0.state"), "expired");
    EXPECT_EQ(member(get(root, "pending-actions?state=waiting"), "items.0.state"), "");
}

TEST_F(FourEyes, WhoAskedTakesItBackAndWhoIsNoAdminAnyMoreAsksForNothing) {
    Browser eve = admin("eve@example.org");
    const std::string id = id_of(ada);
    const std::string eves = id_of(eve);
    const std::string first = pending(act(eve, id, std::string(promote)));
    EXPECT_EQ(decide(eve, first, "refuse").status, 200);
    EXPECT_EQ(confirm(root, first).status, 409);
    const std::string second = pending(act(eve, id, std::string(promote)));
    ASSERT_EQ(act(root, eves, R"("action":"set_suspension","suspended":true)").status, 200);
    EXPECT_EQ(confirm(root, second).status, 409);
    EXPECT_EQ(role(id), "renter");
}

TEST_F(FourEyes, ARogueWhoEndsTheOtherAdminIsStillNotAloneFor72Hours) {
    Browser eve = admin("eve@example.org");
    const std::string id = id_of(ada);
    const std::string roots = id_of(root);
    ASSERT_EQ(post(eve, "users/" + roots + "/actions",
                   R"({"action":"set_role","role":"renter","reason":"a coup d'etat",)"
                   R"("expected_version":")" +
                       version(roots) + "\"}")
                  .status,
              200);
    const std::string body = "{" + std::string(promote) +
                             R"(,"reason":"my other self","expected_version":")" +
                             member(get(eve, "users/" + id), "version") + "\"}";
    const std::string path = "users/" + id + "/actions";
    const std::string own = pending(post(eve, path, body));
    EXPECT_EQ(confirm(eve, own).status, 403);
    town.harness.clock.advance(std::chrono::hours(71));
    renew(eve);
    pending(post(eve, path, body));
    town.harness.clock.advance(std::chrono::hours(2));
    renew(eve);
    EXPECT_EQ(post(eve, path, body).status, 200) << "then the market is hers, for all to see";
}

TEST_F(FourEyes, ASuspendedAdminComesBackOnlyWithASecondOne) {
    Browser eve = admin("eve@example.org");
    Browser mallory = admin("mallory@example.org");
    const std::string id = id_of(mallory);
    ASSERT_EQ(act(root, id, R"("action":"set_suspension","suspended":true)").status, 200);
    pending(act(eve, id, R"("action":"set_suspension","suspended":false)"));
    EXPECT_EQ(member(get(root, "users/" + id), "suspended"), "true");
}

TEST_F(FourEyes, OnlyTheServersOwnMachineEndsThe72HoursAndEveryAdminIsTold) {
    Browser eve = admin("eve@example.org");
    EXPECT_THROW(turn_off("two are here"), std::invalid_argument);
    const std::string eves = id_of(eve);
    ASSERT_EQ(act(root, eves, R"("action":"set_role","role":"renter")").status, 200);
    const std::string id = id_of(ada);
    pending(act(root, id, std::string(promote)));
    turn_off("eve has left us");
    for (const char* who : {"root@example.org", "eve@example.org"})
        EXPECT_EQ(town.harness.app->database().read([&](db::Transaction& tx) {
            return tx
                .fetch_value<std::int64_t>(
                    "SELECT COUNT(*) FROM outbox WHERE recipient = $1 "
                    "AND subject = 'Berth: four eyes are off'",
                    std::string(who))
                .value();
        }),
                  1)
            << who;
    EXPECT_EQ(events("turn_four_eyes_off"), 1);
    EXPECT_EQ(act(root, id, std::string(promote)).status, 200);
}

TEST_F(FourEyes, TheSettingItselfIsOutOfReachAndTheLimitIsRaisedByTwo) {
    Browser eve = admin("eve@example.org");
    const auto put = [&](const std::string& key, const std::string& value) {
        return eve.send(
            "PUT", "/api/v1/admin/settings/" + key,
            fmt::format(R"({{"value":"{}","expected_version":0,"reason":"in a hurry"}})", value),
            town.harness.new_id());
    };
    EXPECT_EQ(put("operations.four_eyes", "off").status, 403);
    pending(put("operations.four_eyes_limit_micro", "1000000001"));
    pending(put("money.payouts_account_day_max_micro", "100000000001"));
    const std::string cap = pending(put("money.payouts_day_max_micro", "1000000000001"));
    EXPECT_EQ(put("operations.four_eyes_limit_micro", "5000000").status, 200) << "less is at once";
    ASSERT_EQ(confirm(root, cap).status, 200);
    EXPECT_NE(get(root, "settings").find("1000000000001"), std::string::npos);
}

TEST_F(FourEyes, ARefundAboveTheLimitWaits) {
    Browser eve = admin("eve@example.org");
    Browser bob = town.person("bob@example.org");
    const AccountId renter = account(ada);
    const JobId big = job(renter, account(bob), 3'000'000'000);
    const std::string pending_id = pending(refund(eve, big, 1'000'000'001));
    EXPECT_EQ(balances(renter).available.value, 0);
    EXPECT_EQ(member(get(root, "pending-actions/" + pending_id), "amount_micro"), "1000000001");
    ASSERT_EQ(confirm(root, pending_id).status, 200);
    EXPECT_EQ(balances(renter).available.value, 1'000'000'001);
    EXPECT_EQ(untold(town.harness.app->database(),
                     {"operations.action_asked", "operations.action_decided"}),
              "");
}

// A thousand small refunds are a large one.
TEST_F(FourEyes, ManySmallRefundsOfADayAreALargeOne) {
    Browser eve = admin("eve@example.org");
    Browser bob = town.person("bob@example.org");
    const AccountId renter = account(ada);
    const JobId big = job(renter, account(bob), 3'000'000'000);
    EXPECT_EQ(member(refund(eve, big, 600'000'000).body, "refunded_total_micro"), "600000000");
    pending(refund(eve, big, 600'000'000));
    EXPECT_EQ(member(refund(eve, big, 400'000'000).body, "refunded_total_micro"), "1000000000");
    pending(refund(eve, big, 1));
    EXPECT_EQ(balances(renter).available.value, 1'000'000'000);
    town.harness.clock.advance(std::chrono::hours(25));
    eve.sign_in("eve@example.org");
    ASSERT_EQ(eve.step_up("admin-sensitive").status, 200);
    EXPECT_EQ(member(refund(eve, big, 1).body, "refunded_total_micro"), "1000000001");
}

TEST_F(FourEyes, ARefundIsConfirmedAgainstWhatWasRefundedThen) {
    Browser eve = admin("eve@example.org");
    Browser bob = town.person("bob@example.org");
    const JobId big = job(account(ada), account(bob), 3'000'000'000);
    const std::string pending_id = pending(refund(eve, big, 1'500'000'000));
    ASSERT_EQ(member(refund(root, big, 5).body, "refunded_total_micro"), "5");
    EXPECT_EQ(error_code(confirm(root, pending_id)), "STALE_VERSION");
}

TEST_F(FourEyes, WhoGainsByARefundDoesNotConfirmIt) {
    Browser eve = admin("eve@example.org");
    Browser mallory = admin("mallory@example.org");
    Browser bob = town.person("bob@example.org");
    const JobId gift = job(account(mallory), account(bob), 3'000'000'000);
    const JobId loss = job(account(bob), account(mallory), 3'000'000'000);
    for (const JobId each : {gift, loss}) {
        const std::string pending_id = pending(refund(eve, each, 2'000'000'000));
        EXPECT_EQ(confirm(mallory, pending_id).status, 403);
        EXPECT_EQ(confirm(root, pending_id).status, 200);
    }
}

TEST_F(FourEyes, FinanceIsGivenByTwoAndItsLargeRefundsWaitForAnAdmin) {
    Browser eve = admin("eve@example.org");
    Browser bob = town.person("bob@example.org");
    Browser carl = town.person("carl@example.org");
    const std::string id = id_of(ada);
    const auto given =
        eve.send("PUT", "/api/v1/admin/users/" + id + "/desk-role",
                 R"({"desk_role":"finance","reason":"does the books","expected_version":")" +
                     version(id) + "\"}",
                 town.harness.new_id());
    const std::string role_id = pending(given);
    ASSERT_EQ(confirm(root, role_id).status, 200);
    EXPECT_EQ(member(get(root, "users/" + id), "desk_role"), "finance");
    ada.sign_in("ada@example.org");
    EXPECT_EQ(ada.send("GET", "/api/v1/admin/users").status, 403) << "without an authenticator";
    ada.enroll();
    ASSERT_EQ(ada.step_up("admin-sensitive").status, 200);
    EXPECT_EQ(act(ada, id_of(bob), std::string(promote)).status, 403);
    const JobId big = job(account(bob), account(carl), 3'000'000'000);
    EXPECT_EQ(member(refund(ada, big, 1'000'000).body, "refunded_total_micro"), "1000000");
    const std::string large = pending(refund(ada, big, 2'000'000'000));
    EXPECT_EQ(confirm(ada, large).status, 403);
    EXPECT_EQ(confirm(root, large).status, 200);
}

TEST_F(FourEyes, TwoWhoConfirmAtOnceDoItOnce) {
    Browser eve = admin("eve@example.org");
    Browser mallory = admin("mallory@example.org");
    Browser bob = town.person("bob@example.org");
    const AccountId renter = account(ada);
    const JobId big = job(renter, account(bob), 3'000'000'000);
    const std::string pending_id = pending(refund(eve, big, 1'400'000'000));
    std::array<int, 2> status{};
    std::thread other([&] { status[0] = confirm(root, pending_id).status; });
    status[1] = confirm(mallory, pending_id).status;
    other.join();
    std::sort(status.begin(), status.end());
    EXPECT_EQ(status[0], 200);
    EXPECT_EQ(status[1], 409);
    EXPECT_EQ(balances(renter).available.value, 1'400'000'000);
}

// The host leaves with its money while a second admin is waited for.
TEST_F(FourEyes, AShortfallThatWasNotShownIsAskedForAnew) {
    Browser eve = admin("eve@example.org");
    Browser bob = town.person("bob@example.org");
    const JobId big = job(account(ada), account(bob), 3'000'000'000);
    const std::string pending_id = pending(refund(eve, big, 2'000'000'000, "?bearer=host_debt"));
    EXPECT_NE(member(get(root, "pending-actions/" + pending_id), "consequence")
                  .find("do not cover 0 of it now, which is borne by the host"),
              std::string::npos);
    pay_out(account(bob), 2'700'000'000);
    EXPECT_EQ(error_code(confirm(root, pending_id)), "STALE_VERSION");
    EXPECT_EQ(balances(account(bob)).payable.value, 0);
    const std::string anew = pending(refund(eve, big, 2'000'000'000, "?bearer=host_debt"));
    EXPECT_NE(member(get(root, "pending-actions/" + anew), "consequence")
                  .find("do not cover 1800000000 of it now"),
              std::string::npos);
    ASSERT_EQ(confirm(root, anew).status, 200);
    EXPECT_EQ(balances(account(bob)).payable.value, -1'800'000'000);
}

TEST_F(FourEyes, NobodyIsAskedToConfirmWhatCannotBeDone) {
    Browser eve = admin("eve@example.org");
    Browser bob = town.person("bob@example.org");
    const JobId big = job(account(ada), account(bob), 3'000'000'000);
    EXPECT_EQ(refund(eve, big, 3'000'000'001).status, 409) << "more than the charge";
    const auto disputed = post(eve, "disputes",
                               R"({"job_id":")" + to_string(big) +
                                   R"(","amount_micro":"2500000000","reason":"it was down",)"
                                   R"("evidence":[]})");
    ASSERT_EQ(disputed.status, 201) << disputed.body;
    EXPECT_EQ(refund(eve, big, 2'000'000'000, "?bearer=host_debt").status, 409)
        << "a dispute is about it";
    const std::string close = "disputes/" + member(disputed.body, "dispute_id") + "/close";
    const std::string upheld =
        R"({"outcome":"upheld","refund_micro":"2500000000","reason":"it was"})";
    pending(post(eve, close, upheld));
    const JobId gone = job(account(ada), account(bob), 3'000'000'000);
    pay_out(account(bob), balances(account(bob)).payable.value);
    EXPECT_EQ(member(refund(eve, gone, 2'000'000'000).body, "shortfall.host_shortfall_micro"),
              "1800000000");
    EXPECT_EQ(events("ask_second_admin"), 1);
}

TEST_F(FourEyes, AConfirmationAnswersTheShortfallAsTheRefundDoes) {
    Browser eve = admin("eve@example.org");
    Browser bob = town.person("bob@example.org");
    const JobId big = job(account(ada), account(bob), 3'000'000'000);
    const std::string pending_id = pending(refund(eve, big, 2'000'000'000));
    pay_out(account(bob), 2'700'000'000);
    const auto refused = confirm(root, pending_id);
    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(member(refused.body, "shortfall.host_shortfall_micro"), "1800000000");
}

TEST_F(FourEyes, EveryOtherAdminIsToldByMailWhatWaitsAndForWhom) {
    Browser eve = admin("eve@example.org");
    const std::string id = id_of(ada);
    const std::string pending_id = pending(act(eve, id, std::string(promote)));
    const std::string told = town.mail_to("root@example.org");
    EXPECT_NE(told.find(pending_id), std::string::npos) << told;
    EXPECT_NE(told.find("Account " + id + ", ada@example.org: The account's role is admin"),
              std::string::npos)
        << told;
    EXPECT_EQ(town.mail_to("eve@example.org").find(pending_id), std::string::npos);
    EXPECT_EQ(town.mail_to("ada@example.org").find(pending_id), std::string::npos);
}

// One who narrows everything does not stop the market; and the brake is not let go by one alone.
TEST_F(FourEyes, GoingBackToWhatWasInForceYesterdayNeedsNobodyElse) {
    Browser eve = admin("eve@example.org");
    const auto put = [&](Browser& by, const std::string& key, const std::string& value,
                         int version) {
        return by.send(
            "PUT", "/api/v1/admin/settings/" + key,
            fmt::format(R"({{"value":{},"expected_version":{},"reason":"a try"}})", value, version),
            town.harness.new_id());
    };
    const std::string cap = "money.payouts_account_day_max_micro";
    ASSERT_EQ(put(root, cap, R"("5")", 0).status, 200);
    pending(put(eve, cap, R"("100000000001")", 1));
    ASSERT_EQ(put(eve, cap, R"("99999999999")", 1).status, 200);
    ASSERT_EQ(put(root, cap, R"("5")", 2).status, 200);
    town.harness.clock.advance(std::chrono::hours(25));
    renew(eve);
    pending(put(eve, cap, R"("99999999999")", 3));
    const std::string brake = "money.payouts_paused";
    ASSERT_EQ(put(eve, brake, "true", 0).status, 200);
    pending(put(eve, brake, "false", 1));
}

TEST_F(FourEyes, AServerThatIsStartedToAskForLessSaysSoToEveryAdmin) {
    using four_eyes::Mode;
    Browser eve = admin("eve@example.org");
    const auto start = [&](Mode mode, std::int64_t limit) {
        const crypto::Sealer sealer{crypto::Secret(Bytes(32, 'k'))};
        const mail::Outbox outbox(sealer, "market@example.org");
        return book([&](ledger::Context context) {
            return four_eyes::note_start(context, outbox, "Berth", {mode, Micro{limit}}).size();
        });
    };
    EXPECT_EQ(start(Mode::automatic, 1000), 0u) << "there was none before";
    EXPECT_EQ(start(Mode::on, 1000), 0u) << "it asks for more";
    EXPECT_EQ(start(Mode::on, 1000), 0u);
    EXPECT_EQ(start(Mode::automatic, 1000), 2u);
    EXPECT_EQ(start(Mode::automatic, 1001), 2u);
    EXPECT_EQ(start(Mode::off, 10), 2u);
    EXPECT_EQ(events("start_with_fewer_eyes"), 3);
    const std::string eves = id_of(eve);
    ASSERT_EQ(act(root, eves, R"("action":"set_role","role":"renter")").status, 200);
    EXPECT_FALSE(turn_off("eve has left us").still_on);
    start(Mode::on, 10);
    EXPECT_TRUE(turn_off("eve has left us").still_on) << "no command ends what a flag says";
}

TEST_F(FourEyes, WhatWaitsDoesNotOutliveARestore) {
    Browser eve = admin("eve@example.org");
    const std::string pending_id = pending(act(eve, id_of(ada), std::string(promote)));
    EXPECT_EQ(book([&](ledger::Context context) {
                  return four_eyes::end_waiting(context.tx, context.now);
              }),
              1);
    EXPECT_EQ(confirm(root, pending_id).status, 409);
    EXPECT_EQ(member(get(root, "pending-actions/" + pending_id), "state"), "expired");
}

struct FourEyesOverSuspense : FourEyes {
    // An unclaimed transfer of 700; its id.
    std::string unclaimed() {
        const std::string hash = "0x" + std::string(64, 'a');
        book([&](ledger::Context context) {
            context.tx.run(
                "INSERT INTO deposits (tx_hash, ordinal, asset, sender, treasury, amount, block, "
                "seen_at, updated_at, state) VALUES ($1, 2, 'USDC', "
                "'0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', "
                "'0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359', 700, 1, 1, 1, 'SUSPENSE')",
                hash);
            ledger::park(context, {{}, ledger::Asset::usdc, Micro{700}, "8453:" + hash + ":2"});
        });
        return member(get(root, "suspense"), "items.0.deposit_id");
    }
    // Somebody was paid there once.
    void own_address(AccountId who) {
        book([&](ledger::Context context) {
            transfers::TransferRow row;
            row.transfer_id = ledger::TransferId::make(context.now, context.random);
            row.kind = transfers::TransferKind::withdrawal;
            row.account_id = who;
            row.amount = Micro{1};
            row.address = crypto::parse_address(other).value();
            row.created_at = context.now;
            transfers::add_transfer(context.tx, row);
        });
    }
    http::Response give_back(Browser& by, const std::string& deposit) {
        return post(
            by, "suspense/" + deposit + "/return",
            R"({"address":")" + other + R"(","evidence":["ticket 7"],"reason":"a lost key"})");
    }

    const std::string other = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";
};

TEST_F(FourEyesOverSuspense, WhoHasTheAddressOfAReturnNeitherAsksForItNorConfirmsIt) {
    Browser eve = admin("eve@example.org");
    Browser mallory = admin("mallory@example.org");
    const std::string deposit = unclaimed();
    own_address(account(eve));
    own_address(account(mallory));
    EXPECT_EQ(error_message(give_back(eve, deposit)),
              "nobody returns a transfer to their own address");
    EXPECT_EQ(give_back(mallory, deposit).status, 403);
    const std::string pending_id = pending(give_back(root, deposit));
    EXPECT_EQ(confirm(eve, pending_id).status, 403);
    EXPECT_EQ(confirm(mallory, pending_id).status, 403);
}

TEST_F(FourEyesOverSuspense, ATransferThatIsSomebodysByNowIsAskedForAnew) {
    Browser eve = admin("eve@example.org");
    const std::string deposit = unclaimed();
    const std::string path = "suspense/" + deposit + "/match";
    const std::string body = R"({"account_id":")" + id_of(ada) +
                             R"(","reason":"signed with the wallet","evidence":["ticket 7"]})";
    const std::string pending_id = pending(post(eve, path, body));
    book([](ledger::Context context) { context.tx.run("UPDATE deposits SET state = 'RETURNED'"); });
    EXPECT_EQ(error_code(confirm(root, pending_id)), "STALE_VERSION");
    EXPECT_EQ(error_code(post(eve, path, body)), "CONFLICT");
}

}  // namespace
}  // namespace berth::test
