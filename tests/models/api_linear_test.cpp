// Targets and cookies take time in proportion to their length; a path that leads nowhere costs
// little, is logged in part, and may not be asked for without end.
#include "accounts/sessions.hpp"
#include "api/target.hpp"
#include "support/harness.hpp"
#include "support/linear.hpp"

namespace berth::test {
namespace {

constexpr std::size_t target_bytes_max = 64 << 10;

TEST(Linear, Targets) {
    for (const std::string unit : {"%41", "%", "a", "+", "%c3%a9", "&", "=", "a=1&", "&&="}) {
        const auto make = [&](std::size_t bytes) { return repeated(unit, bytes); };
        expect_linear(unit, target_bytes_max, make,
                      [](const std::string& text) { return api::percent_decode(text, true); });
        expect_linear(unit, target_bytes_max, make, [](const std::string& text) {
            wire::Errors errors;
            return api::parse_query(text, errors);
        });
    }
}

TEST(Linear, Cookies) {
    for (const std::string unit : {";", "=", " ", "a=b;", "session;", "session =;"})
        expect_linear(
            unit, target_bytes_max, [&](std::size_t bytes) { return repeated(unit, bytes); },
            [](const std::string& text) {
                http::Request request;
                request.headers.add("Cookie", text);
                return accounts::find_cookie(request, "session").has_value();
            });
}

TEST(Linear, PathsThatLeadNowhere) {
    Harness harness;
    for (const std::string unit : {"/", "a", "://", "/a/"})
        expect_linear(
            unit, target_bytes_max, [&](std::size_t bytes) { return "/" + repeated(unit, bytes); },
            [&](const std::string& path) {
                const http::Request request = make_request({.target = path});
                return harness.app->service().answer(request).status;
            });
}

TEST(UnknownRoutes, AreToldSoAtAnyRateAndSpendNothingOfIt) {
    Harness harness;
    for (int i = 0; i < 500; ++i) ASSERT_EQ(harness.ask({.target = "/nowhere"}).status, 404);
    EXPECT_EQ(harness.ask({.target = "/api/v1/templates"}).status, 200);
}

}  // namespace
}  // namespace berth::test
