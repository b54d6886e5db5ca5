// An event as it stands in the table, with its place in the chain.
#pragma once

#include "audit/audit.hpp"

namespace berth::audit {

inline constexpr std::size_t hash_bytes = 32;

struct Recorded {
    AuditEventId id;
    std::int64_t sequence = 0;  // 1, 2, 3 without gaps
    Time at;
    std::string actor_kind;
    std::optional<AccountId> account;
    std::string action;
    Target target;
    std::optional<std::string> reason;
    std::optional<RequestId> request;
    std::vector<Change> changes;
    Bytes previous_hash;
    Bytes hash;
};

// Over everything that the rows of an event say, and over the event before it.
Bytes chain_hash(const Recorded& event);

}  // namespace berth::audit
