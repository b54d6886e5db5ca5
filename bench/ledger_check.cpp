// The proof of a large ledger: jobs of a thousand renters, three transactions each, from the
// beginning, against one pass of the database over the same rows, which reads every entry with its
// transaction and does nothing with them.
//
// And the proof of every night, which goes on from what was verified: the same number of new
// transactions on top of this history, against on top of a fifth of it. Where that does not take
// longer, a history of any length does not.
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
constexpr int part_of_history = 5;
constexpr int new_cycles = 1000;
constexpr int nights = 5;
constexpr Duration a_while = std::chrono::hours(3);  // what is older is not new to a proof

template <class Function>
double seconds_of(Function function) {
    const auto begin = SteadyClock::now();
    function();
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

class Books {
public:
    explicit Books(const std::string& url)
        : database_(db::open(url, {.statement_max = std::chrono::hours(1)})) {
        bench::prepare_books(*database_);
    }

    // Ids begin with the time, so each part is a while later than the one before.
    void fill(int cycles) {
        now_ = now_ + a_while;
        for (int done = 0; done < cycles;)
            database_->write([&](db::Transaction& tx) {
                for (int i = 0; i < cycles_of_write && done < cycles; ++i, ++done) {
                    bench::Cycle cycle = bench::any_cycle(random_);
                    now_.micros += 1000;
                    cycle.job = JobId::make(now_, bytes_);
                    for (int step = 0; step < bench::steps_of_cycle; ++step)
                        bench::run_step({tx, bytes_, now_}, cycle, step);
                }
            });
    }

    ledger::Report prove(const ledger::Verified* verified) {
        ledger::CheckOptions options;
        options.verified = verified;
        options.counts = verified == nullptr;
        options.now = now_ + a_while / 2;
        options.threads = database_->engine() == db::Engine::postgres ? threads_on_postgres : 1;
        ledger::Report report = ledger::check_ledger(*database_, options);
        if (!report.sound()) throw std::runtime_error(ledger::to_text(report));
        return report;
    }

    // Seconds of the proof of new transactions, when everything before them was verified.
    double prove_night(const ledger::Verified& verified) {
        fill(new_cycles);
        std::vector<double> took;
        for (int night = 0; night < nights; ++night)
            took.push_back(seconds_of([&] {
                const auto report = prove(&verified);
                check(report.looked_at == new_cycles * bench::steps_of_cycle,
                      "a night's proof looks at what is new");
            }));
        return *std::ranges::min_element(took);
    }

    double pass_bare() {
        return seconds_of(
            [&] { database_->read([](db::Transaction& tx) { tx.run(bare_pass_sql); }); });
    }

private:
    std::unique_ptr<db::Database> database_;
    std::mt19937_64 random_{7};
    SystemRandom bytes_;
    Time now_ = SystemClock{}.now();
};

void measure(int transactions, const std::string& url) {
    Books books(url);
    const int cycles = transactions / bench::steps_of_cycle;
    books.fill(cycles / part_of_history);
    const double early_night = books.prove_night(books.prove(nullptr).verified);
    books.fill(cycles - cycles / part_of_history);
    const double baseline = books.pass_bare();
    ledger::Report report;
    const double full = seconds_of([&] { report = books.prove(nullptr); });
    const double night = books.prove_night(report.verified);
    const auto count = static_cast<double>(report.looked_at);
    fmt::print("BENCH ledger_check ours={:.0f} baseline=bare-pass:{:.0f} ratio={:.2f}\n",
               count / full, count / baseline, baseline / full);
    fmt::print(
        "BENCH ledger_check_nightly ours={:.3f} baseline=history-of-a-fifth:{:.3f} "
        "ratio={:.2f}\n",
        night, early_night, early_night / night);
    fmt::print(stderr,
               "ledger_check: {:.0f} transactions in {:.1f} s; {} new ones on top in {:.3f} s\n",
               count, full, new_cycles * bench::steps_of_cycle, night);
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
