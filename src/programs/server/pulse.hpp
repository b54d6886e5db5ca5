// How the parts of the service are doing, known before anyone asks: a thread of its own looks twice
// a second, so that readiness costs nothing and answers at once also while the database hangs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "server/status.hpp"

namespace berth::server {

// How the parts are doing; each may block for a moment. A part that is not used says `off`.
struct Probes {
    std::function<CheckState()> db;
    std::function<CheckState()> worker;
    std::function<CheckState()> chain;
    std::function<CheckState()> mail;
    std::function<CheckState()> settler;
    std::function<CheckState()> locations;
    std::function<CheckState()> liabilities;
    std::function<CheckState()> requests;
};

class Pulse final : public Vitals {
public:
    static constexpr std::chrono::milliseconds look_every{500};
    // A look that takes longer than this has failed, whatever it would have said.
    static constexpr std::chrono::seconds look_max{2};

    explicit Pulse(Probes probes) : probes_(std::move(probes)) {}
    ~Pulse() override { stop(); }
    Pulse(const Pulse&) = delete;
    Pulse& operator=(const Pulse&) = delete;

    void start();  // looks once before it returns, for at most look_max
    void stop();
    void leave();  // from now on the service is not ready: it is about to stop

    // Before start() it looks itself, on the thread that asks.
    Checks checks() const override;
    bool leaving() const override;

private:
    using SteadyClock = std::chrono::steady_clock;

    Checks look() const;
    void loop();

    const Probes probes_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Checks last_;
    SteadyClock::time_point looked_at_{};
    bool looked_ = false;
    bool started_ = false;
    bool stopping_ = false;
    bool leaving_ = false;
    std::thread thread_;
};

}  // namespace berth::server
