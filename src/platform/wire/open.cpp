#include "wire/open.hpp"

#include <algorithm>

#include "base/json_text.hpp"
#include "wire/document.hpp"

namespace berth::wire {

std::optional<std::string> known_members(const Type& type, std::string_view json) {
    Document document;
    if (document.parse(json) || document[0].shape != Shape::object) return std::nullopt;
    std::string out = "{";
    for (std::uint32_t key = 1; key < document[0].end; key = document[key + 1].end) {
        const std::string_view name = document[key].text;
        const bool known = std::any_of(type.members.begin(), type.members.end(),
                                       [&](const Member& each) { return each.name == name; });
        if (!known) continue;
        if (out.size() > 1) out += ',';
        append_json_string(out, name);
        out += ':';
        document.append_compact(key + 1, out);
    }
    return out + "}";
}

}  // namespace berth::wire
