#include "http/respond.hpp"

#include <gtest/gtest.h>

namespace berth::http {
namespace {

TEST(HttpRespond, WritesTheDateOfRfc9110) {
    EXPECT_EQ(date_line({784111777000000}), "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    EXPECT_EQ(date_line({0}), "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n");
}

TEST(HttpRespond, WritesTheHeadInAFixedOrder) {
    Response response;
    response.status = 201;
    response.headers.add("Location", "/a");
    std::string out;
    ASSERT_TRUE(append_head(out, response, {.date_line = "Date: x\r\n", .body_bytes = 12}));
    EXPECT_EQ(out,
              "HTTP/1.1 201 Created\r\nDate: x\r\nContent-Type: application/json\r\n"
              "Content-Length: 12\r\nLocation: /a\r\n\r\n");
}

TEST(HttpRespond, LeavesFramingToTheServer) {
    Response response;
    response.headers.add("content-length", "7");
    response.headers.add("Transfer-Encoding", "chunked");
    response.headers.add("CONNECTION", "upgrade");
    response.headers.add("Date", "never");
    std::string out;
    ASSERT_TRUE(append_head(out, response, {.date_line = "", .body_bytes = 0, .close = true}));
    EXPECT_EQ(out,
              "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n"
              "Connection: close\r\n\r\n");
}

TEST(HttpRespond, GivesNoLengthWhereThereIsNoBody) {
    for (const int status : {204, 304}) {
        Response response;
        response.status = status;
        std::string out;
        ASSERT_TRUE(append_head(out, response, {.date_line = "", .body_bytes = 0}));
        EXPECT_EQ(out.find("Content-"), std::string::npos) << out;
    }
}

TEST(HttpRespond, RefusesFieldsThatWouldBreakTheFraming) {
    const struct {
        std::string name;
        std::string value;
    } fields[] = {{"Location", "/a\r\nSet-Cookie: b"},
                  {"Location", "/a\nb"},
                  {"A b", "c"},
                  {"", "c"},
                  {"A:", "c"},
                  {"A", std::string("b\0", 2)}};
    for (const auto& [name, value] : fields) {
        Response response;
        response.headers.add(name, value);
        std::string out;
        EXPECT_FALSE(append_head(out, response, {.date_line = "", .body_bytes = 0}));
        EXPECT_EQ(out, "");
    }
}

}  // namespace
}  // namespace berth::http
