#include "settings/setting.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.hpp"
#include "base/json_text.hpp"
#include "crypto/uri.hpp"

namespace berth::settings {

std::string_view name(Category category) {
    switch (category) {
        case Category::branding: return "branding";
        case Category::contact: return "contact";
        case Category::money: return "money";
        case Category::mail: return "mail";
        case Category::alerts: return "alerts";
        case Category::auth_providers: return "auth-providers";
        case Category::chain_access: return "chain-access";
        case Category::operations: break;
    }
    return "operations";
}

std::string Field::json() const {
    std::string out;
    append_json_string(out, text());
    return out;
}

void Flag::read(const std::string& text) {
    if (text != "true" && text != "false") throw BadValue("must be true or false");
    value_ = text == "true";
}

void Whole::read(const std::string& text) { value_ = whole_number(text, bounds_); }

std::string Whole::bounds() const { return fmt::format("{} to {}", bounds_.low, bounds_.high); }

void Amount::read(const std::string& text) { value_ = {whole_number(text, bounds_)}; }

std::string Amount::bounds() const { return fmt::format("{} to {}", bounds_.low, bounds_.high); }

std::string any_text(const std::string& text) { return text; }

std::string some_text(const std::string& text) {
    if (text.empty()) throw BadValue("must not be empty");
    return text;
}

std::string short_text(const std::string& text) {
    constexpr std::size_t characters_max = 60;
    const std::size_t length = utf8_length(text).value_or(0);
    const bool plain = std::none_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    });
    if (length == 0 || length > characters_max || !plain)
        throw BadValue(fmt::format("must be one line of 1 to {} characters", characters_max));
    return text;
}

bool is_web_url(std::string_view url) {
    const auto uri = crypto::parse_uri(url);
    return uri && (uri->scheme == "https" || uri->scheme == "http") && uri->authority &&
           !uri->query && !uri->fragment;
}

std::string web_page(const std::string& text) {
    if (!is_web_url(text) || text.ends_with('/'))
        throw BadValue("must start with https:// or http:// and not end with a slash");
    return text;
}

std::vector<std::string> comma_list(const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        if (end > begin) parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

std::int64_t whole_number(const std::string& text, Bounds bounds) {
    const auto value = parse_decimal(text);
    if (!value || *value < bounds.low || *value > bounds.high)
        throw BadValue(
            fmt::format("must be a whole number from {} to {}", bounds.low, bounds.high));
    return *value;
}

}  // namespace berth::settings
