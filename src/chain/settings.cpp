#include "chain/settings.hpp"

#include <algorithm>
#include <array>

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

bool allows(const Settings& settings, std::string_view check) {
    return std::ranges::find(*settings.allow_unsafe, check) != settings.allow_unsafe->end();
}

}  // namespace berth::chain
