// What an owner sees of a token that it asked for, and the line that brings a machine in.
#include <gtest/gtest.h>

#include "machines/enrollment.hpp"
#include "machines/label.hpp"
#include "support/machine_agent.hpp"
#include "support/machines.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

struct EnrollmentsShown : ::testing::Test {
    std::string ask_for_one(Browser& who, const std::string& body = R"({"tier":"container"})") {
        const auto made =
            who.send("POST", "/api/v1/hosts/enrollments", body, town.harness.new_id());
        EXPECT_EQ(made.status, 201) << made.body;
        return made.body;
    }
    http::Response look(Browser& who, const std::string& id) {
        return who.send("GET", "/api/v1/hosts/enrollments/" + id);
    }

    Town town;
    Browser ada = town.person("ada@example.org");
};

TEST_F(EnrollmentsShown, WaitAreUsedOrExpire) {
    const std::string made = ask_for_one(ada, R"({"tier":"inference","label":"rack 1"})");
    const std::string id = member(made, "enrollment_id");
    const std::string waiting = look(ada, id).body;
    EXPECT_EQ(member(waiting, "enrollment_id"), id);
    EXPECT_EQ(member(waiting, "state"), "waiting");
    EXPECT_EQ(member(waiting, "tier"), "inference");
    EXPECT_EQ(member(waiting, "label"), "rack 1");
    EXPECT_EQ(member(waiting, "expires_at"), member(made, "expires_at"));
    EXPECT_EQ(member(waiting, "machine_id"), "null");
    EXPECT_EQ(member(waiting, "used_at"), "null");
    EXPECT_EQ(waiting.find("bre_"), std::string::npos) << "the token is shown once";

    MachineAgent agent(town.harness);
    ASSERT_EQ(agent.enroll(member(made, "token")).status, 201);
    const std::string later = member(ask_for_one(ada), "enrollment_id");
    for (const bool is_over : {false, true}) {
        const std::string used = look(ada, id).body;
        EXPECT_EQ(member(used, "state"), "used") << is_over;
        EXPECT_EQ(member(used, "machine_id"), to_string(agent.machine));
        EXPECT_NE(member(used, "used_at"), "null");
        EXPECT_EQ(member(look(ada, later).body, "state"), is_over ? "expired" : "waiting");
        town.harness.clock.advance(machines::enrollment_lasts);
    }
}

TEST_F(EnrollmentsShown, AreNobodyElsesToSee) {
    const std::string id = member(ask_for_one(ada), "enrollment_id");
    Browser eve = town.person("eve@example.org");
    ask_for_one(eve);  // she hosts, too
    EXPECT_EQ(look(eve, id).status, 404);
    EXPECT_EQ(look(ada, town.harness.new_id()).status, 404);
    EXPECT_EQ(look(ada, "mine").status, 422);
    Browser guest = town.person("guest@example.org");
    EXPECT_EQ(look(guest, id).status, 403);
    const std::string renter = town.key_of(ada);
    EXPECT_EQ(town.with_key(renter, "GET", "/api/v1/hosts/enrollments/" + id).status, 403);
}

TEST_F(EnrollmentsShown, TellALineWithoutTheToken) {
    const std::string made = ask_for_one(ada);
    const std::string line = member(made, "install_line");
    EXPECT_TRUE(line.starts_with("berth-agent enroll --server 'http")) << line;
    EXPECT_TRUE(line.ends_with("' --token-file -")) << line;
    EXPECT_EQ(line.find(member(made, "token")), std::string::npos);
    EXPECT_EQ(machines::install_line("https://x/'; rm -rf ~ #"),
              R"(berth-agent enroll --server 'https://x/'\''; rm -rf ~ #' --token-file -)");
}

TEST_F(EnrollmentsShown, TakeNoLabelThatIsNotWhatItLooksLike) {
    for (const std::string bad :
         {R"(a\nb)", R"(a\u001b[31m)", R"(a\u007f)", R"(a\u0085)", R"(\u202eevil)", R"(\u200b)",
          "   ", R"(\u00a0)", R"(\u3000 \u2003)", R"(\u3164)", R"(\u2800)", R"(a\u180e)",
          R"(a\u034f)", R"( \ufe0f)", R"(a\uffff)", R"(a\udb40\udc41)"}) {
        const auto refused =
            ada.send("POST", "/api/v1/hosts/enrollments",
                     R"({"tier":"container","label":")" + bad + R"("})", town.harness.new_id());
        EXPECT_EQ(refused.status, 422) << bad;
        EXPECT_NE(error_message(refused).find("body.label"), std::string::npos)
            << error_message(refused);
    }
}

}  // namespace
}  // namespace berth::test
