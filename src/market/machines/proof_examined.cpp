// What an agent showed for its cards, held against what it had committed to and against the
// definition.
#include <fmt/format.h>

#include <algorithm>

#include "card_proof/lanes.hpp"
#include "card_proof/tree.hpp"
#include "machines/proof.hpp"
#include "wire/open.hpp"

namespace berth::machines {
namespace {

using namespace agent_protocol;
using card_proof::ClaimedRow;

// Who commits to anything in place of lanes that it does not hold is found by these alone: with six
// tenths of the lanes it passes once in sixty tests. Each costs a processor two seconds.
constexpr std::size_t lanes_made_again = 8;
constexpr std::size_t lanes_of_a_card_min = 2;
constexpr double giga_bytes = 1e9;
constexpr double tera_operations = 1e12;

// All that was said, read once.
struct Said {
    ProductCommitment product;
    LaneOrder lane_order;
    LaneCommitment lanes;
    BlockOrder block_order;
    BlockAnswer blocks;
};

template <class T>
T said(const std::optional<std::string>& json) {
    return wire::decode<T>(json.value_or("null"), "stored");
}

Bytes root_of(const wire::Sha256Hash& hash) {
    return from_hex(std::string_view(hash.value).substr(7)).value_or("");
}

std::uint64_t number(const wire::Count& count) { return static_cast<std::uint64_t>(count.value); }

// Its bytes, when they lie under the root at this place; empty when not.
std::optional<Bytes> committed_bytes(const Shown& shown, std::size_t bytes_wanted,
                                     std::size_t levels, std::uint64_t leaf, const Bytes& root) {
    const auto bytes = from_base64url(shown.bytes.value);
    const auto path = from_base64url(shown.path.value);
    if (!bytes || bytes->size() != bytes_wanted || !path ||
        path->size() != levels * card_proof::hash_bytes)
        return std::nullopt;
    return card_proof::root_over(*bytes, leaf, *path) == root ? bytes : std::nullopt;
}

using Fault = std::optional<std::string>;

Fault fault_of_product(const ProofRules& rules, const Said& said, std::size_t card,
                       std::string_view seed, Random& random) {
    const auto& named = said.lane_order.rows[card];
    const auto& shown = said.lanes.cards.value[card].rows.value;
    if (shown.size() != named.size()) return "other rows of the product were shown than asked for";
    std::vector<ClaimedRow> rows;
    for (std::size_t i = 0; i < named.size(); ++i) {
        const auto bytes = committed_bytes(
            shown[i], rules.product.row_bytes(), card_proof::levels_over(rules.product.rows),
            number(named[i]), root_of(said.product.cards.value[card].root));
        if (!bytes) return "a row of the product is not the one that was committed to";
        rows.push_back({number(named[i]), *bytes});
    }
    std::vector<std::uint64_t> vector(rules.product.columns);
    for (std::uint64_t& each : vector) each = load_big_endian(random.bytes(8).data());
    if (!card_proof::are_rows_right(rules.product, card_proof::product_seeds(seed, card), rows,
                                    vector))
        return "a row of the product is wrong";
    return std::nullopt;
}

Fault fault_of_blocks(const ProofRules& rules, const Said& said, std::size_t card) {
    const auto& named = said.block_order.blocks[card];
    const auto& shown = said.blocks.cards.value[card].blocks.value;
    const auto& lanes = said.lanes.cards.value[card];
    if (shown.size() != named.size()) return "other blocks of memory were shown than asked for";
    const std::uint64_t in_lane = rules.lane_words / card_proof::block_words;
    const std::size_t levels =
        card_proof::levels_over(in_lane) +
        card_proof::levels_over(static_cast<std::uint64_t>(lanes.lanes.value));
    for (std::size_t i = 0; i < named.size(); ++i) {
        const std::uint64_t leaf = number(named[i].lane) * in_lane + number(named[i].block);
        if (!committed_bytes(shown[i], card_proof::block_bytes, levels, leaf, root_of(lanes.root)))
            return "a block of memory is not the one that was committed to";
    }
    return std::nullopt;
}

// Makes some of the lanes again and compares what was shown of them.
Fault fault_of_lanes(const ProofRules& rules, const Said& said, std::size_t card,
                     std::size_t wanted, Random& random) {
    const auto& named = said.block_order.blocks[card];
    std::vector<std::size_t> left(named.size());
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
    std::vector<std::uint64_t> words(rules.lane_words);
    for (; wanted > 0 && !left.empty(); --wanted) {
        const std::size_t at = random.below(left.size());
        const std::size_t chosen = left[at];
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
        card_proof::make_lane(
            card_proof::lane_seed(said.lane_order.seed, card, number(named[chosen].lane)), words);
        const auto block = std::span(words).subspan(
            number(named[chosen].block) * card_proof::block_words, card_proof::block_words);
        const auto& shown = said.blocks.cards.value[card].blocks.value[chosen];
        if (from_base64url(shown.bytes.value) != card_proof::bytes_of(block))
            return "a block of memory is not what the seed makes it";
    }
    return std::nullopt;
}

Fault fault_of_card(const ProofRules& rules, const Proof& proof, const Said& said, std::size_t card,
                    Random& random) {
    const std::size_t cards = said.product.cards.value.size();
    const std::size_t lanes = std::max(lanes_of_a_card_min, lanes_made_again / cards);
    if (auto fault = fault_of_product(rules, said, card, proof.seed, random)) return fault;
    if (auto fault = fault_of_blocks(rules, said, card)) return fault;
    return fault_of_lanes(rules, said, card, lanes, random);
}

}  // namespace

ProofFacts Proofs::examine(const Proof& proof, Random& random) const {
    ProofFacts found = facts(proof);
    if (found.state != ProofState::waits) return found;
    found.state = ProofState::failed;
    const Said all{said<ProductCommitment>(proof.product), said<LaneOrder>(proof.lane_order),
                   said<LaneCommitment>(proof.lanes), said<BlockOrder>(proof.block_order),
                   said<BlockAnswer>(proof.blocks)};
    const std::size_t cards = all.product.cards.value.size();
    if (all.lanes.cards.value.size() != cards || all.blocks.cards.value.size() != cards) {
        found.reason = "Not every card was shown.";
        return found;
    }
    for (std::size_t card = 0; card < cards; ++card) {
        const auto fault = fault_of_card(rules_, proof, all, card, random);
        if (fault) {
            found.reason = fmt::format("Of card {}, {}.",
                                       all.product.cards.value[card].pci_address.value, *fault);
            return found;
        }
        const auto bytes = static_cast<std::int64_t>(
            static_cast<std::uint64_t>(all.lanes.cards.value[card].lanes.value) *
            rules_.lane_stands_for);
        found.bytes = card == 0 ? bytes : std::min(found.bytes, bytes);
    }
    const std::chrono::duration<double> took = *proof.lanes_ordered_at - proof.begun_at;
    found.tops = rules_.product.operations() / std::max(took.count(), 1e-3) / tera_operations;
    found.tops_min = static_cast<double>(found.bytes) / giga_bytes * rules_.tops_a_gigabyte_min;
    found.state = ProofState::proven;
    return found;
}

}  // namespace berth::machines
