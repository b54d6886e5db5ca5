#include "ledger/promises.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "base/problem.hpp"

namespace berth::ledger {
namespace {

constexpr std::size_t rows_a_page = 500;
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
    Micro credit;
};
BOOST_DESCRIBE_STRUCT(PromisedJob, (),
                      (job_id, renter_id, host_id, machine_id, asset, fee_bps, budget, charged,
                       refunded, disputed, closed, rate_per_hour, runtime_ms, credit))
const db::Query<PromisedJob> jobs_sql(
    "SELECT {} FROM ledger_jobs WHERE job_id > $1 ORDER BY job_id LIMIT $2");
const db::Query<PromisedJob> job_sql("SELECT {} FROM ledger_jobs WHERE job_id = $1");

struct JobSum {
    JobId job_id;
    std::string kind;
    AccountId owner_id;
    std::optional<AccountId> party_id;
    std::optional<MachineId> machine_id;
    std::string asset;
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(JobSum, (), (job_id, kind, owner_id, party_id, machine_id, asset, amount))
const db::Query<JobSum> job_sums_sql(
    "SELECT {} FROM (SELECT job_id, kind, owner_id, party_id, machine_id, asset, "
    "CAST(SUM(amount) AS BIGINT) AS amount "
    "FROM ledger_entries WHERE job_id = $1 AND (kind IN ('refund', "
    "'credit_refund') OR pocket IN ('held', 'escrow', 'fee_income') "
    "OR kind IN ('host_earning', 'refund_host_reversal')) "
    "GROUP BY job_id, kind, owner_id, party_id, machine_id, asset) AS sums");
// Of all jobs between two of them, the second included: one statement for a page.
const db::Query<JobSum> range_sums_sql(
    "SELECT {} FROM (SELECT job_id, kind, owner_id, party_id, machine_id, asset, "
    "CAST(SUM(amount) AS BIGINT) AS amount "
    "FROM ledger_entries WHERE job_id > $1 AND job_id <= $2 AND (kind IN ('refund', "
    "'credit_refund') OR pocket IN ('held', 'escrow', 'fee_income') "
    "OR kind IN ('host_earning', 'refund_host_reversal')) "
    "GROUP BY job_id, kind, owner_id, party_id, machine_id, asset) AS sums");

struct PromisedTransfer {
    TransferId transfer_id;
    AccountId account_id;
    std::string asset;
    Micro amount;
    std::string source;
    std::string state;
};
BOOST_DESCRIBE_STRUCT(PromisedTransfer, (), (transfer_id, account_id, asset, amount, source, state))
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

// What is put aside for those that are open, by account.
class OpenPromises {
public:
    OpenPromises(db::Transaction& tx, Report& report) : tx_(tx), report_(report) {}

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

    db::Transaction& tx_;
    Report& report_;
};

// Rows that are to be checked, handed out in batches to whoever asks: all of a table in the order
// of their ids, or those that are named.
template <class Row>
class Queue {
public:
    using SomeId = decltype(id_of(Row{}));
    struct Batch {
        std::vector<Row> rows;
        // With all of a table: they are those after this one, up to the last of them.
        std::optional<SomeId> after = {};
    };

    Queue(std::string_view what, const db::Query<Row>& page, const db::Query<Row>& one,
          const std::unordered_set<SomeId>* named)
        : what_(what), page_(page), one_(one) {
        if (named != nullptr) named_.emplace(named->begin(), named->end());
    }

    std::optional<Batch> take(db::Transaction& tx, Report& report) {
        return named_ ? take_named(tx, report) : take_page(tx);
    }

private:
    std::optional<Batch> take_page(db::Transaction& tx) {
        const std::lock_guard lock(mutex_);
        if (over_) return std::nullopt;
        Batch batch{tx.fetch(page_, last_, static_cast<std::int64_t>(rows_a_page)), last_};
        over_ = batch.rows.empty();
        if (over_) return std::nullopt;
        last_ = id_of(batch.rows.back());
        return batch;
    }

    std::optional<Batch> take_named(db::Transaction& tx, Report& report) {
        const std::size_t first = next_.fetch_add(rows_a_page);
        const std::size_t end = std::min(named_->size(), first + rows_a_page);
        if (first >= end) return std::nullopt;
        std::vector<db::Transaction::Ticket> tickets;
        for (std::size_t i = first; i < end; ++i)
            tickets.push_back(tx.start(one_.sql(), (*named_)[i]));
        Batch batch;
        for (std::size_t i = first; i < end; ++i) {
            auto row = one_.row(tx.finish(tickets[i - first]));
            report.expect(row.has_value(), what_, (*named_)[i], ": has entries and no row");
            if (row) batch.rows.push_back(std::move(*row));
        }
        return batch;
    }

    std::string_view what_;
    const db::Query<Row>& page_;
    const db::Query<Row>& one_;
    std::optional<std::vector<SomeId>> named_;
    std::atomic<std::size_t> next_ = 0;
    std::mutex mutex_;  // over what follows
    SomeId last_;
    bool over_ = false;
};

class Promises {
public:
    Promises(db::Transaction& tx, Report& report) : tx_(tx), report_(report) {}

    void check_jobs(Queue<PromisedJob>& queue) {
        while (const auto batch = queue.take(tx_, report_)) check_batch(*batch);
    }

    template <class Row>
    void check_asides(Queue<Row>& queue) {
        while (const auto batch = queue.take(tx_, report_)) check_batch(batch->rows);
    }

private:
    using JobSums = std::unordered_map<JobId, std::vector<JobSum>>;

    JobSums sums_of(const Queue<PromisedJob>::Batch& jobs) {
        JobSums sums;
        if (jobs.after) {
            for (JobSum& sum : tx_.fetch(range_sums_sql, *jobs.after, jobs.rows.back().job_id))
                sums[sum.job_id].push_back(std::move(sum));
            return sums;
        }
        std::vector<db::Transaction::Ticket> tickets;
        for (const PromisedJob& job : jobs.rows)
            tickets.push_back(tx_.start(job_sums_sql.sql(), job.job_id));
        for (std::size_t i = 0; i < tickets.size(); ++i)
            sums[jobs.rows[i].job_id] = job_sums_sql.rows(tx_.finish(tickets[i]));
        return sums;
    }

    void check_batch(const Queue<PromisedJob>::Batch& jobs) {
        JobSums sums = sums_of(jobs);
        for (const PromisedJob& job : jobs.rows) {
            try {
                check_charge(job);
                check_job(job, sums[job.job_id]);
            } catch (const Problem&) {
                report_.expect(false, "job", job.job_id, ": has amounts that nobody can have");
            }
            sums.erase(job.job_id);
        }
        for (const auto& [id, lost] : sums)
            report_.expect(false, "job", id, ": has entries and no row");
    }

    // The charge is that of the whole runtime at the job's rate, and no more than the budget. Of an
    // open job it may be behind, after a raise of the budget; of one that is over it may not.
    void check_charge(const PromisedJob& job) {
        const std::int64_t runtime_ms = std::max<std::int64_t>(0, job.runtime_ms);
        const Micro ran = scale_floor(job.rate_per_hour, {runtime_ms, ms_per_hour});
        const Micro due = std::min(job.budget, ran);
        if (job.closed ? job.charged == due : job.charged <= due) return;
        report_.add(fmt::format("job {}: was charged {}, its rate and runtime make {}",
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
            if (*kind == Kind::credit_refund)  // no customer owns it: it counts as the renter's
                whole = whole && row.party_id == job.renter_id;
            else if (*kind <= Kind::job_charge || *kind == Kind::refund ||
                     *kind == Kind::credit_hold || *kind == Kind::credit_release)
                whole = whole && row.owner_id == job.renter_id;
            else if (row.owner_id != platform)
                whole = whole && row.owner_id == job.host_id;
            else
                whole = whole && row.party_id == job.host_id;
            if (row.party_id) whole = whole && row.machine_id == job.machine_id;
        }
        const auto sum = [&](Kind kind) { return by_kind[static_cast<std::size_t>(kind)]; };
        const Micro spent = std::min(job.credit, job.charged);
        const Micro unspent = job.closed ? job.credit - spent : Micro{};
        const Micro rest = job.closed ? job.budget - job.charged - unspent : Micro{};
        const Micro to_renter = std::min(job.refunded, job.charged - spent);
        whole = whole && sum(Kind::hold) == job.budget - job.credit &&
                sum(Kind::credit_hold) == job.credit && sum(Kind::credit_release) == -unspent &&
                sum(Kind::job_charge) == -job.charged && sum(Kind::hold_release) == -rest &&
                sum(Kind::platform_fee) == scale_floor(job.charged, fee_ratio) &&
                sum(Kind::refund) == to_renter &&
                sum(Kind::credit_refund) == job.refunded - to_renter &&
                sum(Kind::refund_fee_reversal) == -scale_floor(job.refunded, fee_ratio) &&
                sum(Kind::dispute_hold) + sum(Kind::dispute_release) == job.disputed;
        report_.expect(whole, "job", job.job_id, ": is not what its entries say");
    }

    template <class Row>
    void check_batch(const std::vector<Row>& rows) {
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
        if (!whole) report_.add(aside.what + ": is not what its entries say");
    }

    db::Transaction& tx_;
    Report& report_;
};

}  // namespace

struct PromisedRows::Queues {
    explicit Queues(const Tally* news)
        : jobs("job", jobs_sql, job_sql, news ? &news->jobs : nullptr),
          transfers("transfer", transfers_sql, transfer_sql, news ? &news->transfers : nullptr),
          disputes("dispute", disputes_sql, dispute_sql, news ? &news->disputes : nullptr) {}

    Queue<PromisedJob> jobs;
    Queue<PromisedTransfer> transfers;
    Queue<PromisedDispute> disputes;
};

PromisedRows::PromisedRows(const Tally* news) : queues_(std::make_unique<Queues>(news)) {}
PromisedRows::~PromisedRows() = default;

void PromisedRows::check(db::Transaction& tx, Report& report) {
    Promises promises(tx, report);
    promises.check_jobs(queues_->jobs);
    promises.check_asides(queues_->transfers);
    promises.check_asides(queues_->disputes);
}

void check_open_promises(db::Transaction& tx, std::span<const AccountRow> accounts,
                         Report& report) {
    OpenPromises(tx, report).check_open(accounts);
}

void check_promise_counts(db::Transaction& tx, const Totals& totals, Report& report) {
    const auto expect = [&](std::string_view sql, std::int64_t begun, std::string_view what) {
        report.expect(tx.fetch_value<std::int64_t>(sql) == begun,
                      fmt::format("there are not as many {} as were begun", what));
    };
    expect(count_jobs_sql, totals.jobs, "jobs");
    expect(count_transfers_sql, totals.transfers, "transfers");
    expect(count_disputes_sql, totals.disputes, "disputes");
}

}  // namespace berth::ledger
