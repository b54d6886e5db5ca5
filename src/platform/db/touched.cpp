#include "db/touched.hpp"

namespace berth::db {

void Touched::note(const Uuid& id) {
    const auto now = SteadyClock::now();
    const std::lock_guard lock(mutex_);
    if (now >= sweep_at_) {
        std::erase_if(until_, [&](const auto& each) { return each.second <= now; });
        sweep_at_ = now + kept;
    }
    until_[id] = now + kept;
}

bool Touched::has(const Uuid& id) const {
    const std::lock_guard lock(mutex_);
    const auto found = until_.find(id);
    return found != until_.end() && SteadyClock::now() < found->second;
}

}  // namespace berth::db
