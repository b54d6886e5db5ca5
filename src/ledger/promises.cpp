#include "ledger/promises.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/problem.hpp"

namespace berth::ledger {
namespace {

constexpr std::int64_t page_rows = 500;
constexpr std::int64_t ms_per_hour = 3'600'000;

// Words of the tables are compared as they stand: one that is none of ours is a fault to tell of.
struct Open {
    AccountId account_id;
    std::string asset;
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(Open, (), (account_id, asset, amount))
const db::Query<Open> open_jobs_sql(
    "SELECT {} FROM (SELECT renter_id AS account_id, asset, "
    "CAST(SUM(budget - charged) AS BIGINT) AS amount FROM ledger_jobs "
    "WHERE closed = 0 GROUP BY renter_id, asset) AS sums");
const db::Query<Open> open_transfers_sql(
    "SELECT {} FROM (SELECT account_id, asset, CAST(SUM(amount) AS BIGINT) AS amount "
    "FROM ledger_transfers WHERE state = 'locked' GROUP BY account_id, asset) AS sums");
const db::Query<Open> open_disputes_sql(
    "SELECT {} FROM (SELECT host_id AS account_id, asset, CAST(SUM(amount) AS BIGINT) AS amount "
    "FROM ledger_disputes WHERE closed = 0 GROUP BY host_id, asset) AS sums");
constexpr std::string_view count_jobs_sql = "SELECT COUNT(*) FROM ledger_jobs";
constexpr std::string_view count_transfers_sql = "SELECT COUNT(*) FROM ledger_transfers";
constexpr std::string_view count_disputes_sql = "SELECT COUNT(*) FROM ledger_disputes";

struct PromisedJob {
    JobId job_id;
    AccountId renter_id;
    AccountId host_id;
    MachineId machine_id;
    std::string asset;
    std::int64_t fee_bps = 0;
    Micro budget;
    Micro charged;
    Micro refunded;
    Micro disputed;
    bool closed = false;
    Micro rate_per_hour;
    std::int64_t runtime_ms = 0;
};
BOOST_DESCRIBE_STRUCT(PromisedJob, (),
                      (job_id, renter_id, host_id, machine_id, asset, fee_bps, budget, charged,
                       refunded, disputed, closed, rate_per_hour, runtime_ms))
const db::Query<PromisedJob> jobs_sql(
    "SELECT {} FROM ledger_jobs WHERE job_id > $1 ORDER BY job_id LIMIT $2");
const db::Query<PromisedJob> job_sql("SELECT {} FROM ledger_jobs WHERE job_id = $1");

struct JobSum {
    std::string kind;
    AccountId owner_id;
    std::optional<AccountId> party_id;
    std::optional<MachineId> machine_id;
    std::string asset;
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(JobSum, (), (kind, owner_id, party_id, machine_id, asset, amount))
const db::Query<JobSum> job_sums_sql(
    "SELECT {} FROM (SELECT kind, owner_id, party_id, machine_id, asset, "
    "CAST(SUM(amount) AS BIGINT) AS amount "
    "FROM ledger_entries WHERE job_id = $1 AND (kind = 'refund' "
    "OR pocket IN ('held', 'escrow', 'fee_income') "
    "OR kind IN ('host_earning', 'refund_host_reversal')) "
    "GROUP BY kind, owner_id, party_id, machine_id, asset) AS sums");

struct PromisedTransfer {
    TransferId transfer_id;
    AccountId account_id;
    std::string asset;
    Micro amount;
    std::string source;
    std::string state;
};
BOOST_DESCRIBE_STRUCT(PromisedTransfer, (),
                      (transfer_id, account_id, asset, amount, source, state))
const db::Query<PromisedTransfer> transfers_sql(
    "SELECT {} FROM ledger_transfers WHERE transfer_id > $1 ORDER BY transfer_id LIMIT $2");
const db::Query<PromisedTransfer> transfer_sql(
    "SELECT {} FROM ledger_transfers WHERE transfer_id = $1");

struct PromisedDispute {
    DisputeId dispute_id;
    AccountId host_id;
    std::string asset;
    Micro amount;
    JobId job_id;
    bool closed = false;
};
BOOST_DESCRIBE_STRUCT(PromisedDispute, (), (dispute_id, host_id, asset, amount, job_id, closed))
const db::Query<PromisedDispute> disputes_sql(
    "SELECT {} FROM ledger_disputes WHERE dispute_id > $1 ORDER BY dispute_id LIMIT $2");
const db::Query<PromisedDispute> dispute_sql(
    "SELECT {} FROM ledger_disputes WHERE dispute_id = $1");

struct Evidence {
    std::string reference;
    AccountId owner_id;
    std::string asset;
    Micro amount;
    std::optional<JobId> job_id;
};
BOOST_DESCRIBE_STRUCT(Evidence, (), (reference, owner_id, asset, amount, job_id))
const db::Query<Evidence> evidence_sql(
    "SELECT {} FROM (SELECT t.reference, e.owner_id, e.asset, e.amount, e.job_id "
    "FROM ledger_transactions t JOIN ledger_entries e ON e.transaction_id = t.transaction_id "
    "WHERE t.reference IN ($1, $2, $3) AND e.pocket = $4) AS evidence ORDER BY amount DESC");

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

JobId id_of(const PromisedJob& job) { return job.job_id; }
TransferId id_of(const PromisedTransfer& transfer) { return transfer.transfer_id; }
DisputeId id_of(const PromisedDispute& dispute) { return dispute.dispute_id; }

Aside aside_of(const PromisedTransfer& transfer) {
    const std::string id = to_string(transfer.transfer_id);
    Aside aside{.what = "transfer " + id,
                .pocket = Pocket::reserved,
                .owner = transfer.account_id,
                .asset = transfer.asset,
                .amount = transfer.amount,
                .job = std::nullopt,
                .begin = transfer.source + "_lock:" + id,
                .ends = {transfer.source + "_settle:" + id, transfer.source + "_return:" + id},
                .ended = std::nullopt};
    if (transfer.state != "locked") aside.ended = transfer.state == "settled" ? 0 : 1;
    return aside;
}

Aside aside_of(const PromisedDispute& dispute) {
    const std::string id = to_string(dispute.dispute_id);
    const std::string end = "dispute_end:" + id;
    Aside aside{.what = "dispute " + id,
                .pocket = Pocket::escrow,
                .owner = dispute.host_id,
                .asset = dispute.asset,
                .amount = dispute.amount,
                .job = dispute.job_id,
                .begin = "dispute:" + id,
                .ends = {end, end},
                .ended = std::nullopt};
    if (dispute.closed) aside.ended = 0;
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
            return tx_.fetch_value<std::int64_t>(sql).value();
        };
        report_.expect(count(count_jobs_sql) == totals.jobs,
                       "there are not as many jobs as were begun");
        report_.expect(count(count_transfers_sql) == totals.transfers,
                       "there are not as many transfers as were begun");
        report_.expect(count(count_disputes_sql) == totals.disputes,
                       "there are not as many disputes as were begun");
    }

    void check_all() {
        each_page(jobs_sql, [&](const auto& jobs) { check_jobs(jobs); });
        each_page(transfers_sql, [&](const auto& transfers) { check_asides(transfers); });
        each_page(disputes_sql, [&](const auto& disputes) { check_asides(disputes); });
    }

    void check_these(const Tally& news) {
        each_of(news.jobs, job_sql, "job", [&](const auto& jobs) { check_jobs(jobs); });
        each_of(news.transfers, transfer_sql, "transfer",
                [&](const auto& transfers) { check_asides(transfers); });
        each_of(news.disputes, dispute_sql, "dispute",
                [&](const auto& disputes) { check_asides(disputes); });
    }

private:
    void expect_equal(const AccountRow& row, std::string_view what, Micro stored, Micro computed) {
        if (stored == computed) return;
        report_.add(fmt::format("{}: {} is {}, its rows say {}", row.name(), what, stored.value,
                                computed.value));
    }

    void add_open(const db::Query<Open>& query, Micro Balances::*pocket, Changes& open) {
        for (const Open& row : tx_.fetch(query))
            if (const auto asset = parse_asset(row.asset))
                open[{row.account_id, *asset}].*pocket = row.amount;
    }

    template <class Row, class Function>
    void each_page(const db::Query<Row>& query, Function function) {
        decltype(id_of(Row{})) last;
        for (;;) {
            const auto rows = tx_.fetch(query, last, page_rows);
            if (rows.empty()) return;
            function(rows);
            last = id_of(rows.back());
        }
    }

    template <class SomeId, class Row, class Function>
    void each_of(const std::unordered_set<SomeId>& ids, const db::Query<Row>& query,
                 std::string_view what, Function function) {
        for (const SomeId& id : ids) {
            const auto rows = tx_.fetch(query, id);
            if (rows.empty())
                report_.add(fmt::format("{} {}: has entries and no row", what, to_string(id)));
            else
                function(rows);
        }
    }

    void check_jobs(const std::vector<PromisedJob>& jobs) {
        std::vector<db::Transaction::Ticket> tickets;
        for (const PromisedJob& job : jobs)
            tickets.push_back(tx_.start(job_sums_sql.sql(), job.job_id));
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            const auto sums = job_sums_sql.rows(tx_.finish(tickets[i]));
            try {
                check_charge(jobs[i]);
                check_job(jobs[i], sums);
            } catch (const Problem&) {
                report_.add("job " + to_string(jobs[i].job_id) +
                            ": has amounts that nobody can have");
            }
        }
    }

    // The charge is that of the whole runtime at the job's rate, and no more than the budget. Of an
    // open job it may be behind, after a raise of the budget; of one that is over it may not.
    void check_charge(const PromisedJob& job) {
        const std::int64_t runtime_ms = std::max<std::int64_t>(0, job.runtime_ms);
        const Micro ran = scale_floor(job.rate_per_hour, {runtime_ms, ms_per_hour});
        const Micro due = std::min(job.budget, ran);
        report_.expect(job.closed ? job.charged == due : job.charged <= due,
                       fmt::format("job {}: was charged {}, its rate and runtime make {}",
                                   to_string(job.job_id), job.charged.value, due.value));
    }

    void check_job(const PromisedJob& job, const std::vector<JobSum>& sums) {
        const Ratio fee_ratio{job.fee_bps, 10'000};
        std::array<Micro, kind_count> by_kind{};
        bool whole = true;
        for (const JobSum& row : sums) {
            const auto kind = parse_kind(row.kind);
            if (!kind) continue;  // told already, with its transaction
            by_kind[static_cast<std::size_t>(*kind)] += row.amount;
            whole = whole && row.asset == job.asset;
            if (*kind <= Kind::job_charge || *kind == Kind::refund)
                whole = whole && row.owner_id == job.renter_id;
            else if (row.owner_id != platform)
                whole = whole && row.owner_id == job.host_id;
            else
                whole = whole && row.party_id == job.host_id;
            if (row.party_id) whole = whole && row.machine_id == job.machine_id;
        }
        const auto sum = [&](Kind kind) { return by_kind[static_cast<std::size_t>(kind)]; };
        const Micro rest = job.closed ? job.budget - job.charged : Micro{};
        whole = whole && sum(Kind::hold) == job.budget &&
                sum(Kind::job_charge) == -job.charged && sum(Kind::hold_release) == -rest &&
                sum(Kind::platform_fee) == scale_floor(job.charged, fee_ratio) &&
                sum(Kind::refund) == job.refunded &&
                sum(Kind::refund_fee_reversal) == -scale_floor(job.refunded, fee_ratio) &&
                sum(Kind::dispute_hold) + sum(Kind::dispute_release) == job.disputed;
        report_.expect(whole, "job " + to_string(job.job_id) + ": is not what its entries say");
    }

    template <class Row>
    void check_asides(const std::vector<Row>& rows) {
        std::vector<Aside> asides;
        std::vector<db::Transaction::Ticket> tickets;
        for (const Row& row : rows) {
            asides.push_back(aside_of(row));
            const Aside& aside = asides.back();
            tickets.push_back(tx_.start(evidence_sql.sql(), aside.begin, aside.ends[0],
                                        aside.ends[1], name(aside.pocket)));
        }
        for (std::size_t i = 0; i < asides.size(); ++i)
            check_aside(asides[i], evidence_sql.rows(tx_.finish(tickets[i])));
    }

    void check_aside(const Aside& aside, const std::vector<Evidence>& found) {
        const auto is = [&](const Evidence& row, const std::string& reference, Micro amount) {
            return row.reference == reference && row.owner_id == aside.owner &&
                   row.asset == aside.asset && row.amount == amount && row.job_id == aside.job;
        };
        const bool whole = found.size() == (aside.ended ? 2U : 1U) &&
                           is(found[0], aside.begin, aside.amount) &&
                           (!aside.ended || is(found[1], aside.ends[*aside.ended], -aside.amount));
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
