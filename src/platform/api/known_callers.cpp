#include "api/known_callers.hpp"

namespace berth::api {

void KnownCallers::keep(std::string_view key_hash, const Caller& caller,
                        const db::Reading& reading) {
    if (caller.credential != Credential::api_key || caller.use_is_stale || reading.changes == 0)
        return;
    const std::lock_guard lock(mutex_);
    if (by_hash_.size() >= callers_max) by_hash_.clear();
    by_hash_.insert_or_assign(Bytes(key_hash), Known{caller, reading});
}

std::optional<Caller> KnownCallers::find(std::string_view key_hash, std::uint64_t changes,
                                         Time now) {
    const std::lock_guard lock(mutex_);
    const auto found = by_hash_.find(Bytes(key_hash));
    if (found == by_hash_.end()) return std::nullopt;
    const Known& known = found->second;
    const bool ended = known.caller.ends_at && *known.caller.ends_at <= now;
    if (!ended && known.reading.is_good(changes, now)) return known.caller;
    by_hash_.erase(found);
    return std::nullopt;
}

}  // namespace berth::api
