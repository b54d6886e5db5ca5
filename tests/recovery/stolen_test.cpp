// A mailbox or wallet that was not lost but is somebody else's: who has it neither keeps the owner
// out for ever nor is paid when the owner is back; and who has what is said to be lost stops it.
#include "recovery/recovered.hpp"
#include "transfers/addresses.hpp"
#include "transfers/paying_town.hpp"

namespace berth::test {
namespace {

struct StolenFunds : Recovered {
    StolenFunds() : Recovered(PayingTown::paying({})) {}

    http::Response freeze(const std::string& user, bool frozen) {
        return root.send("PUT", "/api/v1/admin/users/" + user + "/freeze",
                         std::string(R"({"frozen":)") + (frozen ? "true" : "false") +
                             R"(,"reason":"a thief is in it","expected_version":")" +
                             version(user) + "\"}",
                         town.harness.new_id());
    }
    // A withdrawal that waits to be signed.
    void withdraw(const std::string& amount) {
        town.harness.clock.advance(std::chrono::seconds(1));
        ASSERT_EQ(ada.send("POST", "/api/v1/withdrawals/code", code_wish(amount)).status, 202);
        const auto asked =
            ada.send("POST", "/api/v1/withdrawals", wish(amount, with_code(town.code_to(ada_mail))),
                     town.harness.new_id());
        ASSERT_EQ(asked.status, 202) << asked.body;
    }
};

TEST_F(StolenFunds, WhatAThiefAskedForIsCalledOff) {
    const AccountId id = account(ada);
    const std::string reference = town.harness.new_id();
    book([&](ledger::Context context) {
        ledger::deposit(context, {id, ledger::Asset::usdc, Micro{10'000'000}, reference});
        transfers::save_own_address(context, id, crypto::parse_address(somewhere).value());
    });
    withdraw("4000000");
    EXPECT_EQ(balances(id).available, Micro{6'000'000});
    ASSERT_EQ(freeze(to_string(id), true).status, 200);
    const std::string recovery = opened(to_string(id), to_mail(new_mail));
    wait(std::chrono::hours(169));
    const auto done = decide(recovery, "complete");
    ASSERT_EQ(done.status, 200) << done.body;
    ASSERT_EQ(freeze(to_string(id), false).status, 200);
    Browser owner = town.person(new_mail);
    const std::string asked = owner.send("GET", "/api/v1/withdrawals").body;
    EXPECT_EQ(member(asked, "items.0.state"), "CANCELLED") << asked;
    EXPECT_EQ(balances(id).available, Micro{10'000'000});
    EXPECT_EQ(balances(id).reserved, Micro{});
}

TEST_F(Recovered, AWalletThatNeverRegisteredIsBarredByTheNextOne) {
    const auto lost = crypto::SigningKey::make(town.harness.random);
    const auto wrong = crypto::SigningKey::make(town.harness.random);
    const auto right = crypto::SigningKey::make(town.harness.random);
    const std::string id = member(town.enlist(lost).body, "account_id");
    const std::string first = opened(id, to_wallet(wrong));
    wait(std::chrono::hours(169));
    ASSERT_EQ(decide(first, "complete").status, 200);
    const std::string second = opened(id, to_wallet(right));
    wait(std::chrono::hours(169));
    ASSERT_EQ(decide(second, "complete").status, 200);
    EXPECT_EQ(error_code(town.enlist(lost)), "FORBIDDEN");
    EXPECT_EQ(error_code(town.enlist(wrong)), "FORBIDDEN");
    EXPECT_EQ(member(town.enlist(right).body, "account_id"), id);
}

TEST_F(Recovered, WhoReadsTheMailOfASuspendedAccountStopsNothing) {
    const std::string id = id_of(ada);
    ASSERT_EQ(act(root, id, R"("action":"set_suspension","suspended":true)").status, 200);
    const std::string recovery = opened(id, to_mail(new_mail));
    EXPECT_EQ(shown(recovery, "was_suspended"), "true");
    town.harness.clock.advance(std::chrono::hours(1));
    EXPECT_EQ(enter(ada_mail).status, 401);
    const std::string token = token_to(ada_mail);
    EXPECT_EQ(member(object(recovery, token).body, "state"), "waiting");
    EXPECT_EQ(member(object(recovery, token).body, "state"), "waiting");
    EXPECT_EQ(events("doubt_recovery"), 1);
    wait(std::chrono::hours(169));
    EXPECT_EQ(shown(recovery, "signed_in_since"), "false");
    EXPECT_EQ(shown(recovery, "objections.0.address"), "a…@example.org");
    const auto done = decide(recovery, "complete");
    ASSERT_EQ(done.status, 200) << done.body;
    ASSERT_EQ(act(root, id, R"("action":"set_suspension","suspended":false)").status, 200);
    Browser owner = town.person(new_mail);
    EXPECT_EQ(id_of(owner), id);
}

TEST_F(Recovered, AFormerAddressOfASuspendedAccountStillEndsIt) {
    const AccountId id = account(ada);
    change_mail(id, "ada@example.com");
    town.suspend(to_string(id));
    const std::string recovery = opened(to_string(id), to_mail(new_mail));
    ASSERT_NE(token_to(ada_mail), token_to("ada@example.com")) << "each has a link of its own";
    EXPECT_EQ(member(object(recovery, token_to(ada_mail)).body, "state"), "objected");
    EXPECT_EQ(shown(recovery, "objections.0.address"), "a…@example.org");
    EXPECT_EQ(state(recovery), "objected");
}

TEST_F(Recovered, HalfASignInStopsNothing) {
    ada.enroll();
    const std::string recovery = opened(id_of(ada), to_mail(new_mail));
    wait(std::chrono::hours(1));
    EXPECT_EQ(member(enter(ada_mail).body, "mfa_required"), "true");
    EXPECT_EQ(shown(recovery, "signed_in_since"), "false");
    Browser whole(town);
    whole.origin = ada.origin;
    whole.totp = ada.totp;
    EXPECT_EQ(whole.sign_in(ada_mail).status, 200);
    EXPECT_EQ(shown(recovery, "signed_in_since"), "true");
}

TEST_F(Recovered, AnotherAddressTakenMeanwhileStopsIt) {
    const AccountId id = account(ada);
    const std::string recovery = opened(to_string(id), to_mail(new_mail));
    town.harness.clock.advance(std::chrono::hours(1));
    change_mail(id, "ada@example.com");
    wait(std::chrono::hours(169));
    EXPECT_EQ(error_code(decide(recovery, "complete")), "CONFLICT");
}

TEST_F(Recovered, AWalletThatSignsIsNotLost) {
    const auto lost = crypto::SigningKey::make(town.harness.random);
    const auto fresh = crypto::SigningKey::make(town.harness.random);
    const std::string id = member(town.enlist(lost).body, "account_id");
    const std::string recovery = opened(id, to_wallet(fresh));
    town.harness.clock.advance(std::chrono::hours(1));
    EXPECT_EQ(town.enlist(lost).status, 201);
    wait(std::chrono::hours(169));
    EXPECT_EQ(shown(recovery, "signed_in_since"), "true");
    EXPECT_EQ(error_code(decide(recovery, "complete")), "CONFLICT");
    ASSERT_EQ(decide(recovery, "cancel").status, 200);
    town.suspend(id);
    const std::string again = opened(id, to_wallet(fresh));
    town.harness.clock.advance(std::chrono::hours(1));
    EXPECT_EQ(error_code(town.enlist(lost)), "FORBIDDEN");
    wait(std::chrono::hours(169));
    EXPECT_EQ(decide(again, "complete").status, 200) << "a thief of it is shut out";
}

TEST_F(Recovered, AKeyInUseStopsItWhereNobodyCouldBeTold) {
    const auto lost = crypto::SigningKey::make(town.harness.random);
    const auto made = town.enlist(lost);
    const std::string recovery = opened(member(made.body, "account_id"),
                                        to_wallet(crypto::SigningKey::make(town.harness.random)));
    EXPECT_EQ(shown(recovery, "addresses_told"), "0");
    town.harness.clock.advance(std::chrono::hours(1));
    EXPECT_EQ(
        town.with_key(member(made.body, "api_key.secret"), "GET", "/api/v1/auth/session").status,
        200);
    wait(std::chrono::hours(169));
    EXPECT_EQ(error_code(decide(recovery, "complete")), "CONFLICT");
}

TEST_F(Recovered, TheNewAddressIsKeptFreeForTheAccount) {
    const std::string id = id_of(ada);
    Browser bob = town.person("bob@example.org");
    const std::string first = opened(id, to_mail(new_mail));
    EXPECT_EQ(error_code(enter(new_mail)), "FORBIDDEN") << "no account is made by looking";
    EXPECT_EQ(error_code(post(root, "recoveries", asking(id_of(bob), to_mail(new_mail)))),
              "CONFLICT");
    wait(std::chrono::hours(169));
    ASSERT_EQ(decide(first, "complete").status, 200);
    Browser owner = town.person(new_mail);
    EXPECT_EQ(id_of(owner), id);
    const std::string second = opened(id, to_mail("a@example.net"));
    EXPECT_EQ(error_code(enter("a@example.net")), "FORBIDDEN");
    ASSERT_EQ(decide(second, "cancel").status, 200);
    EXPECT_EQ(enter("a@example.net").status, 200);
}

TEST_F(Recovered, TheOwnerReadsThatTheAuthenticatorGoesAndThatItWasCalledOff) {
    const std::string recovery =
        opened(id_of(ada), to_mail(new_mail) + R"(,"lost_authenticator":true)");
    EXPECT_NE(town.mail_to(ada_mail).find("authenticator would go"), std::string::npos);
    EXPECT_EQ(
        member(ada.send("GET", "/api/v1/account/recoveries").body, "items.0.lost_authenticator"),
        "true");
    ASSERT_EQ(decide(recovery, "cancel").status, 200);
    for (const std::string email : {ada_mail, new_mail})
        EXPECT_NE(town.mail_to(email).find("called off"), std::string::npos) << email;
}

TEST_F(Recovered, AClosedAccountIsNotRecovered) {
    const std::string id = id_of(ada);
    const std::string recovery = opened(id, to_mail(new_mail));
    ASSERT_EQ(post(root, "users/" + id + "/close",
                   R"({"reason":"its owner left","expected_version":")" + version(id) + "\"}")
                  .status,
              200);
    EXPECT_EQ(state(recovery), "cancelled");
    EXPECT_EQ(error_code(post(root, "recoveries", asking(id, to_mail(new_mail)))), "CONFLICT");
}

TEST_F(RecoveredByTwo, ASecondAdminPassesOverAnObjectionFromTheLostMailbox) {
    const std::string id = id_of(ada);
    town.suspend(id);
    const auto asked = confirm(post(root, "recoveries", asking(id, to_mail(new_mail))));
    const std::string recovery = member(asked.body, "result.recovery_id");
    ASSERT_EQ(member(object(recovery, token_to(ada_mail)).body, "state"), "waiting") << asked.body;
    wait(std::chrono::hours(169));
    const auto alone = decide(recovery, "complete");
    EXPECT_EQ(state(recovery), "waiting");
    EXPECT_EQ(eve.sign_in("eve@example.org").status, 200);
    EXPECT_EQ(eve.step_up("admin-sensitive").status, 200);
    const auto both = confirm(alone);
    EXPECT_EQ(member(both.body, "result.state"), "completed") << both.body;
}

}  // namespace
}  // namespace berth::test
