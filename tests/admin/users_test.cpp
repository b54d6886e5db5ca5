#include <algorithm>
#include <thread>

#include "admin/office.hpp"
#include "audit/audit.hpp"

namespace berth::test {
namespace {

using AdminUsers = Office;

TEST_F(AdminUsers, AreShownWithVersionAndBalances) {
    const std::string id = id_of(ada);
    const AccountId hers = account(ada);
    book([&](ledger::Context context) {
        ledger::deposit(context, {hers, ledger::Asset::usdc, Micro{500}, "d"});
    });
    const std::string shown = get(root, "users/" + id);
    EXPECT_EQ(member(shown, "user_id"), id);
    EXPECT_EQ(member(shown, "email"), "ada@example.org");
    EXPECT_EQ(member(shown, "account_kind"), "human");
    EXPECT_EQ(member(shown, "role"), "renter");
    EXPECT_EQ(member(shown, "host_capability"), "false");
    EXPECT_EQ(member(shown, "suspended"), "false");
    EXPECT_EQ(member(shown, "mfa_enrolled"), "false");
    EXPECT_EQ(member(shown, "balances.0.asset"), "USDC");
    EXPECT_EQ(member(shown, "balances.0.available_micro"), "500");
    EXPECT_NE(member(shown, "version"), "");
    EXPECT_EQ(root.send("GET", "/api/v1/admin/users/nobody").status, 404);
    EXPECT_EQ(root.send("GET", "/api/v1/admin/users/" + town.harness.new_id()).status, 404);
}

TEST_F(AdminUsers, AreForOperatorsWithAnAuthenticator) {
    town.harness.app->database().write([&](db::Transaction& tx) {
        accounts::make_admin({tx, town.harness.random, town.harness.clock.now()},
                             "bare@example.org");
    });
    Browser bare = town.person("bare@example.org");
    EXPECT_EQ(bare.send("GET", "/api/v1/admin/users").status, 403);
    bare.enroll();
    EXPECT_EQ(bare.send("GET", "/api/v1/admin/users").status, 200);
}

TEST_F(AdminUsers, AreFoundByAPartOfTheAddressOrTheirId) {
    const std::string id = id_of(ada);
    EXPECT_EQ(member(get(root, "users?q=ADA%40exam"), "items.0.user_id"), id);
    EXPECT_EQ(member(get(root, "users?q=" + id), "items.0.email"), "ada@example.org");
    EXPECT_EQ(member(get(root, "users?q=nobody"), "items.0.user_id"), "");
    const std::string first = get(root, "users?limit=1");
    EXPECT_EQ(member(first, "items.0.email"), "ada@example.org") << "newest first";
    const std::string next = member(first, "next_cursor");
    EXPECT_EQ(member(get(root, "users?limit=1&cursor=" + next), "items.0.email"),
              "root@example.org");
    EXPECT_EQ(root.send("GET", "/api/v1/admin/users?q=x&limit=1&cursor=" + next).status, 422);
}

TEST_F(AdminUsers, ASuspendedAccountIsRefusedOnItsNextRequest) {
    const std::string key = town.key_of(ada);
    const std::string id = id_of(ada);
    EXPECT_EQ(town.with_key(key, "GET", "/api/v1/billing").status, 200);
    const std::string before = version(id);
    const auto done = act(root, id, R"("action":"set_suspension","suspended":true)");
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(member(done.body, "user_id"), id);
    EXPECT_EQ(member(done.body, "action"), "set_suspension");
    EXPECT_NE(member(done.body, "version"), before);
    EXPECT_EQ(member(done.body, "version"), version(id));
    EXPECT_EQ(member(done.body, "changed.0.field"), "suspended");
    EXPECT_EQ(member(done.body, "changed.0.from"), "false");
    EXPECT_EQ(member(done.body, "changed.0.to"), "true");
    EXPECT_NE(member(done.body, "consequence"), "");
    EXPECT_EQ(town.with_key(key, "GET", "/api/v1/billing").status, 401);
    EXPECT_EQ(ada.send("GET", "/api/v1/account/api-keys").status, 401);
    EXPECT_EQ(events("set_suspension"), 1);
    const auto mails = town.mails_to("ada@example.org");
    EXPECT_TRUE(std::ranges::any_of(
        mails, [](const std::string& mail) { return mail.find("operator") != mail.npos; }));

    ASSERT_EQ(act(root, id, R"("action":"set_suspension","suspended":false)").status, 200);
    EXPECT_EQ(town.with_key(key, "GET", "/api/v1/billing").status, 200);
    EXPECT_EQ(ada.send("GET", "/api/v1/account/api-keys").status, 401) << "its session has ended";
}

TEST_F(AdminUsers, RoleHostCapabilityAndSessionsChangeAsAsked) {
    const std::string id = id_of(ada);
    ASSERT_EQ(act(root, id, R"("action":"set_host_capability","enabled":true)").status, 200);
    EXPECT_EQ(member(get(root, "users/" + id), "host_capability"), "true");
    EXPECT_EQ(ada.send("GET", "/api/v1/hosts/earnings").status, 200);
    ASSERT_EQ(act(root, id, R"("action":"set_host_capability","enabled":false)").status, 200);
    EXPECT_EQ(ada.send("GET", "/api/v1/hosts/earnings").status, 403);

    ASSERT_EQ(act(root, id, R"("action":"revoke_sessions")").status, 200);
    EXPECT_EQ(ada.send("GET", "/api/v1/billing").status, 401);

    ada.sign_in("ada@example.org");
    const auto done = act(root, id, R"("action":"set_role","role":"host")");
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(member(done.body, "changed.0.to"), "host");
    EXPECT_EQ(ada.send("GET", "/api/v1/billing").status, 401) << "a role change ends sessions";
    EXPECT_EQ(member(get(root, "users/" + id), "role"), "host");
}

TEST_F(AdminUsers, ResettingTheSecondFactorClearsItAndEverySession) {
    ada.enroll();
    const std::string id = id_of(ada);
    EXPECT_EQ(member(get(root, "users/" + id), "mfa_enrolled"), "true");
    const auto done = act(root, id, R"("action":"reset_mfa")");
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(member(done.body, "changed.0.field"), "mfa_enrolled");
    EXPECT_EQ(member(done.body, "version"), version(id));
    EXPECT_EQ(member(get(root, "users/" + id), "mfa_enrolled"), "false");
    EXPECT_EQ(ada.send("GET", "/api/v1/billing").status, 401);
    Browser again = town.person("ada@example.org");
    EXPECT_EQ(again.send("GET", "/api/v1/billing").status, 200) << "no second factor is asked for";
    again.enroll();
}

TEST_F(AdminUsers, AStaleVersionWritesNothing) {
    const std::string id = id_of(ada);
    const std::string seen = version(id);
    const auto wish = [&](const std::string& action) {
        return "{" + action + R"(,"reason":"for a good reason","expected_version":")" + seen +
               "\"}";
    };
    ASSERT_EQ(act(root, id, R"("action":"set_host_capability","enabled":true)").status, 200);
    const std::string now = get(root, "users/" + id);
    for (const char* action :
         {R"("action":"set_role","role":"host")", R"("action":"set_suspension","suspended":true)",
          R"("action":"set_host_capability","enabled":false)", R"("action":"revoke_sessions")",
          R"("action":"reset_mfa")"}) {
        const auto refused = post(root, "users/" + id + "/actions", wish(action));
        EXPECT_EQ(refused.status, 409);
        EXPECT_EQ(error_code(refused), "STALE_VERSION");
    }
    EXPECT_EQ(get(root, "users/" + id), now);
    EXPECT_EQ(ada.send("GET", "/api/v1/billing").status, 200);
    EXPECT_EQ(events("set_role") + events("set_suspension") + events("reset_mfa"), 0);
}

TEST_F(AdminUsers, TheLastAdminStaysOne) {
    const std::string id = id_of(root);
    for (const char* wish : {R"("action":"set_role","role":"renter")",
                             R"("action":"set_suspension","suspended":true)"}) {
        const auto refused = act(root, id, wish);
        EXPECT_EQ(refused.status, 409);
        EXPECT_EQ(error_code(refused), "CONFLICT");
    }
    Browser second = admin("second@example.org");
    const std::string other = id_of(second);
    ASSERT_EQ(act(root, other, R"("action":"set_suspension","suspended":true)").status, 200);
    EXPECT_EQ(act(root, id, R"("action":"set_role","role":"renter")").status, 409)
        << "a suspended admin does not count";
    ASSERT_EQ(act(root, other, R"("action":"set_suspension","suspended":false)").status, 200);
    EXPECT_EQ(act(root, id, R"("action":"set_role","role":"renter")").status, 200);
    EXPECT_EQ(root.send("GET", "/api/v1/admin/users").status, 401);
}

TEST_F(AdminUsers, RacingDemotionsLeaveAnAdmin) {
    constexpr int rounds = 6;
    for (int round = 0; round < rounds; ++round) {
        Browser left = admin("left" + std::to_string(round) + "@example.org");
        Browser right = admin("right" + std::to_string(round) + "@example.org");
        const std::string left_id = id_of(left);
        const std::string right_id = id_of(right);
        // Everybody else stops being one.
        const AccountId one_admin = account(left);
        const AccountId other_admin = account(right);
        town.harness.app->database().write([&](db::Transaction& tx) {
            tx.run(
                "UPDATE accounts SET role = 'renter' WHERE account_id <> $1 "
                "AND account_id <> $2",
                one_admin, other_admin);
        });
        const auto demote = [&](Browser& by, const std::string& whom) {
            const std::string seen =
                member(by.send("GET", "/api/v1/admin/users/" + whom).body, "version");
            return R"({"action":"set_role","role":"renter","reason":"they both fall",)"
                   R"("expected_version":")" +
                   seen + "\"}";
        };
        const std::string of_right = demote(left, right_id);
        const std::string of_left = demote(right, left_id);
        const std::string one = town.harness.new_id();
        const std::string two = town.harness.new_id();
        http::Response first;
        http::Response second;
        std::thread racer([&] {
            first =
                left.send("POST", "/api/v1/admin/users/" + right_id + "/actions", of_right, one);
        });
        second = right.send("POST", "/api/v1/admin/users/" + left_id + "/actions", of_left, two);
        racer.join();
        EXPECT_EQ((first.status == 200) + (second.status == 200), 1) << first.body << "\n"
                                                                     << second.body;
        const auto admins = town.harness.app->database().read([](db::Transaction& tx) {
            EXPECT_TRUE(audit::check_events(tx).sound());
            return tx
                .fetch_value<std::int64_t>("SELECT COUNT(*) FROM accounts WHERE role = 'admin'")
                .value();
        });
        EXPECT_EQ(admins, 1);
    }
}

TEST_F(AdminUsers, AnAgentCannotBecomeAnAdmin) {
    const auto agent = town.enlist(crypto::SigningKey::make(town.harness.random));
    const std::string id = member(agent.body, "account_id");
    EXPECT_EQ(act(root, id, R"("action":"set_role","role":"admin")").status, 409);
    EXPECT_EQ(act(root, id, R"("action":"set_suspension","suspended":true)").status, 200);
    EXPECT_EQ(town.with_key(member(agent.body, "api_key.secret"), "GET", "/api/v1/billing").status,
              401);
}

TEST_F(AdminUsers, AVersionOfAnyShapeIsStaleBeforeTheStateIsLookedAt) {
    const auto agent = town.enlist(crypto::SigningKey::make(town.harness.random));
    const std::string path = "users/" + member(agent.body, "account_id") + "/actions";
    for (const std::string& version : {std::string("77"), std::string(500, 'v')})
        EXPECT_EQ(error_code(post(root, path,
                                  R"({"action":"set_role","role":"admin","reason":"a good one",)"
                                  R"("expected_version":")" +
                                      version + "\"}")),
                  "STALE_VERSION");
}

TEST_F(AdminUsers, ABadCommandIsRefusedBeforeAnythingElse) {
    const std::string path = "users/" + id_of(ada) + "/actions";
    const std::string rest = R"("reason":"for a good reason","expected_version":"1"})";
    for (const std::string& body :
         {R"({"action":"set_balance","amount_micro":"5",)" + rest,
          R"({"action":"set_role",)" + rest, R"({"action":"set_role","role":"owner",)" + rest,
          R"({"action":"revoke_sessions","role":"host",)" + rest,
          R"({"action":"set_suspension","suspended":"yes",)" + rest,
          std::string(R"({"action":"reset_mfa","reason":"four","expected_version":"1"})"),
          std::string(R"({"action":"reset_mfa","reason":"for a good reason"})"),
          std::string(R"({"action":"reset_mfa","reason":"long enough","expected_version":""})"),
          std::string(R"({"action":"reset_mfa","reason":"long enough","expected_version":1})")})
        EXPECT_EQ(post(root, path, body).status, 422) << body;
    const std::string long_reason(2001, 'x');
    EXPECT_EQ(
        post(root, path,
             R"({"action":"reset_mfa","expected_version":"1","reason":")" + long_reason + "\"}")
            .status,
        422);
}

TEST_F(AdminUsers, ACommandNeedsAFreshStepUpAndIsRepeatedOnce) {
    const std::string id = id_of(ada);
    const std::string body = R"({"action":"revoke_sessions","reason":"for a good reason",)"
                             R"("expected_version":")" +
                             version(id) + "\"}";
    const std::string path = "/api/v1/admin/users/" + id + "/actions";
    const std::string key = town.harness.new_id();
    const auto first = root.send("POST", path, body, key);
    ASSERT_EQ(first.status, 200) << first.body;
    EXPECT_EQ(root.send("POST", path, body, key).body, first.body);
    EXPECT_EQ(events("revoke_sessions"), 1);
    town.harness.clock.advance(std::chrono::minutes(6));
    EXPECT_EQ(act(root, id, R"("action":"revoke_sessions")").status, 403);
}

}  // namespace
}  // namespace berth::test
