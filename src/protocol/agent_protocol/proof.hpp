// How a machine's cards are proven in its test. The agent asks for a computation, commits to its
// result, is told which rows of it to show and to fill the cards' memory, commits to that, and is
// told which blocks to show at once. The server measures the time of each step by its own clock; a
// message that is sent again is answered as before, and moves no time.
#pragma once

#include "agent_protocol/types.hpp"

namespace berth::agent_protocol {

inline constexpr std::size_t proven_cards_max = 64;
inline constexpr std::size_t shown_max = 64;          // rows or blocks of one card
inline constexpr std::size_t shown_text_max = 16384;  // of one of them, in base64url

struct ProofBegin {
    wire::Decimal fence;
};
BOOST_DESCRIBE_STRUCT(ProofBegin, (), (fence))
constexpr auto wire_docs(const ProofBegin*) {
    return std::to_array<wire::Doc>({{"fence", "The highest one the agent knows.", "3"}});
}

struct ProductOrder {
    std::string seed;
    wire::Count rows;
    wire::Count columns;
    wire::Count depth;
    wire::Decimal within_ms;
};
BOOST_DESCRIBE_STRUCT(ProductOrder, (), (seed, rows, columns, depth, within_ms))
constexpr auto wire_docs(const ProductOrder*) {
    return std::to_array<wire::Doc>({
        {"seed", "Of both matrices, with the number of the card.", "8f1c2d3e4b5a6978"},
        {"rows", "Of the left matrix and of the product.", "2097152"},
        {"columns", "Of the right matrix and of the product.", "1024"},
        {"depth", "Bytes in a row of the left and in a column of the right matrix.", "16384"},
        {"within_ms", "A commitment that comes later has failed.", "60000"},
    });
}

struct ProductOfCard {
    wire::Text<1, 64> pci_address;
    wire::Sha256Hash root;
};
BOOST_DESCRIBE_STRUCT(ProductOfCard, (), (pci_address, root))
constexpr auto wire_docs(const ProductOfCard*) {
    return std::to_array<wire::Doc>({
        {"pci_address", "Of the card, as in the manifest.", "0000:01:00.0"},
        {"root", "Of the tree over the rows of the product, 4 little-endian bytes a number."},
    });
}

struct ProductCommitment {
    wire::Decimal fence;
    wire::List<ProductOfCard, 1, proven_cards_max> cards;
};
BOOST_DESCRIBE_STRUCT(ProductCommitment, (), (fence, cards))
constexpr auto wire_docs(const ProductCommitment*) {
    return std::to_array<wire::Doc>({
        {"fence", "The highest one the agent knows.", "3"},
        {"cards", "All of the manifest, in its order; they compute at the same time."},
    });
}

struct LaneOrder {
    std::string seed;
    wire::Count lane_words;
    std::vector<std::vector<wire::Count>> rows;
    wire::Decimal within_ms;
};
BOOST_DESCRIBE_STRUCT(LaneOrder, (), (seed, lane_words, rows, within_ms))
constexpr auto wire_docs(const LaneOrder*) {
    return std::to_array<wire::Doc>({
        {"seed", "Of every lane, with the numbers of card and lane.", "8f1c2d3e4b5a6978"},
        {"lane_words", "Words of 8 bytes in a lane.", "8388608"},
        {"rows", "Of the product, for each card, which the next message shows."},
        {"within_ms", "A commitment that comes later has failed.", "40000"},
    });
}

// Something that was asked for, with its way up to the root.
struct Shown {
    wire::Text<1, shown_text_max> bytes;
    wire::Text<0, shown_text_max> path;
};
BOOST_DESCRIBE_STRUCT(Shown, (), (bytes, path))
constexpr auto wire_docs(const Shown*) {
    return std::to_array<wire::Doc>({
        {"bytes", "What was asked for, in base64url.", "q83vEiM0RVY"},
        {"path", "The neighbours from the leaf up to below the root, in base64url.", "q83vEiM"},
    });
}

struct LanesOfCard {
    wire::Integer<1, 1'048'576> lanes;
    wire::Sha256Hash root;
    wire::List<Shown, 0, shown_max> rows;
};
BOOST_DESCRIBE_STRUCT(LanesOfCard, (), (lanes, root, rows))
constexpr auto wire_docs(const LanesOfCard*) {
    return std::to_array<wire::Doc>({
        {"lanes", "How many fill the card's memory.", "357"},
        {"root", "Of the tree over all blocks of 1024 bytes of all lanes."},
        {"rows", "Of the product, as they were asked for."},
    });
}

struct LaneCommitment {
    wire::Decimal fence;
    wire::List<LanesOfCard, 1, proven_cards_max> cards;
};
BOOST_DESCRIBE_STRUCT(LaneCommitment, (), (fence, cards))
constexpr auto wire_docs(const LaneCommitment*) {
    return std::to_array<wire::Doc>({
        {"fence", "The highest one the agent knows.", "3"},
        {"cards", "All of the manifest, in its order; they hold their lanes at the same time."},
    });
}

struct NamedBlock {
    wire::Count lane;
    wire::Count block;
};
BOOST_DESCRIBE_STRUCT(NamedBlock, (), (lane, block))
constexpr auto wire_docs(const NamedBlock*) {
    return std::to_array<wire::Doc>({
        {"lane", "The number of the lane, from 0.", "17"},
        {"block", "The number of the block in its lane, from 0.", "40211"},
    });
}

struct BlockOrder {
    std::vector<std::vector<NamedBlock>> blocks;
    wire::Decimal within_ms;
};
BOOST_DESCRIBE_STRUCT(BlockOrder, (), (blocks, within_ms))
constexpr auto wire_docs(const BlockOrder*) {
    return std::to_array<wire::Doc>({
        {"blocks", "To be shown, for each card."},
        {"within_ms", "Sooner than a lane can be made again: later is too late.", "1500"},
    });
}

struct BlocksOfCard {
    wire::List<Shown, 0, shown_max> blocks;
};
BOOST_DESCRIBE_STRUCT(BlocksOfCard, (), (blocks))
constexpr auto wire_docs(const BlocksOfCard*) {
    return std::to_array<wire::Doc>({{"blocks", "As they were asked for."}});
}

struct BlockAnswer {
    wire::Decimal fence;
    wire::List<BlocksOfCard, 1, proven_cards_max> cards;
};
BOOST_DESCRIBE_STRUCT(BlockAnswer, (), (fence, cards))
constexpr auto wire_docs(const BlockAnswer*) {
    return std::to_array<wire::Doc>({
        {"fence", "The highest one the agent knows.", "3"},
        {"cards", "All of the manifest, in its order."},
    });
}

struct ProofTaken {
    bool in_time = true;
};
BOOST_DESCRIBE_STRUCT(ProofTaken, (), (in_time))
constexpr auto wire_docs(const ProofTaken*) {
    return std::to_array<wire::Doc>(
        {{"in_time", "What was shown is looked at with the result of the test."}});
}

}  // namespace berth::agent_protocol
