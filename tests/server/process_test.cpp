// berthd as a user starts it: real processes, real sockets, real signals.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/version.hpp"
#include "server/app.hpp"
#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"
#include "support/raw_socket.hpp"

namespace berth::test {
namespace {

// Takes connections and never says a word.
class SilentListener {
public:
    SilentListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        place.sin_port = htons(port_);
        EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
        EXPECT_EQ(::listen(socket_, 8), 0);
    }
    ~SilentListener() { ::close(socket_); }
    SilentListener(const SilentListener&) = delete;
    SilentListener& operator=(const SilentListener&) = delete;
    std::uint16_t port() const { return port_; }

private:
    std::uint16_t port_ = free_port();
    int socket_;
};

class Berthd : public ::testing::Test {
protected:
    std::vector<std::string> serve(std::uint16_t on, const std::string& db) const {
        return {program_path("berthd"),
                "serve",
                "--listen",
                "127.0.0.1:" + std::to_string(on),
                "--db",
                db,
                "--secrets",
                folder.path() + "/secrets",
                "--country-table",
                countries,
                "--metrics-listen",
                "127.0.0.1:" + std::to_string(metrics_port)};
    }
    std::string url(const std::string& path) const {
        return "http://127.0.0.1:" + std::to_string(port) + path;
    }
    http::Response get(const std::string& url) {
        http::Outbound request;
        request.url = url;
        return client.send(request);
    }

    TemporaryFolder folder;
    TestDatabase database;
    http::CurlClient client;
    std::string countries = BERTH_SOURCE_DIR "/data/country.mmdb";
    std::uint16_t port = free_port();
    std::uint16_t metrics_port = free_port();
};

TEST_F(Berthd, StartsAnswersAndEndsCleanly) {
    Process server(serve(port, database.url()), folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(server, url("/readyz"))) << read_text(server.log_path());
    EXPECT_EQ(get(url("/healthz")).body, R"({"status":"ok"})");
    EXPECT_EQ(get(url("/readyz")).body,
              R"({"status":"ready","checks":{"db":"ok","worker":"ok","chain":"off","mail":"ok",)"
              R"("settler":"off","locations":"ok","liabilities":"off","requests":"ok"}})");
    const std::string status = get(url("/api/v1/status")).body;
    EXPECT_NE(status.find(R"("status":"operational")"), std::string::npos) << status;
    EXPECT_NE(status.find(R"({"name":"mail","status":"operational"})"), std::string::npos)
        << status;
    for (const std::string part : {"chain", "payments", "liabilities"})
        EXPECT_EQ(status.find(part), std::string::npos) << "there is no chain: " << status;
    EXPECT_NE(status.find(R"("contract_version":"3.0.0")"), std::string::npos) << status;
    EXPECT_NE(status.find(fmt::format(R"("version":"{}")", project_version)), std::string::npos)
        << status;
    EXPECT_EQ(get(url("/openapi.json")).body, server::specification());
    const auto metrics = get("http://127.0.0.1:" + std::to_string(metrics_port) + "/metrics");
    EXPECT_NE(metrics.body.find("berth_requests_total{operation=\"health\",status=\"200\"} 1"),
              std::string::npos)
        << metrics.body;
    EXPECT_NE(
        metrics.body.find("berth_request_seconds_bucket{operation=\"health\",le=\"+Inf\"} 1\n"),
        std::string::npos);
    EXPECT_EQ(get(url("/metrics")).status, 404) << "metrics have a listener of their own";
    server.signal(SIGHUP);
    EXPECT_EQ(get(url("/healthz")).status, 200);
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0) << read_text(server.log_path());
}

TEST_F(Berthd, CountsWhatThereIsForTheOperator) {
    {
        Process first(serve(port, database.url()), folder.path() + "/log");
        ASSERT_TRUE(wait_until_ready(first, url("/readyz"))) << read_text(first.log_path());
        first.signal(SIGTERM);
        EXPECT_EQ(first.wait(), 0) << "it leaves its tasks to the next";
    }
    Process server(serve(port, database.url()), folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(server, url("/readyz"))) << read_text(server.log_path());
    std::string text;
    EXPECT_TRUE(support::eventually([&] {
        text = get("http://127.0.0.1:" + std::to_string(metrics_port) + "/metrics").body;
        return text.find("\nberth_tasks{kind=\"") != text.npos;
    })) << text;
    for (const std::string name : {"jobs", "machines", "tasks_dead", "tasks_oldest_due_seconds",
                                   "mails", "transfers", "transfers_micro", "census_age_seconds"})
        EXPECT_NE(text.find("# TYPE berth_" + name + " gauge\n"), std::string::npos) << name;
    for (const std::string zero : {R"(jobs{state="RUNNING"})", R"(transfers_micro{asset="USDT"})"})
        EXPECT_NE(text.find("\nberth_" + zero + " 0\n"), std::string::npos) << zero;
}

TEST_F(Berthd, WithoutATableOfCountriesItServesAndTheStatusSaysSo) {
    countries = folder.path() + "/none.mmdb";
    Process server(serve(port, database.url()), folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(server, url("/readyz"))) << read_text(server.log_path());
    const std::string status = get(url("/api/v1/status")).body;
    EXPECT_NE(status.find(R"({"status":"operational",)"), std::string::npos) << status;
    EXPECT_NE(status.find(R"({"name":"locations","status":"degraded"})"), std::string::npos)
        << status;
    EXPECT_NE(read_text(server.log_path()).find("country_table_missing"), std::string::npos);
}

TEST_F(Berthd, LogsOneJsonObjectPerLineWithTheRequestId) {
    Process server(serve(port, database.url()), folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(server, url("/readyz")));
    http::Outbound request;
    request.url = url("/api/v1/auth/session");
    request.headers.add("Authorization", "Bearer ark_0123456789abcdefghijklmnop");
    const auto response = client.send(request);
    server.signal(SIGINT);
    EXPECT_EQ(server.wait(), 0);
    const std::string log = read_text(server.log_path());
    const std::string id(response.headers.find("X-Request-Id").value());
    EXPECT_NE(log.find(R"("event":"request","request_id":")" + id), std::string::npos) << log;
    EXPECT_EQ(log.find("0123456789abcdefghijklmnop"), std::string::npos);
}

// A core dump would hold every key.
TEST_F(Berthd, LeavesNoCoreDump) {
    rlimit as_much_as_we_may{};
    ASSERT_EQ(::getrlimit(RLIMIT_CORE, &as_much_as_we_may), 0);
    const rlimit before = as_much_as_we_may;
    as_much_as_we_may.rlim_cur = as_much_as_we_may.rlim_max;
    ::setrlimit(RLIMIT_CORE, &as_much_as_we_may);  // what the server is started with
    Process server(serve(port, database.url()), folder.path() + "/log");
    ::setrlimit(RLIMIT_CORE, &before);
    ASSERT_TRUE(wait_until_ready(server, url("/readyz"))) << read_text(server.log_path());
    rlimit its{1, 1};
    // Whoever is not root is refused: the process cannot be dumped, and so not looked into.
    if (::prlimit(server.pid(), RLIMIT_CORE, nullptr, &its) != 0) {
        EXPECT_EQ(errno, EPERM);
        its = {0, 0};
    }
    EXPECT_EQ(its.rlim_cur, 0U);
    EXPECT_EQ(its.rlim_max, 0U);
}

// The worker is in the middle of something when it is killed. Whoever comes next waits for its
// lease alone, which the database tells: no more than ten seconds.
TEST_F(Berthd, WorkOfAServerThatWasKilledIsTakenUpWithinTenSeconds) {
    const SilentListener silent;  // a mail server that takes connections and never says a word
    auto arguments = serve(port, database.url());
    arguments.insert(arguments.end(),
                     {"--mail", "smtp://127.0.0.1:" + std::to_string(silent.port())});
    Process server(arguments, folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(server, url("/readyz"))) << read_text(server.log_path());
    http::Outbound request;
    request.method = "POST";
    request.url = url("/api/v1/auth/email/start");
    request.headers.add("Content-Type", "application/json");
    request.body = R"({"email":"ada@example.org"})";
    ASSERT_EQ(client.send(request).status, 202);
    db::Options beside;
    beside.read_only = true;
    const auto lease_until = [&] {
        return database.open(beside)->read([](db::Transaction& tx) {
            return tx.fetch_value<Time>("SELECT lease_until FROM tasks WHERE kind = 'send_mail'")
                .value_or(Time{});
        });
    };
    const SystemClock clock;
    const Time asked = clock.now();
    while (lease_until() <= asked) {
        ASSERT_LT(clock.now(), asked + std::chrono::seconds(60)) << read_text(server.log_path());
        ::poll(nullptr, 0, 50);
    }
    server.signal(SIGKILL);
    server.wait();
    const Time killed = clock.now();
    EXPECT_LT(lease_until(), killed + std::chrono::seconds(10));
    port = free_port();
    arguments = serve(port, database.url());
    const std::string mail = folder.path() + "/mail";
    arguments.insert(arguments.end(), {"--mail", "file:" + mail});
    Process next(arguments, folder.path() + "/next");
    ASSERT_TRUE(wait_until_ready(next, url("/readyz"))) << read_text(next.log_path());
    const auto has_mail = [&] {
        return std::filesystem::exists(mail) && !std::filesystem::is_empty(mail);
    };
    while (!has_mail()) {
        ASSERT_LT(clock.now(), killed + std::chrono::seconds(60)) << read_text(next.log_path());
        ::poll(nullptr, 0, 50);
    }
}

TEST_F(Berthd, BadSettingsAreOneSentenceAndExit2) {
    const std::string program = program_path("berthd");
    const std::string secrets = folder.path() + "/secrets";
    const std::vector<std::vector<std::string>> rows{
        {program},
        {program, "fly"},
        {program, "serve", "--listen", "nowhere"},
        {program, "serve", "--listen", "localhost:0", "--db", database.url(), "--secrets", secrets},
        {program, "serve", "--listen", "127.0.0.1:0", "--trusted-proxies", "here", "--db",
         database.url(), "--secrets", secrets},
        {program, "serve", "--listen", "127.0.0.1:0", "--tls-certificate", "/none", "--tls-key",
         "/none", "--db", database.url(), "--secrets", secrets},
        {program, "serve", "--lisen", "127.0.0.1:1"},
        {program, "serve", "--db", "mysql://x"},
        {program, "serve", "--config", "/nonexistent.toml"},
        {program, "worker", "--worker-threads", "0"}};
    for (const auto& row : rows) {
        const Outcome outcome = run_program(row);
        EXPECT_EQ(outcome.status, 2) << outcome.output;
        const std::string said = outcome.output.substr(outcome.output.find("berthd: "));
        EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << outcome.output;
    }
}

TEST_F(Berthd, ATakenPortIsToldAndExits1) {
    Process first(serve(port, database.url()), folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(first, url("/readyz")));
    const TestDatabase other;
    const Outcome second = run_program(serve(port, other.url()));
    EXPECT_EQ(second.status, 1);
    EXPECT_NE(second.output.find(std::to_string(port)), std::string::npos) << second.output;
}

TEST_F(Berthd, WaitsForADatabaseThatIsAwayAndIsNotReadyMeanwhile) {
    const std::string first = std::to_string(free_port());
    const std::string second = std::to_string(free_port());
    Process server(
        serve(port, "postgres://nobody:hidden@127.0.0.1:" + first + ",127.0.0.1:" + second + "/x"),
        folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(server, url("/healthz"))) << read_text(server.log_path());
    EXPECT_EQ(get(url("/readyz")).status, 503);
    EXPECT_EQ(get(url("/api/v1/auth/session")).status, 503);
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0);
    const std::string log = read_text(server.log_path());
    EXPECT_NE(log.find("waiting_for_database"), std::string::npos) << log;
    EXPECT_NE(log.find(first), std::string::npos) << "the reason of every host\n" << log;
    EXPECT_NE(log.find(second), std::string::npos) << "the reason of every host\n" << log;
    EXPECT_EQ(log.find("hidden"), std::string::npos) << log;
}

TEST_F(Berthd, AMalformedDatabaseAddressShowsNoPassword) {
    for (const char* address : {"postgres://me:hidden@[::1/x", "postgres://me:hidden@h/x?bad=1",
                                "postgres://me:hid%zzden@h/x", "postgre://me:hidden@h/x"}) {
        const Outcome outcome = run_program(serve(port, address));
        EXPECT_EQ(outcome.status, 2) << address;
        EXPECT_EQ(outcome.output.find("hid"), std::string::npos) << outcome.output;
    }
}

TEST_F(Berthd, TurnsUnreadyBeforeItStopsListening) {
    auto command = serve(port, database.url());
    command.insert(command.end(), {"--drain-s", "600"});
    Process server(command, folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(server, url("/readyz"))) << read_text(server.log_path());
    server.signal(SIGTERM);
    while (get(url("/readyz")).status == 200) {
    }
    EXPECT_EQ(get(url("/readyz")).status, 503);
    EXPECT_EQ(get(url("/healthz")).status, 200);
    server.signal(SIGKILL);
    server.wait();
}

TEST_F(Berthd, AnswersHeadAndCompressesOnRequest) {
    Process server(serve(port, database.url()), folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(server, url("/readyz"))) << read_text(server.log_path());
    support::RawSocket socket(port);
    socket.send("HEAD /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto head = socket.receive(true);
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.headers.find("Content-Length"), std::to_string(server::specification().size()));
    socket.send("GET /openapi.json HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
    const auto packed = socket.receive();
    EXPECT_EQ(packed.headers.find("Content-Encoding"), "gzip");
    EXPECT_EQ(packed.headers.find("Vary"), "Accept-Encoding");
    EXPECT_LT(packed.body.size(), server::specification().size() / 5);
    socket.send("GET /healthz HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
    EXPECT_FALSE(socket.receive().headers.find("Content-Encoding")) << "it is small";
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0);
}

TEST_F(Berthd, MigratesChecksAndWorksAlone) {
    const std::string program = program_path("berthd");
    const std::vector<std::string> where{"--db", database.url(), "--secrets",
                                         folder.path() + "/secrets"};
    const auto command = [&](const char* name) {
        std::vector<std::string> all{program, name};
        all.insert(all.end(), where.begin(), where.end());
        return all;
    };
    EXPECT_NE(run_program(command("check")).status, 0) << "nothing is migrated yet";
    EXPECT_EQ(run_program(command("migrate")).status, 0);
    const Outcome again = run_program(command("migrate"));
    EXPECT_NE(again.output.find(" 0 ran now"), std::string::npos) << again.output;
    EXPECT_EQ(run_program(command("check")).status, 0);

    auto work = command("worker");
    const std::string metrics = "127.0.0.1:" + std::to_string(metrics_port);
    work.insert(work.end(), {"--metrics-listen", metrics});
    Process worker(work, folder.path() + "/log");
    while (worker.running() && read_text(worker.log_path()).find("working") == std::string::npos) {
    }
    const std::string text = get("http://" + metrics + "/metrics").body;
    EXPECT_NE(text.find("# TYPE berth_tasks gauge\n"), std::string::npos) << text;
    EXPECT_NE(text.find("\nberth_transfer_oldest_seconds "), std::string::npos)
        << "a worker settles, and tells of it: " << text;
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait(), 0) << read_text(worker.log_path());
}

TEST_F(Berthd, MakesAnAdminWithAndWithoutAServerBesideIt) {
    const auto create = [&](const std::string& email) {
        return run_program(
            {program_path("berthd"), "admin", "create", "--email", email, "--db", database.url()});
    };
    EXPECT_EQ(create("root@example.org").status, 0);
    Process server(serve(port, database.url()), folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(server, url("/readyz"))) << read_text(server.log_path());
    const Outcome beside = create("second@example.org");
    EXPECT_EQ(beside.status, 0) << beside.output;
    EXPECT_NE(beside.output.find("second@example.org is an admin"), std::string::npos);
    const Outcome wrong = create("nobody");
    EXPECT_NE(wrong.status, 0);
    EXPECT_NE(wrong.output.find("--email: must be an email address"), std::string::npos)
        << wrong.output;
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0);
    const auto admins = database.open()->read([](db::Transaction& tx) {
        return tx.run("SELECT COUNT(*) FROM accounts WHERE role = 'admin'")[0].get<int>(0);
    });
    EXPECT_EQ(admins, 2);
}

// The server seals the mail with its own keys, which the command names by their folder.
TEST_F(Berthd, TurnsFourEyesOffWithAndWithoutAServerBesideIt) {
    const std::string keys = folder.path() + "/secrets";
    const auto admin = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {program_path("berthd"), "admin"});
        words.insert(words.end(), {"--db", database.url(), "--secrets", keys});
        return run_program(words);
    };
    ASSERT_EQ(admin({"create", "--email", "root@example.org"}).status, 0);
    const Outcome alone = admin({"four-eyes", "off", "--reason", "only root is left"});
    EXPECT_EQ(alone.status, 0) << alone.output;
    EXPECT_NE(alone.output.find("told: root@example.org"), std::string::npos) << alone.output;
    EXPECT_NE(admin({"four-eyes", "off"}).status, 0) << "without a reason";
    ASSERT_EQ(admin({"create", "--email", "second@example.org"}).status, 0);
    Process server(serve(port, database.url()), folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(server, url("/readyz"))) << read_text(server.log_path());
    const Outcome two = admin({"four-eyes", "off", "--reason", "two are too many"});
    EXPECT_NE(two.status, 0);
    EXPECT_NE(two.output.find("there are 2 admins"), std::string::npos) << two.output;
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0);
}

TEST_F(Berthd, ASettingIsChangedBesideARunningServerAndAudited) {
    const auto settings = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {program_path("berthd"), "settings"});
        words.insert(words.end(), {"--db", database.url()});
        return run_program(words);
    };
    EXPECT_EQ(settings({}).status, 0) << "before the first start";
    Process server(serve(port, database.url()), folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(server, url("/readyz"))) << read_text(server.log_path());
    const Outcome set =
        settings({"set", "operations.admission_paused", "true", "--reason", "a test"});
    EXPECT_EQ(set.status, 0) << set.output;
    EXPECT_TRUE(support::eventually([&] {
        const std::string body = get(url("/api/v1/status")).body;
        return body.find("\"admission_paused\":true") != std::string::npos;
    }));
    const std::string table = settings({}).output;
    EXPECT_NE(table.find("operations.admission_paused"), std::string::npos);
    EXPECT_NE(table.find("true  (by operator at "), std::string::npos) << table;
    EXPECT_EQ(settings({"unset", "operations.admission_paused", "--reason", "done"}).status, 0);
    const Outcome pinned = settings({"set", "operations.base_url", "https://a", "--reason", "x"});
    EXPECT_NE(pinned.status, 0);
    EXPECT_NE(pinned.output.find("is pinned"), std::string::npos) << pinned.output;
    EXPECT_NE(settings({"set", "money.platform_fee_bps", "10001", "--reason", "x"}).status, 0);
    EXPECT_NE(settings({"set", "money.platform_fee_bps", "1"}).status, 0) << "without a reason";
    const Outcome audit =
        run_program({program_path("berthd"), "check", "audit", "--db", database.url()});
    EXPECT_EQ(audit.status, 0) << audit.output;
    EXPECT_NE(audit.output.find("2 audit events"), std::string::npos) << audit.output;
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0);
}

using SqliteOnlyBerthd = Berthd;

TEST_F(SqliteOnlyBerthd, IsCheckedBesideARunningServerAndItsFilesAreTheOwnersAlone) {
    const std::string db = "sqlite:" + folder.path() + "/berth.db";
    Process server(serve(port, db), folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(server, url("/readyz"))) << read_text(server.log_path());
    const Outcome checked = run_program(
        {program_path("berthd"), "check", "--db", db, "--secrets", folder.path() + "/secrets"});
    EXPECT_EQ(checked.status, 0) << checked.output;
    const Outcome others = run_program(
        {program_path("berthd"), "check", "--db", db, "--secrets", folder.path() + "/others"});
    EXPECT_NE(others.status, 0) << "keys of another service";
    EXPECT_NE(others.output.find("is not the key that this database"), std::string::npos)
        << others.output;
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
        if (!file.path().filename().string().starts_with("berth.db")) continue;
        EXPECT_EQ(file.status().permissions() & std::filesystem::perms(0777),
                  std::filesystem::perms(0600))
            << file.path();
    }
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0);
}

TEST_F(SqliteOnlyBerthd, ASecondProcessOnOneFileIsRefused) {
    const std::string db = "sqlite:" + folder.path() + "/berth.db";
    Process first(serve(port, db), folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(first, url("/readyz")));
    metrics_port = free_port();
    const Outcome second = run_program(serve(free_port(), db));
    EXPECT_EQ(second.status, 2);
    EXPECT_NE(second.output.find("berth.db"), std::string::npos) << second.output;
}

TEST(Specification, TheCheckedInFileIsWhatTheServerPrints) {
    EXPECT_TRUE(read_text(BERTH_SOURCE_DIR "/openapi.json") == server::specification())
        << "run: build/dev/bin/berthd openapi > openapi.json";
}

}  // namespace
}  // namespace berth::test
