// Errors that carry more than the envelope, choices in bodies, and answers rendered beforehand.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "support/harness.hpp"

namespace berth::test {
namespace {

class Siblings : public ::testing::Test {
protected:
    http::Response edit(const std::string& version) {
        return harness.ask({.method = "PATCH",
                            .target = "/test/plan",
                            .as = "renter " + me,
                            .key = harness.new_id(),
                            .body = R"({"expected_version":")" + version + R"("})"});
    }
    http::Response act(const std::string& body) {
        return harness.ask({.method = "POST",
                            .target = "/test/accounts/" + me + "/actions",
                            .as = "admin " + me,
                            .key = harness.new_id(),
                            .body = body});
    }

    Harness harness;
    std::string me = harness.new_id();
};

TEST_F(Siblings, AnErrorCarriesItsTypedSibling) {
    EXPECT_EQ(edit("7").body, R"({"version":"8"})");
    const auto refused = edit("3");
    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(error_code(refused), "VERSION_CONFLICT");
    EXPECT_TRUE(refused.body.ends_with(R"(,"current":{"version":"7"}})")) << refused.body;
}

TEST_F(Siblings, ASiblingThatNoRouteDeclaresIsNoticed) {
    const std::string id = harness.new_id();
    http::Response response;
    response.status = 409;
    response.headers.add("X-Request-Id", id);
    response.headers.add("Cache-Control", "private, no-store");
    response.body =
        R"({"error":{"code":"CONFLICT","message":"m","retryable":false,"request_id":")" + id +
        R"("},"current":{"version":"7"}})";
    ::testing::TestPartResultArray failures;
    {
        const ::testing::ScopedFakeTestPartResultReporter reporter(
            ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
        expect_declared(harness.app->router(),
                        make_request({.method = "POST", .target = "/test/transfers"}), response);
    }
    ASSERT_EQ(failures.size(), 1);
    EXPECT_NE(std::string(failures.GetTestPartResult(0).message()).find("current is not declared"),
              std::string::npos);
}

TEST_F(Siblings, AnActionChoosesWhatItsBodyHolds) {
    EXPECT_EQ(act(R"({"action":"limit","amount_micro":"5"})").body,
              R"({"done":{"action":"limit","amount_micro":"5"}})");
    EXPECT_EQ(error_message(act(R"({"action":"limit","amount_micro":"0"})")),
              "body.amount_micro: must be at least 1");
    EXPECT_EQ(error_message(act(R"({"action":"rename","amount_micro":"5"})")),
              "body.amount_micro: is not a member of this request; body.name: is required");
    EXPECT_EQ(error_message(act(R"({"action":"edit_balance"})")),
              "body.action: must be one of rename, limit");
}

TEST_F(Siblings, ARenderedAnswerIsSentAsItIsAndHeldToItsType) {
    const auto plans = harness.ask({.target = "/test/plans"});
    EXPECT_EQ(*plans.shared_body, harness.controls->plans);
    harness.controls->plans = R"({"items":[{"version":7}],"next_cursor":null})";
    EXPECT_NONFATAL_FAILURE(harness.ask({.target = "/test/plans"}), "version");
}

}  // namespace
}  // namespace berth::test
