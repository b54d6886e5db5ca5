// A card that proves itself as the server asks (agent_protocol/proof.hpp, card_proof): the child
// process's side. What it made stays in the card's memory until it was asked for.
#pragma once

#include "card_proof/product.hpp"
#include "card_proof/tree.hpp"
#include "gpu/cuda.hpp"
#include "gpu/gpu.hpp"

namespace berth::gpu {

class Prover {
public:
    // `number` is the card's in the manifest.
    Prover(Cuda& cuda, std::uint64_t number);

    Bytes multiply(const std::string& seed, const card_proof::ProductSize& size);  // the root
    agent_protocol::Shown row(std::uint64_t row);

    // The product is forgotten.
    struct Filled {
        std::uint64_t lanes = 0;
        Bytes root;
    };
    Filled fill(const std::string& seed, std::uint64_t lane_words);
    agent_protocol::Shown block(std::uint64_t lane, std::uint64_t block);

private:
    // A tree on the card: the hashes of its leaves, and behind them level after level.
    struct Hashes {
        DevicePointer memory = 0;
        std::uint64_t leaves = 0;
    };
    void hash(DevicePointer from, DevicePointer to, std::uint64_t count, std::uint64_t bytes);
    // All levels down to `roots` nodes, which it reads.
    std::string make_levels(const Hashes& hashes, std::uint64_t roots);
    Bytes path_in(const Hashes& hashes, std::uint64_t leaf);
    void make_band(std::uint64_t first_row);
    void forget_product();
    void make_lanes();
    void hash_lanes(DevicePointer first, std::uint64_t count);

    Cuda& cuda_;
    const std::uint64_t number_;
    void* make_lanes_;
    void* sha256_;
    void* multiply_;

    card_proof::ProductSize size_;
    card_proof::ProductSeeds seeds_;
    std::uint64_t band_rows_ = 0;
    DevicePointer left_ = 0;
    DevicePointer right_ = 0;
    DevicePointer band_ = 0;
    Hashes rows_;

    std::string seed_;
    std::uint64_t lane_words_ = 0;
    std::vector<DevicePointer> lanes_;
    Hashes blocks_;  // of some lanes
    std::optional<card_proof::Tree> lane_tree_;
};

// Reads tasks line by line and prints what became of them, until there are no more.
int run_prover(const std::string& pci_address, std::uint64_t number, const char* library);

}  // namespace berth::gpu
