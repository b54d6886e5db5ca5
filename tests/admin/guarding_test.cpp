// What operators do to protect an account without locking anybody out: freezing it, ending its
// keys, notes for one another. And the file of an account, with all that belongs to it.
#include <algorithm>

#include "admin/office.hpp"
#include "transfers/addresses.hpp"
#include "transfers/paying_town.hpp"

namespace berth::test {
namespace {

struct Guarding : Office {
    Guarding() : Office(PayingTown::paying({})) {}

    http::Response put(Browser& by, const std::string& path, const std::string& body) {
        return by.send("PUT", "/api/v1/admin/" + path, body, town.harness.new_id());
    }
    http::Response freeze(Browser& by, const std::string& user, bool frozen) {
        return put(by, "users/" + user + "/freeze",
                   std::string(R"({"frozen":)") + (frozen ? "true" : "false") +
                       R"(,"reason":"for a good reason","expected_version":")" + version(user) +
                       "\"}");
    }
    http::Response revoke(const std::string& user, const std::string& more = "") {
        return post(root, "users/" + user + "/revoke-keys",
                    "{" + more + R"("reason":"for a good reason","expected_version":")" +
                        version(user) + "\"}");
    }
    void fund(Browser& browser, std::int64_t amount) {
        const AccountId id = account(browser);
        const std::string reference = town.harness.new_id();
        book([&](ledger::Context context) {
            ledger::deposit(context, {id, ledger::Asset::usdc, Micro{amount}, reference});
            transfers::save_own_address(context, id, crypto::parse_address(somewhere).value());
        });
    }
    http::Response withdraw(Browser& browser, const std::string& email, const std::string& amount) {
        town.harness.clock.advance(std::chrono::seconds(1));
        const auto sent =
            browser.send("POST", "/api/v1/withdrawals/code", code_wish(amount, "withdrawal"));
        EXPECT_EQ(sent.status, 202) << sent.body;
        return browser.send("POST", "/api/v1/withdrawals",
                            wish(amount, with_code(town.code_to(email))), town.harness.new_id());
    }
    std::string first_withdrawal(const std::string& which) {
        return member(ada.send("GET", "/api/v1/withdrawals").body, "items.0." + which);
    }
};

TEST_F(Guarding, AFrozenAccountWorksAndNothingLeavesIt) {
    fund(ada, 10'000'000);
    const std::string key = town.key_of(ada);
    const std::string id = id_of(ada);
    ASSERT_EQ(withdraw(ada, "ada@example.org", "2000000").status, 202);
    EXPECT_EQ(first_withdrawal("waits_for"), "null");
    const auto done = freeze(root, id, true);
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(member(done.body, "action"), "set_freeze");
    EXPECT_TRUE(std::ranges::any_of(town.mails_to("ada@example.org"), [](const std::string& text) {
        return text.find("An operator") != text.npos;
    }));
    EXPECT_EQ(member(done.body, "changed.0.field"), "frozen");
    EXPECT_EQ(member(done.body, "changed.0.to"), "true");
    EXPECT_EQ(member(get(root, "users/" + id), "frozen"), "true");
    EXPECT_EQ(town.with_key(key, "GET", "/api/v1/billing").status, 200) << "its keys are good";
    EXPECT_EQ(ada.send("GET", "/api/v1/billing").status, 200) << "and so are its sessions";
    EXPECT_EQ(first_withdrawal("waits_for"), "settlement_hold");
    EXPECT_EQ(first_withdrawal("state"), "INTENT");
    town.harness.clock.advance(std::chrono::minutes(16));
    EXPECT_EQ(member(get(root, "stuck?kind=transfer"), "items.0.why"),
              "An operator has frozen the account.");
    const auto refused = withdraw(ada, "ada@example.org", "1000000");
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(error_code(refused), "CONFLICT");

    ASSERT_EQ(root.step_up("admin-sensitive").status, 200);
    ASSERT_EQ(freeze(root, id, false).status, 200);
    EXPECT_EQ(first_withdrawal("waits_for"), "null");
    EXPECT_EQ(withdraw(ada, "ada@example.org", "1000000").status, 202);
    EXPECT_EQ(events("set_freeze"), 2);
}

TEST_F(Guarding, AFreezeNamesTheVersionThatWasLookedAtAndNobodyEndsTheirOwn) {
    Browser other = admin("other@example.org");
    const std::string id = id_of(other);
    const std::string stale =
        R"({"frozen":true,"reason":"for a good reason","expected_version":"99"})";
    EXPECT_EQ(error_code(put(root, "users/" + id + "/freeze", stale)), "STALE_VERSION");
    EXPECT_EQ(events("set_freeze"), 0);
    ASSERT_EQ(freeze(root, id, true).status, 200);
    EXPECT_EQ(freeze(other, id, false).status, 403);
    EXPECT_EQ(member(get(root, "users/" + id), "frozen"), "true");
    EXPECT_EQ(freeze(root, id, false).status, 200);
    EXPECT_EQ(put(root, "users/nobody/freeze", stale).status, 404);
    Browser bare = admin("bare@example.org");
    town.harness.clock.advance(std::chrono::minutes(6));
    EXPECT_EQ(freeze(bare, id, true).status, 403) << "without a fresh step-up";
}

TEST_F(Guarding, EveryKeyOfAnAccountEndsOrTheOneThatIsNamed) {
    const std::string first = town.key_of(ada);
    town.harness.clock.advance(std::chrono::milliseconds(1));
    const std::string second = town.key_of(ada);
    const std::string id = id_of(ada);
    const std::string file = get(root, "users/" + id);
    EXPECT_EQ(member(file, "keys.0.prefix"), second.substr(0, 12));
    EXPECT_EQ(member(file, "keys.1.prefix"), first.substr(0, 12));
    EXPECT_EQ(file.find(first.substr(0, 13)), std::string::npos) << "no more of the secret";
    const std::string one = R"("key_id":")" + member(file, "keys.1.key_id") + R"(",)";
    const auto done = revoke(id, one);
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(member(done.body, "changed.0.field"), "key");
    EXPECT_EQ(member(done.body, "changed.0.from"), first.substr(0, 12));
    EXPECT_EQ(town.with_key(first, "GET", "/api/v1/billing").status, 401);
    EXPECT_EQ(town.with_key(second, "GET", "/api/v1/billing").status, 200);
    EXPECT_EQ(revoke(id, one).status, 404) << "it has ended already";
    Browser ben = town.person("ben@example.org");
    EXPECT_EQ(revoke(id_of(ben), R"("key_id":")" + member(file, "keys.0.key_id") + R"(",)").status,
              404)
        << "somebody else's";
    EXPECT_EQ(town.with_key(second, "GET", "/api/v1/billing").status, 200);

    const auto all = revoke(id);
    ASSERT_EQ(all.status, 200) << all.body;
    EXPECT_EQ(member(all.body, "changed.0.from"), "1");
    EXPECT_EQ(town.with_key(second, "GET", "/api/v1/billing").status, 401);
    EXPECT_EQ(ada.send("GET", "/api/v1/billing").status, 200) << "sessions stay";
    EXPECT_EQ(events("revoke_keys"), 2);
    EXPECT_NE(member(get(root, "users/" + id), "keys.0.revoked_at"), "null");
}

TEST_F(Guarding, NotesAreForOperatorsAndHoldNoSecret) {
    const std::string id = id_of(ada);
    const std::string key = town.key_of(ada);
    const auto noted = post(root, "users/" + id + "/notes",
                            R"({"text":"She mailed us her key )" + key + R"( on Friday."})");
    ASSERT_EQ(noted.status, 201) << noted.body;
    EXPECT_EQ(noted.body.find(key), std::string::npos);
    EXPECT_NE(member(noted.body, "text").find("on Friday"), std::string::npos);
    town.harness.clock.advance(std::chrono::milliseconds(1));
    ASSERT_EQ(post(root, "users/" + id + "/notes", R"({"text":"Called back."})").status, 201);
    const std::string file = get(root, "users/" + id);
    EXPECT_EQ(member(file, "notes.0.text"), "Called back.") << "newest first";
    EXPECT_EQ(member(file, "notes.1.note_id"), member(noted.body, "note_id"));
    EXPECT_EQ(member(file, "notes.0.written_by"), id_of(root));
    EXPECT_EQ(post(root, "users/" + id + "/notes", R"({"text":""})").status, 422);
    EXPECT_EQ(post(root, "users/nobody/notes", R"({"text":"Who?"})").status, 404);
    EXPECT_EQ(events("add_note"), 2);
}

TEST_F(Guarding, TheFileOfAnAccountHasAllThatBelongsToIt) {
    fund(ada, 10'000'000);
    ASSERT_EQ(withdraw(ada, "ada@example.org", "2000000").status, 202);
    const std::string file = get(root, "users/" + id_of(ada));
    EXPECT_EQ(member(file, "addresses.0.address"), somewhere);
    EXPECT_EQ(member(file, "addresses.0.state"), "SAVED");
    EXPECT_EQ(member(file, "sessions.0.user_agent"), "Browser/1");
    EXPECT_EQ(member(file, "sessions.0.opened_from"), "192.0.2.1");
    EXPECT_EQ(member(file, "transfers.0.state"), "INTENT");
    EXPECT_EQ(member(file, "transfers.0.amount_micro"), "2000000");
    EXPECT_EQ(member(file, "balances.0.available_micro"), "8000000");
    EXPECT_EQ(member(file, "agent"), "null");
    EXPECT_EQ(member(file, "machines.0.machine_id"), "");

    const auto wallet = crypto::SigningKey::make(town.harness.random);
    const std::string agent = town.enlist(wallet).body;
    const std::string its = get(root, "users/" + member(agent, "account_id"));
    EXPECT_EQ(member(its, "wallets.0.address"), crypto::checksummed(wallet.address()));
    EXPECT_NE(member(its, "agent.name"), "");
    EXPECT_EQ(member(its, "keys.0.prefix"), member(agent, "api_key.prefix"));
}

}  // namespace
}  // namespace berth::test
