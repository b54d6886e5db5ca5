// Bytes that make no sense, or nearly make sense: the server never falls over and goes on serving.
#include <gtest/gtest.h>

#include <random>

#include "bad_heads.hpp"
#include "harness.hpp"

namespace berth::http {
namespace {

constexpr int attacks = 1500;

// Sends the bytes, in two pieces, and sees the connection end.
void attack(const TestServer& server, const std::string& bytes, std::size_t cut) {
    RawSocket socket = server.connect();
    if (socket.try_send(bytes.substr(0, cut)) && socket.try_send(bytes.substr(cut)))
        socket.finish_sending();
    socket.await_end();
}

TEST(HttpHostile, SurvivesRandomBytes) {
    TestServer server({.header_bytes_max = 2000}, FunctionHandler(echo, 2000));
    std::mt19937 random(1);
    for (int i = 0; i < attacks; ++i) {
        std::string bytes(random() % 3000, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random() % 256);
        if (i % 2 == 0) bytes.insert(0, "POST / HTTP/1.1\r\nHost: a\r\n");
        attack(server, bytes, random() % (bytes.size() + 1));
    }
    EXPECT_EQ(server.get("/after"), "GET /after []");
}

TEST(HttpHostile, SurvivesMutatedRequests) {
    std::vector<std::string> seeds = bad_heads();
    for (const std::string& body : bad_chunked_bodies())
        seeds.push_back(with_fields("Transfer-Encoding: chunked\r\n") + body);
    seeds.push_back(get_request("/a") + get_request("/b") + get_request("/c"));
    seeds.push_back(with_fields("Content-Length: 5\r\nExpect: 100-continue\r\n") + "hello");
    TestServer server({.header_bytes_max = 2000}, FunctionHandler(echo, 2000));
    std::mt19937 random(2);
    for (int i = 0; i < attacks; ++i) {
        std::string bytes = seeds[random() % seeds.size()] + seeds[random() % seeds.size()];
        for (unsigned changes = random() % 4; changes > 0; --changes) {
            const std::size_t at = random() % bytes.size();
            switch (random() % 3) {
                case 0: bytes[at] = static_cast<char>(random() % 256); break;
                case 1: bytes.erase(at, 1 + random() % 3); break;
                default: bytes.insert(at, bytes.substr(random() % bytes.size(), 8)); break;
            }
            if (bytes.empty()) bytes = "\r";
        }
        attack(server, bytes, random() % (bytes.size() + 1));
    }
    EXPECT_EQ(server.get("/after"), "GET /after []");
}

}  // namespace
}  // namespace berth::http
