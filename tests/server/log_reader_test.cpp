// Whoever reads the log of berthd may stop reading: that stops nobody else.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/descriptor.hpp"
#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

TEST(LogReader, ThatStandsStillStopsNoRequestAndWhatIsLostIsCounted) {
    TemporaryFolder folder;
    const TestDatabase database;
    const std::string log_path = folder.path() + "/log";
    ASSERT_EQ(::mkfifo(log_path.c_str(), 0600), 0);
    // Both ends, so that the program can open it; nobody ever reads.
    const Descriptor reader(::open(log_path.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_GE(reader.number(), 0);
    ASSERT_GE(::fcntl(reader.number(), F_SETPIPE_SZ, 4096), 4096);

    const std::uint16_t port = free_port();
    const std::uint16_t metrics_port = free_port();
    const auto at = [](std::uint16_t number) { return "127.0.0.1:" + std::to_string(number); };
    Process server({program_path("berthd"), "serve", "--listen", at(port), "--metrics-listen",
                    at(metrics_port), "--db", database.url(), "--secrets",
                    folder.path() + "/secrets", "--rate-public-per-minute", "1000000"},
                   log_path);
    ASSERT_TRUE(wait_until_ready(server, "http://" + at(port) + "/readyz"));
    http::CurlClient client;
    const auto get = [&](const std::string& url) {
        http::Outbound request;
        request.url = url;
        return client.send(request);
    };
    // Each of these is a line of the log, and more than the pipe takes; the route reads the
    // database.
    for (int i = 0; i < 300; ++i)
        ASSERT_EQ(get("http://" + at(port) + "/api/v1/templates").status, 200) << i;
    EXPECT_EQ(get("http://" + at(port) + "/readyz").status, 200);
    const std::string metrics = get("http://" + at(metrics_port) + "/metrics").body;
    EXPECT_NE(metrics.find("berth_log_lines_dropped_total"), std::string::npos) << metrics;
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0) << "it ends although nobody reads why";
}

}  // namespace
}  // namespace berth::test
