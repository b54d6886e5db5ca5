#include "http/parse.hpp"

#include <gtest/gtest.h>

#include "bad_heads.hpp"

namespace berth::http {
namespace {

using Scan = HeadScanner::Status;
using Chunk = ChunkDecoder::Status;

int refusal(const std::string& head) {
    HeadScanner scanner;
    const Scan status = scanner.scan(head);
    if (status == Scan::bad) return 400;
    EXPECT_EQ(status, Scan::complete) << head;
    EXPECT_EQ(scanner.head_size(), head.size()) << head;
    return parse_head(head).refusal;
}

TEST(HttpScanner, FindsTheEndWhereverTheBytesAreCut) {
    const std::string head = with_fields("A: b\r\n");
    for (std::size_t cut = 0; cut < head.size(); ++cut) {
        HeadScanner scanner;
        EXPECT_EQ(scanner.scan(head.substr(0, cut)), Scan::incomplete) << cut;
        EXPECT_EQ(scanner.scan(head + "more"), Scan::complete) << cut;
        EXPECT_EQ(scanner.head_size(), head.size()) << cut;
    }
}

TEST(HttpParser, ReadsMethodTargetAndFields) {
    const ParsedHead parsed =
        parse_head("PATCH /a/b?c=d%20e HTTP/1.1\r\nHost: h:80\r\nX-One:  1 2\t\r\nx-one:\r\n\r\n");
    ASSERT_EQ(parsed.refusal, 0);
    EXPECT_EQ(parsed.request.method, "PATCH");
    EXPECT_EQ(parsed.request.path(), "/a/b");
    EXPECT_EQ(parsed.request.query(), "c=d%20e");
    EXPECT_EQ(parsed.request.headers.find("HOST"), "h:80");
    EXPECT_EQ(parsed.request.headers.find("x-one"), "1 2");
    EXPECT_EQ(parsed.request.headers.count("X-ONE"), 2u);
    EXPECT_FALSE(parsed.request.headers.find("x-two").has_value());
    EXPECT_TRUE(parsed.framing.keep_alive);
}

TEST(HttpParser, RefusesWhatCouldBeReadInTwoWays) {
    for (const std::string& head : bad_heads()) EXPECT_EQ(refusal(head), 400) << head;
}

TEST(HttpParser, AcceptsPlainSpellings) {
    const std::string good_heads[] = {
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET //a/../b?x={y}|z HTTP/1.1\r\nHost: a\r\n\r\n",
        "M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n",
        with_fields("Transfer-Encoding: CHUNKED \r\n"),
        with_fields("Content-Length: 000\r\n"),
        with_fields("A: caf\xc3\xa9\r\n"),
        with_fields("A:b:c\r\n"),
        with_fields("Upgrade: websocket\r\nConnection: upgrade\r\n"),
    };
    for (const std::string& head : good_heads) EXPECT_EQ(refusal(head), 0) << head;
}

TEST(HttpParser, RefusesTooManyFieldsAndUnknownExpectations) {
    std::string fields;
    for (std::size_t i = 1; i < fields_max; ++i) fields += "A: b\r\n";
    EXPECT_EQ(refusal(with_fields(fields)), 0);
    EXPECT_EQ(refusal(with_fields(fields + "A: b\r\n")), 431);
    EXPECT_EQ(refusal(with_fields("Expect: 200-maybe\r\n")), 417);
}

TEST(HttpParser, KeepsTheConnectionAsVersionAndConnectionFieldSay) {
    const struct {
        std::string head;
        bool keep;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: x , close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n", true},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
        {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false},
    };
    for (const auto& [head, keep] : cases)
        EXPECT_EQ(parse_head(head).framing.keep_alive, keep) << head;
}

struct Decoded {
    Chunk status = Chunk::more;
    std::string body;
    std::string rest;
};

constexpr ChunkDecoder::Limits small_limits{.body_bytes_max = 32, .trailer_bytes_max = 64};

Decoded decode(std::string_view bytes, std::size_t step) {
    ChunkDecoder decoder(small_limits);
    Decoded decoded;
    std::string_view left = bytes;
    while (decoded.status == Chunk::more && !left.empty()) {
        std::string_view piece = left.substr(0, step);
        const std::size_t given = piece.size();
        decoded.status = decoder.feed(piece, decoded.body);
        left.remove_prefix(given - piece.size());
    }
    decoded.rest = left;
    return decoded;
}

TEST(HttpChunks, DecodeTheSameWhereverTheyAreCut) {
    const std::string bytes =
        "3\r\nabc\r\n00A;name=\"value\"\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nNEXT";
    for (std::size_t step = 1; step <= bytes.size(); ++step) {
        const Decoded decoded = decode(bytes, step);
        EXPECT_EQ(decoded.status, Chunk::done) << step;
        EXPECT_EQ(decoded.body, "abc0123456789") << step;
        EXPECT_EQ(decoded.rest, "NEXT") << step;
    }
}

TEST(HttpChunks, RefuseEverySloppySpelling) {
    for (const std::string& bytes : bad_chunked_bodies()) {
        EXPECT_EQ(decode(bytes, bytes.size()).status, Chunk::bad) << bytes;
        EXPECT_EQ(decode(bytes, 1).status, Chunk::bad) << bytes;
    }
}

TEST(HttpChunks, TellTooLargeBeforeTheDataComes) {
    EXPECT_EQ(decode("20\r\n", 1).status, Chunk::more);
    EXPECT_EQ(decode("21\r\n", 1).status, Chunk::too_large);
    EXPECT_EQ(decode("fffffffffffffff\r\n", 1).status, Chunk::too_large);
    EXPECT_EQ(decode("1f\r\n" + std::string(31, 'x') + "\r\n2\r\n", 1).status, Chunk::too_large);
}

}  // namespace
}  // namespace berth::http
