// Whether a machine passed its test: a pure function of what the agent reported and what the server
// knows. The agent's word for a check is never enough where there is a number to hold it against,
// and its word for the whole is not asked for.
#pragma once

#include "machines/machine.hpp"
#include "machines/qualification_types.hpp"

namespace berth::machines {

inline constexpr std::int64_t vram_bytes_min = 8'000'000'000;
inline constexpr std::int64_t ram_bytes_min = 4'000'000'000;
inline constexpr std::int64_t disk_bytes_min = 20'000'000'000;
inline constexpr std::int64_t proven_percent_min = 80;  // of a card's memory

// How an endpoint that was announced answered.
enum class Dialled { not_yet, answered, unreachable };
BOOST_DESCRIBE_ENUM(Dialled, not_yet, answered, unreachable)

// How the proof of the cards (proof.hpp) stands.
enum class ProofState { none, waits, proven, failed };
struct ProofFacts {
    ProofState state = ProofState::none;
    bool unproven_allowed = false;
    std::string reason = {};  // why it is not proven
    std::int64_t bytes = 0;   // of the card that proved least
    double tops = 0;          // 10^12 operations a second, at least: the way to the server included
    double tops_min = 0;
};

struct TestFacts {
    RuntimeKind runtime_kind = RuntimeKind::container;
    std::int64_t gpu_count = 0;
    bool gpu_memory_shared = false;
    bool manifest_matches = true;  // the manifest is still the one the test was begun with
    bool needs_endpoint = false;   // renters reach its jobs from outside, or not at all
    bool gate_offered = false;     // the agent was told that a gate may lead to it
    std::optional<GateWish> wish = {};
    Dialled dialled = Dialled::not_yet;
    std::string dial_reason;  // why it was not reached
    ProofFacts proof = {};
};

struct Judgement {
    Outcome outcome = Outcome::pending;
    std::vector<Check> checks;      // as reported, those of the server put in
    std::vector<Finding> findings;  // blockers first
    bool hopeless = false;          // no further attempt can pass by itself
    bool wipes = false;             // cleanup.wipe passed
};

// Throws INVALID_INPUT for a result that makes no sense: a check twice, a rate out of all bounds.
Judgement judge(const TestFacts& facts, const TestResult& result);

// The measurements as they are stored; throws INVALID_INPUT as judge() does.
Measured measured_of(const Measurements& measurements);

// Why the machine cannot pass whatever it does; empty when it may.
std::optional<Finding> hopeless_from_manifest(const TestFacts& facts);

}  // namespace berth::machines
