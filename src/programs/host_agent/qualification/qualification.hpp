// The test of this machine, as the server asks for it: every check with what was found, what is
// asked for and what to do about it. What was not measured is never passed; the server judges.
#pragma once

#include <boost/describe.hpp>
#include <mutex>
#include <thread>

#include "agent_protocol/qualification.hpp"
#include "host_agent/core/gate_doors.hpp"
#include "host_agent/core/host.hpp"
#include "host_agent/core/link.hpp"
#include "host_agent/core/shared_counters.hpp"
#include "http/server.hpp"

namespace berth::host_agent {

using agent_protocol::Check;
using agent_protocol::CheckStatus;
using agent_protocol::QualifyPayload;
using agent_protocol::TestResult;

// The checks of the cards alone, from what was found and measured: a pure function.
void judge_cards(const gpu::Inventory& inventory, const std::vector<gpu::User>& users,
                 const std::vector<gpu::Measurement>& measured, std::int64_t min_vram_bytes,
                 TestResult& said);
Check judge_wipes(const std::vector<gpu::Wipe>& wipes);

// What of the test needs no server: nothing is rented out by it, and nobody is told.
struct LocalParts {
    gpu::Gpus& gpus;
    Runtime& runtime;
    const Settings& settings;
    const std::string& folder;  // whose disk jobs use
    const std::string& server;  // its address; empty: there is none yet
};
TestResult test_alone(const LocalParts& parts);

class Qualification {
public:
    struct Parts {
        Link& link;
        SharedCounters& counters;
        gpu::Gpus& gpus;
        Runtime& runtime;
        GateDoors& gate;
        Settings settings;
        std::string folder;  // whose disk jobs use
        std::string server;  // its address
    };
    explicit Qualification(Parts parts) : parts_(std::move(parts)) {}

    // On a thread of its own. False while another run is in progress; the same one again is fine.
    bool begin(const QualifyPayload& order);
    // Closes the door that the server knocked at, once it has had the time to.
    void tidy();

private:
    class EndpointServer;
    void run(const QualifyPayload& order);
    LocalParts local() const {
        return {parts_.gpus, parts_.runtime, parts_.settings, parts_.folder, parts_.server};
    }
    void measure_network(TestResult& said);
    std::optional<double> megabits(bool is_upload);
    void open_endpoint(const QualifyPayload& order, TestResult& said);
    void open_door(const QualifyPayload& order, TestResult& said);
    std::optional<DoorPlace> wait_for_door(const QualifyPayload& order);
    void send(const QualifyPayload& order, const TestResult& said);

    Parts parts_;
    std::mutex mutex_;
    std::string running_;                            // its run_id
    std::shared_ptr<EndpointServer> endpoint_;       // at a port of the host
    std::shared_ptr<EndpointServer> behind_door_;    // on loopback, where a gate leads to
    std::optional<agent_protocol::RunId> has_door_;  // which run
};

}  // namespace berth::host_agent
