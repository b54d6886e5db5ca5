// How the head of an upstream's answer is read, and what is refused.
#include <gtest/gtest.h>

#include "http/parse.hpp"

namespace berth::http {
namespace {

using Body = AnswerHead::Body;

AnswerHead parse(const std::string& lines, bool to_head_request = false) {
    return parse_answer_head(lines + "\r\n",
                             to_head_request ? AnswerTo::head_request : AnswerTo::any);
}

TEST(HttpAnswerHead, SaysHowTheBodyEnds) {
    struct Row {
        std::string lines;
        Body body;
        bool keep_alive;
    };
    const std::string ok = "HTTP/1.1 200 OK\r\n";
    for (const Row& row :
         {Row{ok, Body::until_close, true}, Row{"HTTP/1.1 200\r\n", Body::until_close, true},
          Row{"HTTP/1.1 200 \r\n", Body::until_close, true},
          Row{ok + "Content-Length: 0\r\n", Body::length, true},
          Row{ok + "content-length: 123\r\n", Body::length, true},
          Row{ok + "Transfer-Encoding: Chunked\r\n", Body::chunked, true},
          Row{ok + "Connection: close\r\n", Body::until_close, false},
          Row{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n", Body::length, false},
          Row{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n", Body::length,
              true},
          Row{"HTTP/1.1 204 No Content\r\n", Body::none, true},
          Row{"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n", Body::none, true},
          Row{"HTTP/1.1 100 Continue\r\n", Body::none, true}}) {
        const AnswerHead head = parse(row.lines);
        EXPECT_TRUE(head.good) << row.lines;
        EXPECT_EQ(head.body, row.body) << row.lines;
        EXPECT_EQ(head.keep_alive, row.keep_alive) << row.lines;
    }
    EXPECT_EQ(parse(ok + "Content-Length: 9\r\n").content_length, 9u);
    EXPECT_EQ(parse(ok + "Content-Length: 9\r\n", true).body, Body::none);
    EXPECT_EQ(parse("HTTP/1.1 599 Very \xe9 odd\r\nA: b\r\n").headers.find("a"), "b");
}

TEST(HttpAnswerHead, SwitchesOnlyForWhoAskedAndInFullWords) {
    const std::string head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n";
    const auto good = [](const std::string& lines, AnswerTo request) {
        return parse_answer_head(lines + "\r\n", request).good;
    };
    const std::string whole = head + "Connection: upgrade\r\n";
    EXPECT_TRUE(good(whole, AnswerTo::upgrade));
    EXPECT_EQ(parse_answer_head(whole + "\r\n", AnswerTo::upgrade).body, Body::until_close);
    EXPECT_FALSE(good(whole, AnswerTo::any));
    EXPECT_FALSE(good(whole, AnswerTo::head_request));
    EXPECT_FALSE(good(head, AnswerTo::upgrade)) << "its Connection does not say so";
    EXPECT_FALSE(good(whole + "Content-Length: 0\r\n", AnswerTo::upgrade));
    EXPECT_FALSE(good(whole + "Transfer-Encoding: chunked\r\n", AnswerTo::upgrade));
    EXPECT_FALSE(good("HTTP/1.0" + whole.substr(8), AnswerTo::upgrade));
}

TEST(HttpAnswerHead, RefusesWhatCouldBeReadInTwoWays) {
    const std::string ok = "HTTP/1.1 200 OK\r\n";
    std::string many = ok;
    for (int i = 0; i < 101; ++i) many += "A: b\r\n";
    const std::vector<std::string> bad{
        "HTTP/1.1 20\r\n",
        "HTTP/1.1 2000 OK\r\n",
        "HTTP/1.1 099 Low\r\n",
        "HTTP/1.1 600 High\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n",
        "HTTP/1.1  200 OK\r\n",
        "HTTP/1.2 200 OK\r\n",
        "HTTP/2 200\r\n",
        "http/1.1 200 OK\r\n",
        "HTTP/1.1 200 O\x01K\r\n",
        "HTTP/1.1 200\tOK\r\n",
        "\r\n",
        many,
        ok + "Content-Length: 5\r\nContent-Length: 5\r\n",
        ok + "Content-Length: 5, 5\r\n",
        ok + "Content-Length: -5\r\n",
        ok + "Content-Length: +5\r\n",
        ok + "Content-Length: \r\n",
        ok + "Content-Length: 0x5\r\n",
        ok + "Content-Length: 99999999999999999999\r\n",
        ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        ok + "Transfer-Encoding: gzip, chunked\r\n",
        ok + "Transfer-Encoding: identity\r\n",
        ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n",
        ok + " folded\r\n",
        ok + "A : b\r\n",
        ok + "no colon\r\n",
        ok + "A: b\x7f\r\n"};
    for (const std::string& lines : bad) EXPECT_FALSE(parse(lines).good) << lines;
}

}  // namespace
}  // namespace berth::http
