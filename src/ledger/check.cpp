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
    "SELECT job_id, renter_id, host_id, machine_id, asset, fee_bps, budget, charged, refunded, "
    "disputed, closed FROM ledger_jobs WHERE job_id > $1 ORDER BY job_id LIMIT $2";
constexpr std::string_view job_sums_sql =
    "SELECT kind, owner_id, party_id, machine_id, asset, CAST(SUM(amount) AS BIGINT) "
    "FROM ledger_entries WHERE job_id = $1 AND (kind = 'refund' "
    "OR pocket IN ('held', 'escrow', 'fee_income') "
    "OR kind IN ('host_earning', 'refund_host_reversal')) "
    "GROUP BY kind, owner_id, party_id, machine_id, asset";
constexpr std::string_view transfers_sql =
    "SELECT transfer_id, account_id, asset, amount, source, state FROM ledger_transfers "
    "WHERE transfer_id > $1 ORDER BY transfer_id LIMIT $2";
constexpr std::string_view disputes_sql =
    "SELECT dispute_id, host_id, asset, amount, job_id, closed FROM ledger_disputes "
    "WHERE dispute_id > $1 ORDER BY dispute_id LIMIT $2";
constexpr std::string_view evidence_sql =
    "SELECT t.reference, e.owner_id, e.asset, e.amount, e.job_id FROM ledger_transactions t "
    "JOIN ledger_entries e ON e.transaction_id = t.transaction_id "
    "WHERE t.reference IN ($1, $2, $3) AND e.pocket = $4 ORDER BY e.amount DESC";
constexpr std::string_view stray_transactions_sql =
    "SELECT t.transaction_id FROM ledger_transactions t WHERE NOT EXISTS (SELECT 1 "
    "FROM ledger_accounts a WHERE a.account_id = t.account_id AND a.asset = t.asset) LIMIT $1";
constexpr std::string_view stray_entries_sql =
    "SELECT e.transaction_id FROM ledger_entries e WHERE NOT EXISTS (SELECT 1 "
    "FROM ledger_transactions t WHERE t.transaction_id = e.transaction_id) LIMIT $1";
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

// Money that was put aside for a transfer or a dispute, and what must have been booked for it.
struct Aside {
    std::string what;
    Pocket pocket{};
    AccountId owner;
    std::string asset;
    Micro amount;
    std::optional<JobId> job;
    std::string begin;             // references
    std::array<std::string, 2> ends;  // the ways it may end
    std::optional<std::size_t> ended;  // which of them it took
};

class Checker {
public:
    explicit Checker(db::Transaction& tx) : tx_(tx) {}

    Report run() {
        check_accounts();
        check_jobs();
        check_transfers();
        check_disputes();
        check_counts();
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
        note_begin(header, entries);
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

    // What must have a row in ledger_jobs, ledger_transfers or ledger_disputes.
    void note_begin(const Header& header, const std::vector<Entry>& entries) {
        const bool of_job = !entries.empty() && entries[0].job.has_value();
        if (header.movement == Movement::hold && of_job &&
            header.reference == "hold:" + to_string(*entries[0].job))
            --jobs_extra_;
        if (header.movement == Movement::withdrawal_lock ||
            header.movement == Movement::payout_lock)
            --transfers_extra_;
        if (header.movement == Movement::dispute) --disputes_extra_;
    }

    void check_balances(const AccountRow& row) {
        if (row.account == platform) return;  // keeps no balances
        const auto add = [&](Pocket pocket, Micro balance) {
            pocket_totals_[static_cast<std::size_t>(row.asset)][static_cast<std::size_t>(pocket)] +=
                balance;
        };
        add(Pocket::available, row.balances.available);
        add(Pocket::held, row.balances.held);
        add(Pocket::payable, row.balances.payable);
        add(Pocket::escrow, row.balances.escrow);
        add(Pocket::reserved, row.balances.reserved);
        std::array<Micro, pocket_count> sums{};
        const auto pockets = tx_.run(pocket_sums_sql, row.account, name(row.asset));
        for (std::size_t i = 0; i < pockets.size(); ++i)
            if (const auto pocket = parse_pocket(pockets[i].get<std::string>(0)))
                sums[static_cast<std::size_t>(*pocket)] = pockets[i].get<Micro>(1);
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
            const auto kind = parse_kind(kinds[i].get<std::string>(0));
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
            std::vector<db::Transaction::Ticket> tickets;
            for (std::size_t i = 0; i < rows.size(); ++i)
                tickets.push_back(tx_.start(job_sums_sql, rows[i].get<JobId>(0)));
            for (std::size_t i = 0; i < rows.size(); ++i)
                check_job(rows[i], tx_.finish(tickets[i]));
            last = rows[rows.size() - 1].get<JobId>(0);
        }
    }

    void check_job(const db::Result::Row& row, const db::Result& sums) {
        ++jobs_extra_;
        const auto renter = row.get<AccountId>(1);
        const auto host = row.get<AccountId>(2);
        const auto machine = row.get<MachineId>(3);
        const Ratio fee_ratio{row.get<std::int64_t>(5), 10'000};
        std::array<Micro, kind_count> by_kind{};
        bool whole = true;
        for (std::size_t i = 0; i < sums.size(); ++i) {
            const auto kind = parse_kind(sums[i].get<std::string>(0));
            if (!kind) continue;  // told already, with its transaction
            const auto owner = sums[i].get<AccountId>(1);
            const auto party = sums[i].get<std::optional<AccountId>>(2);
            by_kind[static_cast<std::size_t>(*kind)] += sums[i].get<Micro>(5);
            whole = whole && sums[i].get<std::string>(4) == row.get<std::string>(4);
            if (*kind <= Kind::job_charge || *kind == Kind::refund)
                whole = whole && owner == renter;
            else if (owner != platform)
                whole = whole && owner == host;
            else
                whole = whole && party == host;
            if (party) whole = whole && sums[i].get<std::optional<MachineId>>(3) == machine;
        }
        const auto sum = [&](Kind kind) { return by_kind[static_cast<std::size_t>(kind)]; };
        const auto charged = row.get<Micro>(7);
        const auto refunded = row.get<Micro>(8);
        const Micro rest = row.get<bool>(10) ? row.get<Micro>(6) - charged : Micro{};
        whole = whole && sum(Kind::hold) == row.get<Micro>(6) &&
                sum(Kind::job_charge) == -charged && sum(Kind::hold_release) == -rest &&
                sum(Kind::platform_fee) == scale_floor(charged, fee_ratio) &&
                sum(Kind::refund) == refunded &&
                sum(Kind::refund_fee_reversal) == -scale_floor(refunded, fee_ratio) &&
                sum(Kind::dispute_hold) + sum(Kind::dispute_release) == row.get<Micro>(9);
        expect(whole, "job " + to_string(row.get<JobId>(0)) + ": is not what its entries say");
    }

    void check_transfers() {
        TransferId last;
        for (;;) {
            const auto rows = tx_.run(transfers_sql, last, page_rows);
            if (rows.empty()) return;
            std::vector<Aside> asides;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                last = rows[i].get<TransferId>(0);
                const auto source = rows[i].get<std::string>(4);
                const auto state = rows[i].get<std::string>(5);
                const std::string id = to_string(last);
                Aside aside{"transfer " + id, Pocket::reserved, rows[i].get<AccountId>(1),
                            rows[i].get<std::string>(2), rows[i].get<Micro>(3), std::nullopt,
                            source + "_lock:" + id,
                            {source + "_settle:" + id, source + "_return:" + id}, std::nullopt};
                if (state != "locked") aside.ended = state == "settled" ? 0 : 1;
                asides.push_back(std::move(aside));
            }
            transfers_extra_ += static_cast<std::int64_t>(rows.size());
            check_asides(asides);
        }
    }

    void check_disputes() {
        DisputeId last;
        for (;;) {
            const auto rows = tx_.run(disputes_sql, last, page_rows);
            if (rows.empty()) return;
            std::vector<Aside> asides;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                last = rows[i].get<DisputeId>(0);
                const std::string id = to_string(last);
                const std::string end = "dispute_end:" + id;
                Aside aside{"dispute " + id, Pocket::escrow, rows[i].get<AccountId>(1),
                            rows[i].get<std::string>(2), rows[i].get<Micro>(3),
                            rows[i].get<JobId>(4), "dispute:" + id, {end, end}, std::nullopt};
                if (rows[i].get<bool>(5)) aside.ended = 0;
                asides.push_back(std::move(aside));
            }
            disputes_extra_ += static_cast<std::int64_t>(rows.size());
            check_asides(asides);
        }
    }

    void check_asides(const std::vector<Aside>& asides) {
        std::vector<db::Transaction::Ticket> tickets;
        for (const Aside& aside : asides)
            tickets.push_back(tx_.start(evidence_sql, aside.begin, aside.ends[0], aside.ends[1],
                                        name(aside.pocket)));
        for (std::size_t i = 0; i < asides.size(); ++i) {
            const Aside& aside = asides[i];
            const auto rows = tx_.finish(tickets[i]);
            const auto is = [&](std::size_t row, const std::string& reference, Micro amount) {
                return rows[row].get<std::string>(0) == reference &&
                       rows[row].get<AccountId>(1) == aside.owner &&
                       rows[row].get<std::string>(2) == aside.asset &&
                       rows[row].get<Micro>(3) == amount &&
                       rows[row].get<std::optional<JobId>>(4) == aside.job;
            };
            const bool whole =
                rows.size() == (aside.ended ? 2U : 1U) && is(0, aside.begin, aside.amount) &&
                (!aside.ended || is(1, aside.ends[*aside.ended], -aside.amount));
            expect(whole, aside.what + ": is not what its entries say");
        }
    }

    // Nothing is there that was not looked at, and nothing that was looked at lacks its row.
    void check_counts() {
        if (count(count_transactions_sql) != report_.transactions) {
            fault("there are transactions that belong to no chain");
            name_strays(stray_transactions_sql, "transaction {}: its account is missing");
        }
        if (count(count_entries_sql) != report_.entries) {
            fault("there are entries that belong to no transaction");
            name_strays(stray_entries_sql, "transaction {}: is missing, and an entry of it is not");
        }
        expect(jobs_extra_ == 0, "there are not as many jobs as were begun");
        expect(transfers_extra_ == 0, "there are not as many transfers as were begun");
        expect(disputes_extra_ == 0, "there are not as many disputes as were begun");
    }

    void name_strays(std::string_view sql, fmt::format_string<std::string> text) {
        const auto rows = tx_.run(sql, faults_max);
        for (std::size_t i = 0; i < rows.size(); ++i)
            fault(fmt::format(text, to_string(rows[i].get<TransactionId>(0))));
    }

    void add_trial_balance() {
        const auto rows = tx_.run(trial_balance_sql);
        std::array<Micro, assets.size()> sums{};
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto asset = parse_asset(rows[i].get<std::string>(0));
            const auto pocket = parse_pocket(rows[i].get<std::string>(1));
            if (!asset || !pocket) continue;  // told already, with its transaction
            const TrialRow row{*asset, *pocket, rows[i].get<Micro>(2), rows[i].get<Micro>(3)};
            const auto place = static_cast<std::size_t>(*asset);
            sums[place] += row.credit - row.debit;
            pocket_totals_[place][static_cast<std::size_t>(*pocket)] -= row.credit - row.debit;
            report_.trial_balance.push_back(row);
        }
        for (const Asset asset : assets) {
            const auto place = static_cast<std::size_t>(asset);
            expect(sums[place] == Micro{},
                   fmt::format("the {} ledger does not sum to zero", name(asset)));
            for (std::size_t i = 0; i < customer_pocket_count; ++i)
                expect(pocket_totals_[place][i] == Micro{},
                       fmt::format("the {} accounts do not have all that is {}", name(asset),
                                   name(static_cast<Pocket>(i))));
        }
    }

    db::Transaction& tx_;
    Report report_;
    // Rows that are there less those that must be.
    std::int64_t jobs_extra_ = 0;
    std::int64_t transfers_extra_ = 0;
    std::int64_t disputes_extra_ = 0;
    // Of the accounts' rows; what entries say is taken off at the end.
    std::array<std::array<Micro, pocket_count>, assets.size()> pocket_totals_{};
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
