#include "host_agent/core/boot_clock.hpp"

#include <ctime>
#include <fstream>
#include <stdexcept>

namespace berth::host_agent {

SystemBootClock::SystemBootClock() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    if (!std::getline(file, boot_id_))
        throw std::runtime_error("/proc/sys/kernel/random/boot_id cannot be read");
}

Duration SystemBootClock::since_boot() const {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec / 1000);
}

void ServerTime::hear(Time server_time) {
    const std::lock_guard lock(mutex_);
    anchor_ = Anchor{clock_.boot_id(), clock_.since_boot(), server_time};
}

void ServerTime::remember(const Anchor& anchor) {
    const std::lock_guard lock(mutex_);
    if (!anchor_ && anchor.boot_id == clock_.boot_id()) anchor_ = anchor;
}

std::optional<Anchor> ServerTime::anchor() const {
    const std::lock_guard lock(mutex_);
    return anchor_;
}

std::optional<Time> ServerTime::now() const {
    const std::lock_guard lock(mutex_);
    if (!anchor_) return std::nullopt;
    return anchor_->server_time + (clock_.since_boot() - anchor_->since_boot);
}

}  // namespace berth::host_agent
