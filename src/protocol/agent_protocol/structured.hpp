// Structured fields (RFC 8941), as far as HTTP message signatures need them: dictionaries of items
// and inner lists, whose values are integers, strings, tokens, booleans and byte sequences.
//
// The reader is stricter than the RFC: every value has one spelling, the one that write() gives,
// and a key stands once. Two readers can then never see different things in one text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.hpp"

namespace berth::agent_protocol {

struct Token {
    std::string text;
    friend bool operator==(const Token&, const Token&) = default;
};
struct ByteSequence {
    Bytes bytes;
    friend bool operator==(const ByteSequence&, const ByteSequence&) = default;
};
using BareItem = std::variant<std::int64_t, std::string, Token, ByteSequence, bool>;

struct Parameter {
    std::string key;
    BareItem value;
    friend bool operator==(const Parameter&, const Parameter&) = default;
};
using Parameters = std::vector<Parameter>;

struct FieldItem {
    BareItem value;
    Parameters parameters;
    friend bool operator==(const FieldItem&, const FieldItem&) = default;
};
struct InnerList {
    std::vector<FieldItem> items;
    Parameters parameters;
    friend bool operator==(const InnerList&, const InnerList&) = default;
};
struct DictionaryMember {
    std::string key;
    std::variant<FieldItem, InnerList> value;
    friend bool operator==(const DictionaryMember&, const DictionaryMember&) = default;
};
using Dictionary = std::vector<DictionaryMember>;

inline constexpr std::size_t field_bytes_max = 4096;
inline constexpr std::size_t field_parts_max = 16;  // members, items of a list, parameters

// Empty for anything but a dictionary of at least one member within the bounds.
std::optional<Dictionary> parse_dictionary(std::string_view text);

std::string write(const Dictionary& dictionary);
std::string write(const InnerList& list);

}  // namespace berth::agent_protocol
