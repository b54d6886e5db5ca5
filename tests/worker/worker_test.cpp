// Background tasks: run once, retried with back-off, buried, recurring, and safe among many
// workers.
#include <gtest/gtest.h>

#include <latch>

#include "support/database.hpp"
#include "support/fakes.hpp"
#include "worker/tasks.hpp"
#include "worker/worker.hpp"

namespace berth::worker {
namespace {

using test::ManualClock;
using test::SeededRandom;
using test::TestDatabase;
using namespace std::chrono_literals;

constexpr std::string_view note_sql = "INSERT INTO notes (note) VALUES ($1)";

// A database that is away when the test says so.
class FlakyDatabase final : public db::Database {
public:
    explicit FlakyDatabase(db::Database& real) : real_(real) {}
    db::Engine engine() const override { return real_.engine(); }
    std::uint64_t changes() const override { return real_.changes(); }
    bool is_touched(const Uuid& id) const override { return real_.is_touched(id); }

    bool away = false;

protected:
    void run_write(const Work& work) override {
        fail_if_away();
        real_.write(work);
    }
    void run_read(const Work& work) override {
        fail_if_away();
        real_.read(work);
    }

private:
    void fail_if_away() const {
        if (away) throw db::Unavailable("away");
    }

    db::Database& real_;
};

class Tasks : public ::testing::Test {
protected:
    Tasks() : database(fresh.open()) {
        std::vector<db::Migration> all(migrations.begin(), migrations.end());
        all.push_back({"notes", 1, "CREATE TABLE notes (note @text NOT NULL) @strict;"});
        db::migrate(*database, all);
    }

    std::unique_ptr<Worker> make_worker(std::vector<Kind> kinds, Options options = {}) {
        return std::make_unique<Worker>(*database, clock, random, std::move(kinds), options);
    }
    void add(const NewTask& task) {
        database->write([&](db::Transaction& tx) { enqueue({tx, random, clock.now()}, task); });
    }
    int count(std::string_view sql) {
        return database->read([&](db::Transaction& tx) { return tx.run(sql)[0].get<int>(0); });
    }
    int waiting() { return count("SELECT COUNT(*) FROM tasks WHERE state = 'waiting'"); }
    int dead() { return count("SELECT COUNT(*) FROM tasks WHERE state = 'dead'"); }
    int notes() { return count("SELECT COUNT(*) FROM notes"); }

    // Writes the payload as a note, in the transaction that ends the task.
    Kind note_kind() {
        return {.name = "note", .run = [](Attempt& attempt) {
                    attempt.finish(
                        [&](db::Transaction& tx) { tx.run(note_sql, attempt.task().payload); });
                }};
    }

    TestDatabase fresh;
    ManualClock clock;
    SeededRandom random;
    std::unique_ptr<db::Database> database;
};

TEST_F(Tasks, ATaskRunsOnceAndIsGone) {
    const auto worker = make_worker({note_kind()});
    add({.kind = "note", .payload = "hello", .run_at = clock.now()});
    EXPECT_TRUE(worker->run_one());
    EXPECT_FALSE(worker->run_one());
    EXPECT_EQ(notes(), 1);
    EXPECT_EQ(waiting(), 0);
}

TEST_F(Tasks, ATaskWaitsForItsTime) {
    const auto worker = make_worker({note_kind()});
    add({.kind = "note", .payload = "later", .run_at = clock.now() + 1min});
    EXPECT_FALSE(worker->run_one());
    clock.advance(1min);
    EXPECT_TRUE(worker->run_one());
    EXPECT_EQ(notes(), 1);
}

TEST_F(Tasks, OneUniqueKeyHasOneWaitingTask) {
    for (int i = 0; i < 3; ++i)
        add({.kind = "note", .payload = "x", .unique_key = "only", .run_at = clock.now()});
    EXPECT_EQ(waiting(), 1);
}

TEST_F(Tasks, ATaskIsRolledBackWithTheRequestThatWroteIt) {
    EXPECT_THROW(database->write([&](db::Transaction& tx) {
        enqueue({tx, random, clock.now()}, {.kind = "note", .payload = "x", .run_at = clock.now()});
        throw std::runtime_error("the request failed");
    }),
                 std::runtime_error);
    EXPECT_EQ(waiting(), 0);
}

TEST_F(Tasks, AFailureIsTriedAgainLaterAndAtLastBuried) {
    int runs = 0;
    Kind kind{.name = "bad", .run = [&](Attempt&) {
                  ++runs;
                  throw std::runtime_error("no luck with ark_0123456789abcdef");
              }};
    kind.attempts_max = 3;
    const auto worker = make_worker({kind});
    add({.kind = "bad", .payload = "", .run_at = clock.now()});
    EXPECT_TRUE(worker->run_one());
    EXPECT_FALSE(worker->run_one()) << "a failed task waits before it is tried again";
    for (int i = 0; i < 2; ++i) {
        clock.advance(1h);
        EXPECT_TRUE(worker->run_one());
    }
    clock.advance(24h);
    EXPECT_FALSE(worker->run_one());
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(dead(), 1);
    const auto why = database->read([](db::Transaction& tx) {
        return tx.run("SELECT last_error FROM tasks")[0].get<std::string>(0);
    });
    EXPECT_EQ(why, "no luck with ark_…");
}

TEST_F(Tasks, AFailureInsideTheEffectLeavesNoEffect) {
    const auto worker = make_worker({{.name = "half", .run = [](Attempt& attempt) {
                                          attempt.finish([](db::Transaction& tx) {
                                              tx.run(note_sql, "half");
                                              throw std::runtime_error("halfway");
                                          });
                                      }}});
    add({.kind = "half", .payload = "", .run_at = clock.now()});
    worker->run_one();
    EXPECT_EQ(notes(), 0);
    EXPECT_EQ(waiting(), 1);
}

TEST_F(Tasks, AWorkerThatLostItsLeaseHasNoEffect) {
    const auto other = make_worker({note_kind()});
    bool stolen = false;
    const auto slow =
        make_worker({{.name = "note", .run = [&](Attempt& attempt) {
                          if (!std::exchange(stolen, true)) {
                              clock.advance(9s);  // the lease is 8 s
                              EXPECT_TRUE(other->run_one());
                          }
                          attempt.finish([](db::Transaction& tx) { tx.run(note_sql, "too late"); });
                      }}});
    add({.kind = "note", .payload = "in time", .run_at = clock.now()});
    slow->run_one();
    EXPECT_EQ(count("SELECT COUNT(*) FROM notes WHERE note = 'in time'"), 1);
    EXPECT_EQ(notes(), 1);
}

TEST_F(Tasks, ATaskOfADeadWorkerIsTakenOver) {
    add({.kind = "note", .payload = "x", .run_at = clock.now()});
    database->write([&](db::Transaction& tx) {
        const auto due = find_due(tx, due_statement({"note"}), clock.now(), 1);
        take_lease(tx, due.at(0), TaskId::make(clock.now(), random), clock.now() + 30s);
    });
    const auto worker = make_worker({note_kind()});
    EXPECT_FALSE(worker->run_one()) << "the lease still holds";
    clock.advance(30s);
    EXPECT_TRUE(worker->run_one());
    EXPECT_EQ(notes(), 1);
}

TEST_F(Tasks, ARecurringTaskComesBackAndIsPlantedOnce) {
    Kind kind = note_kind();
    kind.every = 10min;
    const auto first = make_worker({kind});
    const auto second = make_worker({kind});
    EXPECT_TRUE(first->run_one());
    EXPECT_FALSE(second->run_one());
    clock.advance(10min);
    EXPECT_TRUE(second->run_one());
    EXPECT_FALSE(first->run_one());
    EXPECT_EQ(notes(), 2);
    EXPECT_EQ(waiting(), 1);
}

TEST_F(Tasks, ARecurringTaskThatNobodyTakesUpIsOverdue) {
    const std::vector<Kind> kinds{{.name = "often", .run = [](Attempt&) {}, .every = 1s}};
    auto worker = make_worker(kinds);
    const auto overdue = [&] {
        return database->read([&](db::Transaction& tx) {
            const Time since = clock.now() - 60s;
            const bool late = is_overdue(tx, "often", since);
            EXPECT_EQ(neglected(tx, {"often"}, since).empty(), !late);
            EXPECT_EQ(neglected(tx, {"often", "never"}, since).back(), "never");
            return late;
        });
    };
    EXPECT_TRUE(worker->run_one());
    EXPECT_FALSE(overdue());
    clock.advance(60s);
    EXPECT_FALSE(overdue());
    clock.advance(2s);
    EXPECT_TRUE(overdue());
    EXPECT_TRUE(worker->run_one());
    EXPECT_FALSE(overdue());
}

TEST_F(Tasks, ARecurringTaskThatFailsIsNeverBuried) {
    const auto worker = make_worker({{.name = "again",
                                      .run = [](Attempt&) { throw std::runtime_error("no"); },
                                      .attempts_max = 2,
                                      .every = 1min}});
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(worker->run_one());
        clock.advance(2h);
    }
    EXPECT_EQ(dead(), 0);
}

TEST_F(Tasks, AKindThatAWorkerCannotDoIsNotTakenByIt) {
    for (int i = 0; i < 20; ++i) add({.kind = "other", .payload = "x", .run_at = clock.now()});
    add({.kind = "note", .payload = "x", .run_at = clock.now()});
    const auto worker = make_worker({note_kind()});
    EXPECT_TRUE(worker->run_one()) << "however many of another kind stand before it";
    EXPECT_FALSE(worker->run_one());
    EXPECT_EQ(notes(), 1);
    EXPECT_EQ(count("SELECT COUNT(*) FROM tasks WHERE kind = 'other' AND attempts = 0"), 20);
}

TEST_F(Tasks, WithoutADatabaseAnAttemptDoesNotCount) {
    bool away = true;
    const auto worker = make_worker({{.name = "note",
                                      .run =
                                          [&](Attempt&) {
                                              if (std::exchange(away, false))
                                                  throw db::Unavailable("gone for a moment");
                                          },
                                      .attempts_max = 1}});
    add({.kind = "note", .payload = "x", .run_at = clock.now()});
    EXPECT_TRUE(worker->run_one());
    EXPECT_EQ(dead(), 0);
    clock.advance(1s);
    EXPECT_TRUE(worker->run_one()) << "no waiting for the lease to run out";
    EXPECT_EQ(waiting(), 0);
}

TEST_F(Tasks, AnOutageIsOneWarningForAllOfThem) {
    const auto worker = make_worker(
        {{.name = "note", .run = [](Attempt&) { throw db::Unavailable("gone for a while"); }}});
    for (int i = 0; i < 5; ++i) add({.kind = "note", .payload = "x", .run_at = clock.now()});
    testing::internal::CaptureStderr();
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(worker->run_one());
    const std::string log = testing::internal::GetCapturedStderr();
    const std::size_t first = log.find("task_without_database");
    EXPECT_NE(first, log.npos) << log;
    EXPECT_EQ(log.find("task_without_database", first + 1), log.npos) << log;
    EXPECT_EQ(log.find(R"("level":"error")"), log.npos) << log;
}

TEST_F(Tasks, WhatCouldNotBeGivenBackIsGivenBackBeforeTheNextClaim) {
    FlakyDatabase flaky(*database);
    bool first = true;
    Worker worker(flaky, clock, random, {{.name = "note", .run = [&](Attempt&) {
                                              if (!std::exchange(first, false)) return;
                                              flaky.away = true;
                                              throw std::runtime_error("no luck");
                                          }}});
    add({.kind = "note", .payload = "x", .run_at = clock.now()});
    EXPECT_TRUE(worker.run_one());
    EXPECT_THROW(worker.run_one(), db::Unavailable);
    flaky.away = false;
    EXPECT_FALSE(worker.run_one()) << "it waits for its turn";
    clock.advance(2s);
    EXPECT_TRUE(worker.run_one()) << "and not for its lease";
    EXPECT_EQ(waiting(), 0);
}

TEST_F(Tasks, ThoseWhoWaitAreWokenAfterTheCommit) {
    std::vector<std::string> woken;
    const auto listening = database->wakes().listen([&](const WakeKey& key) {
        EXPECT_EQ(notes(), 1);
        woken.push_back(key.name);
    });
    const auto worker = make_worker({{.name = "note", .run = [](Attempt& attempt) {
                                          attempt.finish([](db::Transaction& tx) {
                                              tx.run(note_sql, "x");
                                              tx.wake_after_commit({"notes", "x"});
                                          });
                                      }}});
    add({.kind = "note", .payload = "", .run_at = clock.now()});
    EXPECT_TRUE(worker->run_one());
    EXPECT_EQ(woken, std::vector<std::string>{"x"});
}

TEST_F(Tasks, OneThatIsDeadIsToldWhenItIsBuried) {
    std::vector<std::string> dead;
    Options options;
    options.on_dead = [&](const db::Context& context, const Task& task) {
        context.tx.run(note_sql, "dead");
        dead.push_back(task.kind);
    };
    const auto worker = make_worker({{.name = "fail",
                                      .run = [](Attempt&) { throw std::runtime_error("no"); },
                                      .attempts_max = 2}},
                                    options);
    add({.kind = "fail", .payload = "", .run_at = clock.now()});
    EXPECT_TRUE(worker->run_one());
    EXPECT_TRUE(dead.empty());
    clock.advance(std::chrono::minutes(5));
    EXPECT_TRUE(worker->run_one());
    EXPECT_EQ(dead, std::vector<std::string>{"fail"});
    EXPECT_EQ(notes(), 1) << "in the transaction that buried it";
}

TEST_F(Tasks, OneThatAnotherWorkerHasIsNotToldToBeDead) {
    int dead = 0;
    Options options;
    options.on_dead = [&](const db::Context&, const Task&) { ++dead; };
    const auto worker = make_worker({{.name = "slow",
                                      .run =
                                          [&](Attempt&) {
                                              database->write([](db::Transaction& tx) {
                                                  tx.run("UPDATE tasks SET lease_id = NULL");
                                              });
                                              throw std::runtime_error("too late");
                                          },
                                      .attempts_max = 1}},
                                    options);
    add({.kind = "slow", .payload = "", .run_at = clock.now()});
    EXPECT_TRUE(worker->run_one());
    EXPECT_EQ(dead, 0);
}

// Real threads and the real clock from here on.
class Workers : public Tasks {
protected:
    SystemClock system;
};

TEST_F(Workers, ManyWorkersRunEveryTaskOnce) {
    constexpr int tasks = 200;
    constexpr int workers = 4;
    std::latch done(tasks);
    Kind kind = note_kind();
    kind.run = [&done, inner = kind.run](Attempt& attempt) {
        inner(attempt);
        done.count_down();
    };
    database->write([&](db::Transaction& tx) {
        for (int i = 0; i < tasks; ++i)
            enqueue({tx, random, system.now()},
                    {.kind = "note", .payload = std::to_string(i), .run_at = system.now()});
    });
    std::vector<std::unique_ptr<Worker>> all;
    for (int i = 0; i < workers; ++i) {
        all.push_back(std::make_unique<Worker>(*database, system, random, std::vector<Kind>{kind}));
        all.back()->start();
    }
    done.wait();
    for (auto& worker : all) worker->stop();
    EXPECT_EQ(notes(), tasks);
    EXPECT_EQ(count("SELECT COUNT(DISTINCT note) FROM notes"), tasks);
    EXPECT_EQ(waiting(), 0);
}

TEST_F(Workers, AHeartbeatKeepsTheLeaseOfALongTask) {
    Options options;
    options.lease = 2s;
    options.poll = 10ms;
    std::atomic<int> runs{0};
    std::latch ended(1);
    const Kind kind{.name = "long", .run = [&](Attempt& attempt) {
                        ++runs;
                        // Outlasts the lease more than twice, by the database's own account.
                        const Time until = system.now() + 5s;
                        while (system.now() < until) waiting();
                        attempt.finish([](db::Transaction& tx) { tx.run(note_sql, "long"); });
                        ended.count_down();
                    }};
    Worker first(*database, system, random, {kind}, options);
    Worker second(*database, system, random, {kind}, options);
    add({.kind = "long", .payload = "", .run_at = Time{0}});
    first.start();
    second.start();
    ended.wait();
    first.stop();
    second.stop();
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(notes(), 1);
}

TEST_F(Workers, ASilentOutsideOfOneLaneDoesNotDelayAnother) {
    std::latch silent(2);
    std::latch answer(1);
    std::latch paid(1);
    const Kind mail{.name = "mail",
                    .run =
                        [&](Attempt&) {
                            silent.count_down();
                            answer.wait();
                        },
                    .lane = "mail"};
    const Kind money{.name = "money", .run = [&](Attempt&) { paid.count_down(); }, .lane = "money"};
    for (int i = 0; i < 10; ++i) add({.kind = "mail", .payload = "", .run_at = Time{0}});
    Worker worker(*database, system, random, {mail, money});
    worker.start();
    silent.wait();  // every thread of its lane is held up
    add({.kind = "money", .payload = "", .run_at = Time{0}});
    paid.wait();
    answer.count_down();
    worker.stop();
}

TEST_F(Workers, AStopGivesTheLeaseOfALongAttemptBack) {
    Options options;
    options.patience = 10ms;
    std::latch started(1);
    std::latch go_on(1);
    const Kind kind{.name = "note", .run = [&](Attempt& attempt) {
                        started.count_down();
                        go_on.wait();
                        attempt.finish([](db::Transaction& tx) { tx.run(note_sql, "late"); });
                    }};
    Worker worker(*database, system, random, {kind}, options);
    add({.kind = "note", .payload = "", .run_at = Time{0}});
    worker.start();
    started.wait();
    std::thread stopper([&] { worker.stop(); });
    while (count("SELECT COUNT(*) FROM tasks WHERE lease_until = 0") == 0) {
    }
    Worker other(*database, system, random, {note_kind()});
    EXPECT_TRUE(other.run_one()) << "another worker takes it up at once";
    go_on.count_down();
    stopper.join();
    EXPECT_EQ(count("SELECT COUNT(*) FROM notes WHERE note = 'late'"), 0);
}

TEST_F(Workers, StopWaitsForTheAttemptInProgress) {
    std::latch started(1);
    std::latch go_on(1);
    const auto worker = std::make_unique<Worker>(
        *database, system, random,
        std::vector<Kind>{{.name = "note", .run = [&](Attempt& attempt) {
                               started.count_down();
                               go_on.wait();
                               attempt.finish([](db::Transaction& tx) { tx.run(note_sql, "x"); });
                           }}});
    add({.kind = "note", .payload = "", .run_at = Time{0}});
    worker->start();
    started.wait();
    std::thread stopper([&] { worker->stop(); });
    go_on.count_down();
    stopper.join();
    EXPECT_EQ(notes(), 1);
}

}  // namespace
}  // namespace berth::worker
