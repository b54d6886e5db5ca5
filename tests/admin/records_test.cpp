#include <fmt/format.h>

#include "admin/office.hpp"
#include "audit/audit.hpp"
#include "support/told.hpp"

namespace berth::test {
namespace {

using AdminSettings = Office;
using AdminAudit = Office;
using AdminTasks = Office;
using AdminSuspense = Office;

std::string row(const std::string& page, const std::string& key) {
    for (int i = 0; i < 500; ++i) {
        const std::string at = "items." + std::to_string(i);
        if (member(page, at + ".key") == key) return at;
        if (member(page, at + ".key").empty()) break;
    }
    ADD_FAILURE() << key << " has no row";
    return "";
}

TEST_F(AdminSettings, HaveTheRowsOfTheContract) {
    const std::string page = get(root, "settings");
    EXPECT_EQ(member(page, "next_cursor"), "null");
    const std::string fee = row(page, "money.platform_fee_bps") + ".";
    EXPECT_EQ(member(page, fee + "category"), "money");
    EXPECT_NE(member(page, fee + "label"), "");
    EXPECT_NE(member(page, fee + "help"), "");
    EXPECT_EQ(member(page, fee + "secret"), "false");
    EXPECT_EQ(member(page, fee + "editable"), "true");
    EXPECT_EQ(member(page, fee + "pinned_reason"), "null");
    EXPECT_EQ(member(page, fee + "value"), "1000");
    EXPECT_EQ(member(page, fee + "source"), "default");
    EXPECT_EQ(member(page, fee + "version"), "0");
    EXPECT_EQ(member(page, fee + "updated_at"), "null");
    EXPECT_EQ(member(page, fee + "updated_by"), "null");
    EXPECT_EQ(member(page, fee + "env"), "BERTH_PLATFORM_FEE_BPS");
    const std::string url = row(page, "operations.base_url") + ".";
    EXPECT_EQ(member(page, url + "editable"), "false");
    EXPECT_EQ(member(page, url + "source"), "environment");
    EXPECT_NE(member(page, url + "pinned_reason"), "null");
    EXPECT_EQ(member(page, url + "value.set"), "true");
}

TEST_F(AdminSettings, AChangeIsVersionedAuditedAndTakesEffect) {
    const std::string path = "/api/v1/admin/settings/branding.name";
    const auto put = [&](const std::string& value, int version) {
        return root.send("PUT", path,
                         R"({"value":)" + value + R"(,"expected_version":)" +
                             std::to_string(version) + R"(,"reason":"a better name"})",
                         town.harness.new_id());
    };
    const auto first = put("\"Quay\"", 0);
    ASSERT_EQ(first.status, 200) << first.body;
    EXPECT_EQ(member(first.body, "value"), "Quay");
    EXPECT_EQ(member(first.body, "version"), "1");
    EXPECT_EQ(member(first.body, "source"), "database");
    EXPECT_EQ(member(first.body, "updated_by"), id_of(root));
    EXPECT_EQ(error_code(put("\"Pier\"", 0)), "STALE_VERSION");
    EXPECT_EQ(put("7", 1).status, 422);
    EXPECT_EQ(put("null", 1).status, 422);
    EXPECT_EQ(put("\"\"", 1).status, 422);
    town.harness.app->settings().refresh(town.harness.app->database());
    EXPECT_EQ(member(get(root, "settings"), row(get(root, "settings"), "branding.name") + ".value"),
              "Quay");
    EXPECT_EQ(events("change_setting"), 1);

    const std::string reset = path + "?reason=the+old+name&expected_version=";
    EXPECT_EQ(error_code(root.send("DELETE", reset + "0", "", town.harness.new_id())),
              "STALE_VERSION");
    const auto back = root.send("DELETE", reset + "1", "", town.harness.new_id());
    ASSERT_EQ(back.status, 200) << back.body;
    EXPECT_EQ(member(back.body, "value"), "Berth");
    EXPECT_EQ(member(back.body, "source"), "default");
    EXPECT_EQ(member(back.body, "version"), "2");
    EXPECT_EQ(root.send("DELETE", path, "", town.harness.new_id()).status, 422);
    // What was never stored has a version too.
    const std::string untouched =
        "/api/v1/admin/settings/money.platform_fee_bps"
        "?reason=to+be+sure&expected_version=";
    EXPECT_EQ(error_code(root.send("DELETE", untouched + "1", "", town.harness.new_id())),
              "STALE_VERSION");
    EXPECT_EQ(
        member(root.send("DELETE", untouched + "0", "", town.harness.new_id()).body, "version"),
        "1");
}

TEST_F(AdminSettings, NumbersAndFlagsAreSentAsWhatTheyAre) {
    const auto put = [&](const std::string& key, const std::string& value) {
        return root
            .send("PUT", "/api/v1/admin/settings/" + key,
                  R"({"value":)" + value + R"(,"expected_version":0,"reason":"to be sure"})",
                  town.harness.new_id())
            .status;
    };
    EXPECT_EQ(put("money.platform_fee_bps", "\"900\""), 422);
    EXPECT_EQ(put("money.platform_fee_bps", "9.5"), 422);
    EXPECT_EQ(put("money.platform_fee_bps", "10001"), 422);
    EXPECT_EQ(put("operations.admission_paused", "1"), 422);
    EXPECT_EQ(put("money.platform_fee_bps", "900"), 200);
    EXPECT_EQ(put("operations.admission_paused", "true"), 200);
    EXPECT_EQ(untold(town.harness.app->database(), {"operations.paused"}), "");
}

TEST_F(AdminSettings, AValueThatIsNoneIsToldBeforeTheProofIsAskedFor) {
    town.harness.clock.advance(std::chrono::minutes(6));
    const auto put = [&](const std::string& value) {
        return root
            .send("PUT", "/api/v1/admin/settings/money.platform_fee_bps",
                  R"({"value":)" + value + R"(,"expected_version":0,"reason":"a good one"})",
                  town.harness.new_id())
            .status;
    };
    EXPECT_EQ(put("\"500\""), 422);
    EXPECT_EQ(put("10001"), 422);
    EXPECT_EQ(put("500"), 403);
}

TEST_F(AdminSettings, APinnedOneIsRefusedWithItsReason) {
    const auto refused = root.send("PUT", "/api/v1/admin/settings/operations.base_url",
                                   R"({"value":"https://evil.example","expected_version":0,)"
                                   R"("reason":"to be somewhere else"})",
                                   town.harness.new_id());
    EXPECT_EQ(refused.status, 403);
    EXPECT_NE(error_message(refused).find("Root of trust"), std::string::npos)
        << error_message(refused);
    EXPECT_EQ(root.send("PUT", "/api/v1/admin/settings/no.such",
                        R"({"value":1,"expected_version":0,"reason":"to be sure"})",
                        town.harness.new_id())
                  .status,
              404);
}

TEST_F(AdminAudit, IsReadNewestFirstAndFiltered) {
    const std::string id = id_of(ada);
    ASSERT_EQ(act(root, id, R"("action":"set_host_capability","enabled":true)").status, 200);
    ASSERT_EQ(act(root, id, R"("action":"revoke_sessions")").status, 200);
    const std::string all = get(root, "audit");
    EXPECT_EQ(member(all, "items.0.action"), "revoke_sessions");
    EXPECT_EQ(member(all, "items.0.actor.account_id"), id_of(root));
    EXPECT_EQ(member(all, "items.0.actor.kind"), "account");
    EXPECT_EQ(member(all, "items.0.target.kind"), "account");
    EXPECT_EQ(member(all, "items.0.target.id"), id);
    EXPECT_EQ(member(all, "items.0.reason"), "for a good reason");
    EXPECT_NE(member(all, "items.0.request_id"), "null");
    EXPECT_EQ(member(all, "items.0.previous_hash"), member(all, "items.1.hash"));
    const std::string some = get(root, "audit?action=set_host_capability&target_kind=account");
    EXPECT_EQ(member(some, "items.0.changes.0.field"), "host_capability");
    EXPECT_EQ(member(some, "items.0.changes.0.to"), "true");
    EXPECT_EQ(member(some, "items.1.action"), "");
    EXPECT_EQ(member(get(root, "audit?actor=" + id), "items.0.action"), "");
    EXPECT_NE(member(get(root, "audit?target_id=" + id), "items.1.action"), "");
    EXPECT_EQ(member(get(root, "audit?until=2001-01-01T00:00:00Z"), "items.0.action"), "");
    const std::string first = get(root, "audit?limit=1");
    const std::string next = member(first, "next_cursor");
    EXPECT_EQ(member(get(root, "audit?limit=1&cursor=" + next), "items.0.action"),
              "set_host_capability");
}

TEST_F(AdminTasks, ADeadOneIsTriedAgainOrDropped) {
    std::vector<std::string> ids;
    for (int i = 0; i < 3; ++i) {
        const auto id = TaskId::make(town.harness.clock.now(), town.harness.random);
        ids.push_back(to_string(id));
        const std::string state = i < 2 ? "dead" : "waiting";
        town.harness.app->database().write([&](db::Transaction& tx) {
            tx.run(
                "INSERT INTO tasks (task_id, kind, unique_key, payload, state, run_at, "
                "attempts, lease_id, lease_until, last_error, created_at) VALUES ($1, 'x', "
                "NULL, '', $2, 4000000000000000, 10, NULL, 0, 'password=hunter2', 0)",
                id, state);
        });
        town.harness.clock.advance(std::chrono::seconds(1));
    }
    const std::string dead = get(root, "tasks?state=dead");
    EXPECT_EQ(member(dead, "items.0.task_id"), ids[1]);
    EXPECT_EQ(member(dead, "items.1.task_id"), ids[0]);
    EXPECT_EQ(member(dead, "items.2.task_id"), "");
    EXPECT_EQ(dead.find("hunter2"), dead.npos);
    const std::string why = R"({"reason":"the server works again"})";
    EXPECT_EQ(post(root, "tasks/" + ids[0] + "/retry", why).status, 200);
    EXPECT_EQ(post(root, "tasks/" + ids[1] + "/drop", why).status, 200);
    EXPECT_EQ(post(root, "tasks/" + ids[0] + "/retry", why).status, 409);
    EXPECT_EQ(post(root, "tasks/" + ids[1] + "/drop", why).status, 404);
    EXPECT_EQ(post(root, "tasks/" + ids[2] + "/drop", why).status, 409);
    EXPECT_EQ(member(get(root, "tasks?state=dead"), "items.0.task_id"), "");
    EXPECT_EQ(events("retry_task"), 1);
    EXPECT_EQ(events("drop_task"), 1);
}

TEST_F(AdminTasks, OneThatHasFailedAsOftenAsItMayIsToldToOperators) {
    town.harness.app->database().write([&](db::Transaction& tx) {
        tx.run(
            "INSERT INTO tasks (task_id, kind, unique_key, payload, state, run_at, "
            "attempts, lease_id, lease_until, last_error, created_at) VALUES ($1, 'send_mail', "
            "NULL, 'no mail', 'waiting', 0, 999, NULL, 0, '', 0)",
            TaskId::make(town.harness.clock.now(), town.harness.random));
    });
    town.run_tasks();
    EXPECT_EQ(untold(town.harness.app->database(), {"operations.task_dead"}), "");
}

TEST_F(AdminSettings, ComeAllAtOnceOrByPages) {
    const std::string all = get(root, "settings");
    EXPECT_EQ(member(all, "next_cursor"), "null");
    std::size_t count = 0;
    while (!member(all, fmt::format("items.{}.key", count)).empty()) ++count;
    ASSERT_GT(count, 20U);
    std::string query = "?limit=7";
    for (std::size_t at = 0; at < count; at += 7) {
        const std::string page = get(root, "settings" + query);
        for (std::size_t i = 0; i < 8; ++i)
            EXPECT_EQ(member(page, fmt::format("items.{}.key", i)),
                      i < 7 ? member(all, fmt::format("items.{}.key", at + i)) : "");
        const std::string next = member(page, "next_cursor");
        EXPECT_EQ(next == "null", at + 7 >= count);
        query = "?limit=7&cursor=" + next;
    }
    for (const std::string bad : {"limit=0", "limit=101", "cursor=AAAA"})
        EXPECT_EQ(root.send("GET", "/api/v1/admin/settings?" + bad).status, 422) << bad;
}

TEST_F(AdminSuspense, ATransferIsCreditedOnceToTheAccountThatProvedIt) {
    const std::string hash = "0x" + std::string(64, 'a');
    book([&](ledger::Context context) {
        context.tx.run(
            "INSERT INTO deposits (tx_hash, ordinal, asset, sender, treasury, amount, block, "
            "seen_at, updated_at, state, intent_id, account_id) VALUES ($1, 2, 'USDC', "
            "'0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', "
            "'0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359', 700, 1, 1, 1, 'SUSPENSE', NULL, NULL)",
            hash);
        ledger::park(context, {{}, ledger::Asset::usdc, Micro{700}, "8453:" + hash + ":2"});
    });
    const auto body = [&](const std::string& account) {
        return R"({"account_id":")" + account +
               R"(","reason":"signed with the wallet","evidence":["ticket 7"]})";
    };
    const std::string listed = get(root, "suspense");
    const std::string id = member(listed, "items.0.deposit_id");
    EXPECT_TRUE(parse_uuid(id)) << id;
    EXPECT_EQ(member(listed, "items.0.tx_hash"), hash);
    EXPECT_EQ(member(listed, "items.0.amount_micro"), "700");
    EXPECT_EQ(member(listed, "items.0.from"), "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");
    EXPECT_EQ(member(listed, "items.0.log_index"), "2");
    EXPECT_EQ(member(listed, "items.0.block_number"), "1");
    EXPECT_EQ(member(listed, "items.0.state"), "SUSPENSE");
    const std::string path = "suspense/" + id + "/match";
    EXPECT_EQ(post(root, path, body(id_of(root))).status, 403);
    EXPECT_EQ(post(root, path, body(town.harness.new_id())).status, 404);
    std::string near = id;
    near.back() = near.back() == '0' ? '1' : '0';
    EXPECT_EQ(post(root, "suspense/" + near + "/match", body(id_of(ada))).status, 404);
    EXPECT_EQ(post(root, "suspense/7/match", body(id_of(ada))).status, 422);
    const auto done = post(root, path, body(id_of(ada)));
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(member(done.body, "state"), "CLAIMED");
    EXPECT_EQ(balances(account(ada)).available, Micro{700});
    EXPECT_EQ(post(root, path, body(id_of(ada))).status, 409);
    EXPECT_EQ(events("treasury_match"), 1);
    EXPECT_EQ(member(get(root, "suspense"), "items.0.deposit_id"), "");
    EXPECT_EQ(post(root, "suspense/" + id + "/return",
                   R"({"address":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",)"
                   R"("reason":"sent by mistake"})")
                  .status,
              409);
}

TEST_F(AdminSuspense, WhatABodyLacksIsToldBeforeTheProofIsAskedFor) {
    const std::string hash = "0x" + std::string(64, 'b');
    book([&](ledger::Context context) {
        context.tx.run(
            "INSERT INTO deposits (tx_hash, ordinal, asset, sender, treasury, amount, block, "
            "seen_at, updated_at, state) VALUES ($1, 0, 'USDC', "
            "'0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', "
            "'0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359', 700, 1, 1, 1, 'SUSPENSE')",
            hash);
    });
    town.harness.clock.advance(std::chrono::minutes(6));
    const std::string id = member(get(root, "suspense"), "items.0.deposit_id");
    const auto give_back = [&](const std::string& more) {
        return post(root, "suspense/" + id + "/return",
                    "{" + more + R"("reason":"sent by mistake"})");
    };
    const auto wrong = give_back(R"("address":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD",)");
    EXPECT_EQ(error_message(wrong), "body.address: has a wrong checksum");
    const std::string other = R"("address":"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",)";
    EXPECT_NE(error_message(give_back(other)).find("body.evidence: "), std::string::npos);
    EXPECT_EQ(give_back(other + R"("evidence":["ticket 7"],)").status, 403);
    EXPECT_EQ(give_back("").status, 403);
}

TEST_F(AdminSuspense, AMovementIsBookedByItsTransactionAlone) {
    const auto body = [](const std::string& kind, const std::string& hash) {
        return R"({"kind":")" + kind + R"(","asset":"USDC","amount_micro":"5","tx_hash":)" + hash +
               R"(,"reason":"fees of January"})";
    };
    const std::string hash = "\"0x" + std::string(64, 'a') + "\"";
    EXPECT_EQ(post(root, "treasury/movements", body("gas", "null")).status, 409);
    EXPECT_EQ(post(root, "treasury/movements", body("gas", hash)).status, 503)
        << "this server has no chain";
    EXPECT_EQ(post(root, "treasury/movements", body("top_up", hash)).status, 409);
    EXPECT_EQ(post(root, "treasury/movements", body("bonus", hash)).status, 422);
}

}  // namespace
}  // namespace berth::test
