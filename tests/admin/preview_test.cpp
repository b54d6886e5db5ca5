// What a command on an account would do, told before it is done.
#include "admin/office.hpp"
#include "support/machines.hpp"

namespace berth::test {
namespace {

struct Foreseen : Office {
    explicit Foreseen(Harness::Options options = {}) : Office(std::move(options)) {}

    http::Response ask(const std::string& user, const std::string& wish,
                       const std::string& at_version = "") {
        return root.send("POST", "/api/v1/admin/users/" + user + "/actions/preview",
                         "{" + wish + R"(,"reason":"for a good reason","expected_version":")" +
                             (at_version.empty() ? version(user) : at_version) + "\"}");
    }
    // The effect of this name, by one of its members.
    static std::string effect(const http::Response& shown, const std::string& what,
                              const std::string& which) {
        for (int i = 0; i < 20; ++i) {
            const std::string at = "effects." + std::to_string(i) + ".";
            if (member(shown.body, at + "what") == what) return member(shown.body, at + which);
        }
        return "";
    }
};

constexpr std::string_view suspend_it = R"("action":"set_suspension","suspended":true)";

TEST_F(Foreseen, WhatASuspensionStops) {
    const std::string key = town.key_of(ada);
    const auto machine = enrolled(
        town.harness, account(ada),
        {.state = machines::MachineState::AVAILABLE, .offer = machines::OfferState::listed});
    const std::string id = id_of(ada);
    ASSERT_EQ(act(root, id, R"("action":"set_host_capability","enabled":true)").status, 200);
    const std::string before = version(id);
    const std::size_t letters = town.mails_to("ada@example.org").size();
    town.harness.clock.advance(std::chrono::minutes(6));  // it needs no fresh proof
    const auto shown = ask(id, std::string(suspend_it));
    ASSERT_EQ(shown.status, 200) << shown.body;
    EXPECT_EQ(member(shown.body, "allowed"), "true");
    EXPECT_EQ(member(shown.body, "needs_second_admin"), "false");
    EXPECT_EQ(effect(shown, "sessions_ended", "count"), "1") << shown.body;
    EXPECT_EQ(effect(shown, "keys_refused", "count"), "1");
    EXPECT_EQ(effect(shown, "machines_hidden", "ids.0"), to_string(machine.machine_id));
    EXPECT_EQ(effect(shown, "rentals_going_on", "count"), "") << "there is none";
    EXPECT_NE(member(shown.body, "consequence").find("Sign-in"), std::string::npos);

    town.run_tasks();
    EXPECT_EQ(version(id), before) << "nothing has changed";
    EXPECT_EQ(ada.send("GET", "/api/v1/auth/session").status, 200);
    EXPECT_EQ(town.with_key(key, "GET", "/api/v1/billing").status, 200);
    EXPECT_EQ(events("set_suspension"), 0);
    EXPECT_EQ(town.mails_to("ada@example.org").size(), letters);
}

TEST_F(Foreseen, WhatIsRefusedAndWhy) {
    const std::string own = id_of(root);
    const auto last = ask(own, R"("action":"set_role","role":"renter")");
    ASSERT_EQ(last.status, 200) << last.body;
    EXPECT_EQ(member(last.body, "allowed"), "false");
    EXPECT_EQ(member(last.body, "refusal.code"), "CONFLICT");
    EXPECT_NE(member(last.body, "refusal.message").find("last admin"), std::string::npos);
    EXPECT_EQ(member(last.body, "effects"), "[]");
    EXPECT_EQ(member(get(root, "users/" + own), "role"), "admin");
    const auto stale = ask(id_of(ada), std::string(suspend_it), "77");
    EXPECT_EQ(member(stale.body, "refusal.code"), "STALE_VERSION");
    EXPECT_EQ(ask(own, R"("action":"paint")").status, 422);
    EXPECT_EQ(ask(id_of(ada), R"("action":"set_role","role":"king")").status, 422);
    EXPECT_EQ(root.send("POST", "/api/v1/admin/users/" + town.harness.new_id() + "/actions/preview",
                        R"({"action":"reset_mfa","reason":"good reason","expected_version":"1"})")
                  .status,
              404);
}

TEST_F(Foreseen, AnAuthenticatorAndItsSessionsGo) {
    ada.enroll();
    const auto shown = ask(id_of(ada), R"("action":"reset_mfa")");
    EXPECT_EQ(effect(shown, "authenticator_removed", "count"), "1") << shown.body;
    EXPECT_EQ(effect(shown, "sessions_ended", "count"), "1");
    EXPECT_EQ(member(get(root, "users/" + id_of(ada)), "mfa_enrolled"), "true");
}

struct ForeseenByTwo : Foreseen {
    ForeseenByTwo() : Foreseen({.flags = {{"four-eyes", "on"}}}) {}
};

TEST_F(ForeseenByTwo, WhatWouldWaitForASecondAdminIsSaidAndNobodyIsAsked) {
    const auto shown = ask(id_of(ada), R"("action":"set_role","role":"admin")");
    ASSERT_EQ(shown.status, 200) << shown.body;
    EXPECT_EQ(member(shown.body, "allowed"), "true");
    EXPECT_EQ(member(shown.body, "needs_second_admin"), "true");
    EXPECT_EQ(member(get(root, "pending-actions"), "items"), "[]");
    EXPECT_EQ(member(get(root, "users/" + id_of(ada)), "role"), "renter");
    EXPECT_EQ(member(ask(id_of(ada), std::string(suspend_it)).body, "needs_second_admin"), "false");
}

}  // namespace
}  // namespace berth::test
