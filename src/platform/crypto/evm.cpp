#include "crypto/evm.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/letters.hpp"
#include "crypto/keccak.hpp"

namespace berth::crypto {
namespace {

constexpr std::string_view prefix = "0x";
constexpr std::size_t text_bytes = 42;

std::optional<Address> parse_hex(std::string_view text) {
    if (text.size() != text_bytes || !text.starts_with(prefix)) return std::nullopt;
    const auto bytes = from_hex(text.substr(prefix.size()));
    if (!bytes) return std::nullopt;
    Address address;
    std::copy(bytes->begin(), bytes->end(), address.bytes.begin());
    return address;
}

bool mixes_cases(std::string_view text) {
    const std::string_view digits = text.substr(prefix.size());
    return std::any_of(digits.begin(), digits.end(), is_lower) &&
           std::any_of(digits.begin(), digits.end(), is_upper);
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
    const auto address = parse_hex(text);
    if (address && mixes_cases(text) && checksummed(*address) != text) return std::nullopt;
    return address;
}

std::optional<Address> parse_checksummed(std::string_view text) {
    const auto address = parse_hex(text);
    if (address && checksummed(*address) != text) return std::nullopt;
    return address;
}

bool has_checksum(std::string_view text) { return parse_checksummed(text).has_value(); }

std::string checksummed(const Address& address) {
    std::string text = to_string(address);
    const std::string_view digits = std::string_view(text).substr(prefix.size());
    const std::string marks = to_hex(keccak256(digits)).substr(0, digits.size());
    // A letter is upper case where the hash of the lower-case text has a digit of 8 or more.
    for (std::size_t i = 0; i < marks.size(); ++i) {
        char& letter = text[prefix.size() + i];
        if (marks[i] >= '8') letter = to_upper(letter);
    }
    return text;
}

std::string to_string(const Address& address) {
    return std::string(prefix) + to_hex(address.view());
}

std::string column_text(const Address& address) { return to_string(address); }

bool read_column(std::string_view text, Address& address) {
    const auto parsed = parse_address(text);
    if (parsed) address = *parsed;
    return parsed.has_value();
}

}  // namespace berth::crypto
