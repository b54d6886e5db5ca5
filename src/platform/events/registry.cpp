#include "events/registry.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "events/reading.hpp"
#include "wire/schema.hpp"

namespace berth::events {

boost::json::value example_of(const DeclaredKind& kind) {
    wire::json::value facts = wire::example(*kind.facts);
    const wire::json::value own = wire::json::parse(kind.example);
    for (const auto& [member, value] : own.as_object()) facts.as_object()[member] = value;
    return wire::json::parse(kind.spell(wire::json::serialize(facts)));
}

void Registry::add(std::span<const DeclaredKind> kinds) {
    for (const DeclaredKind& kind : kinds) {
        const bool added = kinds_.emplace(kind.type, kind).second;
        check(added, "a type of event is declared once");
    }
}

const DeclaredKind* Registry::find(std::string_view type) const {
    const auto found = kinds_.find(type);
    return found == kinds_.end() ? nullptr : &found->second;
}

bool Registry::means_any(std::string_view wanted) const {
    return std::any_of(kinds_.begin(), kinds_.end(),
                       [&](const auto& each) { return matches(wanted, each.first); });
}

}  // namespace berth::events
