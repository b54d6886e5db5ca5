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
