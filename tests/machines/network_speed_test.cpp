// Bytes by which an agent measures its way to and from the server.
#include <gtest/gtest.h>

#include "machines/enrolled_agent.hpp"
#include "machines/network_speed.hpp"

namespace berth::test {
namespace {

TEST_F(Agents, GetTheSpeedTestOnlyDuringATest) {
    const auto ask = [&](const std::string& bytes) {
        return agent.send(
            {.method = "GET", .target = "/api/v1/host-agent/speed-test?bytes=" + bytes});
    };
    EXPECT_EQ(ask("1000").status, 409);
    EXPECT_EQ(ask("0").status, 422);
    EXPECT_EQ(ask("268435457").status, 422);
    // As it comes over a connection: in pieces that nobody keeps.
    const auto give = [&](const std::string& bytes, const std::string& sent = "abcd") {
        http::Request request = agent.request(
            {.target = "/api/v1/host-agent/speed-test?bytes=" + bytes, .body = "abcd"});
        EXPECT_EQ(harness.app->service().body_bytes_max(request), std::size_t{256} << 20);
        request.sink = harness.app->service().body_sink(request);
        for (const char& byte : sent) request.sink->take({&byte, 1});
        request.body.clear();
        return harness.app->service().answer(request);
    };
    EXPECT_EQ(give("4", "abce").status, 401) << "the signature is over what came";
    EXPECT_EQ(give("4").status, 409);
    EXPECT_EQ(give("5").status, 422);
    harness.app->database().write([&](db::Transaction& tx) {
        auto row = machines::hold(tx, agent.machine).value();
        row.qualify_state = machines::QualifyState::testing;
        row.qualify_run_id = machines::RunId::make(harness.clock.now(), harness.random);
        machines::save({tx, harness.random, harness.clock.now()}, row);
    });
    EXPECT_EQ(give("4").body, R"({"bytes":4})");
    EXPECT_NE(ask("1000").source, nullptr);
}

// Takes what a source sends, and has room for one piece at a time.
class Sink final : public http::Outlet {
public:
    void begin(http::Response head) override { type = head.content_type; }
    bool write(std::string_view bytes) override {
        received += bytes;
        return false;
    }
    void end() override { ended = true; }
    void abort() override {}
    http::Upstream& upstream() override { throw std::logic_error("none"); }
    const std::shared_ptr<http::Loop>& loop() override { throw std::logic_error("none"); }

    std::string type;
    std::string received;
    bool ended = false;
};

TEST(SpeedTest, SendsAsManyBytesAsWereAskedForAndNoFasterThanTheyAreTaken) {
    for (const std::int64_t bytes : {1, 65'536, 150'000}) {
        Sink sink;
        const auto source = machines::noise(bytes, 7);
        source->start(sink);
        for (int pieces = 1; !sink.ended && pieces < 10; ++pieces) source->on_room();
        EXPECT_TRUE(sink.ended);
        EXPECT_EQ(std::ssize(sink.received), bytes);
        EXPECT_EQ(sink.type, "application/octet-stream");
    }
}

}  // namespace
}  // namespace berth::test
