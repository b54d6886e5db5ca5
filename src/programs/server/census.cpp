#include "server/census.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <vector>

#include "base/log.hpp"
#include "db/query.hpp"
#include "server/features.hpp"

namespace berth::server {
namespace {

struct Group {
    std::string label;
    std::int64_t amount = 0;
};
BOOST_DESCRIBE_STRUCT(Group, (), (label, amount))

struct Statement {
    db::CensusQuestion question;
    db::Query<Group> sql;
};

Statement statement_of(const db::CensusQuestion& question) {
    const std::string where = question.where.empty() ? "" : " WHERE " + std::string(question.where);
    if (question.by.empty())
        return {question,
                db::Query<Group>(fmt::format("SELECT {{}} FROM (SELECT '' AS label, {} AS "
                                             "amount FROM {}{}) AS counted",
                                             question.amount, question.from, where))};
    return {question,
            db::Query<Group>(fmt::format(
                "SELECT {{}} FROM (SELECT {0} AS label, {1} AS amount FROM {2}{3} GROUP BY {0}) "
                "AS counted",
                question.by, question.amount, question.from, where))};
}

std::vector<std::string> labels_of(const db::CensusQuestion& question) {
    std::istringstream words{std::string(question.labels)};
    return {std::istream_iterator<std::string>(words), {}};
}

// Made once: the text of a statement lives as long as the program.
const std::vector<Statement>& statements() {
    static const std::vector<Statement> list = [] {
        std::vector<Statement> made;
        for (const db::CensusQuestion& question : census_questions())
            made.push_back(statement_of(question));
        return made;
    }();
    return list;
}

}  // namespace

Census::Census(db::Database& database, const Clock& clock, api::Metrics& metrics)
    : database_(database), clock_(clock) {
    for (const auto& [question, sql] : statements()) {
        if (question.by.empty()) {
            metrics.add_gauge(std::string(question.name), std::string(question.help),
                              [this, name = std::string(question.name)] {
                                  const std::lock_guard lock(mutex_);
                                  const auto& found = counted_[name];
                                  return found.empty() ? 0 : found.front().value;
                              });
            continue;
        }
        metrics.add_gauges(std::string(question.name), std::string(question.help),
                           std::string(question.by), [this, name = std::string(question.name)] {
                               const std::lock_guard lock(mutex_);
                               return counted_[name];
                           });
    }
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
    for (const Statement& one : statements()) {
        auto& samples = counted[std::string(one.question.name)];
        for (std::string& label : labels_of(one.question)) samples.push_back({std::move(label), 0});
        const auto groups = database_.read([&](db::Transaction& tx) {
            return one.question.at_time ? tx.fetch(one.sql, clock_.now()) : tx.fetch(one.sql);
        });
        for (const Group& group : groups) {
            const auto known = std::find_if(samples.begin(), samples.end(), [&](const auto& each) {
                return each.label == group.label;
            });
            const auto amount = static_cast<double>(group.amount);
            if (known == samples.end())
                samples.push_back({group.label, amount});
            else
                known->value = amount;
        }
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
