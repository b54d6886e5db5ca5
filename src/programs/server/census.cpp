#include "server/census.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/log.hpp"
#include "db/query.hpp"

namespace berth::server {
namespace {

struct Group {
    std::string label;
    std::int64_t amount = 0;
};
BOOST_DESCRIBE_STRUCT(Group, (), (label, amount))

// How much there is of each value of a column, in the rows of `from`.
db::Query<Group> amounts(std::string_view column, std::string_view amount, std::string_view from) {
    return db::Query<Group>(
        fmt::format("SELECT {{}} FROM (SELECT {0} AS label, {1} AS amount FROM {2} GROUP BY {0}) "
                    "AS counted",
                    column, amount, from));
}

struct Question {
    std::string name;
    std::string help;
    std::string label;  // a column
    db::Query<Group> sql;
    bool by_time = false;  // whether the statement asks for the time
};

Question count(std::string name, std::string help, std::string column, std::string_view from) {
    auto sql = amounts(column, "COUNT(*)", from);
    return {std::move(name), std::move(help), std::move(column), std::move(sql)};
}

// Each is answered out of what is open, by an index or over a table that stays small: what has
// ended is not counted again and again.
const std::vector<Question>& questions() {
    constexpr std::string_view open_transfers =
        "transfers WHERE state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT', 'SUBMITTED')";
    constexpr std::string_view newest_proofs =
        "(SELECT r.asset, r.total, r.treasury, r.as_of FROM liability_records r JOIN "
        "(SELECT asset, MAX(number) AS number FROM liability_records GROUP BY asset) n "
        "ON r.asset = n.asset AND r.number = n.number) newest";
    static const std::vector<Question> list{
        count("berth_jobs", "Rentals that have not ended.", "state",
              "jobs WHERE state IN ('RESERVED', 'STARTING', 'READY', 'RUNNING', 'STOPPING')"),
        count("berth_machines", "Machines that are not retired.", "state",
              "machines WHERE retired_at IS NULL"),
        count("berth_tasks", "Tasks that wait or run.", "kind", "tasks WHERE state = 'waiting'"),
        count("berth_tasks_dead", "Tasks that were given up and wait for an operator.", "kind",
              "tasks WHERE state = 'dead'"),
        {"berth_tasks_oldest_due_seconds", "For how long a task has waited for a worker.", "kind",
         amounts("kind",
                 "CAST(($1 - MIN(CASE WHEN lease_until > run_at THEN lease_until ELSE run_at END)) "
                 "/ 1000000 AS BIGINT)",
                 "tasks WHERE state = 'waiting' AND run_at <= $1 AND lease_until <= $1"),
         true},
        count("berth_mails", "Mails that were not sent yet.", "state",
              "outbox WHERE state = 'waiting'"),
        count("berth_transfers", "Withdrawals and payouts that have not ended.", "state",
              open_transfers),
        {"berth_transfers_micro", "Money that withdrawals and payouts have on its way.", "asset",
         amounts("asset", "CAST(SUM(amount) AS BIGINT)", open_transfers)},
        {"berth_jobs_held_micro", "Money that is held for rentals and not charged yet.", "asset",
         amounts("asset", "CAST(SUM(budget - charged) AS BIGINT)", "ledger_jobs WHERE closed = 0")},
        {"berth_liabilities_total_micro", "All that is owed, by the newest proof.", "asset",
         amounts("asset", "MAX(total)", newest_proofs)},
        {"berth_liabilities_covered",
         "1 when the chain has what is owed, 0 when not, by the newest proof.", "asset",
         amounts("asset", "CAST(MAX(CASE WHEN treasury >= total THEN 1 ELSE 0 END) AS BIGINT)",
                 std::string(newest_proofs) + " WHERE treasury IS NOT NULL")},
        {"berth_liabilities_as_of_timestamp_seconds", "When the newest proof was made.", "asset",
         amounts("asset", "MAX(as_of) / 1000000", newest_proofs)},
    };
    return list;
}

}  // namespace

Census::Census(db::Database& database, const Clock& clock, api::Metrics& metrics)
    : database_(database), clock_(clock) {
    for (const Question& question : questions())
        metrics.add_gauges(question.name, question.help, question.label,
                           [this, name = question.name] {
                               const std::lock_guard lock(mutex_);
                               return counted_[name];
                           });
    metrics.add_gauge("berth_census_age_seconds", "Since jobs, machines and the like were counted.",
                      [this] { return age_seconds(); });
    thread_ = std::thread([this] { loop(); });
}

Census::~Census() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Census::loop() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        lock.unlock();
        try {
            count();
        } catch (const std::exception& error) {
            log(Level::warn, "census_failed", {{"why", error.what()}});
        }
        lock.lock();
        changed_.wait_for(lock, count_every, [this] { return stopping_; });
    }
}

void Census::count() {
    std::map<std::string, std::vector<api::Metrics::Sample>> counted;
    for (const Question& question : questions()) {
        const auto groups = database_.read([&](db::Transaction& tx) {
            return question.by_time ? tx.fetch(question.sql, clock_.now()) : tx.fetch(question.sql);
        });
        for (const Group& group : groups)
            counted[question.name].push_back({group.label, static_cast<double>(group.amount)});
    }
    const std::lock_guard lock(mutex_);
    counted_ = std::move(counted);
    counted_at_ = SteadyClock::now();
}

double Census::age_seconds() const {
    const std::lock_guard lock(mutex_);
    return std::chrono::duration<double>(SteadyClock::now() - counted_at_).count();
}

}  // namespace berth::server
