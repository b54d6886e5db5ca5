// Reading a request takes time in proportion to its bytes, whatever they are.
#include "http/address.hpp"
#include "http/parse.hpp"
#include "support/linear.hpp"

namespace berth::test {
namespace {

constexpr std::size_t head_bytes_max = 64 << 10;

TEST(Linear, Heads) {
    const auto read = [](const std::string& head) { return http::parse_head(head).refusal; };
    const std::string start = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (const std::string unit : {"Connection: ,\r\n", "a: b\r\n", "a:\r\n", "\r\n", ":\r\n"})
        expect_linear(
            unit, head_bytes_max,
            [&](std::size_t bytes) { return start + repeated(unit, bytes) + "\r\n"; }, read);
    for (const std::string unit : {",", "close,", " ", "\t", "a"})
        expect_linear(
            unit, head_bytes_max,
            [&](std::size_t bytes) {
                return start + "Connection: " + repeated(unit, bytes) + "\r\n\r\n";
            },
            read);
    for (const std::string unit : {" ", "/", "%", "?", "\n"})
        expect_linear(
            unit, head_bytes_max,
            [&](std::size_t bytes) {
                return "GET /" + repeated(unit, bytes) + " HTTP/1.1\r\nHost: a\r\n\r\n";
            },
            read);
}

TEST(Linear, HeadsThatComePieceByPiece) {
    for (const std::string unit : {"a", "a: b\r\n"})
        expect_linear(
            unit, head_bytes_max, [&](std::size_t bytes) { return repeated(unit, bytes); },
            [](const std::string& head) {
                http::HeadScanner scanner;
                for (std::size_t end = 16; end < head.size(); end += 16)
                    scanner.scan(std::string_view(head).substr(0, end));
            });
}

TEST(Linear, Chunks) {
    const std::string long_line = "1;" + std::string(200, 'x') + "\r\na\r\n";
    for (const std::string& unit :
         {std::string("1\r\na\r\n"), std::string("0001\r\na\r\n"), long_line})
        expect_linear(
            unit, 256 << 10, [&](std::size_t bytes) { return repeated(unit, bytes); },
            [](const std::string& text) {
                http::ChunkDecoder decoder(
                    {.body_bytes_max = 1 << 20, .trailer_bytes_max = 1 << 10});
                std::string body;
                std::string_view input = text;
                decoder.feed(input, body);
                return body;
            });
}

TEST(Linear, ForwardedAddresses) {
    const http::AddressBlocks trusted{http::AddressBlock::parse("10.0.0.0/8").value()};
    const http::Address peer = http::parse_address("10.0.0.1").value();
    for (const std::string unit : {"10.0.0.2,", ",", " ,", "x,"})
        expect_linear(
            unit, head_bytes_max,
            [&](std::size_t bytes) { return repeated(unit, bytes) + "10.0.0.2"; },
            [&](const std::string& list) {
                http::Headers headers;
                headers.add("X-Forwarded-For", list);
                return http::client_address(peer, headers, trusted);
            });
}

}  // namespace
}  // namespace berth::test
