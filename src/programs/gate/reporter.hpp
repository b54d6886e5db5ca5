// Tells the server every five seconds what a gate carries, and takes its word. Without a server
// everything goes on, and the next report that is heard has all of it: counters only rise.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "agent_protocol/gate.hpp"
#include "agent_protocol/signature.hpp"
#include "gate/folder.hpp"
#include "gate/tally.hpp"
#include "http/client.hpp"

namespace berth::gate {

// The server's clock: our own, and how far it is off by the Date of its answers.
class HeardClock final : public Clock {
public:
    enum class Off { noticed, ignored };  // ignored: the clock is the server's own

    HeardClock(const Clock& own, Off off) : own_(own), off_(off) {}

    Time now() const override { return own_.now() + Duration(offset_us_.load()); }
    bool hear(const http::Response& response);  // true when we were far off

private:
    const Clock& own_;
    const Off off_;
    std::atomic<std::int64_t> offset_us_{0};
};

struct ReporterOptions {
    std::string server;                             // its address: https://…
    std::string ca_file;                            // empty: the system's authorities
    Duration every = agent_protocol::report_every;  // 0: whoever calls report_once()
    Duration answer_max = std::chrono::seconds(10);
};

class Reporter {
public:
    using Rows = std::vector<agent_protocol::DoorReport>;
    struct Hooks {
        // Fills in what there is to report.
        std::function<void(agent_protocol::GateReport&)> fill;
        std::function<void(const agent_protocol::GateOrders&, const Rows&)> follow;
    };

    Reporter(ReporterOptions options, const Identity& identity, http::Client& client,
             HeardClock& clock, Random& random, Tally& tally, Hooks hooks);
    ~Reporter();

    void start();
    void stop();
    bool report_once();  // true when the server has heard it

private:
    void run();
    std::optional<http::Response> send(const std::string& body);

    const ReporterOptions options_;
    const agent_protocol::RequestSigner signer_;
    http::Client& client_;
    HeardClock& clock_;
    Random& random_;
    Tally& tally_;
    const Hooks hooks_;
    agent_protocol::GateReport report_;  // what stays the same from one to the next
    bool was_heard_ = true;              // said once when it changes

    std::mutex mutex_;
    std::condition_variable wake_;
    bool ending_ = false;
    std::thread thread_;
};

}  // namespace berth::gate
