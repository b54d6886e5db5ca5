#include "server/census.hpp"

#include <array>

#include "base/log.hpp"
#include "db/query.hpp"

namespace berth::server {
namespace {

struct Group {
    std::string label;
    std::int64_t amount = 0;
};
BOOST_DESCRIBE_STRUCT(Group, (), (label, amount))

struct Question {
    std::string name;
    std::string help;
    std::string label;
    db::Query<Group> sql;
};

// Each is answered out of what is open, by an index or over a table that stays small: what has
// ended is not counted again and again.
const std::array<Question, 7>& questions() {
    static const std::array<Question, 7> list{{
        {"berth_jobs", "Rentals that have not ended.", "state",
         db::Query<Group>("SELECT {} FROM (SELECT state AS label, COUNT(*) AS amount FROM jobs "
                          "WHERE state IN ('RESERVED', 'STARTING', 'READY', 'RUNNING', 'STOPPING') "
                          "GROUP BY state) AS counted")},
        {"berth_machines", "Machines that are not retired.", "state",
         db::Query<Group>("SELECT {} FROM (SELECT state AS label, COUNT(*) AS amount "
                          "FROM machines WHERE retired_at IS NULL GROUP BY state) AS counted")},
        {"berth_tasks", "Tasks that wait or run.", "kind",
         db::Query<Group>("SELECT {} FROM (SELECT kind AS label, COUNT(*) AS amount FROM tasks "
                          "WHERE state = 'waiting' GROUP BY kind) AS counted")},
        {"berth_tasks_dead", "Tasks that were given up and wait for an operator.", "kind",
         db::Query<Group>("SELECT {} FROM (SELECT kind AS label, COUNT(*) AS amount FROM tasks "
                          "WHERE state = 'dead' GROUP BY kind) AS counted")},
        {"berth_mails", "Mails that were not sent yet.", "state",
         db::Query<Group>("SELECT {} FROM (SELECT state AS label, COUNT(*) AS amount FROM outbox "
                          "WHERE state = 'waiting' GROUP BY state) AS counted")},
        {"berth_transfers", "Withdrawals and payouts that have not ended.", "state",
         db::Query<Group>("SELECT {} FROM (SELECT state AS label, COUNT(*) AS amount "
                          "FROM transfers WHERE state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT', "
                          "'SUBMITTED') GROUP BY state) AS counted")},
        {"berth_transfers_micro", "Money that withdrawals and payouts have on its way.", "asset",
         db::Query<Group>("SELECT {} FROM (SELECT asset AS label, CAST(SUM(amount) AS BIGINT) "
                          "AS amount FROM transfers WHERE state IN "
                          "('AWAITING_EMAIL_CONFIRMATION', 'INTENT', 'SUBMITTED') "
                          "GROUP BY asset) AS counted")},
    }};
    return list;
}

}  // namespace

Census::Census(db::Database& database, api::Metrics& metrics) : database_(database) {
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
        const auto groups =
            database_.read([&](db::Transaction& tx) { return tx.fetch(question.sql); });
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
