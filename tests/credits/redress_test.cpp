// What operators give back of a rental that a credit paid goes back to the credit.
#include <algorithm>

#include "credits/campaigns.hpp"

namespace berth::test {
namespace {

struct CreditRedress : Campaigns {
    CreditRedress() {
        put_in(4'000'000);
        EXPECT_EQ(begin("LAUNCH-1", 4'000'000, 400'000).status, 201);
        pay_in(ada, 400'000);
        EXPECT_EQ(redeem(ada, "LAUNCH-1").status, 201);
    }
    static std::string wish(JobId id, const std::string& amount) {
        return R"({"job_id":")" + to_string(id) + R"(","amount_micro":")" + amount +
               R"(","reason":"it did not run","evidence":["ticket 7"]})";
    }
    std::string remaining() {
        return member(ada.send("GET", "/api/v1/billing/credits").body, "items.0.remaining_micro");
    }
    bool told(const std::string& words) {
        town.harness.clock.advance(std::chrono::seconds(10));
        const auto mails = town.mails_to("ada@example.org");
        return std::any_of(mails.begin(), mails.end(), [&](const std::string& mail) {
            return mail.find(words) != std::string::npos;
        });
    }

    Browser hal = town.person("hal@example.org");
    AccountId renter = account(ada);
    AccountId host = account(hal);
};

TEST_F(CreditRedress, ARefundOfWhatACreditPaidIsACreditAgain) {
    const JobId over = job_on_credit(renter, host, 400'000, 300'000);
    EXPECT_EQ(remaining(), "100000");
    const auto made = post(root, "refunds", wish(over, "200000"));
    ASSERT_EQ(made.status, 202) << made.body;
    EXPECT_EQ(member(made.body, "credit_micro"), "200000");
    EXPECT_EQ(remaining(), "300000");
    EXPECT_EQ(balances(renter).available, Micro{400'000}) << "it is no balance";
    EXPECT_EQ(balances(host).payable, Micro{90'000});
    EXPECT_TRUE(told("You got 0.2 USDC back for a rental. It is back in the promotional credit"));
    EXPECT_FALSE(told("in your balance"));
}

TEST_F(CreditRedress, AMailTellsWhatIsInTheBalanceAndWhatInTheCredit) {
    const JobId over = job_on_credit(renter, host, 500'000, 500'000);
    ASSERT_EQ(post(root, "refunds", wish(over, "300000")).status, 202);
    EXPECT_EQ(balances(renter).available, Micro{400'000});
    EXPECT_EQ(remaining(), "200000");
    EXPECT_TRUE(told("0.1 USDC of it are in your balance and 0.2 USDC are back in the"));
}

TEST_F(CreditRedress, ADisputeThatIsUpheldGivesTheCreditBack) {
    const JobId over = job_on_credit(renter, host, 400'000, 300'000);
    const auto opened = post(root, "disputes", wish(over, "300000"));
    ASSERT_EQ(opened.status, 201) << opened.body;
    EXPECT_EQ(member(opened.body, "held_micro"), "270000");
    const auto closed = post(root, "disputes/" + member(opened.body, "dispute_id") + "/close",
                             R"({"outcome":"upheld","refund_micro":"300000","reason":"yes"})");
    ASSERT_EQ(closed.status, 200) << closed.body;
    EXPECT_EQ(remaining(), "400000");
    EXPECT_EQ(balances(renter).available, Micro{400'000});
    EXPECT_EQ(balances(host).payable, Micro{});
    EXPECT_EQ(balances(host).escrow, Micro{});
}

}  // namespace
}  // namespace berth::test
