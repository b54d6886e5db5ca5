// A line between two networks that takes its time: what goes in at one end comes out at the other
// after a delay. (Where the kernel has no netem.)
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>

namespace berth::test {

class Network;

class Line {
public:
    // Ends at an interface `line` in each of them.
    Line(const Network& one, const Network& other);
    ~Line();
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    void set_delay(std::chrono::milliseconds each_way) { delay_ms_ = each_way.count(); }
    std::uint64_t carried() const { return carried_; }  // packets

private:
    using Moment = std::chrono::steady_clock::time_point;
    struct Packet {
        Moment due;
        std::string bytes;
    };
    struct Way {
        int from;
        int to;
        std::deque<Packet> waiting;
    };
    void work();
    void take(Way& way);
    void give(Way& way);
    int next_wait_ms() const;

    std::atomic<std::int64_t> delay_ms_ = 0;
    std::atomic<std::uint64_t> carried_ = 0;
    int ends_[2];
    Way ways_[2];
    int stop_[2];  // a pipe: closed, it ends the thread
    std::thread thread_;
};

}  // namespace berth::test
