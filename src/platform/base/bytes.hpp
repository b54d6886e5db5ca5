// Bytes as text and back: hex, base64url, UTF-8 checks. Decoders are strict and never guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace berth {

using Bytes = std::string;  // raw bytes; std::string because every library here takes one

std::string to_hex(std::string_view bytes);
std::optional<Bytes> from_hex(std::string_view text);  // either case, even length

// RFC 4648 section 5 without padding. A decoder that meets padding, foreign letters or non-zero
// spare bits refuses, so that every value has exactly one spelling.
std::string to_base64url(std::string_view bytes);
std::optional<Bytes> from_base64url(std::string_view text);
// Section 4, with padding; as strict.
std::string to_base64(std::string_view bytes);
std::optional<Bytes> from_base64(std::string_view text);

// Length in bytes (1 to 4) of the valid UTF-8 sequence that `text` starts with; 0 if it does not.
std::size_t utf8_sequence_length(std::string_view text);
// Number of code points; empty if `text` is not valid UTF-8.
std::optional<std::size_t> utf8_length(std::string_view text);

void append_big_endian(Bytes& out, std::uint64_t value);
std::uint64_t load_big_endian(const char* eight_bytes);

}  // namespace berth
