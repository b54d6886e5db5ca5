// The time of a simulation: that of the system and an offset, which lies in a file that the server
// and its simulated agents have in common. Whoever opened the file sees a new offset at once.
#pragma once

#include <atomic>
#include <string>

#include "base/time.hpp"

namespace berth {

class SharedClock final : public Clock {
public:
    enum class Use { read, move };

    // To move it, the file is made when it is not there, for its owner alone. Throws
    // std::runtime_error with one sentence when the file cannot be used.
    SharedClock(const std::string& path, Use use);
    ~SharedClock() override;
    SharedClock(const SharedClock&) = delete;
    SharedClock& operator=(const SharedClock&) = delete;

    Time now() const override;
    Duration offset() const;
    void advance(Duration span);  // never backwards

private:
    const Use use_;
    std::atomic<std::int64_t>* micros_ = nullptr;  // in the file
};

}  // namespace berth
