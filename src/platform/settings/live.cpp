#include "settings/live.hpp"

#include "base/log.hpp"
#include "settings/changes.hpp"

namespace berth::settings {

Live::Live(const Registry& registry, Given given)
    : registry_(registry), given_(std::move(given)), now_(registry.snapshot(given_)) {}

Live::~Live() { stop(); }

std::shared_ptr<const Snapshot> Live::now() const {
    const std::lock_guard lock(mutex_);
    return now_;
}

// The revision is read before the rows: a change in between is taken up now and once more later.
void Live::refresh(db::Database& database) {
    const std::int64_t known = [&] {
        const std::lock_guard lock(mutex_);
        return revision_;
    }();
    std::int64_t found = known;
    const auto stored = database.read([&](db::Transaction& tx) -> std::optional<StoredValues> {
        found = revision(tx);
        return found == known ? std::nullopt : std::optional(read_stored(tx));
    });
    if (!stored) return;
    auto fresh = registry_.snapshot(given_, *stored);
    const std::lock_guard lock(mutex_);
    if (found < revision_) return;  // somebody else was quicker
    revision_ = found;
    now_ = std::move(fresh);
    log(Level::info, "settings_taken_up", {{"revision", found}});
}

void Live::watch(db::Database& database) {
    if (!thread_.joinable()) thread_ = std::thread([this, &database] { loop(database); });
}

void Live::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

// While the database is away the last settings hold; the log tells it once.
void Live::loop(db::Database& database) {
    bool reached = true;
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, poll, [&] { return stopping_; })) {
        lock.unlock();
        try {
            refresh(database);
            reached = true;
        } catch (const std::exception& error) {
            if (reached) log(Level::warn, "settings_not_read", {{"why", error.what()}});
            reached = false;
        }
        lock.lock();
    }
}

}  // namespace berth::settings
