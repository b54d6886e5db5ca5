// What an owner calls a machine.
#include <gtest/gtest.h>

#include "support/machines.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

using machines::Machine;

struct OwnMachines : ::testing::Test {
    struct Owner {
        std::string key;
        AccountId account;
    };
    Owner owner() {
        const auto made = town.enlist(crypto::SigningKey::make(town.harness.random), R"(["host"])");
        return {member(made.body, "api_key.secret"),
                {parse_uuid(member(made.body, "account_id")).value()}};
    }
    http::Response edit(const Owner& who, const Machine& which, const std::string& body) {
        return town.harness.ask({.method = "PATCH",
                                 .target = place(which),
                                 .as = who.key,
                                 .key = town.harness.new_id(),
                                 .body = body});
    }
    static std::string place(const Machine& machine) {
        return "/api/v1/hosts/machines/" + to_string(machine.machine_id);
    }
    std::string label_of(const Machine& which) {
        return member(town.with_key(ada.key, "GET", place(which)).body, "label");
    }

    Town town;
    Owner ada = owner();
    Machine machine = enrolled(town.harness, ada.account);
};

TEST_F(OwnMachines, HaveANameOnceItIsGiven) {
    EXPECT_EQ(label_of(machine), "null");
    const auto named = edit(ada, machine, R"({"label":"Schrank 2, größer 🚀"})");
    ASSERT_EQ(named.status, 200) << named.body;
    EXPECT_EQ(member(named.body, "label"), "Schrank 2, größer 🚀");
    EXPECT_EQ(member(named.body, "version"), std::to_string(machine.version + 1));
    EXPECT_EQ(label_of(machine), "Schrank 2, größer 🚀");
    const auto again = edit(ada, machine, R"({"label":"Schrank 2, größer 🚀"})");
    EXPECT_EQ(member(again.body, "version"), member(named.body, "version")) << "nothing changed";
    EXPECT_EQ(edit(ada, machine, R"({"label":null})").status, 200);
    EXPECT_EQ(label_of(machine), "null");
}

TEST_F(OwnMachines, SayHowTheyAreReachedAndWhy) {
    const auto page = [&] { return town.with_key(ada.key, "GET", place(machine)).body; };
    EXPECT_EQ(member(page(), "reach"), "direct");
    EXPECT_EQ(member(page(), "reach_why"), "null") << "nothing was found out yet";
    town.harness.app->database().write([&](db::Transaction& tx) {
        auto row = machines::hold(tx, machine.machine_id).value();
        row.reach = machines::Reach::gate;
        machines::save({tx, town.harness.random, town.harness.clock.now()}, row);
        machines::save_reach_why(tx, machine.machine_id, "No address of its own.");
    });
    EXPECT_EQ(member(page(), "reach"), "gate");
    EXPECT_EQ(member(page(), "reach_why"), "No address of its own.");
}

TEST_F(OwnMachines, AreRenamedOnlyAsTheyWereLookedAt) {
    const auto stale = edit(ada, machine, R"({"label":"a","expected_version":"999"})");
    EXPECT_EQ(stale.status, 409);
    EXPECT_EQ(error_code(stale), "STALE_VERSION");
    EXPECT_EQ(label_of(machine), "null");
    const std::string version = std::to_string(machine.version);
    EXPECT_EQ(edit(ada, machine, R"({"label":"a","expected_version":")" + version + R"("})").status,
              200);
}

TEST_F(OwnMachines, AreRenamedByTheirOwnerAlone) {
    const Owner eve = owner();
    EXPECT_EQ(edit(eve, machine, R"({"label":"mine"})").status, 404);
    EXPECT_EQ(label_of(machine), "null");
}

TEST_F(OwnMachines, TakeOnlyNamesThatCanBeSeen) {
    const std::string longest(64, 'x');
    EXPECT_EQ(edit(ada, machine, R"({"label":")" + longest + R"("})").status, 200);
    for (const std::string bad :
         {R"("")", R"("   ")", R"("a\nb")", R"("\u001b]0;x\u0007")", R"("\u009b")",
          R"("\u202egpj.exe")", R"("\u2066x")", R"("\ufeffx")", R"("\u00adx")",
          R"("\udb40\udc41x")", R"(5)", R"([])"}) {
        const auto refused = edit(ada, machine, R"({"label":)" + bad + "}");
        EXPECT_EQ(refused.status, 422) << bad;
        EXPECT_NE(error_message(refused).find("body.label"), std::string::npos)
            << error_message(refused);
    }
    EXPECT_EQ(edit(ada, machine, R"({"label":")" + longest + R"(x"})").status, 422);
    EXPECT_EQ(edit(ada, machine, "{}").status, 422) << "nothing was asked for";
    EXPECT_EQ(label_of(machine), longest);
}

}  // namespace
}  // namespace berth::test
