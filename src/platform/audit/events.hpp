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

// In order, those that follow the one with this number.
std::vector<Recorded> read_events(db::Transaction& tx, std::int64_t after, std::int64_t rows_max);

// Newest first; what is none is not looked at.
struct Wanted {
    std::optional<AccountId> account = {};
    std::optional<std::string> action = {};
    std::optional<std::string> target_kind = {};
    std::optional<std::string> target_id = {};
    std::optional<Time> since = {};
    std::optional<Time> until = {};
    std::optional<std::int64_t> before = {};  // this number
};
std::vector<Recorded> list_events(db::Transaction& tx, const Wanted& wanted, std::int64_t rows_max);

// How often this was done to a target since then.
std::int64_t count_events(db::Transaction& tx, const Target& target, std::string_view action,
                          Time since);

// Over everything that the rows of an event say, and over the event before it.
Bytes chain_hash(const Recorded& event);

}  // namespace berth::audit
