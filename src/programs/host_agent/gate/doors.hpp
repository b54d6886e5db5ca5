// Who wants doors on this host, what the server gave for it, and the link by which it comes true.
// One thread asks the server (again every five minutes, and whenever something changed), keeps the
// link, and moves both when the server says so. Nothing of it is on disk: after a restart jobs want
// their doors again, and the server has not forgotten which those are.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "host_agent/core/gate_doors.hpp"
#include "host_agent/core/link.hpp"
#include "host_agent/core/shared_counters.hpp"
#include "host_agent/gate/gate_calls.hpp"
#include "host_agent/gate/gate_link.hpp"

namespace berth::host_agent {

// How long it waits for what; tests are in more of a hurry.
struct DoorPace {
    Duration renewal = agent_protocol::ticket_renewal;
    Duration lost_max = agent_protocol::lost_link_max;  // without a link: the server is told
    Duration lost_again = std::chrono::seconds(30);     // and told again
    Duration silence_max = agent_protocol::link_silence_max;
    Duration pause_min = std::chrono::seconds(1);  // after something failed
    Duration pause_max = std::chrono::seconds(30);
    Duration replaced_pause = std::chrono::seconds(30);
    Duration settled = std::chrono::seconds(30);        // a link that lived so long was a good one
    Duration draining_grace = std::chrono::seconds(5);  // for the older of two links
};

class DoorKeeper final : public GateDoors {
public:
    struct Parts {
        Link& link;
        SharedCounters& counters;
        http::Client& client;
    };
    struct Options {
        GateCalls::Options calls{};
        DoorPace pace{};
    };
    DoorKeeper(const Parts& parts, Options options);
    ~DoorKeeper() override;

    void want(const DoorOwner& owner, const std::vector<LocalDoor>& doors) override;
    void give_back(const DoorOwner& owner) override;
    std::optional<std::vector<DoorPlace>> places(const DoorOwner& owner) const override;
    std::string trouble() const override;

    std::string in_words() const;  // for the owner: lines, or nothing when no job wants a door
    GateCalls::Counts counts() const { return calls_.counts(); }

private:
    using Clock = std::chrono::steady_clock;
    using Moment = Clock::time_point;
    using Lock = std::unique_lock<std::mutex>;
    using Links = std::vector<std::unique_ptr<GateLink>>;

    struct Held {
        DoorOwner owner;
        LocalDoor local;
        agent_protocol::DoorId id;
        std::int64_t port = 0;  // of the gate
    };
    // What the server gave last.
    struct Given {
        GateAddress gate;
        std::vector<http::Address> addresses;  // of its name, that of `gate` among them
        std::string ticket;
        std::vector<Held> doors;
    };
    using Asked = std::vector<std::pair<DoorOwner, LocalDoor>>;

    void run();
    Moment next_look() const;
    void note_loss(Moment now);
    Links look_at_links(Moment now);
    void look_at_current(Moment now, Links& over);
    void end_current(const GateLink::Status& status, Moment now, Links& over);
    void ask(Lock& lock);
    http::Response send_wanted(const Asked& asked, std::int64_t lost_s);
    void take_answer(const Asked& asked, const http::Response& answer, Lock& lock);
    std::optional<Given> find_gate(const agent_protocol::GatePlace& place, Lock& lock);
    void take_refusal(const http::Response& answer);
    void ask_again_later(const std::string& why, std::optional<Duration> pause = {});
    void use_next_address();
    void open_link();
    bool is_renewal_due() const;
    void show_ticket(Lock& lock);
    void tell_calls();
    Duration jittered(Duration span);
    Asked asked_now() const;
    bool wants_for_job() const;

    const Parts parts_;
    const Options options_;
    SystemRandom random_;
    GateCalls calls_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool is_news_ = false;
    bool ends_ = false;
    std::map<DoorOwner, std::vector<LocalDoor>> wanted_;
    bool has_asked_ = false;  // the server may have doors of ours
    Moment ask_at_ = Moment::max();
    Moment asked_at_{};
    Duration ask_pause_{};
    std::optional<Given> given_;
    std::string trouble_;
    std::unique_ptr<GateLink> current_;
    std::string shown_ticket_;  // to the gate, over the current link
    Links draining_;            // older ones, whose calls are still answered
    Moment link_at_{};
    Duration link_pause_{};
    std::optional<Moment> lost_since_;
    std::thread thread_;
};

}  // namespace berth::host_agent
