#include "api/target.hpp"

#include "base/bytes.hpp"
#include "base/ids.hpp"

namespace berth::api {

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            const auto byte = from_hex(text.substr(i + 1, 2));
            if (!byte || byte->size() != 1) return std::nullopt;
            out += *byte;
            i += 2;
        } else {
            out += plus_is_space && text[i] == '+' ? ' ' : text[i];
        }
    }
    if (!utf8_length(out) || out.find('\0') != std::string::npos) return std::nullopt;
    return out;
}

wire::TextFields parse_query(std::string_view query, wire::Errors& errors) {
    wire::TextFields fields;
    while (!query.empty()) {
        const std::size_t end = std::min(query.find('&'), query.size());
        const std::string_view pair = query.substr(0, end);
        query.remove_prefix(std::min(end + 1, query.size()));
        if (pair.empty()) continue;
        if (fields.size() == query_fields_max) {
            errors.add("query", "has too many parameters");
            break;
        }
        const std::size_t sign = std::min(pair.find('='), pair.size());
        auto name = percent_decode(pair.substr(0, sign), true);
        auto value = percent_decode(pair.substr(std::min(sign + 1, pair.size())), true);
        if (!name || !value) {
            errors.add("query", "must be percent-encoded UTF-8");
            break;
        }
        fields.emplace_back(std::move(*name), std::move(*value));
    }
    return fields;
}

std::string loggable_path(std::string_view route_path,
                          const std::vector<std::string_view>& parameters) {
    std::string out;
    for (const std::string_view given : parameters) {
        const std::size_t begin = route_path.find('{');
        out += route_path.substr(0, begin);
        out += parse_uuid(given) ? given : "…";
        route_path.remove_prefix(route_path.find('}') + 1);
    }
    return out += route_path;
}

}  // namespace berth::api
