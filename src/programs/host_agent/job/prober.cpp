#include "host_agent/job/prober.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.hpp"

namespace berth::host_agent {

bool is_answering(http::Client& client, const Probe& probe) {
    http::Outbound request;
    request.url = fmt::format("http://127.0.0.1:{}{}", probe.port, probe.path);
    request.headers.add("Authorization", "Bearer " + probe.key);
    request.connect_max = std::chrono::seconds(2);
    request.total_max = std::chrono::seconds(5);
    try {
        return client.send(request).status < 500;
    } catch (const http::TransportError&) {
        return false;
    }
}

bool is_listening(std::int64_t port) {
    const int handle = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool good =
        ::connect(handle, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(handle);
    return good;
}

Prober::Prober(http::Client& client, Probe probe, std::function<void(bool)> changed,
               Duration interval)
    : client_(client),
      probe_(std::move(probe)),
      changed_(std::move(changed)),
      interval_(interval),
      thread_([this] { work(); }) {}

Prober::~Prober() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

void Prober::work() {
    int failures = 0;
    bool is_down = false;
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, interval_, [this] { return ends_; })) {
        lock.unlock();
        failures = is_answering(client_, probe_) ? 0 : failures + 1;
        const bool was_down = is_down;
        is_down = failures >= failures_for_down || (is_down && failures > 0);
        try {
            if (is_down != was_down) changed_(is_down);
        } catch (const std::exception& error) {  // the job tells it with its next look
            log(Level::warn, "engine_not_told", {{"why", error.what()}});
        }
        lock.lock();
    }
}

}  // namespace berth::host_agent
