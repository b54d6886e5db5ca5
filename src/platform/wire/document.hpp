// A JSON text as a flat list of nodes, in the order they appear. It keeps what a decoder must see
// and a tree of values would lose: duplicate members, their order, and how each number is spelled.
// Strict JSON in UTF-8, without NUL characters in strings. The text must outlive the document.
//
// A node takes eight bytes, and a text has at most half as many nodes as bytes: a document costs up
// to four times the text it was made from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/type.hpp"

namespace berth::wire {

struct Node {
    Shape shape;
    std::uint32_t end;      // the index just behind this node and all it holds
    std::uint32_t count;    // items of an array, members of an object
    std::string_view text;  // string, key, number or boolean

    Scalar scalar() const { return {shape, text}; }
};

class Document {
public:
    static constexpr std::int64_t depth_levels_max = 32;
    static constexpr std::size_t text_bytes_max = 64 << 20;

    // Empty when `json` was read; else what is wrong with it, as the end of a sentence.
    std::optional<std::string> parse(std::string_view json);

    // Node 0 is the root. The first item of an array or key of an object is the node behind it;
    // the next item stands at the `end` of the one before. A key is followed by its value.
    Node operator[](std::uint32_t index) const;

    // The key that some object within `node` has twice, if there is one.
    std::optional<std::string_view> duplicate_within(std::uint32_t node) const;

    // How many arrays and objects stand within each other at its deepest, `node` itself included.
    std::int64_t levels_within(std::uint32_t node) const;

    // The text of `node` without white space: numbers as they were spelled, strings escaped anew.
    void append_compact(std::uint32_t node, std::string& out) const;

    // Forgets the nodes, and gives memory back if there was an unusual number of them.
    void clear();

private:
    friend class DocumentBuilder;

    // A node as it is kept. Of a text `head` has its first byte, in the JSON or among the
    // unescaped, and `size` its bytes; of a container they have its end and what Node::count says.
    struct Cell {
        std::uint32_t head;  // the shape in three bits, one for `unescaped`, then the number
        std::uint32_t size;
    };

    std::string_view json_;
    std::vector<Cell> cells_;
    std::string unescaped_;  // strings that had escapes
};

}  // namespace berth::wire
