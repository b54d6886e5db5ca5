// Connections take turns: one that sends much at once does not keep the others waiting.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "harness.hpp"

namespace berth::http {
namespace {

TEST(HttpTurns, AnswersOthersBetweenTheManyRequestsOfOneConnection) {
    constexpr int many = 100;
    std::promise<void> begun;
    std::promise<void> other_has_sent;
    std::vector<std::string> order;  // on the one I/O thread
    TestServer server({}, [&](Request request, const Reply& reply) {
        if (request.target == "/many" && order.empty()) {
            begun.set_value();
            other_has_sent.get_future().wait();
        }
        if (request.target != "/hello") order.push_back(request.target);
        echo(std::move(request), reply);
    });
    RawSocket other = server.connect();
    other.send(get_request("/hello"));
    EXPECT_EQ(other.receive().status, 200);

    RawSocket hoarder = server.connect();
    std::string packet;
    for (int i = 0; i < many; ++i) packet += get_request("/many");
    hoarder.send(packet);
    begun.get_future().wait();
    other.send(get_request("/other"));
    other_has_sent.set_value();

    EXPECT_EQ(other.receive().body, "GET /other []");
    for (int i = 0; i < many; ++i) EXPECT_EQ(hoarder.receive().body, "GET /many []") << i;
    const auto at = std::find(order.begin(), order.end(), "/other") - order.begin();
    EXPECT_LE(at, many / 2) << "it came after " << at << " of the others";
    hoarder.send(get_request("/more"));
    EXPECT_EQ(hoarder.receive().body, "GET /more []") << "the connection goes on";
}

TEST(HttpTurns, ManyRequestsWithBodiesThatComeInPiecesAreAllAnsweredInOrder) {
    constexpr int many = 500;
    TestServer server;
    RawSocket socket = server.connect();
    std::string all;
    for (int i = 0; i < many; ++i) {
        const std::string body = std::to_string(i);
        all += "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
               "\r\n\r\n" + body;
    }
    std::thread sending([&] {
        constexpr std::size_t piece = 777;
        for (std::size_t at = 0; at < all.size(); at += piece) socket.send(all.substr(at, piece));
    });
    RawSocket& receiving = socket;
    for (int i = 0; i < many; ++i)
        EXPECT_EQ(receiving.receive().body, "POST /a [" + std::to_string(i) + "]");
    sending.join();
}

}  // namespace
}  // namespace berth::http
