#include "http/pipes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <utility>

namespace berth::http {
namespace {

// Together 48 MiB, below the 64 that pipe-user-pages-soft usually allows.
constexpr int pipes_max = 192;
constexpr std::size_t pipes_idle_max = 64;
constexpr int pipe_bytes_wanted = 256 * 1024;
constexpr int pipe_bytes_min = 64 * 1024;  // a smaller one is worse than copying

std::atomic<int> pipes_open{0};

}  // namespace

Pipe::~Pipe() {
    if (counted) pipes_open.fetch_sub(1, std::memory_order_relaxed);
}

Pipes& Pipes::of_this_thread() {
    thread_local Pipes pipes;
    return pipes;
}

std::unique_ptr<Pipe> Pipes::take() {
    if (!idle_.empty()) {
        std::unique_ptr<Pipe> pipe = std::move(idle_.back());
        idle_.pop_back();
        return pipe;
    }
    auto pipe = std::make_unique<Pipe>();
    pipe->counted = true;
    if (pipes_open.fetch_add(1, std::memory_order_relaxed) >= pipes_max) return nullptr;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return nullptr;
    pipe->out = Descriptor(ends[0]);
    pipe->in = Descriptor(ends[1]);
    ::fcntl(ends[1], F_SETPIPE_SZ, pipe_bytes_wanted);
    const int bytes = ::fcntl(ends[1], F_GETPIPE_SZ);
    if (bytes < pipe_bytes_min) return nullptr;
    pipe->bytes_max = static_cast<std::size_t>(bytes);
    return pipe;
}

void Pipes::give_back(std::unique_ptr<Pipe> pipe) {
    if (pipe && pipe->held == 0 && idle_.size() < pipes_idle_max) idle_.push_back(std::move(pipe));
}

}  // namespace berth::http
