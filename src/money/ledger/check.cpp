#include "ledger/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "ledger/days.hpp"
#include "ledger/maturing.hpp"
#include "ledger/promises.hpp"
#include "ledger/settings.hpp"
#include "ledger/walk.hpp"

namespace berth::ledger {
namespace {

constexpr std::int64_t page_rows = 500;
constexpr std::size_t accounts_per_walk = 500;
// A row may say when it was made a while before its transaction was committed.
constexpr Duration late_max = std::chrono::hours(1);

struct AccountColumns {
    AccountId account_id;
    Asset asset{};
    Micro available;
    Micro held;
    Micro payable;
    Micro escrow;
    Micro reserved;
    Micro earned;
    Micro fees;
    Micro paid;
    Micro repaid;
    std::int64_t sequence = 0;
    Bytes head;
    std::int64_t entries = 0;
};
BOOST_DESCRIBE_STRUCT(AccountColumns, (),
                      (account_id, asset, available, held, payable, escrow, reserved, earned, fees,
                       paid, repaid, sequence, head, entries))
const db::Query<AccountColumns> accounts_sql(
    "SELECT {} FROM ledger_accounts WHERE (account_id, asset) > ($1, $2) "
    "ORDER BY account_id, asset LIMIT $3");
constexpr std::string_view count_transactions_sql = "SELECT COUNT(*) FROM ledger_transactions";
constexpr std::string_view count_entries_sql = "SELECT COUNT(*) FROM ledger_entries";
constexpr std::string_view stray_transactions_sql =
    "SELECT t.transaction_id FROM ledger_transactions t WHERE NOT EXISTS (SELECT 1 "
    "FROM ledger_accounts a WHERE a.account_id = t.account_id AND a.asset = t.asset "
    "AND t.sequence > 0 AND t.sequence <= a.sequence) AND t.transaction_id >= $1 LIMIT $2";
constexpr std::string_view stray_entries_sql =
    "SELECT e.transaction_id FROM ledger_entries e WHERE NOT EXISTS (SELECT 1 "
    "FROM ledger_transactions t WHERE t.transaction_id = e.transaction_id) "
    "AND e.transaction_id >= $1 LIMIT $2";
constexpr std::string_view new_jobs_sql = "SELECT job_id FROM ledger_jobs WHERE job_id >= $1";
constexpr std::string_view new_transfers_sql =
    "SELECT transfer_id FROM ledger_transfers WHERE transfer_id >= $1";
constexpr std::string_view new_disputes_sql =
    "SELECT dispute_id FROM ledger_disputes WHERE dispute_id >= $1";

// Ids begin with the time they were made at: no later one is below.
Uuid first_uuid(Time at) {
    constexpr std::int64_t micros_per_milli = 1000;
    Uuid uuid{};
    const auto millis =
        static_cast<std::uint64_t>(std::max<std::int64_t>(at.micros / micros_per_milli, 0));
    for (std::size_t i = 0; i < 6; ++i)
        uuid.bytes[i] = static_cast<char>((millis >> (40 - 8 * i)) & 0xFF);
    return uuid;
}

template <class SomeId>
void add_ids(db::Transaction& tx, std::string_view sql, const Uuid& first,
             std::unordered_set<SomeId>& ids) {
    for (const SomeId id : tx.fetch_values<SomeId>(sql, first)) ids.insert(id);
}

std::vector<AccountRow> read_accounts(db::Transaction& tx) {
    std::vector<AccountRow> accounts;
    for (;;) {
        const AccountKey last = accounts.empty() ? AccountKey{} : accounts.back().key;
        auto rows = tx.fetch(accounts_sql, last.account,
                             accounts.empty() ? std::string_view{} : name(last.asset), page_rows);
        if (rows.empty()) return accounts;
        for (AccountColumns& row : rows)
            accounts.push_back({.key = {row.account_id, row.asset},
                                .balances = {.available = row.available,
                                             .held = row.held,
                                             .payable = row.payable,
                                             .escrow = row.escrow,
                                             .reserved = row.reserved,
                                             .earned = row.earned,
                                             .fees = row.fees,
                                             .paid = row.paid,
                                             .repaid = row.repaid},
                                .sequence = row.sequence,
                                .head = std::move(row.head),
                                .entries = row.entries});
    }
}

// Runs the work in as many views of the database at once. The first failure is thrown.
template <class Work>
void run_with_threads(db::Database& database, int count, const Work& work) {
    std::mutex mutex;
    std::exception_ptr failure;
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&] {
            try {
                database.read(work);
            } catch (...) {
                const std::lock_guard lock(mutex);
                failure = std::current_exception();
            }
        });
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

class Checker {
public:
    Checker(db::Transaction& tx, const CheckOptions& options) : tx_(tx), options_(options) {}

    // The accounts' rows come first: what is walked afterwards goes up to the ends they name, also
    // when other views of the database know of more by then.
    Report run(db::Database* database) {
        const std::vector<AccountRow> accounts = read_accounts(tx_);
        Tally tally = walk(database, accounts);
        report_ = std::move(tally.report);
        report_.looked_at = tally.totals.transactions;
        report_.accounts = static_cast<std::int64_t>(accounts.size());
        if (options_.verified != nullptr) tally.totals.add(options_.verified->totals);
        check_balances(accounts, tally);
        if (options_.verified != nullptr) add_new_rows(tally);
        check_promises(database, options_.verified != nullptr ? &tally : nullptr);
        check_open_promises(tx_, accounts, report_);
        if (counts()) check_promise_counts(tx_, tally.totals, report_);
        check_counts(tally.totals);
        check_witnesses(tally.totals);
        // Nobody is paid by days, so it is enough to add them up with everything else. What matures
        // decides what a host is paid: it is looked at every time.
        if (options_.verified == nullptr)
            for (std::string& wrong : find_wrong_days(tx_, faults_max))
                report_.add(std::move(wrong));
        for (std::string& wrong : find_wrong_maturing(tx_, faults_max, first_maturing()))
            report_.add(std::move(wrong));
        report_.verified.as_of = options_.now;
        report_.verified.totals = tally.totals;
        return std::move(report_);
    }

private:
    bool counts() const { return options_.verified == nullptr || options_.counts; }
    std::optional<Time> since() const {
        if (options_.verified == nullptr) return std::nullopt;
        return options_.verified->as_of - late_max;
    }

    // What was posted before this and was verified has matured, whatever delay it was quoted with.
    Uuid first_maturing() const {
        static_assert(credit_delay_hours <= payout_delay_hours_max);
        if (options_.verified == nullptr) return {};
        const Time oldest = options_.now - std::chrono::hours(payout_delay_hours_max) - late_max;
        return first_uuid(std::min(since().value(), oldest));
    }

    // Also those that nothing was posted for.
    void add_new_rows(Tally& tally) {
        const Uuid first = first_uuid(since().value());
        add_ids(tx_, new_jobs_sql, first, tally.jobs);
        add_ids(tx_, new_transfers_sql, first, tally.transfers);
        add_ids(tx_, new_disputes_sql, first, tally.disputes);
    }

    // In our own view, or in several others at once.
    template <class Work>
    void share(db::Database* database, const Work& work) {
        if (database != nullptr && options_.threads > 1)
            run_with_threads(*database, options_.threads, work);
        else
            work(tx_);
    }

    // Each walker has a part of the accounts after the other.
    Tally walk(db::Database* database, std::span<const AccountRow> accounts) {
        std::atomic<std::size_t> next = 0;
        std::mutex mutex;
        Tally tally;
        share(database, [&](db::Transaction& tx) {
            Walker walker(tx, options_.witnesses);
            for (std::size_t first = next.fetch_add(accounts_per_walk); first < accounts.size();
                 first = next.fetch_add(accounts_per_walk))
                walker.walk(
                    accounts.subspan(first, std::min(accounts_per_walk, accounts.size() - first)),
                    options_.verified);
            const std::lock_guard lock(mutex);
            tally.add(walker.take());
        });
        return tally;
    }

    void check_promises(db::Database* database, const Tally* news) {
        PromisedRows rows(news);
        std::mutex mutex;
        share(database, [&](db::Transaction& tx) {
            Report part;
            rows.check(tx, part);
            const std::lock_guard lock(mutex);
            report_.add(std::move(part));
        });
    }

    void expect_equal(const AccountRow& row, std::string_view what, Micro stored, Micro computed) {
        if (stored == computed) return;
        report_.add(fmt::format("{}: {} is {}, its rows say {}", row.name(), what, stored.value,
                                computed.value));
    }

    // What was verified, and what has come since, is what the row says. The platform's row has a
    // chain and no balances, and no entry may give it one.
    void check_balances(const std::vector<AccountRow>& accounts, Tally& tally) {
        std::size_t known = 0;
        for (const AccountRow& row : accounts) {
            Balances sum;
            std::int64_t entries_before = 0;
            if (const auto change = tally.changes.find(row.key); change != tally.changes.end()) {
                sum = change->second;
                tally.changes.erase(change);
            }
            if (options_.verified != nullptr)
                if (const auto before = options_.verified->accounts.find(row.key);
                    before != options_.verified->accounts.end()) {
                    add(sum, before->second.balances);
                    entries_before = before->second.entries;
                    ++known;
                }
            expect_equal(row, "available", row.balances.available, sum.available);
            expect_equal(row, "held", row.balances.held, sum.held);
            expect_equal(row, "payable", row.balances.payable, sum.payable);
            expect_equal(row, "escrow", row.balances.escrow, sum.escrow);
            expect_equal(row, "reserved", row.balances.reserved, sum.reserved);
            expect_equal(row, "earned", row.balances.earned, sum.earned);
            expect_equal(row, "fees", row.balances.fees, sum.fees);
            expect_equal(row, "paid", row.balances.paid, sum.paid);
            expect_equal(row, "repaid", row.balances.repaid, sum.repaid);
            check_places(row, tally.places[row.key], entries_before);
            report_.verified.accounts[row.key] = {row.sequence, row.head, row.balances,
                                                  row.entries};
        }
        for (const auto& [key, change] : tally.changes)
            report_.add(AccountRow{key, {}, 0, {}}.name() + ": its row is missing");
        if (options_.verified != nullptr && known < options_.verified->accounts.size())
            report_.add("there are accounts no more that were verified before");
    }

    // No two entries of an owner have one place (an index sees to it): when there are as many as
    // the row says, and none is beyond it, a statement shows each of them once.
    void check_places(const AccountRow& row, const Places& seen, std::int64_t before) {
        report_.expect(seen.entries + before == row.entries && seen.last <= row.entries,
                       row.name() + ": a statement does not show every entry");
    }

    // Nothing is there that was not looked at, now or before.
    void check_counts(const Totals& totals) {
        if (!counts()) {
            name_strays(first_uuid(since().value()));
        } else if (count(count_transactions_sql) != totals.transactions) {
            report_.add("there are not as many transactions as the chains have");
            name_strays({});
        } else if (count(count_entries_sql) != totals.entries) {
            report_.add("there are not as many entries as the transactions have");
            name_strays({});
        }
        for (const Asset asset : assets) {
            Micro sum;
            for (int i = 0; i < pocket_count; ++i)
                sum += totals.balance(asset, static_cast<Pocket>(i));
            report_.expect(sum == Micro{},
                           fmt::format("the {} ledger does not sum to zero", name(asset)));
        }
    }

    std::int64_t count(std::string_view sql) { return tx_.fetch_value<std::int64_t>(sql).value(); }

    void name_strays(const Uuid& first) {
        const auto name = [&](std::string_view sql, std::string_view fault) {
            for (const TransactionId id : tx_.fetch_values<TransactionId>(sql, first, faults_max))
                report_.expect(false, "transaction", id, fault);
        };
        name(stray_transactions_sql, ": is in no account's chain");
        name(stray_entries_sql, ": is missing, and an entry of it is not");
    }

    void check_witnesses(const Totals& totals) {
        for (const Witness* witness : options_.witnesses)
            witness->check_rows(tx_, {totals, since(), counts()}, report_);
    }

    db::Transaction& tx_;
    const CheckOptions& options_;
    Report report_;
};

}  // namespace

Report check_ledger(db::Database& database, const CheckOptions& options) {
    return database.read([&](db::Transaction& tx) { return Checker(tx, options).run(&database); });
}

Report check_ledger(db::Transaction& tx, const CheckOptions& options) {
    return Checker(tx, options).run(nullptr);
}

}  // namespace berth::ledger
