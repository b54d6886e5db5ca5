// A lost mailbox or wallet: nobody gets into an account by an operator's word before everybody who
// may be its owner had the time to say no.
#include "recovery/recovered.hpp"
#include "server/restored.hpp"

namespace berth::test {
namespace {

TEST_F(Recovered, AMailboxIsReplacedAfterEveryKnownAddressHadTimeToObject) {
    const AccountId id = account(ada);
    const std::string key = town.key_of(ada);
    change_mail(id, "ada@example.com");
    const std::string recovery = opened(to_string(id), to_mail("Ada@Example.NET"));
    for (const std::string email : {ada_mail, "ada@example.com", new_mail})
        EXPECT_NE(token_to(email), "") << email;
    EXPECT_EQ(member(get(root, "recoveries/" + recovery), "addresses_told"), "3");
    EXPECT_EQ(error_code(decide(recovery, "complete")), "CONFLICT") << "there is time to object";
    EXPECT_EQ(error_code(post(root, "recoveries", asking(to_string(id), to_mail("b@example.net")))),
              "CONFLICT")
        << "one at a time";
    wait(std::chrono::hours(169));
    ASSERT_EQ(decide(recovery, "complete").status, 200);
    EXPECT_EQ(error_code(decide(recovery, "complete")), "CONFLICT");
    Browser again = town.person(new_mail);
    EXPECT_EQ(account(again), id);
    Browser stranger = town.person("ada@example.com");
    EXPECT_NE(account(stranger), id) << "the lost mailbox opens nothing";
    EXPECT_EQ(town.with_key(key, "GET", "/api/v1/auth/session").status, 401);
    EXPECT_EQ(events("open_recovery"), 1);
    EXPECT_EQ(events("complete_recovery"), 1);
}

TEST_F(Recovered, OneObjectionEndsIt) {
    const std::string recovery = opened(id_of(ada), to_mail(new_mail));
    const std::string token = token_to(ada_mail);
    EXPECT_EQ(error_code(object(recovery, "bro_nonsense")), "AUTHORIZATION_INVALID");
    EXPECT_EQ(error_code(object(town.harness.new_id(), token)), "AUTHORIZATION_INVALID");
    EXPECT_EQ(state(recovery), "waiting");
    EXPECT_EQ(object(recovery, token).status, 200);
    EXPECT_EQ(object(recovery, token).status, 200) << "pressing the button twice does no harm";
    EXPECT_EQ(state(recovery), "objected");
    EXPECT_EQ(events("object_to_recovery"), 1);
    wait(std::chrono::hours(169));
    EXPECT_EQ(error_code(decide(recovery, "complete")), "CONFLICT");
    Browser owner = town.person(ada_mail);
    EXPECT_EQ(member(owner.send("GET", "/api/v1/auth/session").body, "email"), ada_mail);
}

TEST_F(Recovered, AnyKeyOfTheAccountObjectsAndNoOther) {
    const std::string key = town.key_of(ada);
    Browser bob = town.person("bob@example.org");
    const std::string recovery = opened(id_of(ada), to_mail(new_mail));
    const std::string path = "/api/v1/account/recoveries";
    EXPECT_EQ(bob.send("GET", path).body, R"({"items":[]})");
    EXPECT_EQ(bob.send("POST", path + "/" + recovery + "/object", "", town.harness.new_id()).status,
              404);
    const auto seen = town.with_key(key, "GET", path);
    EXPECT_EQ(member(seen.body, "items.0.recovery_id"), recovery);
    EXPECT_EQ(member(seen.body, "items.0.replaced_by"), "a…@example.net");
    EXPECT_EQ(town.with_key(key, "POST", path + "/" + recovery + "/object").status, 200);
    EXPECT_EQ(state(recovery), "objected");
}

TEST_F(Recovered, ASignInByTheLostMailboxStopsIt) {
    const std::string recovery = opened(id_of(ada), to_mail(new_mail));
    town.harness.clock.advance(std::chrono::hours(24));
    Browser found = town.person(ada_mail);
    wait(std::chrono::hours(169));
    EXPECT_EQ(member(get(root, "recoveries/" + recovery), "signed_in_since"), "true");
    EXPECT_EQ(error_code(decide(recovery, "complete")), "CONFLICT");
    EXPECT_EQ(decide(recovery, "cancel").status, 200);
    EXPECT_EQ(state(recovery), "cancelled");
}

TEST_F(Recovered, AnAuthenticatorStaysUnlessItIsNamed) {
    ada.enroll();
    const std::string first = opened(id_of(ada), to_mail(new_mail));
    wait(std::chrono::hours(169));
    ASSERT_EQ(decide(first, "complete").status, 200);
    Browser again(town);
    again.origin = ada.origin;
    EXPECT_EQ(member(again.sign_in(new_mail).body, "mfa_required"), "true");
    const std::string second =
        opened(member(get(root, "users?q=" + std::string(new_mail)), "items.0.user_id"),
               to_mail("a@example.net") + R"(,"lost_authenticator":true)");
    wait(std::chrono::hours(169));
    ASSERT_EQ(decide(second, "complete").status, 200);
    Browser free(town);
    free.origin = ada.origin;
    EXPECT_EQ(member(free.sign_in("a@example.net").body, "mfa_required"), "false");
}

TEST_F(Recovered, AnAgentsWalletIsReplacedAndTheOldOneOpensNothing) {
    const auto lost = crypto::SigningKey::make(town.harness.random);
    const auto fresh = crypto::SigningKey::make(town.harness.random);
    const auto made = town.enlist(lost);
    const std::string id = member(made.body, "account_id");
    const std::string key = member(made.body, "api_key.secret");
    const std::string recovery = opened(id, to_wallet(fresh));
    wait(std::chrono::hours(169));
    ASSERT_EQ(decide(recovery, "complete").status, 200);
    EXPECT_EQ(town.with_key(key, "GET", "/api/v1/auth/session").status, 401);
    EXPECT_EQ(error_code(town.enlist(lost)), "FORBIDDEN") << "a thief of the wallet gets no key";
    const auto again = town.enlist(fresh);
    ASSERT_EQ(again.status, 201) << again.body;
    EXPECT_EQ(member(again.body, "account_id"), id);
    EXPECT_EQ(member(again.body, "created"), "false");
    const std::string saved =
        town.with_key(member(again.body, "api_key.secret"), "GET", "/api/v1/withdrawal-addresses")
            .body;
    EXPECT_EQ(member(saved, "items.0.address"), crypto::checksummed(fresh.address()));
    EXPECT_EQ(member(saved, "items.1.address"), "");
}

TEST_F(Recovered, WhatCannotBeIsRefusedByName) {
    const std::string id = id_of(ada);
    Browser bob = town.person("bob@example.org");
    const auto wallet = crypto::SigningKey::make(town.harness.random);
    const std::string agent = member(town.enlist(wallet).body, "account_id");
    const auto refused = [&](const std::string& account, const std::string& more) {
        return error_code(post(root, "recoveries", asking(account, more)));
    };
    EXPECT_EQ(refused(id, to_mail(new_mail) + "," + to_wallet(wallet)), "INVALID_INPUT");
    EXPECT_EQ(refused(id, R"("lost_authenticator":true)"), "INVALID_INPUT");
    EXPECT_EQ(refused(agent, R"("wallet":"0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed")"),
              "INVALID_INPUT")
        << "a wrong checksum";
    EXPECT_EQ(refused(id, to_mail("bob@example.org")), "CONFLICT");
    EXPECT_EQ(refused(id, to_wallet(crypto::SigningKey::make(town.harness.random))), "CONFLICT");
    EXPECT_EQ(refused(agent, to_mail(new_mail)), "CONFLICT");
    EXPECT_EQ(refused(agent, to_wallet(wallet)), "CONFLICT");
    EXPECT_EQ(refused(id_of(root), to_mail(new_mail)), "FORBIDDEN");
    EXPECT_EQ(refused(town.harness.new_id(), to_mail(new_mail)), "NOT_FOUND");
    EXPECT_EQ(post(root, "recoveries",
                   R"({"account_id":")" + id +
                       R"(","email":"x@example.net",)"
                       R"("reason":"no evidence","evidence":[]})")
                  .status,
              422);
    EXPECT_EQ(town.mails_to(new_mail).size(), 0U);
}

TEST_F(Recovered, WhatWaitsDoesNotSurviveARestore) {
    const std::string recovery = opened(id_of(ada), to_mail(new_mail));
    EXPECT_EQ(error_code(enter(new_mail)), "FORBIDDEN");
    server::quieten(town.harness.app->database(), "a copy from before", town.harness.random,
                    town.harness.clock.now());
    wait(std::chrono::hours(1));
    EXPECT_EQ(state(recovery), "cancelled");
    EXPECT_EQ(enter(new_mail).status, 200) << "the address is promised to nobody any more";
}

TEST_F(RecoveredByTwo, NobodyIsToldBeforeASecondAdminAgrees) {
    const auto asked = post(root, "recoveries", asking(id_of(ada), to_mail(new_mail)));
    ASSERT_EQ(asked.status, 202) << asked.body;
    EXPECT_EQ(token_to(ada_mail), "");
    EXPECT_EQ(post(root, "pending-actions/" + member(asked.body, "pending_action_id") + "/confirm",
                   R"({"reason":"my own word"})")
                  .status,
              403);
    const auto confirmed = confirm(asked);
    ASSERT_EQ(confirmed.status, 200) << confirmed.body;
    EXPECT_NE(token_to(ada_mail), "");
    EXPECT_EQ(member(confirmed.body, "result.state"), "waiting") << confirmed.body;
}

}  // namespace
}  // namespace berth::test
