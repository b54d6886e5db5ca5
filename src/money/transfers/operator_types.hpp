// Requests and responses of operators about transfers of all accounts.
#pragma once

#include "api/audited.hpp"
#include "api/page.hpp"
#include "audit/audit.hpp"
#include "transfers/types.hpp"

namespace berth::transfers {

struct AdminTransfersQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<AccountId> account;
    std::optional<TransferKind> kind;
    std::optional<TransferState> state;
    std::optional<Asset> asset;
    std::optional<wire::EvmAddress> address;
    std::optional<Time> since;
    std::optional<Time> until;
    std::optional<bool> held;
};
BOOST_DESCRIBE_STRUCT(AdminTransfersQuery, (),
                      (cursor, limit, account, kind, state, asset, address, since, until, held))
constexpr auto wire_docs(const AdminTransfersQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"account", "Only transfers of this account."},
        {"kind", "Only withdrawals, payouts, or returns of what nobody claimed.", "payout"},
        {"state", "Only transfers in this state.", "INTENT"},
        {"asset", "Only transfers of this asset.", "USDC"},
        {"address", "Only transfers to this address.",
         "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"since", "Only those asked for at this time or later."},
        {"until", "Only those asked for before this time."},
        {"held", "Only those that an operator holds back, or only the others.", "true"},
    });
}

struct AdminTransfer {
    TransferId transfer_id;
    TransferKind kind = TransferKind::withdrawal;
    wire::Nullable<AccountId> account_id;
    TransferState state = TransferState::INTENT;
    wire::EvmAddress address;
    Micro amount_micro;
    Asset asset = Asset::usdc;
    wire::Nullable<wire::TransactionHash> tx_hash;
    wire::Nullable<std::string> reason;
    wire::Nullable<WaitsFor> waits_for;
    wire::Nullable<Time> waits_until;
    wire::Nullable<std::string> held_why;
    Time created_at;
    Time updated_at;
};
BOOST_DESCRIBE_STRUCT(AdminTransfer, (),
                      (transfer_id, kind, account_id, state, address, amount_micro, asset, tx_hash,
                       reason, waits_for, waits_until, held_why, created_at, updated_at))
constexpr auto wire_docs(const AdminTransfer*) {
    return std::to_array<wire::Doc>({
        {"transfer_id", "What it is called off, held back or released by."},
        {"kind", "A return sends back what nobody has claimed.", "payout"},
        {"account_id", "Whose money it is; null for a return."},
        {"amount_micro", "What is to arrive.", "5000000"},
        {"tx_hash", "Of the transaction that pays it; null before it was sent."},
        {"reason", "Why it ended without being paid."},
        {"waits_for", "What keeps it from being paid, as its owner is told; null: nothing does."},
        {"waits_until", "Until when, where that is known.", "null"},
        {"held_why", "The reason of the operator who holds it back; null when nobody does."},
    });
}

struct TransferDecision {
    api::Reason reason;
};
BOOST_DESCRIBE_STRUCT(TransferDecision, (), (reason))
constexpr auto wire_docs(const TransferDecision*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("The owner says that somebody else asked for it."),
    });
}

struct TransferDecided {
    TransferId transfer_id;
    std::string action;
    TransferState state = TransferState::INTENT;
    wire::Nullable<std::string> held_why;
    audit::AuditEventId audit_event_id;
};
BOOST_DESCRIBE_STRUCT(TransferDecided, (), (transfer_id, action, state, held_why, audit_event_id))
constexpr auto wire_docs(const TransferDecided*) {
    return std::to_array<wire::Doc>({
        {"transfer_id", "The one that it was about."},
        {"action", "", "hold_transfer"},
        {"state", "As it stands now.", "INTENT"},
        {"held_why", "Why it is held back; null when it is not."},
    });
}

}  // namespace berth::transfers
