// The two ends of the line between the agent and the child process that proves a card: one task,
// one answer.
#pragma once

#include "gpu/gpu.hpp"

namespace berth::gpu {

enum class ProvingWork { multiply, rows, fill, blocks };
BOOST_DESCRIBE_ENUM(ProvingWork, multiply, rows, fill, blocks)

struct ProvingTask {
    ProvingWork work = ProvingWork::multiply;
    std::optional<agent_protocol::ProductOrder> product;
    std::optional<agent_protocol::LaneOrder> lanes;
    std::vector<wire::Count> rows;
    std::vector<agent_protocol::NamedBlock> blocks;
};
BOOST_DESCRIBE_STRUCT(ProvingTask, (), (work, product, lanes, rows, blocks))

struct ProvingAnswer {
    std::optional<std::string> error;
    std::string root;  // as it is sent
    wire::Count lanes;
    std::vector<agent_protocol::Shown> shown;
};
BOOST_DESCRIBE_STRUCT(ProvingAnswer, (), (error, root, lanes, shown))

// `worker` as for host_gpus().
std::unique_ptr<ProvingCard> proving_child(std::vector<std::string> worker,
                                           const std::string& pci_address, std::size_t number);

}  // namespace berth::gpu
