// The proof of a large ledger: jobs of a thousand renters, three transactions each, from the
// beginning and then again from what was verified. Against one pass of the database over the same
// rows, which reads every entry with its transaction and does nothing with them.
//
// usage: bench_ledger_check [transactions [database]]
//   without a number: 300,000; without the address of an empty database: SQLite in a folder that is
//   removed. On PostgreSQL four threads take part.
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "base/log.hpp"
#include "bench/cycle.hpp"
#include "ledger/check.hpp"
#include "ledger/ledger.hpp"

namespace {

using namespace berth;
using SteadyClock = std::chrono::steady_clock;

constexpr std::string_view bare_pass_sql =
    "SELECT CAST(SUM(e.amount + LENGTH(t.hash) + LENGTH(t.reference)) AS BIGINT) "
    "FROM ledger_transactions t JOIN ledger_entries e ON e.transaction_id = t.transaction_id";
constexpr int cycles_of_write = 5000;
constexpr int threads_on_postgres = 4;

template <class Function>
double seconds_of(Function function) {
    const auto begin = SteadyClock::now();
    function();
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

void fill(db::Database& database, int cycles) {
    std::mt19937_64 random{7};
    SystemRandom bytes;
    Time now = SystemClock{}.now();
    for (int done = 0; done < cycles;)
        database.write([&](db::Transaction& tx) {
            for (int i = 0; i < cycles_of_write && done < cycles; ++i, ++done) {
                bench::Cycle cycle = bench::any_cycle(random);
                now.micros += 1000;
                cycle.job = JobId::make(now, bytes);
                for (int step = 0; step < bench::steps_of_cycle; ++step)
                    bench::run_step({tx, bytes, now}, cycle, step);
            }
        });
}

void measure(int transactions, const std::string& url) {
    const auto database = db::open(url, {.statement_max = std::chrono::hours(1)});
    bench::prepare_books(*database);
    fill(*database, transactions / bench::steps_of_cycle);
    const double baseline = seconds_of([&] {
        database->read([](db::Transaction& tx) { tx.run(bare_pass_sql); });
    });
    ledger::CheckOptions options;
    options.now = SystemClock{}.now();
    options.threads = database->engine() == db::Engine::postgres ? threads_on_postgres : 1;
    ledger::Report report;
    const double full =
        seconds_of([&] { report = ledger::check_ledger(*database, options); });
    if (!report.sound()) throw std::runtime_error(ledger::to_text(report));
    const auto count = static_cast<double>(report.looked_at);
    fill(*database, transactions / bench::steps_of_cycle / 100);
    options.verified = &report.verified;
    ledger::Report next;
    const double again = seconds_of([&] { next = ledger::check_ledger(*database, options); });
    if (!next.sound()) throw std::runtime_error(ledger::to_text(next));
    fmt::print("BENCH ledger_check ours={:.0f} baseline=bare-pass:{:.0f} ratio={:.2f}\n",
               count / full, count / baseline, baseline / full);
    fmt::print(stderr,
               "ledger_check: {:.0f} transactions in {:.1f} s; {} new ones on top in {:.1f} s\n",
               count, full, next.looked_at, again);
}

}  // namespace

int main(int count, char** arguments) {
    set_log(Level::error);
    try {
        const bench::Folder folder;
        measure(count > 1 ? std::atoi(arguments[1]) : 300'000,
                count > 2 ? arguments[2] : "sqlite:" + folder.path + "/ledger.db");
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "ledger_check: {}\n", error.what());
        return 1;
    }
}
