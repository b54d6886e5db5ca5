// A bound on the bytes of unfinished and waiting requests, over all connections together: limits
// for each of them do not add up to a limit for the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace berth::http {

class ByteBudget {
public:
    explicit ByteBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    // False, and nothing taken, when less than that is left.
    [[nodiscard]] bool take(std::size_t bytes);
    void give_back(std::size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }
    std::size_t taken() const { return taken_.load(std::memory_order_relaxed); }

private:
    const std::size_t bytes_max_;
    std::atomic<std::size_t> taken_{0};
};

// What one holder has of a budget; it goes back with the object. Without a budget it is bounded by
// nothing.
class ByteShare {
public:
    ByteShare() = default;
    explicit ByteShare(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
    ByteShare(ByteShare&& other) noexcept
        : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
    ByteShare& operator=(ByteShare&& other) noexcept {
        std::swap(budget_, other.budget_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~ByteShare() { drop(); }

    // From now on the share is this large. False, and all of it given back, when the budget has no
    // room for that.
    [[nodiscard]] bool resize(std::size_t bytes);
    void shrink(std::size_t bytes);  // to no more than that
    void drop() { shrink(0); }
    std::size_t bytes() const { return bytes_; }
    // An empty one of the same budget, for whoever keeps a copy.
    ByteShare another() const { return ByteShare(budget_); }

private:
    std::shared_ptr<ByteBudget> budget_;
    std::size_t bytes_ = 0;
};

}  // namespace berth::http
