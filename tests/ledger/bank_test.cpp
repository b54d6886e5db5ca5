// The ledger under fire: 64 callers at once, random operations, kill -9, sessions that end in the
// middle, serialization failures and deadlocks. A plain model (bank_model.hpp) is the oracle.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <barrier>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "ledger/bank_model.hpp"
#include "ledger/books.hpp"
#include "server/schema.hpp"
#include "support/process.hpp"
#include "support/sanitized.hpp"

namespace berth::test {
namespace {

using bank::Note;
using bank::Outcome;
using std::chrono::steady_clock;

// Most kills come early, because the proof after each one reads the whole ledger.
constexpr std::uint32_t operations_total = sanitized ? 4'000 : 200'000;
constexpr std::uint32_t operations_of_each = operations_total / bank::callers;
constexpr int kills = sanitized ? 3 : 12;
constexpr std::uint64_t kill_within_notes = sanitized ? 1'000 : 6'000;
constexpr std::uint64_t end_session_one_in = 100;  // looks at the diary, 1 ms apart
constexpr auto patience = std::chrono::seconds(240);

constexpr std::string_view marks_sql = "SELECT caller, batch FROM bank_marks";
constexpr std::string_view references_sql = "SELECT reference FROM ledger_transactions";
constexpr std::string_view sessions_sql =
    "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
constexpr std::string_view end_session_sql =
    "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND backend_type = 'client backend' ORDER BY random() LIMIT 1) AS one";
// A deadlock is noticed only after this time, a second unless told otherwise.
constexpr std::string_view notice_deadlocks_sql =
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''10ms''', "
    "current_database()); END $$";

class LedgerBank : public ::testing::Test {
protected:
    LedgerBank() {
        const auto database = place.open();
        db::migrate(*database, server::schema());
        postgres = database->engine() == db::Engine::postgres;
        database->write([&](db::Transaction& tx) {
            tx.script(
                "CREATE TABLE bank_marks (caller BIGINT NOT NULL, batch BIGINT NOT NULL, "
                "PRIMARY KEY (caller, batch))");
            if (postgres) tx.script(notice_deadlocks_sql);
        });
    }

    Process start(int seed) {
        return Process({program_path("ledger_worker"), place.url(), diary_path,
                        std::to_string(operations_of_each), std::to_string(seed)},
                       folder.path() + "/log");
    }

    // Kills the worker after a number of notes that nobody knows beforehand. On PostgreSQL sessions
    // of the worker end in between, some of them while they commit.
    void run_and_kill(int cycle) {
        Process worker = start(cycle);
        const std::uint64_t wanted = notes_in_diary() + 1 + random.below(kill_within_notes);
        const auto until = steady_clock::now() + patience;
        const auto database = postgres ? place.open() : nullptr;
        while (notes_in_diary() < wanted && worker.running() && steady_clock::now() < until) {
            if (postgres && random.below(end_session_one_in) == 0)
                database->write([](db::Transaction& tx) { tx.run(end_session_sql); });
            ::poll(nullptr, 0, 1);
        }
        ASSERT_TRUE(worker.running()) << read_text(folder.path() + "/log");
        worker.signal(SIGKILL);
        worker.wait();
    }

    std::uint64_t notes_in_diary() const {
        std::error_code none_yet;
        const auto size = std::filesystem::file_size(diary_path, none_yet);
        return none_yet ? 0 : size / sizeof(Note);
    }

    // After a kill: what the diary says has happened, and what was under way either happened or
    // did not.
    void go_over() {
        const auto database = place.open();
        if (postgres) wait_for_silence(*database);
        const Marks marks = read_marks(*database);
        take_notes();
        for (std::uint32_t i = 0; i < bank::callers; ++i)
            if (!begun[i].empty()) end_unfinished(i, marks);
        ASSERT_EQ(marks, done) << "every acknowledged batch is there once, and nothing else";

        const auto report =
            database->read([](db::Transaction& tx) { return ledger::check_ledger(tx); });
        ASSERT_TRUE(report.sound()) << to_text(report);
        ASSERT_EQ(static_cast<std::size_t>(report.verified.totals.transactions), references.size());
        compare_balances(*database);
        compare_platform(report);
    }

    // What the server still does for a worker that is gone may yet be committed.
    static void wait_for_silence(db::Database& database) {
        const auto until = steady_clock::now() + patience;
        const auto sessions = [&] {
            return database.read(
                [](db::Transaction& tx) { return tx.run(sessions_sql)[0].get<std::int64_t>(0); });
        };
        while (sessions() != 0) {
            ASSERT_LT(steady_clock::now(), until);
            ::poll(nullptr, 0, 1);
        }
    }

    using Marks = std::set<std::pair<std::uint32_t, std::uint32_t>>;

    static Marks read_marks(db::Database& database) {
        return database.read([](db::Transaction& tx) {
            const auto rows = tx.run(marks_sql);
            Marks marks;
            for (std::size_t i = 0; i < rows.size(); ++i)
                marks.emplace(rows[i].get<std::uint32_t>(0), rows[i].get<std::uint32_t>(1));
            return marks;
        });
    }

    void take_notes() {
        const int file = ::open(diary_path.c_str(), O_RDONLY);
        ASSERT_GE(file, 0);
        ::lseek(file, static_cast<off_t>(notes_taken * sizeof(Note)), SEEK_SET);
        Note note;
        ssize_t size = 0;
        for (; (size = ::read(file, &note, sizeof note)) == sizeof note; ++notes_taken) take(note);
        ::close(file);
        ASSERT_EQ(size, 0) << "a note that is not whole";
    }

    void take(const Note& note) {
        bank::Batch& batch = begun[note.caller];
        bank::Caller& caller = all[note.caller];
        if (note.kind == Note::Kind::operation) {
            caller.batches = note.batch + 1;
            batch.push_back(note.operation);
            return;
        }
        ++outcomes[static_cast<std::size_t>(note.outcome)];
        if (note.outcome != Outcome::nothing) {
            const std::size_t before = references.size();
            bank::State after = caller.state;
            const Outcome expected = apply(after, note.caller, batch, references);
            const bool others_decided =
                depends_on_others(batch) && note.outcome == Outcome::insufficient_funds;
            EXPECT_TRUE(note.outcome == expected || others_decided)
                << "caller " << note.caller << ", batch " << note.batch << ": "
                << static_cast<int>(note.outcome) << " instead of " << static_cast<int>(expected);
            if (note.outcome == Outcome::done) {
                caller.state = std::move(after);
                done.emplace(note.caller, note.batch);
            } else {
                references.resize(before);
            }
        }
        batch.clear();
    }

    void end_unfinished(std::uint32_t caller, const Marks& marks) {
        const std::uint32_t batch = all[caller].batches - 1;
        const bool happened = marks.contains({caller, batch});
        const Note note{
            Note::Kind::end, happened ? Outcome::done : Outcome::nothing, caller, batch, {}};
        ++(happened ? unacknowledged_done : unacknowledged_undone);
        const int file = ::open(diary_path.c_str(), O_WRONLY | O_APPEND);
        ASSERT_EQ(::write(file, &note, sizeof note), static_cast<ssize_t>(sizeof note));
        ::close(file);
        ++notes_taken;
        take(note);
    }

    void compare_balances(db::Database& database) {
        std::map<std::pair<AccountId, ledger::Asset>, bank::Balances> expected;
        for (const bank::Caller& caller : all)
            for (std::uint8_t slot = 0; slot < bank::slots; ++slot)
                expected[{bank::account_id(caller.number, slot), bank::asset_of(caller.number)}] +=
                    caller.state.balances[slot];
        database.read([&](db::Transaction& tx) {
            for (const auto& [place_of, sums] : expected) {
                const auto found = ledger::balances(tx, place_of.first, place_of.second);
                const bank::Balances plain{found.available.value, found.held.value,
                                           found.payable.value,   found.escrow.value,
                                           found.reserved.value,  found.earned.value,
                                           found.fees.value,      found.paid.value};
                EXPECT_EQ(plain, sums) << to_string(place_of.first);
            }
        });
    }

    void compare_platform(const ledger::Report& report) const {
        for (const ledger::Asset asset : ledger::assets) {
            bank::Platform sums;
            for (const bank::Caller& caller : all) {
                if (bank::asset_of(caller.number) != asset) continue;
                sums.treasury += caller.state.platform.treasury;
                sums.outbound += caller.state.platform.outbound;
                sums.suspense += caller.state.platform.suspense;
                sums.fee_income += caller.state.platform.fee_income;
            }
            const auto balance = [&](ledger::Pocket pocket) {
                for (const ledger::TrialRow& row : report.trial_balance())
                    if (row.asset == asset && row.pocket == pocket)
                        return (row.credit - row.debit).value;
                return std::int64_t{0};
            };
            EXPECT_EQ(balance(ledger::Pocket::treasury), sums.treasury);
            EXPECT_EQ(balance(ledger::Pocket::outbound), sums.outbound);
            EXPECT_EQ(balance(ledger::Pocket::suspense), sums.suspense);
            EXPECT_EQ(balance(ledger::Pocket::fee_income), sums.fee_income);
        }
    }

    void compare_references() {
        const auto database = place.open();
        const std::set<std::string> expected(references.begin(), references.end());
        const auto found = database->read([](db::Transaction& tx) {
            const auto rows = tx.run(references_sql);
            std::set<std::string> texts;
            for (std::size_t i = 0; i < rows.size(); ++i) texts.insert(rows[i].get<std::string>(0));
            return texts;
        });
        EXPECT_EQ(expected.size(), references.size()) << "a posting happened twice";
        EXPECT_TRUE(found == expected) << "the journal is not what was acknowledged";
    }

    static std::array<bank::Caller, bank::callers> numbered_callers() {
        std::array<bank::Caller, bank::callers> callers;
        for (std::uint32_t i = 0; i < bank::callers; ++i) callers[i].number = i;
        return callers;
    }

    TemporaryFolder folder;
    TestDatabase place;
    const std::string diary_path = folder.path() + "/diary";
    bool postgres = false;
    SeededRandom random{20'260'101};

    std::uint64_t notes_taken = 0;
    std::array<bank::Caller, bank::callers> all = numbered_callers();
    std::array<bank::Batch, bank::callers> begun;
    Marks done;
    std::vector<std::string> references;  // that must be in the journal
    std::array<std::int64_t, 4> outcomes{};
    int unacknowledged_done = 0;
    int unacknowledged_undone = 0;
};

TEST_F(LedgerBank, LosesAndRepeatsNothingWhateverIsKilled) {
    for (int cycle = 0; cycle < kills; ++cycle) {
        ASSERT_NO_FATAL_FAILURE(run_and_kill(cycle));
        ASSERT_NO_FATAL_FAILURE(go_over());
    }
    Process worker = start(kills);
    ASSERT_EQ(worker.wait(), 0) << read_text(folder.path() + "/log");
    ASSERT_NO_FATAL_FAILURE(go_over());
    compare_references();

    const auto count = [&](Outcome outcome) { return outcomes[static_cast<std::size_t>(outcome)]; };
    EXPECT_GT(unacknowledged_undone, 0) << "some were killed before the commit";
    EXPECT_GT(count(Outcome::insufficient_funds), 0);
    EXPECT_GT(count(Outcome::conflict), 0);
    EXPECT_GT(count(Outcome::done), operations_total / 8);
    RecordProperty("batches_done", static_cast<int>(count(Outcome::done)));
    RecordProperty("batches_undone", static_cast<int>(count(Outcome::nothing)));
    RecordProperty("unacknowledged_done", unacknowledged_done);
    RecordProperty("unacknowledged_undone", unacknowledged_undone);
}

// How many of `callers` threads that all do the same at the same time succeed; the others must be
// refused with `code`.
template <class Function>
int winners(int callers, Code code, const Function& function) {
    std::barrier together(callers);
    std::atomic<int> won = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < callers; ++i)
        threads.emplace_back([&, i] {
            together.arrive_and_wait();
            const auto refused = refusal([&] { function(i); });
            if (!refused) ++won;
            EXPECT_TRUE(!refused || *refused == code);
        });
    for (std::thread& thread : threads) thread.join();
    return won;
}

constexpr int racers = 32;

TEST(LedgerRace, RefundsOfOneJobNeverExceedItsCharge) {
    Books books;
    Rental rental(books, 1000);
    const JobId job = rental.run(1000, 1000);
    EXPECT_EQ(winners(racers, Code::conflict, [&](int) { rental.refund(job, 90); }), 11);
    EXPECT_EQ(books.balances(rental.renter).available, Micro{990});
    EXPECT_EQ(books.balances(rental.host).payable, Micro{9});
    EXPECT_TRUE(books.check().sound()) << to_text(books.check());
}

TEST(LedgerRace, ATransferEndsOnce) {
    for (const auto source : {ledger::Source::withdrawal, ledger::Source::payout}) {
        Books books;
        Rental rental(books, 2000);
        rental.run(1000, 1000, 0);
        const bool payout = source == ledger::Source::payout;
        const AccountId account = payout ? rental.host : rental.renter;
        const auto transfer = books.make_id<ledger::TransferId>();
        books.write([&](ledger::Context context) {
            ledger::lock(context, {transfer, account, ledger::Asset::usdc, Micro{700}, source});
        });
        EXPECT_EQ(winners(racers, Code::conflict,
                          [&](int i) {
                              books.write([&](ledger::Context context) {
                                  if (i % 2 == 0)
                                      ledger::settle(context, transfer);
                                  else
                                      ledger::give_back(context, transfer);
                              });
                          }),
                  1);
        const auto balances = books.balances(account);
        const Micro left = payout ? balances.payable : balances.available;
        EXPECT_TRUE(left == Micro{300} || left == Micro{1000}) << left.value;
        EXPECT_EQ(balances.reserved, Micro{0});
        EXPECT_TRUE(books.check().sound()) << to_text(books.check());
    }
}

TEST(LedgerRace, HoldsNeverExceedTheBalance) {
    Books books;
    Rental rental(books, 1000);
    EXPECT_EQ(winners(racers, Code::insufficient_funds, [&](int) { rental.begin(501); }), 1);
    EXPECT_EQ(books.balances(rental.renter).available, Micro{499});
    EXPECT_TRUE(books.check().sound()) << to_text(books.check());
}

TEST(LedgerRace, PayoutsNeverExceedTheEarnings) {
    Books books;
    Rental rental(books, 1000);
    rental.run(1000, 1000, 0);
    EXPECT_EQ(winners(racers, Code::insufficient_funds,
                      [&](int) {
                          const auto transfer = books.make_id<ledger::TransferId>();
                          books.write([&](ledger::Context context) {
                              ledger::lock(context, {transfer, rental.host, ledger::Asset::usdc,
                                                     Micro{300}, ledger::Source::payout});
                          });
                      }),
              3);
    EXPECT_EQ(books.balances(rental.host).payable, Micro{100});
    EXPECT_TRUE(books.check().sound()) << to_text(books.check());
}

// The first movement of an account makes its row; those that come at the same time find it made.
TEST(LedgerRace, TheFirstEarningsOfAHostMayAllComeAtOnce) {
    Books books;
    Rental rental(books, racers * 10);
    std::vector<JobId> jobs;
    for (int i = 0; i < racers; ++i) jobs.push_back(rental.begin(10));
    EXPECT_EQ(winners(racers, Code::conflict,
                      [&](int i) { rental.capture(jobs[static_cast<std::size_t>(i)], 10); }),
              racers);
    EXPECT_EQ(books.balances(rental.host).payable, Micro{racers * 9});
    EXPECT_TRUE(books.check().sound()) << to_text(books.check());
}

TEST(LedgerRace, ATransferOnChainIsCreditedOnce) {
    Books books;
    const auto account = books.make_id<AccountId>();
    const ledger::Deposit deposit{account, ledger::Asset::usdt, Micro{5}, "8453:0xab:0"};
    std::atomic<int> credited = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < racers; ++i)
        threads.emplace_back([&] {
            try {
                books.write([&](ledger::Context context) { ledger::deposit(context, deposit); });
                ++credited;
            } catch (const db::StatementError& error) {
                EXPECT_TRUE(error.constraint());
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(credited, 1);
    EXPECT_EQ(books.balances(account, ledger::Asset::usdt).available, Micro{5});
    EXPECT_TRUE(books.check().sound()) << to_text(books.check());
}

}  // namespace
}  // namespace berth::test
