// One box for whatever an operator has in hand.
#include "accounts/store.hpp"
#include "admin/office.hpp"
#include "support/machines.hpp"
#include "transfers/paying_town.hpp"

namespace berth::test {
namespace {

struct Searching : Office {
    std::string search(const std::string& q) { return get(root, "search?q=" + q); }
    // Whether something of this kind and id is among what was found.
    bool has(const std::string& found, const std::string& kind, const std::string& id) {
        for (int i = 0; i < 100; ++i) {
            const std::string at = "items." + std::to_string(i) + ".";
            if (member(found, at + "id").empty()) return false;
            if (member(found, at + "kind") == kind && member(found, at + "id") == id) return true;
        }
        return false;
    }
};

TEST_F(Searching, FindsPeopleByMailAndId) {
    const std::string id = id_of(ada);
    EXPECT_TRUE(has(search("ADA%40example.org"), "account", id));
    EXPECT_TRUE(has(search("ada%40"), "account", id)) << "by a part";
    EXPECT_TRUE(has(search(id), "account", id));
    EXPECT_TRUE(has(search("%20" + id + "%0A"), "account", id)) << "with blanks around it";
    const std::string none = search("nobody%40nowhere");
    EXPECT_EQ(member(none, "items.0.id"), "");
    EXPECT_EQ(member(none, "complete"), "true");
}

TEST_F(Searching, FindsAgentsWalletsAndAddresses) {
    const auto wallet = crypto::SigningKey::make(town.harness.random);
    const std::string agent = town.enlist(wallet).body;
    const std::string id = member(agent, "account_id");
    const std::string file = get(root, "users/" + id);
    std::string name = member(file, "agent.name");
    ASSERT_GE(name.size(), 3u);
    std::string part = name.substr(0, 3);
    for (char& c : part) c = c == ' ' ? '+' : c;
    EXPECT_TRUE(has(search(part), "agent", id)) << name;
    const std::string address = crypto::checksummed(wallet.address());
    const std::string found = search(address);
    EXPECT_EQ(member(found, "items.0.kind"), "wallet");
    EXPECT_EQ(member(found, "items.0.account_id"), id);
    EXPECT_EQ(member(found, "items.1.kind"), "address") << "its own wallet is saved, too";
    std::string shouted = crypto::to_string(wallet.address());
    for (std::size_t i = 2; i < shouted.size(); ++i)
        shouted[i] = shouted[i] >= 'a' ? static_cast<char>(shouted[i] - 32) : shouted[i];
    EXPECT_EQ(search(shouted), found) << "in whatever letters";
    EXPECT_EQ(member(search(somewhere), "items.0.id"), "");
}

TEST_F(Searching, FindsKeysByTheirBeginningAndLooksAtNoMoreOfThem) {
    const std::string key = town.key_of(ada);
    const std::string id = member(get(root, "users/" + id_of(ada)), "keys.0.key_id");
    EXPECT_TRUE(has(search(key.substr(0, 12)), "key", id));
    const std::string whole = search(key);
    EXPECT_TRUE(has(whole, "key", id));
    EXPECT_EQ(whole.find(key), std::string::npos);
    EXPECT_TRUE(has(search(id), "key", id));
    EXPECT_EQ(member(search(key.substr(0, 11)), "items.0.id"), "");
}

TEST_F(Searching, FindsMachinesAndWhatWasPaid) {
    const AccountId host = account(ada);
    const auto machine =
        enrolled(town.harness, host,
                 {.adjust = [](machines::Machine& made) { made.label = "Rack Three, left"; }});
    const std::string id = to_string(machine.machine_id);
    EXPECT_TRUE(has(search(id), "machine", id));
    EXPECT_TRUE(has(search("rack%20three"), "machine", id));
    const std::string transaction = "0x" + std::string(64, 'c');
    town.harness.app->database().write([&](db::Transaction& tx) {
        tx.run(
            "INSERT INTO deposits (tx_hash, ordinal, asset, sender, treasury, amount, block, "
            "seen_at, updated_at, state, intent_id, account_id, log_index) "
            "VALUES ($1, 0, 'USDC', $2, NULL, 5, 1, 7, 7, 'CLAIMED', NULL, $3, 0)",
            transaction, crypto::parse_address(elsewhere).value(), host);
    });
    const std::string found = search("0x" + std::string(64, 'C'));
    EXPECT_EQ(member(found, "items.0.kind"), "deposit");
    EXPECT_EQ(member(found, "items.0.account_id"), to_string(host));
    EXPECT_TRUE(has(search(member(found, "items.0.id")), "deposit", member(found, "items.0.id")));
    EXPECT_EQ(member(search(elsewhere), "items.0.kind"), "deposit") << "by who sent it";
}

TEST_F(Searching, FindsWhoHadAMailboxBefore) {
    const AccountId id = account(ada);
    book([&](ledger::Context context) {
        EXPECT_TRUE(accounts::put_email(context, id, "ada@example.net"));
        // Whose address has the other as a part of it: found by the part, not by the whole.
        accounts::add_human(context.tx, AccountId::make(context.now, context.random),
                            "not.ada@example.net", context.now);
    });
    EXPECT_TRUE(has(search("Ada%40example.org"), "account", to_string(id)));
    const std::string found = search("ada%40example.net");
    EXPECT_TRUE(has(found, "account", to_string(id)));
    EXPECT_EQ(member(found, "items.1.id"), "");
    EXPECT_NE(member(search("ada%40example"), "items.1.id"), "");
}

TEST_F(Searching, FindsWhatOperatorsHandle) {
    const std::string id = id_of(ada);
    const auto ticket =
        ada.send("POST", "/api/v1/tickets", R"({"category":"billing","text":"where is it?"})",
                 town.harness.new_id());
    const std::string ticket_id = member(ticket.body, "ticket_id");
    EXPECT_TRUE(has(search(ticket_id), "ticket", ticket_id)) << ticket.body;
    const auto note = post(root, "users/" + id + "/notes", R"({"text":"called back"})");
    const std::string note_id = member(note.body, "note_id");
    EXPECT_TRUE(has(search(note_id), "note", note_id)) << note.body;
    const auto recovery = post(root, "recoveries",
                               R"({"account_id":")" + id +
                                   R"(","email":"ada@example.net","reason":"the mailbox is gone",)"
                                   R"("evidence":["ticket 7"]})");
    const std::string recovery_id = member(recovery.body, "recovery_id");
    const std::string found = search(recovery_id);
    EXPECT_TRUE(has(found, "recovery", recovery_id)) << recovery.body;
    EXPECT_EQ(member(found, "items.0.account_id"), id);
    const auto blocked =
        post(root, "blocked-addresses",
             std::string(R"({"address":")") + elsewhere + R"(","reason":"for a good reason"})");
    EXPECT_EQ(member(search(elsewhere), "items.0.kind"), "blocked") << blocked.body;
}

TEST_F(Searching, IsAskedOnceASecondAtMost) {
    for (std::int64_t i = 0; i < 60; ++i) search("nobody");
    EXPECT_EQ(root.send("GET", "/api/v1/admin/search?q=nobody").status, 429);
}

TEST_F(Searching, TheFileOfAnAccountSaysWhatBecameOfIt) {
    const std::string id = id_of(ada);
    EXPECT_EQ(member(get(root, "users/" + id), "closed_at"), "null");
    EXPECT_EQ(member(get(root, "users/" + id), "balances.0.credit_micro"), "0");
    book([&](ledger::Context context) {
        EXPECT_TRUE(
            accounts::put_email(context, AccountId{parse_uuid(id).value()}, "ada@example.net"));
    });
    const auto recovery = post(root, "recoveries",
                               R"({"account_id":")" + id +
                                   R"(","email":"ada@example.com","reason":"the mailbox is gone",)"
                                   R"("evidence":["ticket 7"]})");
    ASSERT_EQ(recovery.status, 201) << recovery.body;
    EXPECT_EQ(member(get(root, "users/" + id), "recoveries.0.state"), "waiting");
    const auto closed =
        post(root, "users/" + id + "/close",
             R"({"reason":"for a good reason","expected_version":")" + version(id) + "\"}");
    ASSERT_EQ(closed.status, 200) << closed.body;
    const std::string file = get(root, "users/" + id);
    EXPECT_NE(member(file, "closed_at"), "null");
    EXPECT_EQ(member(file, "former_emails.0"), "ada@example.org");
    EXPECT_EQ(member(file, "recoveries.0.state"), "cancelled");
}

TEST_F(Searching, SaysWhatItCannotLookForAndWhenThereIsMore) {
    for (const char* bad : {"", "?q=", "?q=a", "?q=%20%20%20", "?q=a%00b"})
        EXPECT_EQ(root.send("GET", std::string("/api/v1/admin/search") + bad).status, 422) << bad;
    for (int i = 0; i < 21; ++i)
        town.harness.app->database().write([&](db::Transaction& tx) {
            town.harness.clock.advance(std::chrono::milliseconds(1));
            accounts::add_human(tx, AccountId::make(town.harness.clock.now(), town.harness.random),
                                "many" + std::to_string(i) + "@example.net",
                                town.harness.clock.now());
        });
    const std::string found = search("%40example.net");
    EXPECT_EQ(member(found, "complete"), "false");
    EXPECT_NE(member(found, "items.19.id"), "");
    EXPECT_EQ(member(found, "items.20.id"), "");
    for (const char* odd : {"a%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4", "%F0%9F%9A%80%F0%9F%9A%80"})
        EXPECT_EQ(member(search(odd), "items.0.id"), "") << odd;
    EXPECT_EQ(search("'%22%3B--").find("items\":[{"), std::string::npos) << "a word like any other";
}

}  // namespace
}  // namespace berth::test
