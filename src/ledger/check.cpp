#include "ledger/check.hpp"

#include <fmt/format.h>

#include "ledger/rows.hpp"

namespace berth::ledger {
namespace {

constexpr std::int64_t page_rows = 500;

constexpr std::string_view accounts_sql =
    "SELECT account_id, asset, available, held, payable, escrow, reserved, earned, fees, paid, "
    "sequence, head FROM ledger_accounts WHERE (account_id, asset) > ($1, $2) "
    "ORDER BY account_id, asset LIMIT $3";
constexpr std::string_view first_accounts_sql =
    "SELECT account_id, asset, available, held, payable, escrow, reserved, earned, fees, paid, "
    "sequence, head FROM ledger_accounts ORDER BY account_id, asset LIMIT $1";
constexpr std::string_view transactions_sql =
    "SELECT transaction_id, sequence, movement, reference, at, previous_hash, hash "
    "FROM ledger_transactions WHERE account_id = $1 AND asset = $2 AND sequence > $3 "
    "ORDER BY sequence LIMIT $4";
constexpr std::string_view entries_sql =
    "SELECT ordinal, owner_id, asset, pocket, kind, amount, party_id, day, job_id, machine_id "
    "FROM ledger_entries WHERE transaction_id = $1 ORDER BY ordinal";
constexpr std::string_view count_transactions_sql = "SELECT COUNT(*) FROM ledger_transactions";
constexpr std::string_view count_entries_sql = "SELECT COUNT(*) FROM ledger_entries";
constexpr std::string_view pocket_sums_sql =
    "SELECT pocket, CAST(SUM(amount) AS BIGINT) FROM ledger_entries "
    "WHERE owner_id = $1 AND asset = $2 GROUP BY pocket";
constexpr std::string_view party_sums_sql =
    "SELECT kind, CAST(SUM(amount) AS BIGINT) FROM ledger_entries "
    "WHERE party_id = $1 AND asset = $2 GROUP BY kind";
constexpr std::string_view open_jobs_sql =
    "SELECT CAST(COALESCE(SUM(budget - charged), 0) AS BIGINT) FROM ledger_jobs "
    "WHERE renter_id = $1 AND asset = $2 AND closed = 0";
constexpr std::string_view open_transfers_sql =
    "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM ledger_transfers "
    "WHERE account_id = $1 AND asset = $2 AND state = 'locked'";
constexpr std::string_view open_disputes_sql =
    "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM ledger_disputes "
    "WHERE host_id = $1 AND asset = $2 AND closed = 0";
constexpr std::string_view jobs_sql =
    "SELECT job_id, budget, charged, refunded, disputed, closed FROM ledger_jobs "
    "WHERE job_id > $1 ORDER BY job_id LIMIT $2";
constexpr std::string_view job_sums_sql =
    "SELECT kind, CAST(SUM(amount) AS BIGINT) FROM ledger_entries WHERE job_id = $1 AND "
    "(pocket = 'held' OR kind = 'refund' OR pocket = 'escrow') GROUP BY kind";
constexpr std::string_view trial_balance_sql =
    "SELECT asset, pocket, "
    "CAST(SUM(CASE WHEN amount < 0 THEN -amount ELSE 0 END) AS BIGINT), "
    "CAST(SUM(CASE WHEN amount > 0 THEN amount ELSE 0 END) AS BIGINT) "
    "FROM ledger_entries GROUP BY asset, pocket ORDER BY asset, pocket";

struct AccountRow {
    AccountId account;
    Asset asset{};
    Balances balances;
    std::int64_t sequence = 0;
    Bytes head;

    std::string name() const {
        return fmt::format("account {} {}", to_string(account), ledger::name(asset));
    }
};

class Checker {
public:
    explicit Checker(db::Transaction& tx) : tx_(tx) {}

    Report run() {
        check_accounts();
        check_jobs();
        expect(count(count_transactions_sql) == report_.transactions,
               "there are transactions that belong to no chain");
        expect(count(count_entries_sql) == report_.entries,
               "there are entries that belong to no transaction");
        add_trial_balance();
        return std::move(report_);
    }

private:
    void fault(std::string text) { report_.add(std::move(text)); }
    void expect(bool holds, std::string text) {
        if (!holds) fault(std::move(text));
    }
    void expect_equal(const AccountRow& row, std::string_view what, Micro stored, Micro computed) {
        if (stored == computed) return;
        fault(fmt::format("{}: {} is {}, its rows say {}", row.name(), what, stored.value,
                          computed.value));
    }

    std::int64_t count(std::string_view sql) { return tx_.run(sql)[0].get<std::int64_t>(0); }

    static AccountRow read_account(const db::Result::Row& row) {
        return {row.get<AccountId>(0),
                get_asset(row, 1),
                {row.get<Micro>(2), row.get<Micro>(3), row.get<Micro>(4), row.get<Micro>(5),
                 row.get<Micro>(6), row.get<Micro>(7), row.get<Micro>(8), row.get<Micro>(9)},
                row.get<std::int64_t>(10),
                row.get<Bytes>(11)};
    }

    void check_accounts() {
        db::Result rows = tx_.run(first_accounts_sql, page_rows);
        while (!rows.empty()) {
            AccountRow row;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                row = read_account(rows[i]);
                check_chain(row);
                check_balances(row);
                ++report_.accounts;
            }
            rows = tx_.run(accounts_sql, row.account, name(row.asset), page_rows);
        }
    }

    void check_chain(const AccountRow& account) {
        Bytes head(hash_bytes, '\0');
        std::int64_t sequence = 0;
        for (;;) {
            const auto rows = tx_.run(transactions_sql, account.account, name(account.asset),
                                      sequence, page_rows);
            if (rows.empty()) break;
            std::vector<db::Transaction::Ticket> tickets;
            for (std::size_t i = 0; i < rows.size(); ++i)
                tickets.push_back(tx_.start(entries_sql, rows[i].get<TransactionId>(0)));
            for (std::size_t i = 0; i < rows.size(); ++i) {
                check_transaction(account, rows[i], tx_.finish(tickets[i]), sequence + 1, head);
                sequence = rows[i].get<std::int64_t>(1);
                head = rows[i].get<Bytes>(6);
            }
        }
        expect(sequence == account.sequence && head == account.head,
               account.name() + ": the end of its chain is missing");
    }

    void check_transaction(const AccountRow& account, const db::Result::Row& row,
                           const db::Result& entry_rows, std::int64_t sequence,
                           const Bytes& previous) {
        ++report_.transactions;
        report_.entries += static_cast<std::int64_t>(entry_rows.size());
        Header header;
        header.id = row.get<TransactionId>(0);
        header.shard = account.account;
        header.asset = account.asset;
        header.sequence = row.get<std::int64_t>(1);
        header.reference = row.get<std::string>(3);
        header.at = row.get<Time>(4);
        const std::string what = "transaction " + to_string(header.id);
        expect(header.sequence == sequence, what + ": the one before it is missing");
        const auto movement = parse_movement(row.get<std::string>(2));
        if (!movement) return fault(what + ": is no movement that is allowed");
        header.movement = *movement;
        const std::vector<Entry> entries = read_entries(header, entry_rows, what);
        check_legs(header, entries, what);
        expect(row.get<Bytes>(5) == previous, what + ": does not follow the one before it");
        expect(row.get<Bytes>(6) == chain_hash(previous, header, entries),
               what + ": its rows are not what was written");
    }

    std::vector<Entry> read_entries(const Header& header, const db::Result& rows,
                                    const std::string& what) {
        std::vector<Entry> entries;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto row = rows[i];
            Entry entry;
            entry.transaction = header.id;
            entry.ordinal = row.get<std::int64_t>(0);
            entry.owner = row.get<AccountId>(1);
            const auto pocket = parse_pocket(row.get<std::string>(3));
            const auto kind = parse_kind(row.get<std::string>(4));
            if (!pocket || !kind || row.get<std::string>(2) != name(header.asset)) {
                fault(what + ": an entry has an unknown pocket, kind or asset");
                continue;
            }
            entry.pocket = *pocket;
            entry.kind = *kind;
            entry.amount = row.get<Micro>(5);
            entry.party = row.get<std::optional<AccountId>>(6);
            const std::optional<std::int64_t> day =
                entry.party ? std::optional(day_of(header.at)) : std::nullopt;
            expect(row.get<std::optional<std::int64_t>>(7) == day, what + ": counts on another day");
            entry.job = row.get<std::optional<JobId>>(8);
            entry.machine = row.get<std::optional<MachineId>>(9);
            entries.push_back(std::move(entry));
        }
        return entries;
    }

    // Each entry is one of the movement's legs, in order; legs of amount zero are left out.
    void check_legs(const Header& header, const std::vector<Entry>& entries,
                    const std::string& what) {
        const auto plan = legs(header.movement);
        std::size_t next = 0;
        Micro sum;
        for (const Entry& entry : entries) {
            const auto fits = [&](const Leg& leg) {
                return leg.kind == entry.kind && leg.pocket == entry.pocket &&
                       (leg.side == Side::credit) == (entry.amount > Micro{});
            };
            while (next < plan.size() && !fits(plan[next])) ++next;
            if (next++ >= plan.size())
                fault(what + ": has an entry that its movement does not allow");
            expect((entry.owner == platform) != of_customer(entry.pocket),
                   what + ": a pocket has the wrong owner");
            sum += entry.amount;
        }
        expect(sum == Micro{}, what + ": does not sum to zero");
        expect(!entries.empty(), what + ": has no entries");
    }

    void check_balances(const AccountRow& row) {
        if (row.account == platform) return;  // keeps no balances
        std::array<Micro, pocket_count> sums{};
        const auto pockets = tx_.run(pocket_sums_sql, row.account, name(row.asset));
        for (std::size_t i = 0; i < pockets.size(); ++i)
            sums[static_cast<std::size_t>(get_pocket(pockets[i], 0))] = pockets[i].get<Micro>(1);
        const auto sum = [&](Pocket pocket) { return sums[static_cast<std::size_t>(pocket)]; };
        expect_equal(row, "available", row.balances.available, sum(Pocket::available));
        expect_equal(row, "held", row.balances.held, sum(Pocket::held));
        expect_equal(row, "payable", row.balances.payable, sum(Pocket::payable));
        expect_equal(row, "escrow", row.balances.escrow, sum(Pocket::escrow));
        expect_equal(row, "reserved", row.balances.reserved, sum(Pocket::reserved));
        const auto total = [&](std::string_view sql) {
            return tx_.run(sql, row.account, name(row.asset))[0].get<Micro>(0);
        };
        expect_equal(row, "held by open jobs", row.balances.held, total(open_jobs_sql));
        expect_equal(row, "reserved by open transfers", row.balances.reserved,
                     total(open_transfers_sql));
        expect_equal(row, "escrow of open disputes", row.balances.escrow, total(open_disputes_sql));
        check_totals(row);
    }

    void check_totals(const AccountRow& row) {
        Micro earned;
        Micro fees;
        Micro paid;
        const auto kinds = tx_.run(party_sums_sql, row.account, name(row.asset));
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            const auto sum = kinds[i].get<Micro>(1);
            const Kind kind = get_kind(kinds[i], 0);
            if (kind == Kind::host_earning || kind == Kind::refund_host_reversal) earned += sum;
            if (kind == Kind::platform_fee || kind == Kind::refund_fee_reversal) fees += sum;
            if (kind == Kind::payout_settled) paid -= sum;
        }
        expect_equal(row, "earned", row.balances.earned, earned);
        expect_equal(row, "fees", row.balances.fees, fees);
        expect_equal(row, "paid", row.balances.paid, paid);
    }

    void check_jobs() {
        JobId last;
        for (;;) {
            const auto rows = tx_.run(jobs_sql, last, page_rows);
            if (rows.empty()) return;
            for (std::size_t i = 0; i < rows.size(); ++i) check_job(rows[i]);
            last = rows[rows.size() - 1].get<JobId>(0);
        }
    }

    void check_job(const db::Result::Row& row) {
        const auto job = row.get<JobId>(0);
        Micro held;
        Micro charged;
        Micro released;
        Micro refunded;
        Micro disputed;
        const auto kinds = tx_.run(job_sums_sql, job);
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            const auto sum = kinds[i].get<Micro>(1);
            switch (get_kind(kinds[i], 0)) {
                case Kind::hold: held += sum; break;
                case Kind::job_charge: charged -= sum; break;
                case Kind::hold_release: released -= sum; break;
                case Kind::refund: refunded += sum; break;
                default: disputed += sum; break;
            }
        }
        const bool closed = row.get<bool>(5);
        const bool whole = held == row.get<Micro>(1) && charged == row.get<Micro>(2) &&
                           refunded == row.get<Micro>(3) && disputed == row.get<Micro>(4) &&
                           released == (closed ? held - charged : Micro{});
        expect(whole, "job " + to_string(job) + ": its amounts are not those of its entries");
    }

    void add_trial_balance() {
        const auto rows = tx_.run(trial_balance_sql);
        std::array<Micro, assets.size()> sums{};
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const TrialRow row{get_asset(rows[i], 0), get_pocket(rows[i], 1), rows[i].get<Micro>(2),
                               rows[i].get<Micro>(3)};
            sums[static_cast<std::size_t>(row.asset)] += row.credit - row.debit;
            report_.trial_balance.push_back(row);
        }
        for (const Asset asset : assets)
            expect(sums[static_cast<std::size_t>(asset)] == Micro{},
                   fmt::format("the {} ledger does not sum to zero", name(asset)));
    }

    db::Transaction& tx_;
    Report report_;
};

}  // namespace

Report check_ledger(db::Transaction& tx) { return Checker(tx).run(); }

std::string to_text(const Report& report) {
    std::string text = fmt::format("{:<6}{:<12}{:>22}{:>22}{:>22}\n", "asset", "pocket", "debit",
                                   "credit", "balance");
    for (const TrialRow& row : report.trial_balance)
        text += fmt::format("{:<6}{:<12}{:>22}{:>22}{:>22}\n", name(row.asset), name(row.pocket),
                            row.debit.value, row.credit.value, (row.credit - row.debit).value);
    for (const std::string& fault : report.faults) text += fault + "\n";
    if (report.fault_count > static_cast<std::int64_t>(report.faults.size()))
        text += "and more\n";
    text += fmt::format("{} accounts, {} transactions, {} entries, {} faults: {}\n", report.accounts,
                        report.transactions, report.entries, report.fault_count,
                        report.sound() ? "sound" : "NOT SOUND");
    return text;
}

}  // namespace berth::ledger
