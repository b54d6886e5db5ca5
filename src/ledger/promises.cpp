#include "ledger/promises.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/problem.hpp"
#include "ledger/rows.hpp"

namespace berth::ledger {
namespace {

constexpr std::int64_t page_rows = 500;
constexpr std::int64_t ms_per_hour = 3'600'000;

constexpr std::string_view open_jobs_sql =
    "SELECT renter_id, asset, CAST(SUM(budget - charged) AS BIGINT) FROM ledger_jobs "
    "WHERE closed = 0 GROUP BY renter_id, asset";
constexpr std::string_view open_transfers_sql =
    "SELECT account_id, asset, CAST(SUM(amount) AS BIGINT) FROM ledger_transfers "
    "WHERE state = 'locked' GROUP BY account_id, asset";
constexpr std::string_view open_disputes_sql =
    "SELECT host_id, asset, CAST(SUM(amount) AS BIGINT) FROM ledger_disputes "
    "WHERE closed = 0 GROUP BY host_id, asset";
constexpr std::string_view count_jobs_sql = "SELECT COUNT(*) FROM ledger_jobs";
constexpr std::string_view count_transfers_sql = "SELECT COUNT(*) FROM ledger_transfers";
constexpr std::string_view count_disputes_sql = "SELECT COUNT(*) FROM ledger_disputes";

constexpr std::string_view jobs_sql =
    "SELECT job_id, renter_id, host_id, machine_id, asset, fee_bps, budget, charged, refunded, "
    "disputed, closed, rate_per_hour, runtime_ms FROM ledger_jobs "
    "WHERE job_id > $1 ORDER BY job_id LIMIT $2";
constexpr std::string_view job_sql =
    "SELECT job_id, renter_id, host_id, machine_id, asset, fee_bps, budget, charged, refunded, "
    "disputed, closed, rate_per_hour, runtime_ms FROM ledger_jobs WHERE job_id = $1";
constexpr std::string_view job_sums_sql =
    "SELECT kind, owner_id, party_id, machine_id, asset, CAST(SUM(amount) AS BIGINT) "
    "FROM ledger_entries WHERE job_id = $1 AND (kind = 'refund' "
    "OR pocket IN ('held', 'escrow', 'fee_income') "
    "OR kind IN ('host_earning', 'refund_host_reversal')) "
    "GROUP BY kind, owner_id, party_id, machine_id, asset";
constexpr std::string_view transfers_sql =
    "SELECT transfer_id, account_id, asset, amount, source, state FROM ledger_transfers "
    "WHERE transfer_id > $1 ORDER BY transfer_id LIMIT $2";
constexpr std::string_view transfer_sql =
    "SELECT transfer_id, account_id, asset, amount, source, state FROM ledger_transfers "
    "WHERE transfer_id = $1";
constexpr std::string_view disputes_sql =
    "SELECT dispute_id, host_id, asset, amount, job_id, closed FROM ledger_disputes "
    "WHERE dispute_id > $1 ORDER BY dispute_id LIMIT $2";
constexpr std::string_view dispute_sql =
    "SELECT dispute_id, host_id, asset, amount, job_id, closed FROM ledger_disputes "
    "WHERE dispute_id = $1";
constexpr std::string_view evidence_sql =
    "SELECT t.reference, e.owner_id, e.asset, e.amount, e.job_id FROM ledger_transactions t "
    "JOIN ledger_entries e ON e.transaction_id = t.transaction_id "
    "WHERE t.reference IN ($1, $2, $3) AND e.pocket = $4 ORDER BY e.amount DESC";

// Money that was put aside for a transfer or a dispute, and what must have been booked for it.
struct Aside {
    std::string what;
    Pocket pocket{};
    AccountId owner;
    std::string asset;
    Micro amount;
    std::optional<JobId> job;
    std::string begin;                 // references
    std::array<std::string, 2> ends;   // the ways it may end
    std::optional<std::size_t> ended;  // which of them it took
};

Aside read_transfer(const db::Result::Row& row) {
    const std::string id = to_string(row.get<TransferId>(0));
    const auto source = row.get<std::string>(4);
    const auto state = row.get<std::string>(5);
    Aside aside{"transfer " + id,
                Pocket::reserved,
                row.get<AccountId>(1),
                row.get<std::string>(2),
                row.get<Micro>(3),
                std::nullopt,
                source + "_lock:" + id,
                {source + "_settle:" + id, source + "_return:" + id},
                std::nullopt};
    if (state != "locked") aside.ended = state == "settled" ? 0 : 1;
    return aside;
}

Aside read_dispute(const db::Result::Row& row) {
    const std::string id = to_string(row.get<DisputeId>(0));
    const std::string end = "dispute_end:" + id;
    Aside aside{"dispute " + id,  Pocket::escrow,    row.get<AccountId>(1), row.get<std::string>(2),
                row.get<Micro>(3), row.get<JobId>(4), "dispute:" + id,       {end, end},
                std::nullopt};
    if (row.get<bool>(5)) aside.ended = 0;
    return aside;
}

class Promises {
public:
    Promises(db::Transaction& tx, Report& report) : tx_(tx), report_(report) {}

    void check_open(std::span<const AccountRow> accounts) {
        Changes open;
        add_open(open_jobs_sql, &Balances::held, open);
        add_open(open_transfers_sql, &Balances::reserved, open);
        add_open(open_disputes_sql, &Balances::escrow, open);
        for (const AccountRow& row : accounts) {
            const Balances& promised = open[row.key];
            expect_equal(row, "held by open jobs", row.balances.held, promised.held);
            expect_equal(row, "reserved by open transfers", row.balances.reserved,
                         promised.reserved);
            expect_equal(row, "escrow of open disputes", row.balances.escrow, promised.escrow);
            open.erase(row.key);
        }
        for (const auto& [key, promised] : open)
            report_.add(AccountRow{key, {}, 0, {}}.name() + ": money is promised that it has not");
    }

    // As many rows as were begun.
    void check_counts(const Totals& totals) {
        const auto count = [&](std::string_view sql) {
            return tx_.run(sql)[0].get<std::int64_t>(0);
        };
        report_.expect(count(count_jobs_sql) == totals.jobs,
                       "there are not as many jobs as were begun");
        report_.expect(count(count_transfers_sql) == totals.transfers,
                       "there are not as many transfers as were begun");
        report_.expect(count(count_disputes_sql) == totals.disputes,
                       "there are not as many disputes as were begun");
    }

    void check_all() {
        each_page<JobId>(jobs_sql, [&](const db::Result& rows) { check_jobs(rows); });
        each_page<TransferId>(transfers_sql, [&](const db::Result& rows) {
            check_asides(rows, read_transfer);
        });
        each_page<DisputeId>(disputes_sql, [&](const db::Result& rows) {
            check_asides(rows, read_dispute);
        });
    }

    void check_these(const Tally& news) {
        each_of(news.jobs, job_sql, "job", [&](const db::Result& rows) { check_jobs(rows); });
        each_of(news.transfers, transfer_sql, "transfer", [&](const db::Result& rows) {
            check_asides(rows, read_transfer);
        });
        each_of(news.disputes, dispute_sql, "dispute", [&](const db::Result& rows) {
            check_asides(rows, read_dispute);
        });
    }

private:
    void expect_equal(const AccountRow& row, std::string_view what, Micro stored, Micro computed) {
        if (stored == computed) return;
        report_.add(fmt::format("{}: {} is {}, its rows say {}", row.name(), what, stored.value,
                                computed.value));
    }

    void add_open(std::string_view sql, Micro Balances::*pocket, Changes& open) {
        const auto rows = tx_.run(sql);
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (const auto asset = parse_asset(rows[i].get<std::string>(1)))
                open[{rows[i].get<AccountId>(0), *asset}].*pocket = rows[i].get<Micro>(2);
    }

    template <class SomeId, class Function>
    void each_page(std::string_view sql, Function function) {
        SomeId last;
        for (;;) {
            const auto rows = tx_.run(sql, last, page_rows);
            if (rows.empty()) return;
            function(rows);
            last = rows[rows.size() - 1].template get<SomeId>(0);
        }
    }

    template <class SomeId, class Function>
    void each_of(const std::unordered_set<SomeId>& ids, std::string_view sql, std::string_view what,
                 Function function) {
        for (const SomeId& id : ids) {
            const auto rows = tx_.run(sql, id);
            if (rows.empty())
                report_.add(fmt::format("{} {}: has entries and no row", what, to_string(id)));
            else
                function(rows);
        }
    }

    void check_jobs(const db::Result& rows) {
        std::vector<db::Transaction::Ticket> tickets;
        for (std::size_t i = 0; i < rows.size(); ++i)
            tickets.push_back(tx_.start(job_sums_sql, rows[i].get<JobId>(0)));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto sums = tx_.finish(tickets[i]);
            try {
                check_charge(rows[i]);
                check_job(rows[i], sums);
            } catch (const Problem&) {
                report_.add("job " + to_string(rows[i].get<JobId>(0)) +
                            ": has amounts that nobody can have");
            }
        }
    }

    // The charge is that of the whole runtime at the job's rate, and no more than the budget. Of an
    // open job it may be behind, after a raise of the budget; of one that is over it may not.
    void check_charge(const db::Result::Row& row) {
        const auto charged = row.get<Micro>(7);
        const std::int64_t runtime_ms = std::max<std::int64_t>(0, row.get<std::int64_t>(12));
        const Micro ran = scale_floor(row.get<Micro>(11), {runtime_ms, ms_per_hour});
        const Micro due = std::min(row.get<Micro>(6), ran);
        report_.expect(row.get<bool>(10) ? charged == due : charged <= due,
                       fmt::format("job {}: was charged {}, its rate and runtime make {}",
                                   to_string(row.get<JobId>(0)), charged.value, due.value));
    }

    void check_job(const db::Result::Row& row, const db::Result& sums) {
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
        report_.expect(whole,
                       "job " + to_string(row.get<JobId>(0)) + ": is not what its entries say");
    }

    template <class Read>
    void check_asides(const db::Result& rows, Read read) {
        std::vector<Aside> asides;
        std::vector<db::Transaction::Ticket> tickets;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            asides.push_back(read(rows[i]));
            const Aside& aside = asides.back();
            tickets.push_back(tx_.start(evidence_sql, aside.begin, aside.ends[0], aside.ends[1],
                                        name(aside.pocket)));
        }
        for (std::size_t i = 0; i < asides.size(); ++i)
            check_aside(asides[i], tx_.finish(tickets[i]));
    }

    void check_aside(const Aside& aside, const db::Result& rows) {
        const auto is = [&](std::size_t row, const std::string& reference, Micro amount) {
            return rows[row].get<std::string>(0) == reference &&
                   rows[row].get<AccountId>(1) == aside.owner &&
                   rows[row].get<std::string>(2) == aside.asset &&
                   rows[row].get<Micro>(3) == amount &&
                   rows[row].get<std::optional<JobId>>(4) == aside.job;
        };
        const bool whole = rows.size() == (aside.ended ? 2U : 1U) &&
                           is(0, aside.begin, aside.amount) &&
                           (!aside.ended || is(1, aside.ends[*aside.ended], -aside.amount));
        report_.expect(whole, aside.what + ": is not what its entries say");
    }

    db::Transaction& tx_;
    Report& report_;
};

}  // namespace

void check_promises(db::Transaction& tx, std::span<const AccountRow> accounts, const Tally* news,
                    const Totals& totals, Report& report) {
    Promises promises(tx, report);
    if (news != nullptr)
        promises.check_these(*news);
    else
        promises.check_all();
    promises.check_open(accounts);
    promises.check_counts(totals);
}

}  // namespace berth::ledger
