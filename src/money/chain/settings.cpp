#include "chain/settings.hpp"

#include <algorithm>
#include <array>

#include "chain/provider.hpp"
#include "crypto/uri.hpp"

namespace berth::chain {

std::vector<std::string> parse_providers(const std::string& text) {
    auto urls = settings::comma_list(text);
    for (const std::string& url : urls)
        if (!settings::is_web_url(url))
            throw settings::BadValue("must be http or https addresses, separated by commas");
    return urls;
}

std::vector<std::string> parse_unsafe(const std::string& text) {
    constexpr std::array<std::string_view, 6> known{"plain-http", "few-providers", "same-provider",
                                                    "same-token", "decimals",      "undurable-db"};
    auto names = settings::comma_list(text);
    for (const std::string& name : names)
        if (std::ranges::find(known, name) == known.end())
            throw settings::BadValue("must be names of checks, separated by commas");
    return names;
}

crypto::Address parse_token(const std::string& text) {
    const auto address = crypto::parse_address(text);
    if (!address)
        throw settings::BadValue(
            "must be 0x and 40 hex digits, with a right checksum if it has one");
    return *address;
}

std::optional<crypto::Address> parse_treasury(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(parse_token(text));
}

std::vector<crypto::Address> parse_addresses(const std::string& text) {
    std::vector<crypto::Address> addresses;
    for (const std::string& one : settings::comma_list(text)) {
        const auto address = crypto::parse_address(one);
        if (!address)
            throw settings::BadValue(
                "must be addresses of 0x and 40 hex digits, separated by commas");
        addresses.push_back(*address);
    }
    return addresses;
}

std::string provider_host(const std::string& url) {
    const std::string named = host_of(url);
    const auto where = crypto::parse_authority(named);
    return where ? std::string(where->host) : "";
}

bool allows(const Settings& settings, std::string_view check) {
    if (std::ranges::find(*settings.allow_unsafe, check) != settings.allow_unsafe->end())
        return true;
    const std::vector<std::string>& providers = *settings.chain_rpc;
    const auto is_here = [](const std::string& url) {
        return crypto::is_this_machine(provider_host(url));
    };
    return (check == "few-providers" || check == "decimals") && !providers.empty() &&
           std::ranges::all_of(providers, is_here);
}

}  // namespace berth::chain
