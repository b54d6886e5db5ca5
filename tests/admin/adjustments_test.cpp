#include <thread>

#include "admin/office.hpp"

namespace berth::test {
namespace {

struct Adjusted : Office {
    std::string refund_of(JobId id, const std::string& amount) {
        return R"({"job_id":")" + to_string(id) + R"(","amount_micro":")" + amount +
               R"(","reason":"it did not run","evidence":["ticket 7"]})";
    }
    std::string dispute_of(JobId id, const std::string& amount) { return refund_of(id, amount); }
    std::string opened(JobId id, const std::string& amount) {
        const auto answer = post(root, "disputes", dispute_of(id, amount));
        EXPECT_EQ(answer.status, 201) << answer.body;
        return member(answer.body, "dispute_id");
    }

    Browser hal = town.person("hal@example.org");
    AccountId renter = account(ada);
    AccountId host = account(hal);
};
using Refunds = Adjusted;
using Disputes = Adjusted;

TEST_F(Refunds, TakeBackFromHostAndFeeWhatEachGot) {
    const JobId over = job(renter, host, 1239);  // fee 123
    const auto first = post(root, "refunds", refund_of(over, "239"));
    ASSERT_EQ(first.status, 202) << first.body;
    EXPECT_EQ(member(first.body, "job_id"), to_string(over));
    EXPECT_EQ(member(first.body, "amount_micro"), "239");
    EXPECT_EQ(member(first.body, "refunded_total_micro"), "239");
    EXPECT_EQ(member(first.body, "refundable_micro"), "1000");
    EXPECT_NE(member(first.body, "transaction_id"), "");
    EXPECT_EQ(balances(renter).available, Micro{239});
    ASSERT_EQ(post(root, "refunds", refund_of(over, "1000")).status, 202);
    EXPECT_EQ(balances(renter).available, Micro{1239});
    EXPECT_EQ(balances(host).payable, Micro{0});
    EXPECT_EQ(events("refund"), 2);
}

TEST_F(Refunds, AreTogetherAtMostTheChargeAlsoInARace) {
    const JobId over = job(renter, host, 1000);
    EXPECT_EQ(error_code(post(root, "refunds", refund_of(over, "1001"))), "CONFLICT");
    std::vector<std::thread> racers;
    std::atomic<int> granted = 0;
    std::vector<std::string> keys;
    for (int i = 0; i < 5; ++i) keys.push_back(town.harness.new_id());
    for (const std::string& key : keys)
        racers.emplace_back([&, key] {
            Browser mine = root;
            granted +=
                mine.send("POST", "/api/v1/admin/refunds", refund_of(over, "300"), key).status ==
                202;
        });
    for (std::thread& racer : racers) racer.join();
    EXPECT_EQ(granted, 3);
    EXPECT_EQ(balances(renter).available, Micro{900});
}

TEST_F(Refunds, ARepeatedRequestRefundsOnce) {
    const JobId over = job(renter, host, 1000);
    const std::string key = town.harness.new_id();
    const auto first = root.send("POST", "/api/v1/admin/refunds", refund_of(over, "100"), key);
    EXPECT_EQ(root.send("POST", "/api/v1/admin/refunds", refund_of(over, "100"), key).body,
              first.body);
    EXPECT_EQ(balances(renter).available, Micro{100});
    EXPECT_EQ(error_code(root.send("POST", "/api/v1/admin/refunds", refund_of(over, "200"), key)),
              "IDEMPOTENCY_CONFLICT");
}

TEST_F(Refunds, AreRefusedForOnesOwnAccountUnknownJobsAndWithoutStepUp) {
    EXPECT_EQ(post(root, "refunds", refund_of(job(account(root), host, 100), "1")).status, 403);
    EXPECT_EQ(post(root, "refunds", refund_of(job(renter, account(root), 100), "1")).status, 403);
    EXPECT_EQ(post(root, "refunds", refund_of(JobId{host.uuid}, "1")).status, 404);
    const JobId over = job(renter, host, 1000);
    for (const std::string& body :
         {refund_of(over, "0"), refund_of(over, "-1"),
          R"({"job_id":")" + to_string(over) + R"(","amount_micro":"1","reason":"r"})",
          R"({"job_id":")" + to_string(over) + R"(","amount_micro":"1","reason":"","evidence":[]})",
          R"({"job_id":")" + to_string(over) +
              R"(","amount_micro":"1","reason":"r","evidence":[],"asset":"USDC"})"})
        EXPECT_EQ(post(root, "refunds", body).status, 422) << body;
    town.harness.clock.advance(std::chrono::minutes(6));
    EXPECT_EQ(post(root, "refunds", refund_of(over, "1")).status, 403);
    EXPECT_EQ(balances(renter).available, Micro{0});
}

TEST_F(Disputes, HoldTheHostsShareUntilTheyAreRejected) {
    const JobId over = job(renter, host, 1000);
    const auto made = post(root, "disputes", dispute_of(over, "500"));
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(member(made.body, "state"), "open");
    EXPECT_EQ(member(made.body, "amount_micro"), "500");
    EXPECT_EQ(member(made.body, "held_micro"), "450");
    EXPECT_EQ(member(made.body, "evidence.0"), "ticket 7");
    EXPECT_EQ(member(made.body, "evidence_hash").substr(0, 7), "sha256:");
    EXPECT_EQ(member(made.body, "outcome"), "null");
    EXPECT_EQ(balances(host).payable, Micro{450});
    EXPECT_EQ(balances(host).escrow, Micro{450});
    const std::string id = member(made.body, "dispute_id");
    EXPECT_EQ(member(get(root, "disputes?state=open"), "items.0.dispute_id"), id);

    const std::string close = "disputes/" + id + "/close";
    EXPECT_EQ(
        post(root, close, R"({"outcome":"rejected","refund_micro":"1","reason":"no"})").status,
        422);
    const auto closed = post(root, close, R"({"outcome":"rejected","reason":"it ran"})");
    ASSERT_EQ(closed.status, 200) << closed.body;
    EXPECT_EQ(member(closed.body, "state"), "closed");
    EXPECT_EQ(member(closed.body, "outcome"), "rejected");
    EXPECT_EQ(balances(host).payable, Micro{900});
    EXPECT_EQ(balances(host).escrow, Micro{0});
    EXPECT_EQ(balances(renter).available, Micro{0});
    EXPECT_EQ(post(root, close, R"({"outcome":"rejected","reason":"it ran"})").status, 409);
    EXPECT_EQ(member(get(root, "disputes?state=open"), "items.0.dispute_id"), "");
    EXPECT_EQ(events("open_dispute"), 1);
    EXPECT_EQ(events("close_dispute"), 1);
}

TEST_F(Disputes, AnUpheldOneIsRefundedInTheTransactionThatEndsIt) {
    const JobId over = job(renter, host, 1000);
    const std::string close = "disputes/" + opened(over, "1000") + "/close";
    EXPECT_EQ(balances(host).payable, Micro{0});
    EXPECT_EQ(post(root, close, R"({"outcome":"upheld","reason":"yes"})").status, 422);
    EXPECT_EQ(
        post(root, close, R"({"outcome":"upheld","refund_micro":"1001","reason":"yes"})").status,
        409);
    EXPECT_EQ(balances(host).escrow, Micro{900}) << "nothing was written";
    const auto closed =
        post(root, close, R"({"outcome":"upheld","refund_micro":"1000","reason":"yes"})");
    ASSERT_EQ(closed.status, 200) << closed.body;
    EXPECT_EQ(member(closed.body, "refund_micro"), "1000");
    EXPECT_EQ(balances(renter).available, Micro{1000});
    EXPECT_EQ(balances(host).payable, Micro{0});
    EXPECT_EQ(balances(host).escrow, Micro{0});
}

TEST_F(Disputes, KeepNoSecretAndEveryTransactionThatIsKnownOrNamed) {
    const std::string key = "0x" + std::string(64, 'e');
    const std::string deposit = "0x" + std::string(64, 'd');
    book([&](ledger::Context context) {
        context.tx.run(
            "INSERT INTO deposits (tx_hash, ordinal, asset, sender, treasury, amount, "
            "block, seen_at, updated_at, state) VALUES "
            "($1, 0, 'USDC', '', '', 1, 1, 1, 1, 'SUSPENSE')",
            deposit);
    });
    const JobId over = job(renter, host, 1000);
    const std::string job_id = to_string(over);
    const auto made = post(root, "disputes",
                           R"({"job_id":")" + job_id + R"(","amount_micro":"500","reason":")" +
                               "he sent ghp_abcdefghijklmnopqrst12" + R"(","evidence":[")" + key +
                               R"(",")" + deposit + R"(","tx )" + key + R"("]})");
    ASSERT_EQ(made.status, 201) << made.body;
    const std::string close = "disputes/" + member(made.body, "dispute_id") + "/close";
    const auto closed = post(
        root, close, R"({"outcome":"rejected","reason":"his password is hunter22, it works"})");
    ASSERT_EQ(closed.status, 200) << closed.body;
    const std::string listed = get(root, "disputes");
    EXPECT_EQ(member(listed, "items.0.reason"), "he sent [redacted]");
    EXPECT_EQ(member(listed, "items.0.evidence.0"), "0x[redacted]");
    EXPECT_EQ(member(listed, "items.0.evidence.1"), deposit);
    EXPECT_EQ(member(listed, "items.0.evidence.2"), "tx " + key);
    EXPECT_EQ(member(listed, "items.0.close_reason"), "his password is [redacted], it works");

    const std::string refund = R"({"job_id":")" + job_id +
                               R"(","amount_micro":"1","reason":"because","evidence":[")" + key +
                               R"(",")" + deposit + R"("]})";
    ASSERT_EQ(post(root, "refunds", refund).status, 202);
    const std::string audit = get(root, "audit");
    EXPECT_EQ(audit.find("\"" + key), std::string::npos) << audit;
    EXPECT_NE(audit.find("\"" + deposit), std::string::npos) << audit;
}

// The contract names no longest text: a body has its own bound.
TEST_F(Refunds, TakeWhateverEvidenceABodyHolds) {
    std::string evidence = "\"ticket 7\"";
    for (int i = 0; i < 200; ++i) evidence += ",\"ticket " + std::to_string(i) + "\"";
    const std::string body = R"({"job_id":")" + to_string(job(renter, host, 1000)) +
                             R"(","amount_micro":"1","reason":")" + std::string(5000, 'x') +
                             R"(","evidence":[)" + evidence + "]}";
    EXPECT_EQ(post(root, "refunds", body).status, 202);
}

TEST_F(Disputes, AreTogetherWithRefundsAtMostTheCharge) {
    const JobId over = job(renter, host, 1000);
    ASSERT_EQ(post(root, "refunds", refund_of(over, "333")).status, 202);
    opened(over, "333");
    EXPECT_EQ(post(root, "disputes", dispute_of(over, "335")).status, 409);
    opened(over, "334");
    EXPECT_EQ(balances(host).payable, Micro{0}) << "the host's shares add up to the micro-unit";
    EXPECT_EQ(post(root, "disputes", dispute_of(over, "1")).status, 409);
}

TEST_F(Disputes, ARefundLeavesWhatTheyAreAbout) {
    const JobId over = job(renter, host, 1000);
    const std::string dispute = opened(over, "700");
    EXPECT_EQ(error_code(post(root, "refunds", refund_of(over, "301"))), "CONFLICT");
    EXPECT_EQ(balances(renter).available, Micro{0});
    EXPECT_EQ(events("refund"), 0);
    ASSERT_EQ(post(root, "refunds", refund_of(over, "300")).status, 202);
    const auto closed = post(root, "disputes/" + dispute + "/close",
                             R"({"outcome":"upheld","refund_micro":"700","reason":"it is so"})");
    EXPECT_EQ(closed.status, 200) << closed.body;
    EXPECT_EQ(balances(renter).available, Micro{1000});
    EXPECT_EQ(balances(host).payable, Micro{0});
}

TEST_F(Disputes, AndRefundsAreTogetherAtMostTheChargeAlsoInARace) {
    for (int round = 0; round < 8; ++round) {
        const JobId over = job(renter, host, 1000);
        std::vector<std::pair<std::string, std::string>> wishes;
        for (const std::string route : {"refunds", "disputes", "refunds", "disputes"})
            wishes.emplace_back(route, town.harness.new_id());
        std::atomic<int> granted = 0;
        std::vector<std::thread> racers;
        for (const auto& wish : wishes)
            racers.emplace_back([&, wish] {
                Browser mine = root;
                const int status = mine.send("POST", "/api/v1/admin/" + wish.first,
                                             refund_of(over, "600"), wish.second)
                                       .status;
                granted += status == 201 || status == 202;
            });
        for (std::thread& racer : racers) racer.join();
        EXPECT_EQ(granted, 1);
    }
}

TEST_F(Disputes, NobodyDecidesOverTheirOwnAccount) {
    EXPECT_EQ(post(root, "disputes", dispute_of(job(account(root), host, 100), "50")).status, 403);
    Browser second = admin("second@example.org");
    const auto made = post(second, "disputes", dispute_of(job(account(root), host, 100), "50"));
    ASSERT_EQ(made.status, 201) << made.body;
    const std::string close = "disputes/" + member(made.body, "dispute_id") + "/close";
    EXPECT_EQ(post(root, close, R"({"outcome":"rejected","reason":"it ran"})").status, 403);
    EXPECT_EQ(post(second, close, R"({"outcome":"rejected","reason":"it ran"})").status, 200);
    EXPECT_EQ(post(root, "disputes/" + town.harness.new_id() + "/close",
                   R"({"outcome":"rejected","reason":"it ran"})")
                  .status,
              404);
}

}  // namespace
}  // namespace berth::test
