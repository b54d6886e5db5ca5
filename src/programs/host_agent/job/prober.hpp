// Asks an engine whether it is there, again and again, on a thread of its own: an engine that hangs
// must not keep anything else from happening.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/time.hpp"
#include "http/client.hpp"

namespace berth::host_agent {

struct Probe {
    std::int64_t port = 0;  // on loopback
    std::string path;
    std::string key;
};

// Any answer under 500 within five seconds.
bool is_answering(http::Client& client, const Probe& probe);
// Whether anybody accepts a connection there.
bool is_listening(std::int64_t port);

class Prober {
public:
    static constexpr int failures_for_down = 3;
    static constexpr Duration every = std::chrono::seconds(10);

    // `changed` is called on the prober's thread.
    Prober(http::Client& client, Probe probe, std::function<void(bool is_down)> changed,
           Duration interval = every);
    ~Prober();
    Prober(const Prober&) = delete;
    Prober& operator=(const Prober&) = delete;

private:
    void work();

    http::Client& client_;
    const Probe probe_;
    const std::function<void(bool)> changed_;
    const Duration interval_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace berth::host_agent
