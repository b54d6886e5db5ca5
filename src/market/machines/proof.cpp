#include "machines/proof.hpp"

#include <fmt/format.h>

#include <set>

#include "agent_protocol/manifest.hpp"
#include "card_proof/lanes.hpp"
#include "card_proof/tree.hpp"
#include "crypto/token.hpp"
#include "machines/credentials.hpp"
#include "wire/open.hpp"

namespace berth::machines {
namespace {

using namespace agent_protocol;

// All cards together show about this much, however many they are.
constexpr std::uint64_t blocks_in_all = 64;
constexpr std::uint64_t blocks_min = 4;
constexpr std::uint64_t blocks_max = 16;
constexpr std::uint64_t rows_in_all = 64;
constexpr std::uint64_t rows_min = 4;
constexpr std::uint64_t rows_max = 16;
constexpr std::size_t step_bytes_max = 1 << 20;

std::uint64_t share(std::uint64_t in_all, std::uint64_t cards, std::uint64_t least,
                    std::uint64_t most) {
    return std::clamp(in_all / std::max<std::uint64_t>(cards, 1), least, most);
}

std::int64_t milliseconds(Duration time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

wire::Count count(std::uint64_t number) { return {static_cast<std::int64_t>(number)}; }

// So many different numbers below a bound, or all of them.
std::vector<std::uint64_t> some_below(std::uint64_t bound, std::uint64_t wanted, Random& random) {
    std::set<std::uint64_t> chosen;
    while (chosen.size() < std::min(bound, wanted)) chosen.insert(random.below(bound));
    return {chosen.begin(), chosen.end()};
}

// A test that goes on, its machine held, so that of two messages only one finds a step open.
Run hold_open_run(api::Call& call, MachineId id, RunId run_id, const wire::Decimal& fence) {
    const auto machine = hold(call.tx(), id);
    auto run = find_run(call.tx(), run_id);
    if (!machine || !run || run->machine_id != id)
        throw Problem(Code::not_found, "there is no such test of this machine");
    if (fence.value < machine->fence)
        throw Problem(Code::stale_fence, "the message is of an earlier time: see the fence");
    if (run->state != RunState::sent || machine->qualify_run_id != run_id ||
        run->deadline_at <= call.now)
        throw Problem(Code::conflict, "this test is over");
    return *run;
}

Proof find_begun(api::Call& call, MachineId id, RunId run_id, const wire::Decimal& fence) {
    hold_open_run(call, id, run_id, fence);
    auto proof = find_proof(call.tx(), run_id);
    if (!proof) throw Problem(Code::conflict, "the proof was not begun: ask for its order first");
    return *proof;
}

// The same message again is answered as before. Anything else than the next step is refused.
template <class Order>
std::optional<Order> answered_before(const std::optional<std::string>& taken,
                                     const std::string& message,
                                     const std::optional<std::string>& answer) {
    if (!taken) return std::nullopt;
    if (*taken != message)
        throw Problem(Code::conflict, "another message was taken for this step of the proof");
    return wire::decode<Order>(*answer, "stored");
}

void require_unbroken(const Proof& proof) {
    if (proof.fault) throw Problem(Code::conflict, *proof.fault);
}

[[noreturn]] void break_off(api::Call& call, Proof& proof, std::string why) {
    proof.fault = why;
    save_proof(call.tx(), proof);
    throw api::CommittedProblem(Code::conflict, std::move(why));
}

void require_in_time(api::Call& call, Proof& proof, Time since, Duration within,
                     std::string_view what) {
    if (call.now <= since + within) return;
    break_off(call, proof,
              fmt::format("{} came {} ms after it was asked for; {} ms are allowed.", what,
                          milliseconds(call.now - since), milliseconds(within)));
}

std::vector<ManifestGpu> cards_of(api::Call& call, MachineId id) {
    return wire::decode_known<Manifest>(find_manifest(call.tx(), id).value_or("{}"), "stored")
        .gpus.value;
}

void require_all_cards(std::size_t named, std::size_t cards) {
    if (named != cards)
        throw Problem(Code::invalid_input,
                      "body.cards: must be all cards of the manifest, in its order");
}

}  // namespace

ProductOrder Proofs::begin(api::Call& call, MachineId id, RunId run_id,
                           const ProofBegin& request) const {
    hold_open_run(call, id, run_id, request.fence);
    auto proof = find_proof(call.tx(), run_id);
    if (!proof) {
        proof.emplace();
        proof->run_id = run_id;
        proof->seed = crypto::make_token("", call.random);
        proof->begun_at = call.now;
        add_proof(call.tx(), *proof);
    }
    require_unbroken(*proof);
    return {proof->seed,
            count(rules_.product.rows),
            count(rules_.product.columns),
            count(rules_.product.depth),
            {milliseconds(product_within)}};
}

LaneOrder Proofs::take_product(api::Call& call, MachineId id, RunId run_id,
                               const ProductCommitment& request) const {
    Proof proof = find_begun(call, id, run_id, request.fence);
    const std::string message = wire::encode(request);
    require_unbroken(proof);
    if (auto before = answered_before<LaneOrder>(proof.product, message, proof.lane_order))
        return *before;
    const auto cards = cards_of(call, id);
    require_all_cards(request.cards.value.size(), cards.size());
    for (std::size_t i = 0; i < cards.size(); ++i)
        if (request.cards.value[i].pci_address != cards[i].pci_address)
            throw Problem(Code::invalid_input,
                          fmt::format("body.cards.{}.pci_address: is not that of the manifest", i));
    require_in_time(call, proof, proof.begun_at, product_within, "The product");
    LaneOrder order{crypto::make_token("", call.random),
                    count(rules_.lane_words),
                    {},
                    {milliseconds(lanes_within)}};
    for (std::size_t i = 0; i < cards.size(); ++i) {
        auto& rows = order.rows.emplace_back();
        for (const std::uint64_t row :
             some_below(rules_.product.rows, share(rows_in_all, cards.size(), rows_min, rows_max),
                        call.random))
            rows.push_back(count(row));
    }
    proof.product = message;
    proof.lane_order = wire::encode(order);
    proof.lanes_ordered_at = call.now;
    save_proof(call.tx(), proof);
    return order;
}

BlockOrder Proofs::take_lanes(api::Call& call, MachineId id, RunId run_id,
                              const LaneCommitment& request) const {
    Proof proof = find_begun(call, id, run_id, request.fence);
    const std::string message = wire::encode(request);
    require_unbroken(proof);
    if (auto before = answered_before<BlockOrder>(proof.lanes, message, proof.block_order))
        return *before;
    if (!proof.lanes_ordered_at)
        throw Problem(Code::conflict, "no lanes were asked for: send the product first");
    const auto cards = cards_of(call, id);
    require_all_cards(request.cards.value.size(), cards.size());
    require_in_time(call, proof, *proof.lanes_ordered_at, lanes_within, "The memory's lanes");
    BlockOrder order{{}, {milliseconds(blocks_within)}};
    for (std::size_t i = 0; i < cards.size(); ++i) {
        const auto lanes = static_cast<std::uint64_t>(request.cards.value[i].lanes.value);
        const std::int64_t memory =
            cards[i].memory_bytes.value ? cards[i].memory_bytes.value->value : vram_bytes_min;
        if (static_cast<std::int64_t>(lanes * rules_.lane_stands_for) / proven_percent_min <
            memory / 100)
            break_off(call, proof,
                      fmt::format("The lanes fill less than {} % of the memory of card {}.",
                                  proven_percent_min, cards[i].pci_address.value));
        auto& blocks = order.blocks.emplace_back();
        for (const std::uint64_t lane : some_below(
                 lanes, share(blocks_in_all, cards.size(), blocks_min, blocks_max), call.random))
            blocks.push_back({count(lane), count(call.random.below(rules_.lane_words /
                                                                   card_proof::block_words))});
    }
    proof.lanes = message;
    proof.block_order = wire::encode(order);
    proof.blocks_ordered_at = call.now;
    save_proof(call.tx(), proof);
    return order;
}

ProofTaken Proofs::take_blocks(api::Call& call, MachineId id, RunId run_id,
                               const BlockAnswer& request) const {
    Proof proof = find_begun(call, id, run_id, request.fence);
    const std::string message = wire::encode(request);
    require_unbroken(proof);
    if (proof.blocks && *proof.blocks == message) return {};
    if (proof.blocks) throw Problem(Code::conflict, "other blocks were shown before");
    if (!proof.blocks_ordered_at)
        throw Problem(Code::conflict, "no blocks were asked for: send the lanes first");
    require_in_time(call, proof, *proof.blocks_ordered_at, blocks_within, "The memory's blocks");
    proof.blocks = message;
    save_proof(call.tx(), proof);
    return {};
}

ProofFacts Proofs::facts(const std::optional<Proof>& proof) const {
    ProofFacts facts;
    facts.unproven_allowed = rules_.unproven_allowed;
    if (proof && proof->fault) {
        facts.state = ProofState::failed;
        facts.reason = *proof->fault;
    } else if (proof && proof->blocks) {
        facts.state = ProofState::waits;
    } else {
        facts.reason = proof ? "The proof of the cards was begun and not carried through."
                             : "The agent did not prove its cards.";
    }
    return facts;
}

void Proofs::add_routes(api::Router& router) const {
    const auto step = [](std::string path, std::string name, std::string summary) {
        return api::Route{
            .method = "POST",
            .path = std::move(path),
            .name = std::move(name),
            .group = "host agent",
            .summary = std::move(summary),
            .access = api::Access::machine,
            .work = api::Work::write,
            .errors = {Code::not_found,
                       Code::stale_fence,
                       {Code::conflict, "the test is over, or this is not its next step"}},
            .body_bytes_max = step_bytes_max};
    };
    router.add(
        step("/api/v1/host-agent/qualification/{run_id}/proof", "begin_proof",
             "The machine's cards are ready to be proven."),
        [this](api::Call& call, const api::Path<RunPath>& path, const api::Body<ProofBegin>& body) {
            return begin(call, machine_of(call.caller), path->run_id, *body);
        });
    router.add(step("/api/v1/host-agent/qualification/{run_id}/proof/product", "commit_product",
                    "What the cards computed, as a commitment."),
               [this](api::Call& call, const api::Path<RunPath>& path,
                      const api::Body<ProductCommitment>& body) {
                   return take_product(call, machine_of(call.caller), path->run_id, *body);
               });
    router.add(step("/api/v1/host-agent/qualification/{run_id}/proof/lanes", "commit_lanes",
                    "What fills the cards' memory, as a commitment."),
               [this](api::Call& call, const api::Path<RunPath>& path,
                      const api::Body<LaneCommitment>& body) {
                   return take_lanes(call, machine_of(call.caller), path->run_id, *body);
               });
    router.add(step("/api/v1/host-agent/qualification/{run_id}/proof/blocks", "show_blocks",
                    "The blocks of the cards' memory that were asked for."),
               [this](api::Call& call, const api::Path<RunPath>& path,
                      const api::Body<BlockAnswer>& body) {
                   return take_blocks(call, machine_of(call.caller), path->run_id, *body);
               });
}

}  // namespace berth::machines
