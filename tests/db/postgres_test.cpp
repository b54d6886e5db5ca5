// What is particular to PostgreSQL: conflicts, lost connections, commits of unknown outcome.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <thread>

#include "db/tables.hpp"
#include "support/postgres_cluster.hpp"

namespace berth::test {
namespace {

using db::Transaction;

constexpr std::string_view end_own_session = "SELECT pg_terminate_backend(pg_backend_pid())";
constexpr std::string_view end_other_sessions =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()";

PostgresCluster& server() {
    static PostgresCluster cluster("fsync = off\ndeadlock_timeout = 50ms");
    return cluster;
}

struct PostgresFixture : Tables {
    explicit PostgresFixture(const db::Options& options = {})
        : Tables(TestDatabase::postgres(server().url()), options) {}
};

TEST(PostgresOnlyConflict, RunsTheLoserOfADeadlockAgain) {
    PostgresFixture database;
    database.add_counter(1, 0);
    database.add_counter(2, 0);
    std::barrier both_hold_one(2);
    std::atomic<int> runs = 0;
    const auto take = [&](int first, int second) {
        bool waited = false;
        database->write([&](Transaction& tx) {
            ++runs;
            tx.run(add_to_counter, first, 1);
            if (!waited) both_hold_one.arrive_and_wait();
            waited = true;
            tx.run(add_to_counter, second, 1);
        });
    };
    std::thread other([&] { take(2, 1); });
    take(1, 2);
    other.join();
    EXPECT_GE(runs, 3);  // more when the second try meets the other one again
    EXPECT_EQ(database.counter(1), 2);
    EXPECT_EQ(database.counter(2), 2);
}

constexpr std::string_view raise_serialization_failure =
    "DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$";

TEST(PostgresOnlyConflict, RunsAgainAfterASerializationFailure) {
    PostgresFixture database;
    int runs = 0;
    database->write([&](Transaction& tx) {
        tx.run(insert_counter, 1, ++runs);
        if (runs < 4) tx.start(raise_serialization_failure);
    });
    EXPECT_EQ(runs, 4);
    EXPECT_EQ(database.counter(1), 4);
}

TEST(PostgresOnlyConflict, RunsAgainWhateverTheClosureMakesOfTheFailure) {
    PostgresFixture database;
    int runs = 0;
    database->write([&](Transaction& tx) {
        if (++runs > 1) return;
        try {
            tx.run(raise_serialization_failure);
        } catch (...) {
            throw std::runtime_error("translated");
        }
    });
    EXPECT_EQ(runs, 2);
}

TEST(PostgresOnlyConflict, GivesUpAfterTenRuns) {
    PostgresFixture database;
    int runs = 0;
    EXPECT_THROW(database->write([&](Transaction& tx) {
        ++runs;
        tx.run(raise_serialization_failure);
    }),
                 db::Unavailable);
    EXPECT_EQ(runs, 10);
}

TEST(PostgresOnlyConnection, ReplacesConnectionsThatDiedIdle) {
    PostgresFixture database;
    database.add_counter(1, 1);
    const auto other = db::open(database.url());
    for (int i = 0; i < 3; ++i) {
        other->write([](Transaction& tx) { tx.run(end_other_sessions); });
        database->write([](Transaction& tx) { tx.start(add_to_counter, 1, 1); });
        other->write([](Transaction& tx) { tx.run(end_other_sessions); });
        EXPECT_EQ(database.counter(1), 2 + i);
    }
}

TEST(PostgresOnlyConnection, RunsAgainWhenLostBeforeTheCommit) {
    PostgresFixture database;
    int runs = 0;
    database->write([&](Transaction& tx) {
        tx.run(insert_counter, 1, ++runs);
        if (runs == 1) tx.run(end_own_session);
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(database.counter(1), 2);
}

TEST(PostgresOnlyConnection, SaysSoWhenTheOutcomeOfACommitIsUnknown) {
    PostgresFixture database;
    // A trigger that waits for COMMIT and ends the session there.
    database->write([](Transaction& tx) {
        tx.script(R"(
            CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
            CREATE CONSTRAINT TRIGGER end_session AFTER INSERT ON counters
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_session();)");
    });
    int runs = 0;
    EXPECT_THROW(database->write([&](Transaction& tx) {
        ++runs;
        tx.run(insert_counter, 1, 1);
    }),
                 db::OutcomeUnknown);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(database.counters(), 0);
}

TEST(PostgresOnlyConnection, PreparesAnewAfterATableHasChanged) {
    PostgresFixture database;
    static constexpr std::string_view select_all = "SELECT * FROM counters";
    database.add_counter(1, 1);
    database->read([](Transaction& tx) { tx.run(select_all); });
    db::open(database.url())->write([](Transaction& tx) {
        tx.script("ALTER TABLE counters ADD COLUMN note TEXT");
    });
    const bool added =
        database->read([](Transaction& tx) { return tx.run(select_all)[0].is_null(2); });
    EXPECT_TRUE(added);
}

TEST(PostgresOnlyConnection, PreparesAnewWhatAFailureSkipped) {
    PostgresFixture database({.connections_max = 1});
    static constexpr std::string_view sql = "SELECT value + 7 FROM counters";
    database.add_counter(1, 1);
    for (int i = 0; i < 2; ++i) {
        EXPECT_THROW(database->write([](Transaction& tx) {
            tx.start(insert_counter, 1, 1);
            tx.start(sql);
        }),
                     db::StatementError);
        database->write([](Transaction& tx) { EXPECT_EQ(tx.run(sql)[0].get<int>(0), 8); });
    }
}

TEST(PostgresOnlyConnection, EndsAStatementThatTakesTooLong) {
    PostgresFixture database;
    database.reopen({.statement_max = std::chrono::milliseconds(50)});
    EXPECT_THROW(database->read([](Transaction& tx) { tx.run("SELECT pg_sleep(60)"); }),
                 db::Unavailable);
    database.reopen();
    EXPECT_EQ(database.counters(), 0);
}

TEST(PostgresOnlyConnection, RefusesNumericResults) {
    PostgresFixture database;
    database.add_counter(1, 1);
    EXPECT_THROW(database->read([](Transaction& tx) { tx.run("SELECT SUM(value) FROM counters"); }),
                 db::StatementError);
    const int sum = database->read([](Transaction& tx) {
        return tx.run("SELECT CAST(SUM(value) AS BIGINT) FROM counters")[0].get<int>(0);
    });
    EXPECT_EQ(sum, 1);
}

TEST(PostgresOnlyConnection, CarriesManyLargeStatementsAtOnce) {
    PostgresFixture database;
    constexpr int count = 60;
    const std::string data(300'000, 'x');
    database->write([&](Transaction& tx) {
        std::vector<Transaction::Ticket> tickets;
        for (int i = 0; i < count; ++i)
            tickets.push_back(
                tx.start("INSERT INTO things (number, data) VALUES ($1, $2) "
                         "RETURNING data",
                         i, db::Blob{data}));
        for (const auto ticket : tickets)
            EXPECT_EQ(tx.finish(ticket)[0].get<std::string_view>(0), data);
    });
}

// A server that takes connections and never says a word.
class SilentServer {
public:
    SilentServer() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(bind(socket_, generic, size), 0);
        EXPECT_EQ(listen(socket_, 128), 0);
        EXPECT_EQ(getsockname(socket_, generic, &size), 0);
        port_ = ntohs(address.sin_port);
    }
    ~SilentServer() { close(socket_); }
    std::string url() const { return fmt::format("postgres://u@127.0.0.1:{}/d", port_); }

private:
    int socket_;
    int port_ = 0;
};

TEST(PostgresOnlyServer, CostsOneConnectTimeoutAndNotOneForEachCaller) {
    const SilentServer silent;
    const auto database = db::open(silent.url(), {.connections_max = 4,
                                                  .wait_max = std::chrono::seconds(60),
                                                  .connect_max = std::chrono::seconds(2)});
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> callers;
    for (int i = 0; i < 64; ++i) {
        callers.emplace_back([&] {
            EXPECT_THROW(database->read([](Transaction& tx) { tx.run("SELECT 1"); }),
                         db::Unavailable);
        });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(PostgresOnlyServer, IsRefusedQuicklyWhileAwayAndFoundAgain) {
    PostgresFixture database;
    database.add_counter(1, 1);
    server().stop(PostgresCluster::Stop::fast);
    std::atomic<int> unavailable = 0;
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> callers;
    for (int i = 0; i < 64; ++i) {
        callers.emplace_back([&] {
            try {
                database.counters();
            } catch (const db::Unavailable&) {
                ++unavailable;
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(unavailable, 64);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));

    server().start();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    bool back = false;
    while (!back && std::chrono::steady_clock::now() < deadline) {
        try {
            back = database.counters() == 1;
        } catch (const db::Unavailable&) {
        }
    }
    EXPECT_TRUE(back);
}

}  // namespace
}  // namespace berth::test
