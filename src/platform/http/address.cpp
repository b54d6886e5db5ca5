#include "http/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "http/text.hpp"

namespace berth::http {
namespace {

constexpr std::array<unsigned char, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_mapped(const Address& address) {
    return std::equal(mapped_prefix.begin(), mapped_prefix.end(), address.bytes.begin());
}

Address mapped(const in_addr& from) {
    Address address;
    std::copy(mapped_prefix.begin(), mapped_prefix.end(), address.bytes.begin());
    std::memcpy(address.bytes.data() + mapped_prefix.size(), &from, sizeof from);
    return address;
}

// Reads the list from its right end; empty when an element is no address.
std::optional<Address> first_untrusted(std::string_view list, const AddressBlocks& trusted,
                                       bool& settled) {
    std::optional<Address> farthest;
    while (!settled) {
        const std::size_t comma = list.rfind(',');
        const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
        farthest = parse_address(trim(list.substr(begin)));
        settled = !farthest || !contains(trusted, *farthest);
        if (comma == std::string_view::npos) break;
        list = list.substr(0, comma);
    }
    return farthest;
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
    if (text.size() >= INET6_ADDRSTRLEN) return std::nullopt;
    const std::string terminated(text);
    in_addr four{};
    if (::inet_pton(AF_INET, terminated.c_str(), &four) == 1) return mapped(four);
    Address address;
    if (::inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) return address;
    return std::nullopt;
}

Address address_of(const sockaddr& peer) {
    Address address;
    if (peer.sa_family == AF_INET) {
        sockaddr_in four{};
        std::memcpy(&four, &peer, sizeof four);
        return mapped(four.sin_addr);
    }
    if (peer.sa_family == AF_INET6) {
        sockaddr_in6 six{};
        std::memcpy(&six, &peer, sizeof six);
        std::memcpy(address.bytes.data(), &six.sin6_addr, address.bytes.size());
    }
    return address;
}

std::string to_string(const Address& address) {
    char text[INET6_ADDRSTRLEN] = {};
    if (is_mapped(address))
        ::inet_ntop(AF_INET, address.bytes.data() + mapped_prefix.size(), text, sizeof text);
    else
        ::inet_ntop(AF_INET6, address.bytes.data(), text, sizeof text);
    return text;
}

std::string subscriber(const Address& address) {
    constexpr std::size_t network_bytes = 8;
    const bool four = is_mapped(address);
    const auto begin = address.bytes.begin() + (four ? mapped_prefix.size() : 0);
    return std::string(begin, four ? address.bytes.end() : begin + network_bytes);
}

std::optional<AddressBlock> AddressBlock::parse(std::string_view text) {
    AddressBlock block;
    const std::size_t slash = text.find('/');
    const std::optional<Address> first = parse_address(text.substr(0, slash));
    if (!first) return std::nullopt;
    block.first_ = *first;
    if (slash == std::string_view::npos) return block;

    const std::string_view digits = text.substr(slash + 1);
    const bool four = text.substr(0, slash).find(':') == std::string_view::npos;
    const unsigned bits_max = four ? 32 : 128;
    if (digits.empty() || digits.size() > 3 || !std::all_of(digits.begin(), digits.end(), is_digit))
        return std::nullopt;
    unsigned bits = 0;
    for (const char c : digits) bits = bits * 10 + static_cast<unsigned>(c - '0');
    if (bits > bits_max) return std::nullopt;
    block.prefix_bits_ = 128 - bits_max + bits;
    return block;
}

bool AddressBlock::contains(const Address& address) const {
    const std::size_t whole = prefix_bits_ / 8;
    const unsigned rest = prefix_bits_ % 8;
    if (!std::equal(first_.bytes.begin(), first_.bytes.begin() + static_cast<std::ptrdiff_t>(whole),
                    address.bytes.begin()))
        return false;
    return rest == 0 || (first_.bytes[whole] ^ address.bytes[whole]) >> (8 - rest) == 0;
}

bool contains(const AddressBlocks& blocks, const Address& address) {
    return std::any_of(blocks.begin(), blocks.end(),
                       [&](const AddressBlock& block) { return block.contains(address); });
}

Address client_address(const Address& peer, const Headers& headers, const AddressBlocks& trusted) {
    if (trusted.empty() || !contains(trusted, peer)) return peer;
    // Several fields of the name are one list, and the last field is its right end.
    Address farthest = peer;
    bool settled = false;
    for (auto field = std::make_reverse_iterator(headers.end());
         field != std::make_reverse_iterator(headers.begin()) && !settled; ++field) {
        if (!equal_without_case(field->name, "x-forwarded-for")) continue;
        farthest = first_untrusted(field->value, trusted, settled).value_or(peer);
    }
    return farthest;
}

}  // namespace berth::http
