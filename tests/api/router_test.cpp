// Finding routes and taking targets apart.
#include <gtest/gtest.h>

#include "api/router.hpp"
#include "api/target.hpp"

namespace berth::api {
namespace {

struct Named {
    std::string id;
};
BOOST_DESCRIBE_STRUCT(Named, (), (id))

Route route(const char* method, const char* path) {
    return {.method = method,
            .path = path,
            .name = std::string(method) + path,
            .group = "test",
            .summary = "A route.",
            .access = Access::anyone,
            .work = Work::memory};
}

TEST(Router, PrefersALiteralSegmentToAParameter) {
    Router router;
    router.add(route("GET", "/a/{id}"), [](Call&, const Path<Named>&) {});
    router.add(route("GET", "/a/code"), [](Call&) {});
    EXPECT_EQ(router.find("GET", "/a/code").entry->route.path, "/a/code");
    const auto match = router.find("GET", "/a/other");
    EXPECT_EQ(match.entry->route.path, "/a/{id}");
    ASSERT_EQ(match.parameters.size(), 1U);
    EXPECT_EQ(match.parameters[0], "other");
}

TEST(Router, FindsNothingForStrangePaths) {
    Router router;
    router.add(route("GET", "/a/{id}"), [](Call&, const Path<Named>&) {});
    for (const char* path : {"", "/", "a", "/a", "/a/", "/a/b/c", "//a/b", "/a//b", "/A/b"})
        EXPECT_EQ(router.find("GET", path).entry, nullptr) << path;
    EXPECT_EQ(router.find("get", "/a/b").entry, nullptr);
    EXPECT_EQ(router.find("GET", std::string(10'000, '/')).entry, nullptr);
}

TEST(Router, AnswersGetBelowOtherPathsWithThePageThatNamesThem) {
    Router router;
    Route page = route("GET", "/");
    page.also_below = {"/offers", "/host"};
    router.add(page, [](Call&) {});
    router.add(route("GET", "/host/own"), [](Call&) {});
    for (const char* path : {"/", "/offers", "/offers/", "/offers/1/2", "/host", "/host/other"}) {
        const auto match = router.find("GET", path);
        ASSERT_NE(match.entry, nullptr) << path;
        EXPECT_EQ(match.entry->route.path, "/") << path;
        EXPECT_TRUE(match.parameters.empty()) << path;
        EXPECT_EQ(router.find("HEAD", path).entry, match.entry) << path;
        EXPECT_EQ(router.find("POST", path).entry, nullptr) << path;
    }
    EXPECT_EQ(router.find("GET", "/host/own").entry->route.path, "/host/own");
    for (const char* path :
         {"", "offers", "/offersx", "/offer", "//offers", "/x/offers", "/OFFERS"})
        EXPECT_EQ(router.find("GET", path).entry, nullptr) << path;
}

TEST(RouterDeathTest, APageIsBelowPathsOfOneSegment) {
    Router router;
    Route page = route("GET", "/");
    page.also_below = {"/offers/more"};
    EXPECT_DEATH(router.add(page, [](Call&) {}), "such a path is one segment");
}

TEST(RouterDeathTest, ARouteForAnyoneTakesNoIdempotencyKey) {
    Router router;
    Route open = route("POST", "/a");
    open.work = Work::write;
    open.idempotent = true;
    EXPECT_DEATH(router.add(open, [](Call&) {}), "no account to keep an Idempotency-Key for");
}

TEST(Target, DecodesPercentEncodingStrictly) {
    EXPECT_EQ(percent_decode("a%20b+c", false), "a b+c");
    EXPECT_EQ(percent_decode("a%20b+c", true), "a b c");
    EXPECT_EQ(percent_decode("%C3%A9", false), "é");
    for (const char* bad : {"%", "%2", "%zz", "%00", "%ff", "%C3", "a%"})
        EXPECT_FALSE(percent_decode(bad, false)) << bad;
}

TEST(Target, TakesAQueryApart) {
    wire::Errors errors;
    const auto fields = parse_query("a=1&&b=x%26y&c&d=", errors);
    EXPECT_TRUE(errors.empty());
    const wire::TextFields expected{{"a", "1"}, {"b", "x&y"}, {"c", ""}, {"d", ""}};
    EXPECT_EQ(fields, expected);
}

TEST(Target, RefusesTooManyParametersAndBadEncoding) {
    std::string many;
    for (std::size_t i = 0; i <= query_fields_max; ++i) many += "a=1&";
    wire::Errors too_many;
    parse_query(many, too_many);
    EXPECT_FALSE(too_many.empty());
    wire::Errors encoding;
    parse_query("a=%f", encoding);
    EXPECT_FALSE(encoding.empty());
}

}  // namespace
}  // namespace berth::api
