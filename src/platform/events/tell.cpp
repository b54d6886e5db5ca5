#include <atomic>
#include <map>
#include <set>
#include <vector>

#include "base/bytes.hpp"
#include "base/log.hpp"
#include "events/events.hpp"

namespace berth::events {
namespace {

constexpr std::size_t brief_bytes_max = 500;

// The head first: its lock is what puts events in the order of their commits. The rest takes its
// numbers from it, so that nothing waits for an answer.
constexpr std::string_view take_numbers_sql =
    "INSERT INTO event_heads (account_id, oldest, newest) VALUES ($1, 1, $2) "
    "ON CONFLICT (account_id) DO UPDATE SET newest = event_heads.newest + $2";
constexpr std::string_view add_event_sql =
    "INSERT INTO events (account_id, sequence, event_id, at, type, subject_kind, subject_id, "
    "audience, data) SELECT account_id, newest - $2, $3, $4, $5, $6, $7, $8, $9 "
    "FROM event_heads WHERE account_id = $1";
constexpr std::string_view empty_stream_sql =
    "UPDATE event_heads SET oldest = newest + 1 WHERE account_id = $1";
constexpr std::string_view delete_events_sql = "DELETE FROM events WHERE account_id = $1";

std::atomic<bool> is_muted{false};

struct Word {
    EventId event_id;
    Time at;
    Telling telling;
};

// What a transaction has told, until it is written.
class Collected final : public db::Batch {
public:
    void add(AccountId account, Word word) { by_account_[account].push_back(std::move(word)); }
    void forget(AccountId account) {
        by_account_.try_emplace(account);  // it has its turn
        forgotten_.insert(account);
    }

    int turn() const override { return 1; }  // after whatever else is last

    void write(db::Transaction& tx) override {
        for (const auto& [account, all] : by_account_) {
            tx.wake_after_commit(wake_key(account));
            if (forgotten_.contains(account)) {
                tx.start(empty_stream_sql, account);
                tx.start(delete_events_sql, account);
                continue;
            }
            auto left = static_cast<std::int64_t>(all.size());
            tx.start(take_numbers_sql, account, left);
            for (const auto& [event_id, at, telling] : all)
                tx.start(add_event_sql, account, --left, event_id, at, telling.type,
                         telling.subject_kind, telling.subject_id, telling.audience, telling.data);
        }
    }

private:
    std::map<AccountId, std::vector<Word>> by_account_;  // in the order in which they are locked
    std::set<AccountId> forgotten_;
};

}  // namespace

std::string in_brief(std::string_view text) {
    std::size_t end = 0;
    while (end < text.size()) {
        const std::size_t length = utf8_sequence_length(text.substr(end));
        if (length == 0 || end + length > brief_bytes_max) break;
        end += length;
    }
    return std::string(text.substr(0, end));
}

void tell(const db::Context& context, AccountId account, Telling telling) {
    if (is_muted.load(std::memory_order_relaxed)) return;
    // A change is never refused for what is told of it.
    if (telling.data.size() > data_bytes_max) {
        log(Level::error, "event_too_large",
            {{"type", telling.type}, {"bytes", std::ssize(telling.data)}});
        telling.data = "{}";
    }
    context.tx.before_commit<Collected>().add(
        account, {EventId::make(context.now, context.random), context.now, std::move(telling)});
}

void forget(db::Transaction& tx, AccountId account) {
    tx.before_commit<Collected>().forget(account);
}

void set_muted(bool muted) { is_muted = muted; }

WakeKey wake_key(AccountId account) { return {wake_topic, to_string(account)}; }

std::optional<AccountId> account_of(const WakeKey& key) {
    if (key.topic != wake_topic) return std::nullopt;
    const auto uuid = parse_uuid(key.name);
    return uuid ? std::optional(AccountId{*uuid}) : std::nullopt;
}

}  // namespace berth::events
