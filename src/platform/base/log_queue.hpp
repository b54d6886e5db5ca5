// Lets a process log without waiting for whoever reads its log. While one lives, lines go into a
// bounded queue and a thread writes them; what does not fit is dropped, counted and told in a line
// of its own. What is queued when it ends is written first, unless nobody reads for that long.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace berth {

class LogQueue {
public:
    static constexpr std::size_t queued_bytes_max = std::size_t{4} * 1024 * 1024;
    static constexpr std::chrono::seconds flush_max{2};

    LogQueue();  // there is one at a time
    ~LogQueue();
    LogQueue(const LogQueue&) = delete;
    LogQueue& operator=(const LogQueue&) = delete;

    // Lines of this process that were dropped, since its start.
    static std::uint64_t dropped();
    // Waits until everything queued is written, for at most flush_max: before the process ends in
    // another way than by the end of its queue.
    static void flush();
    // False when there is no queue, and the line is the caller's to write.
    [[nodiscard]] static bool take(std::string& line);
};

// Where the log goes.
int log_descriptor();

}  // namespace berth
