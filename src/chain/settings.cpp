#include "chain/settings.hpp"

namespace berth::chain {

std::vector<std::string> parse_providers(const std::string& text) {
    auto urls = settings::comma_list(text);
    for (const std::string& url : urls)
        if (!settings::is_web_url(url))
            throw settings::BadValue("must be http or https addresses, separated by commas");
    return urls;
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

}  // namespace berth::chain
