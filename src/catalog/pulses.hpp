// When each machine was last heard, as numbers beside the index: a heartbeat changes one of them
// and nothing else. One thread at a time writes, any number reads.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "base/check.hpp"
#include "base/time.hpp"

namespace berth::catalog {

class Pulses {
public:
    Pulses() = default;
    ~Pulses() {
        for (auto& chunk : chunks_) delete chunk.load();
    }
    Pulses(const Pulses&) = delete;
    Pulses& operator=(const Pulses&) = delete;

    // A new number, of a machine that was last heard at `heard`.
    std::uint32_t add(Time heard) {
        check(size_ < chunk_machines * chunks_max, "machines are fewer than the catalog can count");
        std::atomic<Chunk*>& chunk = chunks_[size_ / chunk_machines];
        if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new Chunk());
        set(size_, heard);
        return size_++;
    }
    // Time only goes on: what was read late does not turn a machine older.
    void set(std::uint32_t number, Time heard) {
        std::atomic<std::int64_t>& cell = at(number);
        if (cell.load(std::memory_order_relaxed) < heard.micros)
            cell.store(heard.micros, std::memory_order_relaxed);
    }
    Time get(std::uint32_t number) const { return {at(number).load(std::memory_order_relaxed)}; }

private:
    static constexpr std::uint32_t chunk_machines = 4096;
    static constexpr std::uint32_t chunks_max = 4096;
    using Chunk = std::array<std::atomic<std::int64_t>, chunk_machines>;

    std::atomic<std::int64_t>& at(std::uint32_t number) const {
        Chunk* const chunk = chunks_[number / chunk_machines].load(std::memory_order_acquire);
        return (*chunk)[number % chunk_machines];
    }

    std::array<std::atomic<Chunk*>, chunks_max> chunks_{};
    std::uint32_t size_ = 0;
};

}  // namespace berth::catalog
