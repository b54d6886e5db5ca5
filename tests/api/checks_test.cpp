// The order of checks that holds on every route, and what each refusal looks like.
#include <gtest/gtest.h>

#include "http/server.hpp"
#include "support/harness.hpp"
#include "support/raw_socket.hpp"

namespace berth::test {
namespace {

class Checks : public ::testing::Test {
protected:
    Harness harness;
    std::string me = harness.new_id();
    std::string deposit_body = R"({"amount_micro":"5"})";
};

TEST_F(Checks, AnUnknownRouteIs404BeforeAnythingElse) {
    EXPECT_EQ(harness.ask({.target = "/nothing"}).status, 404);
    EXPECT_EQ(harness.ask({.target = "/test/deposits/"}).status, 404);
    EXPECT_EQ(harness.ask({.target = "//test/deposits"}).status, 404);
}

TEST_F(Checks, AKnownPathWithAnotherMethodIs404) {
    EXPECT_EQ(harness.ask({.method = "GET", .target = "/test/deposits"}).status, 404);
    EXPECT_EQ(harness.ask({.method = "PATCH", .target = "/healthz"}).status, 404);
}

TEST_F(Checks, AMissingOrWrongCredentialIs401BeforeTheInputIsLookedAt) {
    const auto none =
        harness.ask({.method = "POST", .target = "/test/deposits", .body = "nonsense"});
    EXPECT_EQ(none.status, 401);
    EXPECT_EQ(error_code(none), "UNAUTHENTICATED");
    EXPECT_EQ(harness.ask({.method = "POST", .target = "/test/deposits", .as = "nobody"}).status,
              401);
}

TEST_F(Checks, AWrongScopeIs403BeforeTheInputIsLookedAt) {
    const auto host = harness.ask(
        {.method = "POST", .target = "/test/deposits", .as = "host " + me, .body = "nonsense"});
    EXPECT_EQ(host.status, 403);
    EXPECT_EQ(error_code(host), "FORBIDDEN");
}

TEST_F(Checks, EveryFaultOfTheInputIsReportedAtOnce) {
    const auto response = harness.ask({.method = "POST",
                                       .target = "/test/transfers",
                                       .as = "renter " + me,
                                       .key = "not-a-uuid",
                                       .body = R"({"to":"x","amount_micro":5,"more":1})"});
    EXPECT_EQ(response.status, 422);
    const std::string message = error_message(response);
    for (const char* place :
         {"header.Idempotency-Key", "body.to", "body.amount_micro", "body.more"})
        EXPECT_NE(message.find(place), std::string::npos) << message;
}

TEST_F(Checks, BadInputIs422AndNamesTheMember) {
    struct Row {
        Ask ask;
        std::string place;
    };
    const std::string as = "renter " + me;
    const std::string key = harness.new_id();
    const std::string to = "/test/deposits";
    const std::vector<Row> rows{
        {{.method = "POST", .target = to, .as = as, .body = deposit_body},
         "header.Idempotency-Key"},
        {{.method = "POST", .target = to, .as = as, .key = "1", .body = deposit_body},
         "header.Idempotency-Key"},
        {{.method = "POST", .target = to, .as = as, .key = key}, "header.Content-Type"},
        {{.method = "POST", .target = to, .as = as, .key = key, .body = "{"}, "body"},
        {{.method = "POST", .target = to, .as = as, .key = key, .body = "[]"}, "body"},
        {{.method = "POST", .target = to, .as = as, .key = key, .body = "{}"}, "body.amount_micro"},
        {{.method = "POST",
          .target = to,
          .as = as,
          .key = key,
          .body = R"({"amount_micro":"5","amount_micro":"5"})"},
         "body.amount_micro"},
        {{.method = "POST", .target = to, .as = as, .key = key, .body = R"({"amount_micro":"05"})"},
         "body.amount_micro"},
        {{.target = "/test/accounts/12", .as = as}, "path.id"},
        {{.target = "/test/accounts/%GG", .as = as}, "path.id"},
        {{.target = "/test/accounts/%00", .as = as}, "path.id"},
        {{.target = "/test/entries?limit=0", .as = as}, "query.limit"},
        {{.target = "/test/entries?limit=101", .as = as}, "query.limit"},
        {{.target = "/test/entries?limit=1.0", .as = as}, "query.limit"},
        {{.target = "/test/entries?limit=1&limit=2", .as = as}, "query.limit"},
        {{.target = "/test/entries?cursor=AAAA", .as = as}, "query.cursor"},
        {{.target = "/test/entries?cursor=%ff", .as = as}, "query"},
        {{.method = "POST", .target = "/test/claims", .as = as, .key = key, .body = R"({"a":1})"},
         "body"},
    };
    for (const Row& row : rows) {
        const auto response = harness.ask(row.ask);
        EXPECT_EQ(response.status, 422) << row.ask.target << row.ask.body;
        EXPECT_NE(error_message(response).find(row.place), std::string::npos)
            << error_message(response);
    }
}

TEST_F(Checks, TwoIdempotencyKeysAre422) {
    const auto response = harness.ask({.method = "POST",
                                       .target = "/test/deposits",
                                       .as = "renter " + me,
                                       .key = harness.new_id(),
                                       .body = deposit_body,
                                       .headers = {{"idempotency-key", harness.new_id()}}});
    EXPECT_EQ(response.status, 422);
}

TEST_F(Checks, AnotherContentTypeIs422) {
    http::Request request = make_request({.method = "POST",
                                          .target = "/test/deposits",
                                          .as = "renter " + me,
                                          .key = harness.new_id()});
    request.body = deposit_body;
    request.headers.add("Content-Type", "text/plain");
    const auto response = harness.app->service().answer(request);
    EXPECT_EQ(response.status, 422);
    EXPECT_NE(error_message(response).find("header.Content-Type"), std::string::npos);
}

TEST_F(Checks, ABodyThatWasTooLargeIs413WithItsEnvelope) {
    http::Request request = make_request({.method = "POST",
                                          .target = "/test/deposits",
                                          .as = "renter " + me,
                                          .key = harness.new_id()});
    request.unread = http::Unread::too_large;
    const auto response = harness.app->service().answer(request);
    expect_declared(harness.app->router(), request, response);
    EXPECT_EQ(response.status, 413);
    EXPECT_EQ(error_code(response), "INVALID_INPUT");
}

TEST_F(Checks, ABodyForWhichThereIsNoRoomIs503WithItsEnvelope) {
    http::Request request = make_request({.method = "POST",
                                          .target = "/test/deposits",
                                          .as = "renter " + me,
                                          .key = harness.new_id()});
    request.unread = http::Unread::no_room;
    const auto response = harness.app->service().answer(request);
    expect_declared(harness.app->router(), request, response);
    EXPECT_EQ(response.status, 503);
    EXPECT_EQ(error_code(response), "UNAVAILABLE");
}

TEST_F(Checks, TheHeadAloneSaysHowLargeABodyMayBe) {
    const auto limit = [&](const std::string& method, const std::string& target) {
        return harness.app->service().body_bytes_max(
            make_request({.method = method, .target = target}));
    };
    EXPECT_EQ(limit("POST", "/nothing"), 0u);
    EXPECT_EQ(limit("PATCH", "/test/deposits"), 0u);
    EXPECT_EQ(limit("POST", "/test/deposits"), 64u * 1024);
    EXPECT_EQ(limit("POST", "/api/v1/auth/email/start"), 16u * 1024);
    EXPECT_EQ(limit("POST", "/api/v1/agents/accounts/challenge"), 4u * 1024);
}

// The body is promised and never sent: an answer that comes at all did not wait for it.
TEST_F(Checks, ARefusalThatTheHeadDecidesDoesNotWaitForTheBody) {
    struct Row {
        std::string target;
        std::string fields;
        int status;
        std::string code;
    };
    http::Server server({}, harness.app->service());
    server.start();
    const std::string key = "Idempotency-Key: " + harness.new_id() + "\r\n";
    const std::string renter = "Authorization: Bearer renter " + me + "\r\n";
    const std::string wrong = "Authorization: Bearer nobody\r\n";
    for (const Row& row :
         {Row{"/nothing", "Content-Length: 1000\r\n", 404, "NOT_FOUND"},
          Row{"/nothing", "Transfer-Encoding: chunked\r\n", 404, "NOT_FOUND"},
          Row{"/test/deposits", renter + key + "Content-Length: 65537\r\n", 413, "INVALID_INPUT"},
          Row{"/test/deposits", key + "Content-Length: 65537\r\n", 401, "UNAUTHENTICATED"},
          Row{"/test/deposits", wrong + key + "Content-Length: 4097\r\n", 401, "UNAUTHENTICATED"},
          Row{"/test/deposits", wrong + key + "Transfer-Encoding: chunked\r\n", 401,
              "UNAUTHENTICATED"},
          Row{"/api/v1/auth/email/start", "Content-Length: 16385\r\n", 413, "INVALID_INPUT"}}) {
        support::RawSocket socket(server.port());
        socket.send("POST " + row.target + " HTTP/1.1\r\nHost: a\r\n" +
                    "Content-Type: application/json\r\n" + row.fields + "\r\n");
        const http::Response response = socket.receive();
        EXPECT_EQ(response.status, row.status) << row.target;
        EXPECT_EQ(error_code(response), row.code) << row.target;
    }
    server.stop();
}

TEST_F(Checks, UnknownQueryParametersAreIgnored) {
    EXPECT_EQ(harness.ask({.target = "/test/entries?whatever=1", .as = "renter " + me}).status,
              200);
}

TEST_F(Checks, AnEmptyObjectIsTakenForNoBody) {
    const auto response = harness.ask({.method = "POST",
                                       .target = "/test/claims",
                                       .as = "renter " + me,
                                       .key = harness.new_id(),
                                       .body = " { } "});
    EXPECT_EQ(response.status, 202);
}

TEST_F(Checks, ForeignObjectsAre404) {
    EXPECT_EQ(
        harness.ask({.target = "/test/accounts/" + harness.new_id(), .as = "renter " + me}).status,
        404);
}

TEST_F(Checks, HeadIsAnsweredWhereGetIs) {
    EXPECT_EQ(harness.ask({.method = "HEAD", .target = "/healthz"}).status, 200);
    EXPECT_EQ(harness.ask({.method = "HEAD", .target = "/test/entries"}).status, 401);
    EXPECT_EQ(
        harness.ask({.method = "HEAD", .target = "/test/deposits", .as = "renter " + me}).status,
        404);
}

TEST_F(Checks, PublicRoutesIgnoreCredentials) {
    EXPECT_EQ(harness.ask({.target = "/healthz", .as = "rubbish"}).status, 200);
}

TEST_F(Checks, AFaultOfOursIs500WithoutAnyDetail) {
    harness.controls->before_deposit = [] { throw std::runtime_error("secret detail"); };
    const auto response = harness.app->service().answer(make_request({.method = "POST",
                                                                      .target = "/test/deposits",
                                                                      .as = "renter " + me,
                                                                      .key = harness.new_id(),
                                                                      .body = deposit_body}));
    EXPECT_EQ(response.status, 500);
    EXPECT_EQ(error_code(response), "INTERNAL");
    EXPECT_EQ(response.body.find("detail"), std::string::npos);
}

// The rows of the authorisation table: who gets past each route's door.
TEST_F(Checks, EveryRouteLetsInExactlyWhomItDeclares) {
    const std::map<api::Access, std::vector<std::string>> allowed{
        {api::Access::signed_in, {"renter", "host", "session", "admin"}},
        {api::Access::participant, {"renter", "host", "session", "admin"}},
        {api::Access::renter, {"renter", "session", "admin"}},
        {api::Access::host, {"host"}},
        {api::Access::session, {"session", "admin"}},
        {api::Access::admin, {"admin"}},
        {api::Access::machine, {"machine"}},
    };
    for (const auto& entry : harness.app->router().entries()) {
        const api::Route& route = entry->route;
        if (route.group != "bank" && route.group != "status") continue;  // real ones: see server/
        std::string target = route.path;
        if (const auto open = target.find('{'); open != target.npos)
            target.replace(open, target.find('}') - open + 1, me);
        const auto status = [&](const std::string& as) {
            return harness.ask({.method = route.method, .target = target, .as = as}).status;
        };
        if (route.access == api::Access::anyone) {
            EXPECT_EQ(status(""), route.status) << route.path;
            continue;
        }
        EXPECT_EQ(status(""), 401) << route.path;
        for (const std::string role : {"renter", "host", "session", "admin", "machine"}) {
            const auto& list = allowed.at(route.access);
            const bool may = std::find(list.begin(), list.end(), role) != list.end();
            EXPECT_EQ(status(role + " " + me) != 403, may) << role << " at " << route.path;
        }
    }
}

}  // namespace
}  // namespace berth::test
