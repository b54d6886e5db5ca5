// The proof of a machine's cards, step by step (agent_protocol/proof.hpp): what the agent committed
// to, what it was then asked for, and when, by this server's clock. What it showed is looked at by
// the worker, once the whole result of the test is there.
#pragma once

#include "agent_protocol/proof.hpp"
#include "api/router.hpp"
#include "card_proof/product.hpp"
#include "machines/judge.hpp"
#include "machines/qualification_runs.hpp"

namespace berth::machines {

// From the answer that starts a step to the message that ends it.
inline constexpr Duration product_within = std::chrono::seconds(60);
inline constexpr Duration lanes_within = std::chrono::seconds(40);
inline constexpr Duration blocks_within = std::chrono::milliseconds(1500);

struct ProofRules {
    bool unproven_allowed = false;  // cards that nobody proved may pass
    card_proof::ProductSize product = {};
    std::uint64_t lane_words = std::uint64_t{1} << 23;
    std::uint64_t lane_stands_for = std::uint64_t{64} << 20;  // bytes; less words are for tests
    // What the product must have been made at, for each gigabyte that the card has. Far below any
    // card: it tells a card from a processor that computes in its place, if at all.
    double tops_a_gigabyte_min = 0.25;
};

struct Proof {
    RunId run_id;
    std::string seed;
    Time begun_at;
    std::optional<std::string> product;  // JSON as it came or was answered, like those below
    std::optional<std::string> lane_order;
    std::optional<Time> lanes_ordered_at;
    std::optional<std::string> lanes;
    std::optional<std::string> block_order;
    std::optional<Time> blocks_ordered_at;
    std::optional<std::string> blocks;
    std::optional<std::string> fault;  // why it has failed
};
BOOST_DESCRIBE_STRUCT(Proof, (),
                      (run_id, seed, begun_at, product, lane_order, lanes_ordered_at, lanes,
                       block_order, blocks_ordered_at, blocks, fault))

void add_proof(db::Transaction& tx, const Proof& proof);
void save_proof(db::Transaction& tx, const Proof& proof);
std::optional<Proof> find_proof(db::Transaction& tx, RunId run);
void delete_proof(db::Transaction& tx, RunId run);

class Proofs {
public:
    explicit Proofs(const ProofRules& rules) : rules_(rules) {}

    void add_routes(api::Router& router) const;

    // For the agent, in this order. Each may be sent again and is answered as before.
    agent_protocol::ProductOrder begin(api::Call& call, MachineId machine, RunId run,
                                       const agent_protocol::ProofBegin& request) const;
    agent_protocol::LaneOrder take_product(api::Call& call, MachineId machine, RunId run,
                                           const agent_protocol::ProductCommitment& request) const;
    agent_protocol::BlockOrder take_lanes(api::Call& call, MachineId machine, RunId run,
                                          const agent_protocol::LaneCommitment& request) const;
    agent_protocol::ProofTaken take_blocks(api::Call& call, MachineId machine, RunId run,
                                           const agent_protocol::BlockAnswer& request) const;

    // How it stands before anybody has looked at what was shown.
    ProofFacts facts(const std::optional<Proof>& proof) const;
    // Looks at what was shown: seconds of work for a processor, and no transaction.
    ProofFacts examine(const Proof& proof, Random& random) const;

private:
    ProofRules rules_;
};

}  // namespace berth::machines
