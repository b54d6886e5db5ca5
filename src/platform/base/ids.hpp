// UUIDs, and ids as distinct types: a JobId cannot be passed where a MachineId is meant.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.hpp"
#include "base/time.hpp"

namespace berth {

struct Uuid {
    std::array<char, 16> bytes{};

    friend auto operator<=>(const Uuid&, const Uuid&) = default;
    std::string_view view() const { return {bytes.data(), bytes.size()}; }
};

std::string to_string(const Uuid& uuid);                // lower case, with dashes
std::optional<Uuid> parse_uuid(std::string_view text);  // 8-4-4-4-12, either case
std::optional<Uuid> uuid_from_bytes(std::string_view sixteen_bytes);

// RFC 9562 version 7: milliseconds, then the microseconds within it, then randomness; ids made
// later sort later, to the microsecond.
Uuid make_uuid(Time now, Random& random);

template <class Tag>
struct Id {
    Uuid uuid;

    static Id make(Time now, Random& random) { return {make_uuid(now, random)}; }
    friend auto operator<=>(const Id&, const Id&) = default;
};

template <class Tag>
std::string to_string(const Id<Tag>& id) {
    return to_string(id.uuid);
}

using AccountId = Id<struct AccountTag>;
using JobId = Id<struct JobTag>;
using MachineId = Id<struct MachineTag>;
using RequestId = Id<struct RequestTag>;
using TaskId = Id<struct TaskTag>;

}  // namespace berth

template <>
struct std::hash<berth::Uuid> {
    std::size_t operator()(const berth::Uuid& uuid) const {
        return std::hash<std::string_view>{}(uuid.view());
    }
};

template <class Tag>
struct std::hash<berth::Id<Tag>> {
    std::size_t operator()(const berth::Id<Tag>& id) const {
        return std::hash<berth::Uuid>{}(id.uuid);
    }
};
