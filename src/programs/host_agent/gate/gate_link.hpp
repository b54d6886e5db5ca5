// One link to a gate: a request whose answer has no end, on a thread of its own. The gate says
// there who knocks at a door of this machine. It is trusted with nothing but that: what it says is
// bounded, and a call leads where GateCalls knows a door, or nowhere.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "host_agent/core/link.hpp"
#include "host_agent/gate/gate_address.hpp"
#include "host_agent/gate/line_reader.hpp"

namespace berth::host_agent {

class GateLink {
public:
    struct Setup {
        http::Client& client;
        Link& signer;  // as this machine
        GateAddress gate;
        std::string ticket;
        Duration silence_max = agent_protocol::link_silence_max;
    };
    // Both are called on the link's thread.
    struct Hooks {
        std::function<void(const GateAddress&, const agent_protocol::LinkLine&)> on_call;
        std::function<void()> on_change;
    };
    GateLink(Setup setup, Hooks hooks);
    ~GateLink();  // leaves, and waits for the thread: about a second
    GateLink(const GateLink&) = delete;
    GateLink& operator=(const GateLink&) = delete;

    struct Status {
        std::optional<agent_protocol::LinkId> id;  // since hello
        std::optional<std::chrono::steady_clock::time_point> opened_at;
        bool has_bye = false;
        std::optional<agent_protocol::ByeReason> bye;  // where the reason is known
        bool is_over = false;
        int refused = 0;  // the gate's answer, where it was no link
        std::string why;  // it is over, for the log

        bool is_open() const { return id && !is_over; }
    };
    Status status() const;
    const GateAddress& gate() const { return setup_.gate; }

    void leave() { is_left_ = true; }
    // Shows the gate another ticket for the same link; false when it does not take it.
    bool renew(const std::string& ticket);

private:
    void run();
    void take(std::string_view bytes);
    void take_line(std::string_view line);
    void end(int refused, const std::string& why);
    http::Outbound request(const std::string& path, const std::string& ticket) const;

    const Setup setup_;
    const Hooks hooks_;
    LineReader lines_;        // of the thread alone
    int not_understood_ = 0;  // lines; the same
    std::atomic<bool> is_left_{false};
    mutable std::mutex mutex_;
    Status status_;
    std::thread thread_;
};

}  // namespace berth::host_agent
