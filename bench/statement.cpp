// The first page of an account's statement: of one with a million entries, against one with a
// hundred.
#include <filesystem>

#include <fmt/format.h>

#include "base/log.hpp"
#include "bench/cycle.hpp"
#include "ledger/statement.hpp"

namespace {

using namespace berth;

constexpr int many = 1'000'000;
constexpr int few = 100;
constexpr int entries_of_write = 20'000;
constexpr std::int64_t page_rows = 20;
constexpr int rounds = 21;
constexpr int pages_of_round = 200;

// The rows of deposits, without the work of the ledger: a million of them in seconds.
constexpr std::string_view add_transaction_sql =
    "INSERT INTO ledger_transactions (transaction_id, account_id, asset, sequence, movement, "
    "reference, at, previous_hash, hash) VALUES ($1, $2, 'USDC', $3, 'deposit', $4, $5, $6, $6)";
constexpr std::string_view add_entry_sql =
    "INSERT INTO ledger_entries (transaction_id, ordinal, owner_id, asset, pocket, kind, amount) "
    "VALUES ($1, 2, $2, 'USDC', 'available', 'deposit', 1000000)";

// Entries of both accounts, those of the smaller one spread over the same time.
void fill(db::Database& database, AccountId large, AccountId small) {
    SystemRandom random;
    Time now = SystemClock{}.now();
    const Bytes hash(32, '\0');
    for (int done = 0; done < many;) {
        database.write([&](db::Transaction& tx) {
            for (int i = 0; i < entries_of_write; ++i, ++done) {
                now.micros += 1000;
                const bool rare = done % (many / few) == 0;
                for (const AccountId account : {large, small}) {
                    if (account == small && !rare) continue;
                    const auto id = ledger::TransactionId::make(now, random);
                    tx.start(add_transaction_sql, id, account, done + 1, to_string(id), now,
                             db::Blob{hash});
                    tx.start(add_entry_sql, id, account);
                }
            }
        });
    }
}

double pages_per_second(db::Database& database, AccountId account) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < pages_of_round; ++i) {
        const auto page = database.read([&](db::Transaction& tx) {
            return ledger::statement(tx, account, std::nullopt, page_rows);
        });
        check(page.size() == page_rows, "the first page is full");
    }
    const std::chrono::duration<double> span = std::chrono::steady_clock::now() - begin;
    return pages_of_round / span.count();
}

}  // namespace

int main() {
    set_log(Level::error);
    const bench::Folder folder;
    const auto database = db::open("sqlite:" + folder.path + "/statement.db");
    bench::prepare_books(*database);
    const AccountId large{bench::numbered_id(1'000'001)};
    const AccountId small{bench::numbered_id(1'000'002)};
    fill(*database, large, small);
    std::vector<double> ours;
    std::vector<double> baseline;
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(pages_per_second(*database, large));
        baseline.push_back(pages_per_second(*database, small));
    }
    fmt::print("BENCH statement ours={:.0f} baseline=100-entries:{:.0f} ratio={:.2f}\n",
               bench::median(ours), bench::median(baseline),
               bench::median(ours) / bench::median(baseline));
}
