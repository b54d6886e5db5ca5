// Disputes and refunds as operators and renters read them.
#include "admin/office.hpp"
#include "support/told.hpp"

namespace berth::test {
namespace {

struct ReadCases : Office {
    std::string body_of(JobId id, const std::string& amount) {
        return R"({"job_id":")" + to_string(id) + R"(","amount_micro":")" + amount +
               R"(","reason":"it did not run","evidence":["ticket 7"]})";
    }
    std::string dispute(JobId id, const std::string& amount) {
        town.harness.clock.advance(std::chrono::milliseconds(1));
        const auto answer = post(root, "disputes", body_of(id, amount));
        EXPECT_EQ(answer.status, 201) << answer.body;
        return member(answer.body, "dispute_id");
    }
    std::string give_back(JobId id, const std::string& amount) {
        town.harness.clock.advance(std::chrono::milliseconds(1));
        const auto answer = post(root, "refunds", body_of(id, amount));
        EXPECT_EQ(answer.status, 202) << answer.body;
        return member(answer.body, "refund_id");
    }
    std::string uphold(const std::string& id, const std::string& amount) {
        town.harness.clock.advance(std::chrono::milliseconds(1));
        const auto answer = post(root, "disputes/" + id + "/close",
                                 R"({"outcome":"upheld","refund_micro":")" + amount +
                                     R"(","reason":"the logs show it"})");
        EXPECT_EQ(answer.status, 200) << answer.body;
        return member(answer.body, "refund_id");
    }
    // The rental as tickets know it.
    std::string ticket(Browser& by, JobId about) {
        const auto made =
            by.send("POST", "/api/v1/tickets", R"({"category":"billing","text":"it did not run"})",
                    town.harness.new_id());
        EXPECT_EQ(made.status, 201) << made.body;
        const std::string id = member(made.body, "ticket_id");
        town.harness.app->database().write([&](db::Transaction& tx) {
            tx.run("UPDATE tickets SET job_id = $2 WHERE ticket_id = $1", parse_uuid(id).value(),
                   about);
        });
        return id;
    }
    // Every item page by page of one.
    std::vector<std::string> listed(Browser& by, const std::string& path,
                                    const std::string& which) {
        std::vector<std::string> found;
        const std::string with =
            "/api/v1/" + path + (path.find('?') == path.npos ? "?" : "&") + "limit=1";
        for (std::string cursor; found.size() < 50;) {
            const auto page =
                by.send("GET", with + (cursor.empty() ? "" : "&cursor=" + cursor)).body;
            if (const std::string one = member(page, "items.0." + which); !one.empty())
                found.push_back(one);
            cursor = member(page, "next_cursor");
            if (cursor == "null" || cursor.empty()) break;
        }
        return found;
    }
    using Texts = std::vector<std::string>;

    Browser hal = town.person("hal@example.org");
    Browser eve = town.person("eve@example.org");
    AccountId renter = account(ada);
    AccountId host = account(hal);
};

TEST_F(ReadCases, ADisputeHasAllThatADecisionNeeds) {
    const JobId over = job(renter, host, 1000);
    const std::string hers = ticket(ada, over);
    const std::string his = ticket(hal, over);
    ticket(eve, over);
    const std::string id = dispute(over, "500");
    const std::string shown = get(root, "disputes/" + id);
    EXPECT_EQ(member(shown, "dispute_id"), id);
    EXPECT_EQ(member(shown, "job_id"), to_string(over));
    EXPECT_EQ(member(shown, "renter_id"), to_string(renter));
    EXPECT_EQ(member(shown, "host_id"), to_string(host));
    EXPECT_EQ(member(shown, "held_micro"), "450");
    EXPECT_EQ(member(shown, "charged_micro"), "1000");
    EXPECT_EQ(member(shown, "fee_micro"), "100");
    EXPECT_EQ(member(shown, "refundable_micro"), "1000");
    EXPECT_EQ(member(shown, "renter_ticket_id"), hers);
    EXPECT_EQ(member(shown, "host_ticket_id"), his);
    EXPECT_EQ(member(shown, "opened_by"), id_of(root));
    EXPECT_EQ(member(shown, "outcome"), "null");
    const std::string refund = uphold(id, "400");
    const std::string after = get(root, "disputes/" + id);
    EXPECT_EQ(member(after, "outcome"), "upheld");
    EXPECT_EQ(member(after, "refund_id"), refund);
    EXPECT_EQ(member(after, "refunded_micro"), "400");
    EXPECT_EQ(member(after, "refundable_micro"), "600");
    EXPECT_NE(member(after, "closed_at"), "null");
    const JobId other = job(renter, host, 1000);
    EXPECT_EQ(member(get(root, "disputes/" + dispute(other, "1")), "renter_ticket_id"), "null");
    EXPECT_EQ(root.send("GET", "/api/v1/admin/disputes/" + town.harness.new_id()).status, 404);
    EXPECT_EQ(root.send("GET", "/api/v1/admin/disputes/none").status, 422);
}

TEST_F(ReadCases, DisputesAreFoundByJobAndEitherSide) {
    const JobId first = job(renter, host, 1000);
    const JobId second = job(account(eve), host, 1000);
    const std::string one = dispute(first, "100");
    const std::string two = dispute(second, "100");
    EXPECT_EQ(listed(root, "admin/disputes", "dispute_id"), (Texts{two, one}));
    EXPECT_EQ(listed(root, "admin/disputes?job_id=" + to_string(first), "dispute_id"), Texts{one});
    EXPECT_EQ(listed(root, "admin/disputes?renter=" + id_of(eve), "dispute_id"), Texts{two});
    EXPECT_EQ(listed(root, "admin/disputes?host=" + id_of(hal), "dispute_id"), (Texts{two, one}));
    EXPECT_EQ(listed(root, "admin/disputes?host=" + id_of(eve), "dispute_id"), Texts{});
    uphold(one, "1");
    EXPECT_EQ(listed(root, "admin/disputes?state=closed&host=" + id_of(hal), "dispute_id"),
              Texts{one});
    const auto bad = root.send("GET", "/api/v1/admin/disputes?renter=somebody");
    EXPECT_EQ(bad.status, 422);
    EXPECT_NE(error_message(bad).find("query.renter"), std::string::npos) << bad.body;
    const std::string cursor =
        member(root.send("GET", "/api/v1/admin/disputes?limit=1").body, "next_cursor");
    EXPECT_EQ(root.send("GET",
                        "/api/v1/admin/disputes?limit=1&renter=" + id_of(ada) + "&cursor=" + cursor)
                  .status,
              422)
        << "the cursor of another list";
    EXPECT_EQ(
        untold(town.harness.app->database(), {"dispute.opened", "dispute.closed", "refund.posted"}),
        "");
}

TEST_F(ReadCases, RefundsSayWhoWhyAndFromWhom) {
    const JobId first = job(renter, host, 1239);  // fee 123
    const JobId second = job(account(eve), host, 1000);
    const std::string one = give_back(first, "239");
    const std::string two = give_back(second, "100");
    const std::string by_dispute = dispute(first, "500");
    const std::string three = uphold(by_dispute, "500");
    EXPECT_EQ(listed(root, "admin/refunds", "refund_id"), (Texts{three, two, one}));
    EXPECT_EQ(listed(root, "admin/refunds?job_id=" + to_string(first), "refund_id"),
              (Texts{three, one}));
    EXPECT_EQ(listed(root, "admin/refunds?account=" + id_of(eve), "refund_id"), Texts{two});
    EXPECT_EQ(listed(root, "admin/refunds?account=" + id_of(hal), "refund_id"),
              (Texts{three, two, one}));
    EXPECT_EQ(listed(root, "admin/refunds?account=" + id_of(root), "refund_id"), Texts{});
    const std::string all = get(root, "refunds");
    EXPECT_EQ(member(all, "items.0.dispute_id"), by_dispute);
    EXPECT_EQ(member(all, "items.0.reason"), "the logs show it");
    EXPECT_EQ(member(all, "items.0.refunded_by"), id_of(root));
    EXPECT_EQ(member(all, "items.2.dispute_id"), "null");
    EXPECT_EQ(member(all, "items.2.reason"), "it did not run");
    EXPECT_EQ(member(all, "items.2.refunded_by"), id_of(root));
    EXPECT_EQ(member(all, "items.2.amount_micro"), "239");
    EXPECT_EQ(member(all, "items.2.fee_micro"), "23");
    EXPECT_EQ(member(all, "items.2.host_micro"), "216");
    EXPECT_EQ(member(all, "items.2.credit_micro"), "0");
    EXPECT_EQ(root.send("GET", "/api/v1/admin/refunds?job_id=7").status, 422);
}

TEST_F(ReadCases, ARenterReadsItsOwnDisputesAndNobodyElses) {
    const JobId hers = job(renter, host, 1000);
    const JobId other = job(account(eve), host, 1000);
    const std::string one = dispute(hers, "100");
    dispute(other, "100");
    EXPECT_EQ(listed(ada, "disputes", "dispute_id"), Texts{one});
    EXPECT_EQ(listed(ada, "disputes?job_id=" + to_string(other), "dispute_id"), Texts{});
    EXPECT_EQ(listed(hal, "disputes", "dispute_id"), Texts{}) << "a host is no renter";
    uphold(one, "60");
    const std::string shown = ada.send("GET", "/api/v1/disputes").body;
    EXPECT_EQ(member(shown, "items.0.job_id"), to_string(hers));
    EXPECT_EQ(member(shown, "items.0.state"), "closed");
    EXPECT_EQ(member(shown, "items.0.outcome"), "upheld");
    EXPECT_EQ(member(shown, "items.0.refund_micro"), "60");
    EXPECT_EQ(shown.find("the logs show it"), std::string::npos) << "words of operators";
    EXPECT_EQ(shown.find(id_of(root)), std::string::npos);
    EXPECT_EQ(shown.find(to_string(host)), std::string::npos);
    EXPECT_EQ(listed(ada, "disputes?state=open", "dispute_id"), Texts{});
    EXPECT_EQ(ada.send("GET", "/api/v1/disputes?state=lost").status, 422);
}

}  // namespace
}  // namespace berth::test
