// The first page of an account's statement: of one with a million entries, against one with a
// hundred, which lie scattered among those of the other. On SQLite and, as statement_pg, on
// PostgreSQL, with statistics.
#include <filesystem>

#include <fmt/format.h>

#include "base/log.hpp"
#include "bench/cycle.hpp"
#include "ledger/statement.hpp"
#include "support/postgres_cluster.hpp"

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
    "INSERT INTO ledger_entries (transaction_id, ordinal, owner_id, asset, pocket, kind, amount, "
    "place) VALUES ($1, 2, $2, 'USDC', 'available', 'deposit', 1000000, $3)";

// The same, where the engine can do it alone; $1 and $2 are the accounts.
constexpr std::string_view series_sql =
    "WITH rows AS (SELECT i, CAST('f' || lpad(to_hex(i), 31, '0') AS UUID) AS id, "
    "CASE WHEN i % 10001 = 0 THEN $2 ELSE $1 END AS owner FROM generate_series(1, 1000100) AS i), "
    "added AS (INSERT INTO ledger_transactions (transaction_id, account_id, asset, sequence, "
    "movement, reference, at, previous_hash, hash) SELECT id, owner, 'USDC', i, 'deposit', "
    "'bench:' || i, i, '', '' FROM rows) "
    "INSERT INTO ledger_entries (transaction_id, ordinal, owner_id, asset, pocket, kind, amount, "
    "place) SELECT id, 2, owner, 'USDC', 'available', 'deposit', 1000000, i FROM rows";

struct Accounts {
    AccountId large;
    AccountId small;
};

// Entries of both accounts, those of the smaller one spread over the same time.
void fill(db::Database& database, const Accounts& accounts) {
    SystemRandom random;
    Time now = SystemClock{}.now();
    const Bytes hash(32, '\0');
    for (int done = 0; done < many;) {
        database.write([&](db::Transaction& tx) {
            for (int i = 0; i < entries_of_write; ++i, ++done) {
                now.micros += 1000;
                const bool rare = done % (many / few) == 0;
                for (const AccountId account : {accounts.large, accounts.small}) {
                    if (account == accounts.small && !rare) continue;
                    const auto id = ledger::TransactionId::make(now, random);
                    tx.start(add_transaction_sql, id, account, done + 1, to_string(id), now,
                             db::Blob{hash});
                    tx.start(add_entry_sql, id, account, done + 1);
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

void compare(std::string_view name, db::Database& database, const Accounts& accounts) {
    std::vector<double> ours;
    std::vector<double> baseline;
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(pages_per_second(database, accounts.large));
        baseline.push_back(pages_per_second(database, accounts.small));
    }
    bench::print(name, ours, "100-entries", baseline);
}

void measure() {
    const Accounts accounts{{bench::numbered_id(1'000'001)}, {bench::numbered_id(1'000'002)}};
    {
        const bench::Folder folder;
        const auto database = db::open("sqlite:" + folder.path + "/statement.db");
        bench::prepare_books(*database);
        fill(*database, accounts);
        compare("statement", *database, accounts);
    }
    const test::PostgresCluster cluster("fsync = off");  // nothing that is measured here writes
    const auto database = db::open(cluster.url(), {.statement_max = std::chrono::minutes(5)});
    bench::prepare_books(*database);
    database->write([&](db::Transaction& tx) {
        tx.run(series_sql, accounts.large, accounts.small);
        tx.script("ANALYZE");
    });
    compare("statement_pg", *database, accounts);
}

}  // namespace

int main() { return bench::run("statement", measure); }
