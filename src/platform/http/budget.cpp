#include "http/budget.hpp"

namespace berth::http {

ByteBudget::Taken ByteBudget::take(std::size_t bytes, Claim claim, const std::string& who) {
    if (!who.empty() && !take_share(bytes, who)) return Taken::over_share;
    const std::size_t bytes_max = bytes_max_of(claim);
    const std::size_t before = taken_.fetch_add(bytes, std::memory_order_relaxed);
    if (bytes <= bytes_max && before <= bytes_max - bytes) return Taken::all;
    give_back(bytes, who);
    refused_.fetch_add(1, std::memory_order_relaxed);
    refused_at_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    return Taken::no_room;
}

bool ByteBudget::has_room(std::size_t bytes, Claim claim) const {
    const std::size_t bytes_max = bytes_max_of(claim);
    return bytes <= bytes_max && taken() <= bytes_max - bytes;
}

void ByteBudget::give_back(std::size_t bytes, const std::string& who) {
    taken_.fetch_sub(bytes, std::memory_order_relaxed);
    if (!who.empty()) give_back_share(bytes, who);
}

bool ByteBudget::take_share(std::size_t bytes, const std::string& who) {
    const std::lock_guard lock(mutex_);
    const auto held = by_address_.try_emplace(who, 0).first;
    const bool fits =
        bytes <= limits_.per_address_max && held->second <= limits_.per_address_max - bytes;
    if (fits) held->second += bytes;
    if (held->second == 0) by_address_.erase(held);
    return fits;
}

void ByteBudget::give_back_share(std::size_t bytes, const std::string& who) {
    const std::lock_guard lock(mutex_);
    const auto held = by_address_.find(who);
    if (held == by_address_.end()) return;  // what it gives back is nothing
    held->second -= bytes;
    if (held->second == 0) by_address_.erase(held);
}

std::size_t ByteBudget::bytes_max_of(Claim claim) const {
    const std::size_t first = claim == Claim::first ? 0 : limits_.first_reserve;
    const std::size_t small = claim == Claim::large ? limits_.small_reserve : 0;
    return limits_.bytes_max - first - small;
}

bool ByteBudget::refused_within(Clock::duration span) const {
    const Clock::rep at = refused_at_.load(std::memory_order_relaxed);
    return at != 0 && Clock::now() - Clock::time_point(Clock::duration(at)) <= span;
}

ByteBudget::Taken ByteShare::try_resize(std::size_t bytes) {
    using Claim = ByteBudget::Claim;
    shrink(bytes);
    const Claim claim = goes_first_                ? Claim::first
                        : bytes <= small_bytes_max ? Claim::small
                                                   : Claim::large;
    if (bytes > bytes_ && budget_) {
        const ByteBudget::Taken taken = budget_->take(bytes - bytes_, claim, who_);
        if (taken != ByteBudget::Taken::all) {
            drop();
            return taken;
        }
    }
    bytes_ = bytes;
    return ByteBudget::Taken::all;
}

void ByteShare::shrink(std::size_t bytes) {
    if (bytes >= bytes_) return;
    const std::size_t spare = std::exchange(bytes_, bytes) - bytes;
    if (budget_) budget_->give_back(spare, who_);
}

}  // namespace berth::http
