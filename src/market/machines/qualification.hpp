// The automatic test of machines, from the wish to test one to its admission. The worker begins a
// test while the agent is heard, the agent reports, the server judges, and a machine that failed is
// tried again later, until it needs its owner.
#pragma once

#include "api/router.hpp"
#include "http/resolve.hpp"
#include "machines/commands.hpp"
#include "machines/gate_side.hpp"
#include "machines/listing.hpp"
#include "machines/offer_side.hpp"
#include "machines/proof.hpp"
#include "machines/qualification_runs.hpp"

namespace berth::machines {

inline constexpr Duration run_lasts = std::chrono::minutes(30);
// Between one failure and the next attempt; after the last of these the owner has to act.
inline constexpr std::array<Duration, 5> retry_after{
    std::chrono::minutes(1), std::chrono::minutes(5), std::chrono::minutes(15),
    std::chrono::minutes(60), std::chrono::minutes(360)};

// A machine that wants to be reached by a gate waits for one.
inline constexpr Duration gate_awaited = std::chrono::seconds(15);

// What the worker does between a good result and its end: the endpoint is dialled first, since its
// door does not stay open for long; then the proof of the cards is examined.
inline constexpr std::string_view dial_endpoint_kind_name = "dial_endpoint";
inline constexpr std::string_view examine_proof_kind_name = "examine_proof";

class Qualifications {
public:
    // Where endpoints may be anywhere, a machine without one can be rented all the same. Without
    // `gates` there is none, and without `offers` nothing is published.
    Qualifications(const Commands& commands, http::Reach endpoint_reach,
                   const ProofRules& rules = {}, const GateSide* gates = nullptr,
                   const OfferSide* offers = nullptr)
        : commands_(commands),
          endpoint_reach_(endpoint_reach),
          proofs_(rules),
          gates_(gates),
          offers_(offers) {}

    void add_routes(api::Router& router) const;

    // For the agent
    TestJudged take_result(api::Call& call, MachineId machine, RunId run,
                           const TestResult& result) const;

    // For the worker. Each looks again whether it still is to be done, and says whether it did.
    bool begin(const db::Context& context, MachineId id) const;
    struct DialResult {
        Dialled dialled = Dialled::unreachable;
        std::string reason = {};  // why not, or not by its own port
        Reach reach = Reach::direct;
    };
    // Where the door is dialled that was named in a test; nothing when it is none of that test.
    std::optional<DoorPlace> find_door(db::Transaction& tx, const Run& run, Time now) const;
    // Ends the test, or leaves it to the examination of its proof.
    bool end_dialling(const db::Context& context, RunId run, const DialResult& result,
                      const ListingRules& rules) const;
    bool end_examination(const db::Context& context, RunId run, const DialResult& dialled,
                         const ProofFacts& proof, const ListingRules& rules) const;
    const Proofs& proofs() const { return proofs_; }
    bool time_out(const db::Context& context, RunId run) const;

private:
    bool end_test(const db::Context& context, RunId run, const DialResult& dialled,
                  const ProofFacts* proof, const ListingRules& rules) const;
    TestFacts facts_of(const Machine& machine, const Run& run) const;
    Reach offered(const db::Context& context, std::optional<GateWish> wish) const;
    void settle(const db::Context& context, Machine& machine, Run& run, const TestResult& result,
                const Judgement& judgement, const ListingRules& rules) const;

    const Commands& commands_;
    const http::Reach endpoint_reach_;
    Proofs proofs_;
    const GateSide* const gates_;
    const OfferSide* const offers_;
};

// For the owner: the last test, and the wish for another.
Qualification show_qualification(api::Call& call, MachineId id);
Machine ask_for_test(api::Call& call, MachineId id);

// The agent will not run the test that it was told of: the test is over at once. The caller holds
// the machine.
void reject_test(const db::Context& context, Machine& machine, RunId run,
                 const std::optional<std::string>& code);

// What the task that examines a proof is told, as JSON.
struct ExaminationTask {
    RunId run_id;
    Dialled dialled = Dialled::not_yet;
    std::string reason;
    std::optional<Reach> reach = {};
};
BOOST_DESCRIBE_STRUCT(ExaminationTask, (), (run_id, dialled, reason, reach))

AutoQualify auto_qualify_of(const Machine& machine);

// Puts a machine into the catalog that its owner wants there, if nothing keeps it out.
bool admit(const db::Context& context, MachineId id, const ListingRules& rules);
// Puts a machine aside that was told to clean and has not.
bool quarantine_uncleaned(const db::Context& context, MachineId id, Time up_since);

}  // namespace berth::machines
