// Ten thousand streams at one server, once: each hears what it should, and costs little.
#include <sys/resource.h>

#include <fstream>

#include "delivery/server_process.hpp"
#include "support/sanitized.hpp"

namespace berth::test {
namespace {

constexpr int accounts_of_many = 500;
constexpr int streams_each = 20;
constexpr rlim_t files_needed = accounts_of_many * streams_each + 500;

bool has_files() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_max >= files_needed;
}

std::int64_t resident_kib(pid_t process) {
    std::ifstream status(fmt::format("/proc/{}/status", process));
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
    return 0;
}

TEST(SqliteOnlyManyStreams, AreServedAndCostLittle) {
    if (sanitized) GTEST_SKIP() << "time and memory say nothing under a sanitizer";
    if (!has_files()) GTEST_SKIP() << "this machine lets a process open too few files";
    TemporaryFolder folder;
    const auto fresh = TestDatabase::sqlite();
    SystemRandom random;
    std::vector<KeyedAccount> people;
    {
        const auto database = fresh->open();
        db::migrate(*database, server::schema());
        database->write([&](db::Transaction& tx) {
            people.clear();
            for (int i = 0; i < accounts_of_many; ++i)
                people.push_back(add_account(tx, random, SystemClock().now()));
        });
    }
    ServerProcess server(fresh->url(), folder.path(),
                         {"--connections-per-address", "20000", "--rate-account-per-minute",
                          "1000000", "--worker-threads", "0"});
    server.start();
    const std::int64_t before = resident_kib(server.process->pid());
    std::vector<EventReader> readers;
    readers.reserve(accounts_of_many * streams_each);
    // Requests wait in a queue that has an end: those of one account are answered before the next.
    for (const KeyedAccount& one : people) {
        const std::size_t first = readers.size();
        for (int i = 0; i < streams_each; ++i) readers.emplace_back(server.port, bearer(one.key));
        for (std::size_t i = first; i < readers.size(); ++i) {
            ASSERT_EQ(readers[i].head().status, 200);
            readers[i].next_bare();
        }
    }
    const std::int64_t each_kib =
        (resident_kib(server.process->pid()) - before) / std::ssize(readers);
    EXPECT_LE(each_kib, 32) << "of memory for each stream";
    EventReader beyond(server.port, bearer(people[0].other_key));
    EXPECT_EQ(beyond.head().status, 503) << "that is as many as there may be";

    RawSocket socket(server.port);
    for (const KeyedAccount& one : people) {
        socket.send(fmt::format(
            "DELETE /api/v1/account/api-keys/{} HTTP/1.1\r\nHost: a\r\n{}"
            "Idempotency-Key: {}\r\nContent-Length: 0\r\n\r\n",
            one.other_id, bearer(one.key), to_string(make_uuid(SystemClock().now(), random))));
        ASSERT_EQ(socket.receive(true).status, 204);
    }
    for (EventReader& reader : readers) {
        const Dispatched event = reader.next();
        ASSERT_EQ(event.id, "1");
        ASSERT_EQ(event.type, "account.revoke_api_key");
    }
}

}  // namespace
}  // namespace berth::test
