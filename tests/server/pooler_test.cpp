// berthd behind a real pgbouncer: where sessions are shared nothing works, and the log says why.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <regex>

#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

class PostgresOnlyPooler : public ::testing::Test {
protected:
    // As somebody else, because it refuses to work as root.
    std::unique_ptr<Process> pool(const std::string& mode) {
        static const std::regex address("postgres://(.*):(.*)@127.0.0.1:([0-9]+)/(.*)");
        std::smatch parts;
        EXPECT_TRUE(std::regex_match(database.url(), parts, address)) << database.url();
        const std::string settings = folder.path() + "/pgbouncer.ini";
        std::ofstream(settings) << fmt::format(
            "[databases]\n* = host=127.0.0.1 port={} user={} password={}\n[pgbouncer]\n"
            "listen_addr = 127.0.0.1\nlisten_port = {}\nunix_socket_dir =\nauth_type = any\n"
            "pool_mode = {}\nignore_startup_parameters = options, extra_float_digits\n",
            parts[3].str(), parts[1].str(), parts[2].str(), pool_port, mode);
        pooled =
            fmt::format("postgres://{}@127.0.0.1:{}/{}", parts[1].str(), pool_port, parts[4].str());
        std::vector<std::string> words{"/usr/sbin/pgbouncer", settings};
        if (::geteuid() == 0) words.insert(words.end(), {"-u", "postgres"});
        return std::make_unique<Process>(words, folder.path() + "/pgbouncer.log");
    }
    std::unique_ptr<Process> serve() {
        return std::make_unique<Process>(
            std::vector<std::string>{program_path("berthd"), "serve", "--listen",
                                     fmt::format("127.0.0.1:{}", port), "--db", pooled, "--secrets",
                                     folder.path() + "/secrets", "--mail",
                                     "file:" + folder.path() + "/mail", "--metrics-listen",
                                     fmt::format("127.0.0.1:{}", free_port())},
            folder.path() + "/log");
    }
    bool is_told() const {
        return support::eventually([&] {
            return read_text(folder.path() + "/log").find("postgres_pooled") != std::string::npos;
        });
    }

    TemporaryFolder folder;
    TestDatabase database;
    std::uint16_t pool_port = free_port();
    std::uint16_t port = free_port();
    std::string pooled;
};

TEST_F(PostgresOnlyPooler, IsToldOfWhereItSharesSessions) {
    const auto pgbouncer = pool("transaction");
    const auto server = serve();
    EXPECT_TRUE(is_told()) << read_text(folder.path() + "/log")
                           << read_text(folder.path() + "/pgbouncer.log");
}

TEST_F(PostgresOnlyPooler, WorksWhereItKeepsSessions) {
    const auto pgbouncer = pool("session");
    const auto server = serve();
    EXPECT_TRUE(wait_until_ready(*server, fmt::format("http://127.0.0.1:{}/readyz", port)))
        << read_text(folder.path() + "/log") << read_text(folder.path() + "/pgbouncer.log");
    EXPECT_TRUE(is_told());
}

}  // namespace
}  // namespace berth::test
