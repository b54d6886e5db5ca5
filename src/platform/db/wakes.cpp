#include "db/wakes.hpp"

#include <mutex>

namespace berth::db {

Wakes::Listening Wakes::listen(Wake wake) {
    const std::unique_lock lock(mutex_);
    const auto place = listeners_.insert(listeners_.end(), std::move(wake));
    return {this, [place](void* self) {
                auto& wakes = *static_cast<Wakes*>(self);
                const std::unique_lock end(wakes.mutex_);
                wakes.listeners_.erase(place);
            }};
}

void Wakes::tell(std::span<const WakeKey> keys) const {
    if (keys.empty()) return;
    const std::shared_lock lock(mutex_);
    for (const Wake& wake : listeners_)
        for (const WakeKey& key : keys) wake(key);
}

}  // namespace berth::db
