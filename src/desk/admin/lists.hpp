// What operators look through of all accounts, beside what features list themselves: keys, debts,
// and what is stuck.
#pragma once

#include "admin/types.hpp"
#include "api/router.hpp"

namespace berth::admin {

// Keys

struct AdminKeysQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<AccountId> account;
    std::optional<wire::Text<1, 200>> prefix;
    std::optional<bool> good;
};
BOOST_DESCRIBE_STRUCT(AdminKeysQuery, (), (cursor, limit, account, prefix, good))
constexpr auto wire_docs(const AdminKeysQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"account", "Only keys of this account."},
        {"prefix",
         "Only keys that begin so: the first twelve letters. What follows is not looked at.",
         "ark_7Hq2mZ0c"},
        {"good", "Only keys that work, or only those that were revoked or have expired.", "true"},
    });
}

// Debts

struct DebtsQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<ledger::Asset> asset;
};
BOOST_DESCRIBE_STRUCT(DebtsQuery, (), (cursor, limit, asset))
constexpr auto wire_docs(const DebtsQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"asset", "Only debts in this asset.", "USDC"},
    });
}

struct Debt {
    AccountId account_id;
    wire::Nullable<std::string> email;
    ledger::Asset asset = ledger::Asset::usdc;
    Micro debt_micro;
    Micro escrow_micro;
    wire::SignedMicro earned_micro;
    Micro paid_micro;
    bool suspended = false;
    bool frozen = false;
};
BOOST_DESCRIBE_STRUCT(Debt, (),
                      (account_id, email, asset, debt_micro, escrow_micro, earned_micro, paid_micro,
                       suspended, frozen))
constexpr auto wire_docs(const Debt*) {
    return std::to_array<wire::Doc>({
        {"email", "Null for an agent.", "host@example.com"},
        {"debt_micro",
         "What it owes: payable is that much below zero. Whatever it earns or funds goes there "
         "first.",
         "4500000"},
        {"escrow_micro", "Of its earnings under dispute, which would make up a part.", "0"},
        {"earned_micro", "All that it has ever earned, less what was refunded.", "9000000"},
        {"paid_micro", "All that was ever paid out to it.", "13500000"},
        {"frozen", "Whether an operator has stopped all that leaves it.", "false"},
    });
}

// What is stuck

enum class StuckKind {
    transfer,
    claim,
    intent,
    deposit,
    rental,
    machine,
    task,
    pending_action,
    erasure,
};
BOOST_DESCRIBE_ENUM(StuckKind, transfer, claim, intent, deposit, rental, machine, task,
                    pending_action, erasure)

struct StuckQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<StuckKind> kind;
};
BOOST_DESCRIBE_STRUCT(StuckQuery, (), (cursor, limit, kind))
constexpr auto wire_docs(const StuckQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"kind", "Only things of this kind.", "transfer"},
    });
}

struct Stuck {
    StuckKind kind = StuckKind::transfer;
    std::string id;
    wire::Nullable<AccountId> account_id;
    std::string state;
    Time since;
    std::string why;
    wire::Nullable<Time> until;
    std::string help;
};
BOOST_DESCRIBE_STRUCT(Stuck, (), (kind, id, account_id, state, since, why, until, help))
constexpr auto wire_docs(const Stuck*) {
    return std::to_array<wire::Doc>({
        {"id", "", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"},
        {"account_id", "Whose it is; null when it is nobody's."},
        {"state", "", "INTENT"},
        {"since", "Since when it waits."},
        {"why", "What it waits for, in a sentence.",
         "The cap of the day for this account is used up."},
        {"until", "Until when, where that is known.", "null"},
        {"help", "What an operator can do.", "berth admin transfers cancel"},
    });
}

class Lists {
public:
    void add_routes(api::Router& router) const;

    api::Page<UserKey> keys(api::Call& call, const AdminKeysQuery& query) const;
    api::Page<Debt> debts(api::Call& call, const DebtsQuery& query) const;
    // Kind by kind, in each the longest known first.
    api::Page<Stuck> stuck(api::Call& call, const StuckQuery& query) const;
};

}  // namespace berth::admin
