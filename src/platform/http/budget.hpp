// A bound on the bytes of unfinished and waiting requests, over all connections together: limits
// for each of them do not add up to a limit for the process.
//
// Nobody takes all of it. A part is left for small bodies, so that a few who send much do not shut
// out the many who send little; a part of that is left for callers who go first; and one address
// has a share of its own and no more.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace berth::http {

struct BudgetLimits {
    std::size_t bytes_max;
    std::size_t small_reserve = 0;  // of bytes_max: large bodies leave it free
    std::size_t first_reserve = 0;  // beside it: all but those who go first leave it free
    std::size_t per_address_max = std::numeric_limits<std::size_t>::max();
};

class ByteBudget {
public:
    enum class Claim { large, small, first };
    enum class Taken { all, no_room, over_share };

    explicit ByteBudget(std::size_t bytes_max) : ByteBudget(BudgetLimits{.bytes_max = bytes_max}) {}
    explicit ByteBudget(const BudgetLimits& limits) : limits_(limits) {}

    // Nothing is taken when less than that is left for such a claim, or for the address `who`. An
    // address that is not counted is empty.
    [[nodiscard]] Taken take(std::size_t bytes, Claim claim, const std::string& who);
    void give_back(std::size_t bytes, const std::string& who);

    bool has_room(std::size_t bytes, Claim claim) const;
    std::size_t taken() const { return taken_.load(std::memory_order_relaxed); }
    std::size_t bytes_max() const { return limits_.bytes_max; }
    // How often there was no room. That one address had its share does not count.
    std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
    bool refused_within(std::chrono::steady_clock::duration span) const;

private:
    using Clock = std::chrono::steady_clock;

    bool take_share(std::size_t bytes, const std::string& who);
    void give_back_share(std::size_t bytes, const std::string& who);
    std::size_t bytes_max_of(Claim claim) const;

    const BudgetLimits limits_;
    std::atomic<std::size_t> taken_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<Clock::rep> refused_at_{0};
    std::mutex mutex_;
    std::unordered_map<std::string, std::size_t> by_address_;  // as many as hold something
};

// What one holder has of a budget; it goes back with the object. Without a budget it is bounded by
// nothing.
class ByteShare {
public:
    static constexpr std::size_t small_bytes_max = 4 * 1024;

    ByteShare() = default;
    explicit ByteShare(std::shared_ptr<ByteBudget> budget, std::string who = {})
        : budget_(std::move(budget)), who_(std::move(who)) {}
    ByteShare(ByteShare&& other) noexcept
        : budget_(std::move(other.budget_)),
          who_(std::move(other.who_)),
          bytes_(std::exchange(other.bytes_, 0)),
          goes_first_(other.goes_first_) {}
    ByteShare& operator=(ByteShare&& other) noexcept {
        std::swap(budget_, other.budget_);
        std::swap(who_, other.who_);
        std::swap(bytes_, other.bytes_);
        std::swap(goes_first_, other.goes_first_);
        return *this;
    }
    ~ByteShare() { drop(); }

    // From now on the share is this large. All of it is given back when the budget has no room for
    // that.
    [[nodiscard]] ByteBudget::Taken try_resize(std::size_t bytes);
    [[nodiscard]] bool resize(std::size_t bytes) {
        return try_resize(bytes) == ByteBudget::Taken::all;
    }
    void shrink(std::size_t bytes);  // to no more than that
    void drop() { shrink(0); }
    std::size_t bytes() const { return bytes_; }
    void go_first(bool does = true) { goes_first_ = does; }
    // An empty one of the same budget and address, for whoever keeps a copy.
    ByteShare another() const { return ByteShare(budget_, who_); }

private:
    std::shared_ptr<ByteBudget> budget_;
    std::string who_;
    std::size_t bytes_ = 0;
    bool goes_first_ = false;
};

}  // namespace berth::http
