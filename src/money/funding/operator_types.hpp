// What comes in, as operators see it of all accounts.
#pragma once

#include "funding/types.hpp"

namespace berth::funding {

struct AdminIntentsQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<AccountId> account;
    std::optional<IntentState> state;
    std::optional<Asset> asset;
    std::optional<Time> since;
    std::optional<Time> until;
};
BOOST_DESCRIBE_STRUCT(AdminIntentsQuery, (), (cursor, limit, account, state, asset, since, until))
constexpr auto wire_docs(const AdminIntentsQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"account", "Only intents of this account."},
        {"state", "Only intents in this state.", "EXCEPTION"},
        {"asset", "Only intents of this asset.", "USDC"},
        {"since", "Only those made at this time or later."},
        {"until", "Only those made before this time."},
    });
}

struct AdminIntent {
    IntentId intent_id;
    AccountId account_id;
    Asset asset = Asset::usdc;
    Micro amount_micro;
    wire::EvmAddress wallet;
    wire::EvmAddress treasury_address;
    IntentState state = IntentState::OPEN;
    wire::Nullable<std::string> exception;
    wire::Nullable<IntentClaim> claim;
    Time created_at;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(AdminIntent, (),
                      (intent_id, account_id, asset, amount_micro, wallet, treasury_address, state,
                       exception, claim, created_at, expires_at))
constexpr auto wire_docs(const AdminIntent*) {
    return std::to_array<wire::Doc>({
        {"amount_micro", "Exactly what was to be sent.", "25000000"},
        {"wallet", "The linked wallet that it was to come from.",
         "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"treasury_address", "Where it was to go.", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"},
        {"exception", "What was wrong with the last claim; null when nothing was.", "null"},
        {"claim", "The transfer that was credited; null before.", "null"},
    });
}

struct AdminClaimsQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<AccountId> account;
};
BOOST_DESCRIBE_STRUCT(AdminClaimsQuery, (), (cursor, limit, account))
constexpr auto wire_docs(const AdminClaimsQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"account", "Only claims of this account."},
    });
}

struct AdminClaim {
    IntentId intent_id;
    AccountId account_id;
    Asset asset = Asset::usdc;
    Micro amount_micro;
    wire::TransactionHash tx_hash;
    Count log_index;
    Time claimed_at;
    Time next_look_at;
    Time until;
};
BOOST_DESCRIBE_STRUCT(AdminClaim, (),
                      (intent_id, account_id, asset, amount_micro, tx_hash, log_index, claimed_at,
                       next_look_at, until))
constexpr auto wire_docs(const AdminClaim*) {
    return std::to_array<wire::Doc>({
        {"amount_micro", "What the intent asked for.", "25000000"},
        {"log_index", "Which log of its block, as the claim names it.", "3"},
        {"claimed_at", "When its owner named this transfer."},
        {"next_look_at", "When the chain is asked for it again."},
        {"until", "Then the claim is forgotten; it can be made again."},
    });
}

enum class DepositState { SUSPENSE, RETURNING, CLAIMED, OWN, RETURNED };
BOOST_DESCRIBE_ENUM(DepositState, SUSPENSE, RETURNING, CLAIMED, OWN, RETURNED)

struct AdminDepositsQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<AccountId> account;
    std::optional<DepositState> state;
    std::optional<Asset> asset;
    std::optional<wire::EvmAddress> sender;
    std::optional<Time> since;
    std::optional<Time> until;
};
BOOST_DESCRIBE_STRUCT(AdminDepositsQuery, (),
                      (cursor, limit, account, state, asset, sender, since, until))
constexpr auto wire_docs(const AdminDepositsQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"account", "Only what was credited to this account."},
        {"state", "Only deposits in this state.", "SUSPENSE"},
        {"asset", "Only deposits of this asset.", "USDC"},
        {"sender", "Only what this address sent.", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"since", "Only what was seen at this time or later."},
        {"until", "Only what was seen before this time."},
    });
}

struct AdminDeposit {
    DepositId deposit_id;
    DepositState state = DepositState::SUSPENSE;
    Asset asset = Asset::usdc;
    Micro amount_micro;
    wire::EvmAddress from;
    wire::TransactionHash tx_hash;
    Count block_number;
    wire::Nullable<AccountId> account_id;
    wire::Nullable<IntentId> intent_id;
    Time seen_at;
    Time updated_at;
};
BOOST_DESCRIBE_STRUCT(AdminDeposit, (),
                      (deposit_id, state, asset, amount_micro, from, tx_hash, block_number,
                       account_id, intent_id, seen_at, updated_at))
constexpr auto wire_docs(const AdminDeposit*) {
    return std::to_array<wire::Doc>({
        {"deposit_id", "What it is matched or sent back by."},
        {"state",
         "SUSPENSE: nobody has claimed it. RETURNING, RETURNED: it goes back, or went. CLAIMED: it "
         "was credited. OWN: it is the platform's.",
         "CLAIMED"},
        {"from", "", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"block_number", "The block that has it.", "41900000"},
        {"account_id", "Who got it; null while nobody has."},
        {"intent_id", "The intent that it was claimed with; null when an operator matched it."},
        {"seen_at", "When the service first saw it."},
    });
}

}  // namespace berth::funding
