// Both sides of a job hear by mail what operators did about it; a preview tells nobody.
#include <algorithm>

#include "admin/office.hpp"

namespace berth::test {
namespace {

struct AdjustmentLetters : Office {
    std::string about(JobId id, const std::string& amount) {
        return R"({"job_id":")" + to_string(id) + R"(","amount_micro":")" + amount +
               R"(","reason":"it did not run, says Bob","evidence":[]})";
    }
    std::int64_t told(const std::string& email, const std::string& words) {
        town.harness.clock.advance(std::chrono::seconds(10));
        const auto mails = town.mails_to(email);
        return std::count_if(mails.begin(), mails.end(), [&](const std::string& mail) {
            return mail.find(words) != std::string::npos;
        });
    }
    static constexpr const char* renter_mail = "ada@example.org";
    static constexpr const char* host_mail = "hal@example.org";

    Browser hal = town.person(host_mail);
    AccountId renter = account(ada);
    AccountId host = account(hal);
};

TEST_F(AdjustmentLetters, ARefundIsToldToRenterAndHostAndAPreviewToNobody) {
    const JobId over = job(renter, host, 2'000'000);
    ASSERT_EQ(post(root, "refunds/preview", about(over, "500000")).status, 200);
    EXPECT_EQ(told(renter_mail, to_string(over)), 0);
    const std::string key = town.harness.new_id();
    for (int i = 0; i < 2; ++i)  // a repeated request tells nobody again
        ASSERT_EQ(root.send("POST", "/api/v1/admin/refunds", about(over, "500000"), key).status,
                  202);
    EXPECT_EQ(told(renter_mail, "You got 0.5 USDC back"), 1);
    EXPECT_EQ(told(host_mail, "A renter got 0.5 USDC back"), 1);
    EXPECT_EQ(told(host_mail, "0.45 USDC"), 1);
    EXPECT_EQ(told(host_mail, "says Bob"), 0) << "reasons stay in the record";
    EXPECT_EQ(error_code(post(root, "refunds", about(over, "2000000"))), "CONFLICT");
    EXPECT_EQ(told(renter_mail, "USDC back"), 1) << "what was refused is not told";
}

TEST_F(AdjustmentLetters, ADisputeIsToldWhenItOpensAndWhenItIsDecided) {
    const JobId over = job(renter, host, 2'000'000);
    const auto open = [&](const std::string& amount) {
        const auto answer = post(root, "disputes", about(over, amount));
        EXPECT_EQ(answer.status, 201) << answer.body;
        return member(answer.body, "dispute_id");
    };
    ASSERT_EQ(post(root, "disputes/preview", about(over, "1000000")).status, 200);
    EXPECT_EQ(told(host_mail, "disputed"), 0);
    const std::string first = open("1000000");
    EXPECT_EQ(told(renter_mail, "1 USDC are disputed"), 1);
    EXPECT_EQ(told(host_mail, "0.9 USDC of your earnings are held back"), 1);
    ASSERT_EQ(
        post(root, "disputes/" + first + "/close", R"({"outcome":"rejected","reason":"it ran"})")
            .status,
        200);
    EXPECT_EQ(told(renter_mail, "decided for the host"), 1);
    EXPECT_EQ(told(host_mail, "decided for you"), 1);
    const std::string second = open("500000");
    ASSERT_EQ(post(root, "disputes/" + second + "/close",
                   R"({"outcome":"upheld","refund_micro":"500000","reason":"it did not"})")
                  .status,
              200);
    EXPECT_EQ(told(renter_mail, "decided for you"), 1);
    EXPECT_EQ(told(renter_mail, "You got 0.5 USDC back"), 1);
    EXPECT_EQ(told(host_mail, "decided for the renter"), 1);
}

}  // namespace
}  // namespace berth::test
