// Time on a host. Nothing is ever decided by its wall clock, which its owner, or anybody's time
// server, may set: deadlines are in the server's time, and the server's time is what it said last
// plus what CLOCK_BOOTTIME has counted since, through suspend and all.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "base/shared_clock.hpp"

namespace berth::host_agent {

class BootClock {
public:
    virtual ~BootClock() = default;
    virtual Duration since_boot() const = 0;
    virtual std::string boot_id() const = 0;  // changes with every boot
    // The wall clock: for signatures before the server's Date was seen, and for people.
    virtual Time wall() const { return SystemClock().now(); }
    virtual bool is_simulated() const { return false; }
};

class SystemBootClock final : public BootClock {
public:
    SystemBootClock();
    Duration since_boot() const override;
    std::string boot_id() const override { return boot_id_; }

private:
    std::string boot_id_;
};

// Of a simulated host: time passes as it does for its simulated server.
class SharedBootClock final : public BootClock {
public:
    explicit SharedBootClock(const std::string& file) : shared_(file, SharedClock::Use::read) {}
    Duration since_boot() const override { return system_.since_boot() + shared_.offset(); }
    std::string boot_id() const override { return system_.boot_id(); }
    Time wall() const override { return shared_.now(); }
    bool is_simulated() const override { return true; }

private:
    SystemBootClock system_;
    SharedClock shared_;
};

// What was known at one moment of one boot; it can be kept on disk.
struct Anchor {
    std::string boot_id;
    Duration since_boot{};
    Time server_time;
};

// Safe to call from any thread.
class ServerTime {
public:
    explicit ServerTime(const BootClock& clock) : clock_(clock) {}

    void hear(Time server_time);
    // From before a restart of the agent; of another boot it says nothing.
    void remember(const Anchor& anchor);
    std::optional<Anchor> anchor() const;
    // Empty before the server was heard in this boot.
    std::optional<Time> now() const;

private:
    const BootClock& clock_;
    mutable std::mutex mutex_;
    std::optional<Anchor> anchor_;
};

}  // namespace berth::host_agent
