// The ids of rows that transactions of this process have changed or are about to change, for a few
// seconds: long enough for the commit, and for the next look of whoever remembers such rows and
// looks once a second. What is remembered of such an id is not used meanwhile.
#pragma once

#include <chrono>
#include <mutex>
#include <unordered_map>

#include "base/ids.hpp"

namespace berth::db {

class Touched {
public:
    static constexpr std::chrono::seconds kept{3};

    void note(const Uuid& id);
    bool has(const Uuid& id) const;

private:
    using SteadyClock = std::chrono::steady_clock;

    mutable std::mutex mutex_;
    std::unordered_map<Uuid, SteadyClock::time_point> until_;
    SteadyClock::time_point sweep_at_{};
};

}  // namespace berth::db
