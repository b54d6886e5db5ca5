#include "server/pulse.hpp"

namespace berth::server {

void Pulse::start() {
    std::unique_lock lock(mutex_);
    started_ = true;
    thread_ = std::thread([this] { loop(); });
    changed_.wait_for(lock, look_max, [this] { return looked_; });
}

void Pulse::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Pulse::leave() {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
}

Checks Pulse::checks() const {
    {
        const std::lock_guard lock(mutex_);
        if (started_) {
            Checks checks = last_;
            if (!looked_ || SteadyClock::now() - looked_at_ > look_max)
                checks.db = CheckState::failed;
            return checks;
        }
    }
    return look();
}

bool Pulse::leaving() const {
    const std::lock_guard lock(mutex_);
    return leaving_;
}

Checks Pulse::look() const {
    return {probes_.db(),      probes_.worker(),    probes_.chain(),       probes_.mail(),
            probes_.settler(), probes_.locations(), probes_.liabilities(), probes_.requests()};
}

void Pulse::loop() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        lock.unlock();
        const Checks seen = look();
        lock.lock();
        last_ = seen;
        looked_at_ = SteadyClock::now();
        looked_ = true;
        changed_.notify_all();
        changed_.wait_for(lock, look_every, [this] { return stopping_; });
    }
}

}  // namespace berth::server
