// What readiness asks of the parts of an App.
#include "funding/watcher.hpp"
#include "server/app.hpp"
#include "server/features.hpp"
#include "worker/tasks.hpp"

namespace berth::server {
namespace {

// Work that comes again every second or so and was not taken up for this long has no worker.
constexpr std::chrono::minutes work_late_max{1};
// A writer that is at one group of writes for longer than this makes everybody else wait.
constexpr std::chrono::seconds write_max{5};
// Memory that was short so long ago is short still, as far as anybody should rely on it.
constexpr std::chrono::seconds short_of_memory_for{5};

// How a part is doing by its rows: it has failed when `finds_fault` says true. When the database
// does not answer, `unanswered` is told.
template <class Question>
CheckState probe(db::Database& database, const Question& finds_fault,
                 CheckState unanswered = CheckState::failed) {
    try {
        return database.read(finds_fault) ? CheckState::failed : CheckState::ok;
    } catch (const std::exception&) {
        return unanswered;
    }
}

}  // namespace

Probes App::probes() {
    // What was due before is late. A process that has just begun has given nobody the time.
    const auto late_since = [this, begun_at = clock_.now()] {
        const Time since = clock_.now() - work_late_max;
        return since < begun_at ? std::nullopt : std::optional(since);
    };
    const auto is_silent = [](db::Transaction& tx) { return tx.run("SELECT 1").empty(); };
    // The database tells whether anyone works, here or in another process.
    const auto find_neglected = [this](Time due_since) {
        return [this, due_since](db::Transaction& tx) {
            return !worker::neglected(tx, features_->recurring, due_since).empty();
        };
    };
    // The watcher knows how the chain is, also when it runs in another process.
    const auto watcher_fails = [](db::Transaction& tx) {
        return worker::is_failing(tx, funding::watch_chain_kind_name);
    };
    // A mail server that is away delays mail; here it shows when mail has waited for long.
    const auto mail_waits = [this](db::Transaction& tx) {
        return mail::is_behind(tx, clock_.now());
    };
    // Payments that fail, or that a person must look at first, are told wherever the settler runs.
    const auto payments_stall = [late_since](db::Transaction& tx) {
        constexpr std::string_view kind = transfers::settle_transfers_kind_name;
        const auto since = late_since();
        return worker::is_failing(tx, kind) || transfers::find_hold(tx) ||
               (since && worker::is_overdue(tx, kind, *since));
    };
    return {
        .db =
            [=, this] {
                if (!prepared_ || database_->writing_for() > write_max) return CheckState::failed;
                return probe(*database_, is_silent);
            },
        .worker =
            [=, this] {
                if (tasks_started_ && !worker_->healthy()) return CheckState::failed;
                const auto since = late_since();
                return since ? probe(*database_, find_neglected(*since)) : CheckState::ok;
            },
        .chain = [=, this] { return chain_ ? probe(*database_, watcher_fails) : CheckState::off; },
        .mail = [=, this] { return probe(*database_, mail_waits); },
        .settler = [=,
                    this] { return chain_ ? probe(*database_, payments_stall) : CheckState::off; },
        .locations =
            [this] { return features_->countries.loaded() ? CheckState::ok : CheckState::off; },
        // That the database is away is told by its own probe.
        .liabilities =
            [this] {
                return chain_ ? probe(*database_, liabilities::is_uncovered, CheckState::off)
                              : CheckState::off;
            },
        .requests =
            [this] {
                return request_bytes_->refused_within(short_of_memory_for) ? CheckState::failed
                                                                           : CheckState::ok;
            },
    };
}

}  // namespace berth::server
