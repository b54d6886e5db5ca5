#include "http/budget.hpp"

namespace berth::http {

bool ByteBudget::take(std::size_t bytes) {
    const std::size_t before = taken_.fetch_add(bytes, std::memory_order_relaxed);
    if (bytes <= bytes_max_ && before <= bytes_max_ - bytes) return true;
    give_back(bytes);
    return false;
}

bool ByteShare::resize(std::size_t bytes) {
    shrink(bytes);
    if (bytes > bytes_ && budget_ && !budget_->take(bytes - bytes_)) {
        drop();
        return false;
    }
    bytes_ = bytes;
    return true;
}

void ByteShare::shrink(std::size_t bytes) {
    if (bytes >= bytes_) return;
    const std::size_t spare = std::exchange(bytes_, bytes) - bytes;
    if (budget_) budget_->give_back(spare);
}

}  // namespace berth::http
