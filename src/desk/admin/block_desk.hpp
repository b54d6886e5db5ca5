// The block list, as operators keep it: addresses that pay nothing in and are paid nothing.
#pragma once

#include "admin/types.hpp"
#include "api/router.hpp"
#include "block_list/block_list.hpp"
#include "mail/outbox.hpp"

namespace berth::admin {

struct BlockedQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<wire::EvmAddress> address;
};
BOOST_DESCRIBE_STRUCT(BlockedQuery, (), (cursor, limit, address))
constexpr auto wire_docs(const BlockedQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"address", "Only this one.", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
    });
}

struct BlockedAddress {
    wire::EvmAddress address;
    block_list::Source source{};
    std::string reason;
    wire::Nullable<AccountId> blocked_by;
    Time blocked_at;
};
BOOST_DESCRIBE_STRUCT(BlockedAddress, (), (address, source, reason, blocked_by, blocked_at))
constexpr auto wire_docs(const BlockedAddress*) {
    return std::to_array<wire::Doc>({
        {"address", "", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"source", "The operator's file, or an operator by name.", "operator"},
        {"reason", "Why; empty where the file does not say.", "named by a court"},
        {"blocked_by", "The operator; null of the file."},
        {"blocked_at", "Since when."},
    });
}

struct BlockAddress {
    wire::EvmAddress address;
    Reason reason;
};
BOOST_DESCRIBE_STRUCT(BlockAddress, (), (address, reason))
constexpr auto wire_docs(const BlockAddress*) {
    return std::to_array<wire::Doc>({
        {"address", "", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        api::reason_doc("named by a court"),
    });
}

struct BlockedPath {
    wire::EvmAddress address;
};
BOOST_DESCRIBE_STRUCT(BlockedPath, (), (address))
constexpr auto wire_docs(const BlockedPath*) {
    return std::to_array<wire::Doc>({
        {"address", "", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
    });
}

struct UnblockQuery {
    Reason reason;
};
BOOST_DESCRIBE_STRUCT(UnblockQuery, (), (reason))
constexpr auto wire_docs(const UnblockQuery*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("the court has lifted it"),
    });
}

struct AddressUnblocked {
    wire::EvmAddress address;
    bool still_blocked = false;
    audit::AuditEventId audit_event_id;
};
BOOST_DESCRIBE_STRUCT(AddressUnblocked, (), (address, still_blocked, audit_event_id))
constexpr auto wire_docs(const AddressUnblocked*) {
    return std::to_array<wire::Doc>({
        {"address", "", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"still_blocked", "The operator's file names it, too.", "false"},
    });
}

class BlockDesk {
public:
    explicit BlockDesk(const mail::Outbox& outbox) : outbox_(outbox) {}

    void add_routes(api::Router& router) const;

    api::Page<BlockedAddress> list(api::Call& call, const BlockedQuery& query) const;
    BlockedAddress block(api::Call& call, const BlockAddress& request) const;
    AddressUnblocked unblock(api::Call& call, const BlockedPath& path,
                             const UnblockQuery& query) const;

private:
    const mail::Outbox& outbox_;
};

}  // namespace berth::admin
