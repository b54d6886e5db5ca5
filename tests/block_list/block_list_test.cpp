// The block list: its file, operators who keep it, and people who meet it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "accounts/accounts.hpp"
#include "block_list/block_list.hpp"
#include "transfers/paying_town.hpp"

namespace berth::test {
namespace {

TEST(BlockListFile, HasAnAddressOnEachLineAndWhyAfterIt) {
    const auto lines = block_list::parse_file(
        "# from the authority's page\n"
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed  named by a court # 2026-01\r\n"
        "\n"
        "0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359,a mixer\n"
        "0xdbf03b407c01e7cd3cbea99509d93f8dddc8c6fb");
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(crypto::checksummed(lines[0].address), somewhere);
    EXPECT_EQ(lines[0].reason, "named by a court");
    EXPECT_EQ(lines[1].reason, "a mixer");
    EXPECT_EQ(lines[2].reason, "");
    EXPECT_TRUE(block_list::parse_file("").empty());
}

TEST(BlockListFile, ALineThatIsNoneIsNamedAndNothingOfTheFileCounts) {
    struct Case {
        std::string text;
        std::string fault;
    };
    for (const Case& one : {
             Case{"hello", "line 1:"},
             Case{"\n0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeA", "line 2:"},
             // One letter of another case: not the address that was meant.
             Case{"0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "line 1:"},
             Case{"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed \xff\xfe", "line 1:"},
         }) {
        try {
            block_list::parse_file(one.text);
            ADD_FAILURE() << one.text;
        } catch (const std::invalid_argument& bad) {
            EXPECT_NE(std::string(bad.what()).find(one.fault), std::string::npos) << bad.what();
        }
    }
    EXPECT_THROW(block_list::read_file("/no/such/file"), std::invalid_argument);
}

struct BlockList : PayingTown {
    Browser admin(const std::string& email) {
        town.harness.app->database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, town.harness.random, town.harness.clock.now()}, email);
        });
        Browser browser = town.person(email);
        browser.enroll();
        EXPECT_EQ(browser.step_up("admin-sensitive").status, 200);
        return browser;
    }
    void sign_in_again() {
        root.sign_in("root@example.org");
        ASSERT_EQ(root.step_up("admin-sensitive").status, 200);
    }
    BlockList() = default;
    explicit BlockList(Harness::Options options) : PayingTown(std::move(options)) {}

    http::Response block(Browser& by, const std::string& address) {
        return post(by, "/api/v1/admin/blocked-addresses",
                    R"({"address":")" + address + R"(","reason":"named by a court"})");
    }
    http::Response unblock(Browser& by, const std::string& address) {
        return by.send("DELETE", "/api/v1/admin/blocked-addresses/" + address + "?reason=lifted",
                       "", town.harness.new_id());
    }
    std::string list(const std::string& query = "") {
        auto answer = root.send("GET", "/api/v1/admin/blocked-addresses" + query);
        if (answer.status == 401) {  // the clock went on for longer than a session is idle
            sign_in_again();
            answer = root.send("GET", "/api/v1/admin/blocked-addresses" + query);
        }
        EXPECT_EQ(answer.status, 200) << answer.body;
        return answer.body;
    }
    block_list::Synced sync(const std::string& text) {
        return town.harness.app->database().write([&](db::Transaction& tx) {
            return block_list::sync({tx, town.harness.random, town.harness.clock.now()},
                                    block_list::parse_file(text));
        });
    }
    // How often anybody took the turn to sign.
    std::int64_t turns() {
        return town.harness.app->database().read([](db::Transaction& tx) {
            return tx.fetch_value<std::int64_t>("SELECT taken FROM signing_turns WHERE turn = 1")
                .value();
        });
    }
    std::int64_t events(const std::string& action) {
        return town.harness.app->database().read([&](db::Transaction& tx) {
            return tx
                .fetch_value<std::int64_t>("SELECT COUNT(*) FROM audit_events WHERE action = $1",
                                           action)
                .value();
        });
    }

    Browser root = admin("root@example.org");
};

TEST_F(BlockList, NothingIsAskedForToABlockedAddress) {
    Browser ada = person("ada@example.org");
    const std::string code = code_for(ada, "ada@example.org", code_wish("1000000"));
    ASSERT_EQ(block(root, somewhere).status, 201);
    EXPECT_EQ(events("block_address"), 1);
    const auto refused = post(ada, "/api/v1/withdrawals", wish("1000000", with_code(code)));
    EXPECT_EQ(refused.status, 403) << refused.body;
    EXPECT_NE(error_message(refused).find("body.address"), std::string::npos) << refused.body;
    EXPECT_EQ(post(ada, "/api/v1/withdrawal-addresses",
                   R"({"address":")" + std::string(somewhere) + "\"}")
                  .status,
              403);
    EXPECT_EQ(ada.send("POST", "/api/v1/withdrawals/code", code_wish("1000000")).status, 403);
    EXPECT_EQ(balance(ada), "10000000");
    EXPECT_EQ(member(ada.send("GET", "/api/v1/withdrawals").body, "items.0.id"), "");
}

TEST_F(BlockList, ALinkConfirmsNothingWhileItsAddressIsBlocked) {
    Browser ada = person("ada@example.org");
    const std::string code = code_for(ada, "ada@example.org", code_wish("1000000"));
    ASSERT_EQ(post(ada, "/api/v1/withdrawals", wish("1000000", with_code(code))).status, 202);
    const auto link = town.link_to("ada@example.org");
    ASSERT_EQ(block(root, somewhere).status, 201);
    EXPECT_EQ(confirm(link).status, 403);
    EXPECT_EQ(balance(ada, "pending_micro"), "0");
    ASSERT_EQ(unblock(root, somewhere).status, 200);
    EXPECT_EQ(member(confirm(link).body, "state"), "INTENT") << "the link was not used up";
}

TEST_F(BlockList, WhatWaitsSaysThatItIsHeldAndMayBeCalledOff) {
    Browser ada = person("ada@example.org");
    save(ada, "ada@example.org");
    const std::string code = code_for(ada, "ada@example.org", code_wish("1000000"));
    const auto asked = post(ada, "/api/v1/withdrawals", wish("1000000", with_code(code)));
    ASSERT_EQ(asked.status, 202) << asked.body;
    ASSERT_EQ(block(root, somewhere).status, 201);
    EXPECT_EQ(member(ada.send("GET", "/api/v1/withdrawals").body, "items.0.waits_for"),
              "settlement_hold");
    const auto ended =
        post(ada, "/api/v1/withdrawals/" + member(asked.body, "withdrawal_id") + "/cancel", "");
    EXPECT_EQ(member(ended.body, "state"), "CANCELLED") << ended.body;
    EXPECT_EQ(balance(ada), "10000000");
}

TEST_F(BlockList, BlockingTwiceIsOnceAndBadInputIsNamed) {
    EXPECT_EQ(block(root, somewhere).status, 201);
    town.harness.clock.advance(std::chrono::seconds(1));
    const auto again = block(root, somewhere);
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(member(again.body, "blocked_at"), member(list(), "items.0.blocked_at"));
    EXPECT_EQ(events("block_address"), 1);
    EXPECT_EQ(member(list(), "items.1.address"), "");
    for (const std::string address : {"", "0x12", "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}) {
        const auto refused = block(root, address);
        EXPECT_EQ(refused.status, 422) << address;
        EXPECT_NE(error_message(refused).find("body.address"), std::string::npos) << refused.body;
    }
    EXPECT_EQ(unblock(root, elsewhere).status, 404);
    EXPECT_EQ(unblock(root, "0x12").status, 422);
}

TEST_F(BlockList, TheListIsPagedAndFiltered) {
    ASSERT_EQ(block(root, somewhere).status, 201);
    ASSERT_EQ(block(root, elsewhere).status, 201);
    sync(std::string(somewhere) + " of the file");
    std::vector<std::string> seen;
    std::string cursor;
    do {
        const std::string page = list("?limit=1" + (cursor.empty() ? "" : "&cursor=" + cursor));
        seen.push_back(member(page, "items.0.address") + " " + member(page, "items.0.source"));
        cursor = member(page, "next_cursor");
    } while (!cursor.empty() && cursor != "null" && seen.size() < 10);
    EXPECT_EQ(seen, (std::vector<std::string>{std::string(somewhere) + " file",
                                              std::string(somewhere) + " operator",
                                              std::string(elsewhere) + " operator"}));
    const std::string one = list("?address=" + std::string(elsewhere));
    EXPECT_EQ(member(one, "items.0.address"), elsewhere);
    EXPECT_EQ(member(one, "items.1.address"), "");
}

TEST_F(BlockList, TheFileComesAndGoesAsAWholeAndIsRecorded) {
    const auto first = sync(std::string(somewhere) + "\n" + elsewhere);
    EXPECT_EQ(first.added, 2);
    EXPECT_EQ(events("read_block_list"), 1);
    EXPECT_EQ(sync(std::string(elsewhere) + " why\n" + somewhere).added, 0);
    EXPECT_EQ(events("read_block_list"), 1) << "nothing came or went";
    EXPECT_EQ(sync(elsewhere).removed, 0) << "it may be a file that is being written";
    EXPECT_EQ(member(list(), "items.0.address"), somewhere);
    town.harness.clock.advance(block_list::file_forgets_after);
    EXPECT_EQ(sync(elsewhere).removed, 1);
    EXPECT_EQ(events("read_block_list"), 2);
    EXPECT_EQ(member(list(), "items.0.address"), elsewhere);
    EXPECT_EQ(member(list(), "items.1.address"), "");
    // What an operator blocked by name is not the file's to take away.
    ASSERT_EQ(block(root, elsewhere).status, 201);
    sync("");
    town.harness.clock.advance(block_list::file_forgets_after);
    EXPECT_EQ(sync("").removed, 1);
    EXPECT_EQ(member(list(), "items.0.source"), "operator");
}

TEST_F(BlockList, WhatAFileLacksForAMomentStaysOnTheList) {
    const std::string whole = std::string(somewhere) + "\n" + elsewhere;
    sync(whole);
    for (int hour = 0; hour < 3; ++hour) {
        EXPECT_EQ(sync(elsewhere).removed, 0) << "cut at a line";
        town.harness.clock.advance(std::chrono::minutes(1));
        sync(whole);
        town.harness.clock.advance(block_list::file_forgets_after);
    }
    EXPECT_EQ(member(list(), "items.0.address"), somewhere);
    EXPECT_EQ(member(list(), "items.1.address"), elsewhere);
    EXPECT_EQ(events("read_block_list"), 1);
}

TEST_F(BlockList, ServersWithDifferentFilesUndoNothingOfEachOther) {
    for (int minute = 0; minute < 90; ++minute) {
        EXPECT_EQ(sync(minute % 2 == 0 ? somewhere : elsewhere).removed, 0) << minute;
        town.harness.clock.advance(std::chrono::minutes(1));
    }
    EXPECT_EQ(member(list(), "items.0.address"), somewhere);
    EXPECT_EQ(member(list(), "items.1.address"), elsewhere);
    EXPECT_EQ(events("read_block_list"), 2) << "one for each address that came";
}

// Whoever signs at that moment has committed before the answer, or finds the address blocked.
TEST_F(BlockList, BlockingWaitsForWhoeverSigns) {
    const std::int64_t before = turns();
    ASSERT_EQ(block(root, somewhere).status, 201);
    EXPECT_EQ(turns(), before + 1);
}

struct FromFile : BlockList {
    static std::string made() {
        static const TemporaryFolder folder;
        std::string file = folder.path() + "/blocked";
        std::ofstream(file) << somewhere << " named by a court\n";
        return file;
    }
    explicit FromFile(std::string file = made())
        : BlockList(Harness::Options{.flags = {{"blocked-addresses-file", file}}}),
          path(std::move(file)) {}
    void read_again() {
        town.harness.clock.advance(std::chrono::seconds(61));
        town.run_tasks();
    }

    std::string path;
};

TEST_F(FromFile, AWorkerReadsItAndAFaultChangesNothing) {
    town.run_tasks();
    EXPECT_EQ(member(list(), "items.0.address"), somewhere);
    EXPECT_EQ(member(list(), "items.0.source"), "file");
    EXPECT_EQ(member(list(), "items.0.reason"), "named by a court");
    EXPECT_EQ(unblock(root, somewhere).status, 409) << "it is taken out of the file";
    std::ofstream(path) << "not an address\n";
    read_again();
    EXPECT_EQ(member(list(), "items.0.address"), somewhere);
    std::filesystem::remove(path);
    read_again();
    EXPECT_EQ(member(list(), "items.0.address"), somewhere);
    std::ofstream(path) << elsewhere << "\n";
    const std::int64_t before = turns();
    read_again();
    EXPECT_EQ(turns(), before + 1) << "it waits for whoever signs";
    EXPECT_EQ(member(list(), "items.1.address"), elsewhere) << "who is new is blocked at once";
    town.harness.clock.advance(block_list::file_forgets_after);
    read_again();
    EXPECT_EQ(member(list(), "items.0.address"), elsewhere);
    EXPECT_EQ(member(list(), "items.1.address"), "");
}

TEST_F(FromFile, OneThatNamesNobodyTakesNobodyOffUnlessItSaysSo) {
    town.run_tasks();
    const auto wait = [&] {
        read_again();
        town.harness.clock.advance(block_list::file_forgets_after);
        read_again();
    };
    std::ofstream(path) << "";
    wait();
    EXPECT_EQ(member(list(), "items.0.address"), somewhere);
    std::ofstream(path) << block_list::empty_on_purpose << "\n";
    wait();
    EXPECT_EQ(member(list(), "items.0.address"), "");
}

TEST(BlockListStart, AServerDoesNotStartWithAFileThatCannotBeRead) {
    EXPECT_THROW(Town(Harness::Options{.flags = {{"blocked-addresses-file", "/no/such/file"}}}),
                 settings::BadSettings);
}

struct TwoAdmins : BlockList {
    TwoAdmins() : BlockList(Harness::Options{.flags = {{"four-eyes", "auto"}}}) {}
};

TEST_F(TwoAdmins, OneAloneDoesNotUnblock) {
    Browser eve = admin("eve@example.org");
    ASSERT_EQ(block(eve, somewhere).status, 201) << "blocking needs nobody else";
    const auto asked = unblock(eve, somewhere);
    EXPECT_EQ(asked.status, 202) << asked.body;
    EXPECT_NE(member(list(), "items.0.address"), "");
    const std::string path =
        "/api/v1/admin/pending-actions/" + member(asked.body, "pending_action_id") + "/confirm";
    EXPECT_EQ(post(eve, path, R"({"reason":"I say so"})").status, 403);
    EXPECT_EQ(post(root, path, R"({"reason":"looked at it"})").status, 200);
    EXPECT_EQ(member(list(), "items.0.address"), "");
    EXPECT_EQ(events("unblock_address"), 1);
}

TEST_F(BlockList, NobodyUnblocksTheirOwnAddress) {
    deposit(account(root), 5'000'000);
    const auto asked =
        post(root, "/api/v1/withdrawal-addresses",
             R"({"address":")" + std::string(somewhere) + R"(","code":")" + root.code() + "\"}");
    ASSERT_EQ(asked.status, 202) << asked.body;
    ASSERT_EQ(confirm(town.link_to("root@example.org")).status, 200);
    ASSERT_EQ(block(root, somewhere).status, 201);
    EXPECT_EQ(unblock(root, somewhere).status, 403);
}

}  // namespace
}  // namespace berth::test
