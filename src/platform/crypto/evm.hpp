// Addresses of Ethereum-style chains and their EIP-55 checksum, which lives in the case of the
// letters: an address typed with one wrong letter does not pass for another one.
#pragma once

#include <array>
#include <compare>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace berth::crypto {

struct Address {
    std::array<char, 20> bytes{};

    friend auto operator<=>(const Address&, const Address&) = default;
    std::string_view view() const { return {bytes.data(), bytes.size()}; }
};

// 0x and 40 hex digits. Letters all of one case carry no checksum and are taken as they are; mixed
// case must be the right one.
std::optional<Address> parse_address(std::string_view text);
// Only the one spelling that checksummed() gives.
std::optional<Address> parse_checksummed(std::string_view text);
bool has_checksum(std::string_view text);

std::string checksummed(const Address& address);
std::string to_string(const Address& address);  // lower case: the spelling for keys and columns

// A column of the database holds it in lower case.
std::string column_text(const Address& address);
bool read_column(std::string_view text, Address& address);

}  // namespace berth::crypto

template <>
struct std::hash<berth::crypto::Address> {
    std::size_t operator()(const berth::crypto::Address& address) const {
        return std::hash<std::string_view>{}(address.view());
    }
};
