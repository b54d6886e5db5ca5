// Large public answers: compressed once, and never by the thread that reads and writes for
// everybody.
#include <gtest/gtest.h>

#include <future>

#include "http/server.hpp"
#include "support/harness.hpp"
#include "support/raw_socket.hpp"

namespace berth::test {
namespace {

class Compression : public ::testing::Test {
protected:
    Compression() {
        router.add({.method = "GET",
                    .path = "/page",
                    .name = "page",
                    .group = "test",
                    .summary = "A long page.",
                    .access = api::Access::anyone,
                    .work = api::Work::memory,
                    .rate = &api::unlimited,
                    .cache = api::Cache::open},
                   [this](api::Call& call) {
                       call.add_header("Content-Security-Policy", "default-src 'none'");
                       return api::Html(page);
                   });
    }
    static std::string get() { return "GET /page HTTP/1.1\r\nHost: a\r\n" + gzip + "\r\n"; }
    http::Request request() const {
        return make_request({.target = "/page", .headers = {{"Accept-Encoding", "gzip"}}});
    }
    // The answer, and whether it came before handle() returned.
    std::pair<http::Response, bool> ask() {
        std::promise<http::Response> answer;
        auto answered = answer.get_future();
        service.handle(request(),
                       [&](http::Response response) { answer.set_value(std::move(response)); });
        const bool at_once =
            answered.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
        return {answered.get(), at_once};
    }

    inline static const std::string gzip = "Accept-Encoding: gzip\r\n";
    const std::shared_ptr<const std::string> page =
        std::make_shared<const std::string>(1'000'000, 'x');
    Harness harness;
    api::Router router;
    api::Metrics metrics;
    api::Service service{{router,
                          harness.app->database(),
                          {},
                          harness.clock,
                          harness.random,
                          Bytes(32, 'c'),
                          metrics,
                          harness.app->settings()}};
};

TEST_F(Compression, IsDoneOnceAndNotOnTheThreadThatBringsTheRequest) {
    std::promise<void> release;
    http::Pool pool(1, 10);
    service.set_pool(&pool);
    ASSERT_TRUE(pool.post([&] { release.get_future().wait(); }));  // so that nothing is done there
    std::promise<http::Response> answer;
    auto answered = answer.get_future();
    service.handle(request(),
                   [&](http::Response response) { answer.set_value(std::move(response)); });
    EXPECT_NE(answered.wait_for(std::chrono::seconds(0)), std::future_status::ready);
    release.set_value();
    const http::Response first = answered.get();
    EXPECT_EQ(first.headers.find("Content-Encoding"), "gzip");
    EXPECT_EQ(first.content_type, "text/html; charset=utf-8");

    for (int i = 0; i < 3; ++i) {
        const auto [again, at_once] = ask();
        EXPECT_TRUE(at_once);
        EXPECT_EQ(again.shared_body, first.shared_body) << "the same bytes, not made again";
        EXPECT_EQ(again.headers.count("Content-Encoding"), 1u);
    }
}

TEST_F(Compression, IsLeftOutWhileThePoolHasNoTimeForIt) {
    std::promise<void> started;
    std::promise<void> release;
    http::Pool pool(1, 1);
    service.set_pool(&pool);
    ASSERT_TRUE(pool.post([&] {
        started.set_value();
        release.get_future().wait();
    }));
    started.get_future().wait();
    ASSERT_TRUE(pool.post([] {}));
    const auto [plain, at_once] = ask();
    EXPECT_TRUE(at_once);
    EXPECT_EQ(plain.status, 200);
    EXPECT_FALSE(plain.headers.find("Content-Encoding"));
    EXPECT_EQ(plain.shared_body, page);
    release.set_value();
}

TEST_F(Compression, OfAHundredPipelinedRequestsLeavesTimeForOthers) {
    http::Pool pool(2, 10);
    service.set_pool(&pool);
    http::Server server{{}, service};
    server.start();
    support::RawSocket hoarder(server.port());
    std::string packet;
    for (int i = 0; i < 100; ++i) packet += get();
    hoarder.send(packet);
    support::RawSocket other(server.port());
    other.send(get());
    const http::Response one = other.receive();
    EXPECT_EQ(one.headers.find("Content-Encoding"), "gzip");
    EXPECT_LT(one.body.size(), page->size() / 100);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(hoarder.receive().body, one.body) << i;
}

}  // namespace
}  // namespace berth::test
