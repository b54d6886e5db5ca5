// The settings of a running process. Whoever carries something out takes now() once and reads that
// snapshot to its end; a change in the database shows in the next one, within a second.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "db/db.hpp"
#include "settings/registry.hpp"

namespace berth::settings {

class Live {
public:
    static constexpr Duration poll = std::chrono::milliseconds(900);

    // The registry outlives it.
    Live(const Registry& registry, Given given);
    ~Live();  // stops
    Live(const Live&) = delete;
    Live& operator=(const Live&) = delete;

    std::shared_ptr<const Snapshot> now() const;
    const Registry& registry() const { return registry_; }

    // Takes up what was changed since the last time: one small query when nothing was.
    void refresh(db::Database& database);
    // From now on by itself, on a thread of its own.
    void watch(db::Database& database);
    void stop();

private:
    void loop(db::Database& database);

    const Registry& registry_;
    const Given given_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    std::int64_t revision_ = 0;
    std::shared_ptr<const Snapshot> now_;
    std::thread thread_;
};

}  // namespace berth::settings
