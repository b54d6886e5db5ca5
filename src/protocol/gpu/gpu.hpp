// The graphics cards of a host: what they are, how they are, and the two things the agent does with
// them itself: wiping their memory after each job, and measuring them. What cannot be asked is
// absent, and what was not measured has no number.
#pragma once

#include <map>
#include <memory>

#include "agent_protocol/proof.hpp"
#include "agent_protocol/types.hpp"

namespace berth::gpu {

// A card of the host that is not offered, and why.
struct LeftOut {
    std::string pci_address;
    std::string uuid;  // empty when it has none
    std::string model;
    std::string why;
};

struct Inventory {
    std::optional<std::string> driver_version;
    std::optional<std::string> cuda_max;            // "12.8"
    std::vector<agent_protocol::ManifestGpu> gpus;  // in the order of their bus addresses
    std::map<std::string, std::string> unfit = {};  // by bus address: why it cannot be rented out
    std::vector<LeftOut> left_out = {};
};

// Something the driver said about a card's health.
struct Health {
    agent_protocol::HealthKind kind = agent_protocol::HealthKind::gpu_xid;
    std::string pci_address;
    std::optional<std::int64_t> code;  // of an Xid
    std::string text;
};

// A program that uses a card.
struct User {
    std::string pci_address;
    std::int64_t process = 0;
    bool is_screen = false;    // it draws, as a desktop does
    std::string program = {};  // its name; empty when it does not tell
};
// "Xorg, process 812, draws a desktop on 0000:01:00.0".
std::string in_words(const User& user);

// All memory that could be had was filled with a pattern and with zeros, and read back each time.
// A card of which nothing can be shown has an error and no bytes.
struct Wipe {
    wire::Text<1, 64> pci_address;
    std::optional<wire::Text<1, 128>> uuid;
    wire::Decimal total_bytes;     // of the card
    wire::Decimal wiped_bytes;     // overwritten
    wire::Decimal verified_bytes;  // and read back as they should be
    wire::Decimal milliseconds;
    std::optional<bool> simulated;  // true: a buffer stood in for the card's memory
    std::optional<wire::Text<1, 500>> error;
};
BOOST_DESCRIBE_STRUCT(Wipe, (),
                      (pci_address, uuid, total_bytes, wiped_bytes, verified_bytes, milliseconds,
                       simulated, error))

struct Measurement {
    wire::Text<1, 64> pci_address;
    std::optional<wire::Decimal> vram_bytes;     // of the card, as CUDA reports it
    std::optional<wire::Decimal> free_bytes;     // when the test began
    std::optional<wire::Decimal> pattern_bytes;  // filled with the seeded pattern and read back
    std::optional<wire::Decimal> mismatches;     // words that were read back otherwise
    std::optional<bool> results_right;  // of the computations, each compared with the host's
    std::optional<double> fp32_tflops;
    std::optional<double> tensor_tflops;  // FP16 in, FP32 out
    std::optional<double> mem_bw_gbps;    // reading
    std::optional<double> pcie_gbps;      // host to card, from pinned memory
    std::optional<bool> simulated;
    std::optional<wire::Text<1, 500>> error;  // what was not measured, and why
};
BOOST_DESCRIBE_STRUCT(Measurement, (),
                      (pci_address, vram_bytes, free_bytes, pattern_bytes, mismatches,
                       results_right, fp32_tflops, tensor_tflops, mem_bw_gbps, pcie_gbps, simulated,
                       error))

// One card while it is proven (agent_protocol/proof.hpp). Everything throws std::runtime_error with
// one sentence, and takes seconds; the cards of a host are asked at the same time, each on a thread
// of its own. What it holds in the card's memory is given back with it.
class ProvingCard {
public:
    struct Filled {
        std::int64_t lanes = 0;
        std::string root;  // as it is sent
    };
    virtual ~ProvingCard() = default;
    virtual void make_ready() = 0;
    virtual std::string multiply(const agent_protocol::ProductOrder& order) = 0;  // the root
    virtual std::vector<agent_protocol::Shown> rows(const std::vector<wire::Count>& named) = 0;
    virtual Filled fill(const agent_protocol::LaneOrder& order) = 0;
    virtual std::vector<agent_protocol::Shown> blocks(
        const std::vector<agent_protocol::NamedBlock>& named) = 0;
};

class Gpus {
public:
    virtual ~Gpus() = default;
    virtual Inventory inventory() = 0;
    virtual std::vector<agent_protocol::GpuTelemetry> telemetry() = 0;
    virtual std::vector<Health> health() = 0;  // what is new since it was last asked
    virtual std::vector<User> users() = 0;
    // One for each card of the inventory, one after the other. Both take seconds.
    virtual std::vector<Wipe> wipe(std::uint64_t seed) = 0;
    virtual std::vector<Measurement> measure(std::uint64_t seed) = 0;
    // One for each card of the inventory; none where the cards cannot be proven. They end with the
    // thread that asked for them.
    virtual std::vector<std::unique_ptr<ProvingCard>> proving_cards() = 0;
};

// The cards of this host that are offered: NVIDIA's through its driver's library, AMD's through
// sysfs (these cannot be wiped, and are left out). Nothing is ever done with a card that is not
// offered. A host without either has an empty inventory. `worker` is the command line of a
// program that passes its further arguments to run_worker(): CUDA is used in such a child alone, so
// that no card's memory is held, and no crash of a driver felt, by the agent.
struct Places {
    const char* nvml = "libnvidia-ml.so.1";
    std::string sysfs = "/sys";
    std::vector<std::string> offered = {};  // names of cards; none: all that can be rented out
};
std::unique_ptr<Gpus> host_gpus(std::vector<std::string> worker, const Places& places = {});

// Cards that are not there, for development: `model` as hardware::canonical knows it. Their memory
// is a buffer in the file `memory_file`, and everything says that they are simulated. `cards` are
// their numbers, by which they have their places on the bus. Throws std::invalid_argument for a
// model that is not known.
std::unique_ptr<Gpus> simulated_gpus(std::string_view model, std::vector<std::size_t> cards,
                                     std::string memory_file);
// The number of the simulated card with that bus address.
std::optional<std::size_t> simulated_card(std::string_view pci_address);

// The child's side: does what the arguments say and prints one JSON object. Its exit status.
int run_worker(const std::vector<std::string>& arguments, const char* cuda = "libcuda.so.1");

}  // namespace berth::gpu
