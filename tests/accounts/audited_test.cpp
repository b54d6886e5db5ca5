// Every change of how one gets into an account is in the audit record, with who made it.
#include <gtest/gtest.h>

#include "support/town.hpp"

namespace berth::test {
namespace {

struct Audited : ::testing::Test {
    // What was recorded about this account, oldest first.
    std::vector<std::string> actions(const std::string& account) {
        return town.harness.app->database().read([&](db::Transaction& tx) {
            return tx.fetch_values<std::string>(
                "SELECT action FROM audit_events WHERE target_id = $1 AND actor_kind = 'account' "
                "AND request_id IS NOT NULL ORDER BY sequence",
                account);
        });
    }
    Town town;
};

TEST_F(Audited, ChangesOfHowAPersonSignsIn) {
    Browser ada = town.person("ada@example.org");
    const std::string account = member(ada.send("GET", "/api/v1/auth/session").body, "account_id");
    ada.enroll();
    town.key_of(ada);
    const auto keys = ada.send("GET", "/api/v1/account/api-keys").body;
    town.harness.clock.advance(std::chrono::seconds(31));
    ASSERT_EQ(ada.step_up("account-sensitive").status, 200);
    EXPECT_EQ(ada.send("DELETE", "/api/v1/account/api-keys/" + member(keys, "items.0.key_id"), "",
                       town.harness.new_id())
                  .status,
              204);
    EXPECT_EQ(ada.send("DELETE", "/api/v1/account/mfa/totp").status, 204);
    EXPECT_EQ(ada.send("POST", "/api/v1/account/sessions/revoke").status, 204);
    EXPECT_EQ(actions(account),
              (std::vector<std::string>{"enable_authenticator", "make_api_key", "revoke_api_key",
                                        "remove_authenticator", "end_sessions"}));
}

TEST_F(Audited, ChangesOfAnAgentToo) {
    const auto wallet = crypto::SigningKey::make(town.harness.random);
    const auto made = town.enlist(wallet);
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(actions(member(made.body, "account_id")), std::vector<std::string>{"make_api_key"});
}

}  // namespace
}  // namespace berth::test
