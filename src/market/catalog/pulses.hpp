// When each machine was last heard, as numbers beside the index: a heartbeat changes one of them
// and nothing else. One thread at a time writes, any number reads.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.hpp"

namespace berth::catalog {

class Pulses {
    static constexpr std::uint32_t chunk_machines = 4096;
    static constexpr std::uint32_t chunks_max = 4096;

public:
    static constexpr std::uint32_t machines_max = chunk_machines * chunks_max;

    explicit Pulses(std::uint32_t room = machines_max) : room_(std::min(room, machines_max)) {}
    ~Pulses() {
        for (auto& chunk : chunks_) delete chunk.load();
    }
    Pulses(const Pulses&) = delete;
    Pulses& operator=(const Pulses&) = delete;

    // A number for a machine that was last heard at `heard`; none when all are in use.
    std::optional<std::uint32_t> add(Time heard) {
        std::uint32_t number = size_;
        if (!free_.empty()) {
            number = free_.back();
            free_.pop_back();
        } else if (size_ == room_) {
            return std::nullopt;
        } else {
            std::atomic<Chunk*>& chunk = chunks_[size_ / chunk_machines];
            if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new Chunk());
            ++size_;
        }
        at(number).store(heard.micros, std::memory_order_relaxed);
        return number;
    }
    // Nobody needs these any more. Other machines get them after the next time this is called:
    // whoever still reads an index with them has gone by then.
    void give_back(std::vector<std::uint32_t> numbers) {
        free_.insert(free_.end(), resting_.begin(), resting_.end());
        resting_ = std::move(numbers);
    }

    // Time only goes on: what was read late does not turn a machine older.
    void set(std::uint32_t number, Time heard) {
        std::atomic<std::int64_t>& cell = at(number);
        if (cell.load(std::memory_order_relaxed) < heard.micros)
            cell.store(heard.micros, std::memory_order_relaxed);
    }
    Time get(std::uint32_t number) const { return {at(number).load(std::memory_order_relaxed)}; }
    std::uint32_t size() const { return size_; }  // no number is as high

private:
    using Chunk = std::array<std::atomic<std::int64_t>, chunk_machines>;

    std::atomic<std::int64_t>& at(std::uint32_t number) const {
        Chunk* const chunk = chunks_[number / chunk_machines].load(std::memory_order_acquire);
        return (*chunk)[number % chunk_machines];
    }

    const std::uint32_t room_;
    std::array<std::atomic<Chunk*>, chunks_max> chunks_{};
    std::uint32_t size_ = 0;
    std::vector<std::uint32_t> resting_;
    std::vector<std::uint32_t> free_;
};

}  // namespace berth::catalog
