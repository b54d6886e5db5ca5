// Every kind of event that the service tells, gathered from its features: what filters are judged
// by, and what openapi.json and docs/events.md are made from.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "events/events.hpp"
#include "wire/type.hpp"

namespace berth::events {

// Facts as an event of this kind has them, for pages that explain it.
boost::json::value example_of(const DeclaredKind& kind);

class Registry {
public:
    void add(std::span<const DeclaredKind> kinds);

    // By type, in the order of their names.
    const std::map<std::string_view, DeclaredKind>& kinds() const { return kinds_; }
    const DeclaredKind* find(std::string_view type) const;
    // Whether a word of a filter ("rental.running", "rental.*") means any of them.
    bool means_any(std::string_view wanted) const;

private:
    std::map<std::string_view, DeclaredKind> kinds_;
};

}  // namespace berth::events
