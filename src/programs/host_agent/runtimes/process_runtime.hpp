// Runs engines of the host as processes, for development and for hosts without containers. Which
// engines there are says a table of the host's owner: a renter's image is never run, only kind
// model is taken, and there is no SSH. Each job has a user of its own when the agent is root,
// folders of its own, limits, and bubblewrap around it where that is installed.
//
// A small process of ours (shim.hpp) is the parent of the engine: it outlives the agent, keeps what
// the engine prints, and writes down how it ended.
#pragma once

#include "host_agent/core/runtime.hpp"
#include "wire/wire.hpp"

namespace berth::host_agent {

// One row of the table. {port}, {folder}, {engine} and {NAME} of any variable of the template
// ({MODEL_ID}) are replaced in the arguments.
struct Engine {
    std::string name;  // as templates call it: "vllm"
    std::string program;
    std::vector<std::string> arguments;
    std::optional<std::vector<std::string>> readable;  // further folders that it may read
    std::optional<std::map<std::string, std::string>> environment;
};
BOOST_DESCRIBE_STRUCT(Engine, (), (name, program, arguments, readable, environment))

struct EngineTable {
    std::vector<Engine> engines;
};
BOOST_DESCRIBE_STRUCT(EngineTable, (), (engines))

// Throws std::invalid_argument with a sentence.
EngineTable read_engines(const std::string& path);

class ProcessRuntime final : public Runtime {
public:
    struct Setup {
        std::string jobs_folder;  // of the state: one folder for each job
        std::string program;      // this very program, for the shim
        EngineTable engines;
        // The toy engine of this program serves every template whose engine is not in the table.
        bool has_toy = false;
        bool is_simulated = false;
    };
    explicit ProcessRuntime(Setup setup);

    agent_protocol::RuntimeKind kind() const override;
    std::optional<std::string> version() override;
    std::vector<std::string> troubles() override;
    std::optional<Asserted> assert_profile(const ProfileQuestion&) override { return std::nullopt; }
    std::optional<std::string> refusal(const Workload& workload) override;
    void prepare(const Workload& workload, const Patience& patience,
                 const std::function<void(const Progress&)>& told) override;
    Started start(const Workload& workload) override;
    std::optional<Started> rejoin(const Workload& workload) override;
    Look look(const Workload& workload) override;
    std::string log_tail(const Workload& workload, std::size_t bytes_max) override;
    void stop(const Workload& workload, Duration grace) override;
    void clean(const Workload& workload) override;
    std::vector<JobId> present() override;

private:
    std::optional<Engine> engine_for(const Workload& workload) const;

    const Setup setup_;
    const std::string bubblewrap_;  // its path; empty when it is not there
};

}  // namespace berth::host_agent
