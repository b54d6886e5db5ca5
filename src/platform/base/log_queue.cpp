#include "base/log_queue.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"

namespace berth {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int look_again_ms = 50;

// What the threads that log and the one that writes share. It is never destroyed: threads may log
// until the very end of the process.
struct Shared {
    std::mutex mutex;
    std::condition_variable arrived;
    std::condition_variable written;
    std::string lines;  // whole ones
    std::uint64_t dropped_untold = 0;
    std::atomic<bool> open = false;
    bool writing = false;  // lines that were taken off
    bool stopping = false;
    SteadyClock::time_point give_up_at = SteadyClock::time_point::max();
    std::atomic<std::uint64_t> dropped{0};
    std::thread thread;
};

Shared& shared() {
    static Shared& one = *new Shared;
    return one;
}

bool is_too_late(Shared& state) {
    const std::lock_guard lock(state.mutex);
    return SteadyClock::now() >= state.give_up_at;
}

// How much of the text goes out next: whole lines where they are short, and never more than a pipe
// with room takes at once, so that writing does not block.
std::size_t next_piece(std::string_view text) {
    constexpr std::size_t piece_max = PIPE_BUF;
    if (text.size() <= piece_max) return text.size();
    const std::size_t end = text.rfind('\n', piece_max - 1);
    return end == std::string_view::npos ? piece_max : end + 1;
}

// Writes it all, however long the reader takes; gives up when it is time to end. A log that cannot
// be written has nowhere to say so.
void write_out(Shared& state, std::string_view text) {
    while (!text.empty()) {
        pollfd ready{.fd = log_descriptor(), .events = POLLOUT, .revents = 0};
        const int found = ::poll(&ready, 1, look_again_ms);
        if (found > 0 && (ready.revents & POLLOUT) != 0) {
            const ssize_t sent = ::write(ready.fd, text.data(), next_piece(text));
            if (sent >= 0) text.remove_prefix(static_cast<std::size_t>(sent));
            if (sent < 0 && errno != EAGAIN && errno != EINTR) return;
        } else if (found > 0) {
            return;
        }
        if (!text.empty() && is_too_late(state)) return;
    }
}

// Through the queue, as everybody: without one it would wait for the reader.
void tell_dropped(std::uint64_t count) {
    if (shared().open) log(Level::warn, "log_lines_dropped", {{"count", count}});
}

void write_lines() {
    Shared& state = shared();
    std::unique_lock lock(state.mutex);
    while (true) {
        state.arrived.wait(lock, [&] { return state.stopping || !state.lines.empty(); });
        if (state.lines.empty()) return;
        const std::string taken = std::exchange(state.lines, {});
        const std::uint64_t lost = std::exchange(state.dropped_untold, 0);
        state.writing = true;
        lock.unlock();
        write_out(state, taken);
        if (lost > 0) tell_dropped(lost);
        lock.lock();
        state.writing = false;
        state.written.notify_all();
    }
}

}  // namespace

LogQueue::LogQueue() {
    Shared& state = shared();
    const std::lock_guard lock(state.mutex);
    check(!state.open, "a process has one queue for its log");
    state.open = true;
    state.stopping = false;
    state.give_up_at = SteadyClock::time_point::max();
    state.thread = std::thread(write_lines);
}

LogQueue::~LogQueue() {
    Shared& state = shared();
    {
        const std::lock_guard lock(state.mutex);
        state.stopping = true;
        state.open = false;
        state.give_up_at = SteadyClock::now() + flush_max;
    }
    state.arrived.notify_one();
    state.thread.join();
}

std::uint64_t LogQueue::dropped() { return shared().dropped; }

void LogQueue::flush() {
    Shared& state = shared();
    std::unique_lock lock(state.mutex);
    if (state.thread.get_id() == std::this_thread::get_id()) return;
    state.written.wait_for(lock, flush_max, [&] { return !state.writing && state.lines.empty(); });
}

bool LogQueue::take(std::string& line) {
    Shared& state = shared();
    {
        const std::lock_guard lock(state.mutex);
        if (!state.open) return false;
        if (state.lines.size() + line.size() > queued_bytes_max) {
            ++state.dropped_untold;
            ++state.dropped;
            return true;
        }
        state.lines += line;
    }
    state.arrived.notify_one();
    return true;
}

}  // namespace berth
