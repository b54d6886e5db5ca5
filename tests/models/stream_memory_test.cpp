// What is relayed to a slow reader waits at its source, not in memory.
#include <gtest/gtest.h>

#include <fstream>

#include "http/harness.hpp"
#include "http/raw_upstream.hpp"
#include "http/relay.hpp"
#include "support/eventually.hpp"
#include "support/sanitized.hpp"

namespace berth::http {
namespace {

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    std::size_t resident = 0;
    file >> pages >> resident;
    return resident * 4096;
}

TEST(HttpUpstream, StreamsAGibibyteToASlowReaderInConstantMemory) {
    constexpr std::size_t total = test::sanitized ? 64u << 20 : 1u << 30;
    constexpr std::size_t growth_max = 8u << 20;
    constexpr std::size_t rests = 8;  // of the reader, until the relay stands still
    const std::string piece(256 * 1024, 'x');
    RawUpstream upstream([&](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        socket.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(total) + "\r\n\r\n");
        for (std::size_t sent = 0; sent < total; sent += piece.size()) socket.send(piece);
    });
    const auto notes = std::make_shared<RelayNotes>();
    TestServer server({}, [&](const Request& request, const Reply& reply) {
        reply(relayed(
            {.endpoint = upstream.endpoint(), .method = request.method, .target = request.target},
            notes));
    });
    RawSocket client(server.port(), {.receive_bytes = 256 * 1024});
    client.send(get_request("/a", "Connection: close\r\n"));
    EXPECT_EQ(client.receive(true).status, 200);
    std::size_t taken = 0;
    const std::size_t before = resident_bytes();
    std::size_t most = before;
    for (std::size_t part = 0; part < rests; ++part) {
        ASSERT_TRUE(eventually([&] { return notes->paused || part + 1 == rests; }));
        while (taken < total / rests * (part + 1)) {
            const std::size_t count = client.take_some();
            ASSERT_GT(count, 0u);
            taken += count;
        }
        most = std::max(most, resident_bytes());
    }
    while (const std::size_t count = client.take_some()) taken += count;
    EXPECT_GT(taken, total);  // with the sizes of the chunks
    EXPECT_FALSE(notes->failure().has_value());
    // A sanitizer keeps what was freed for a while; the plain build has the say about memory.
    if (!test::sanitized) {
        EXPECT_LT(most - before, growth_max);
    }
}

}  // namespace
}  // namespace berth::http
