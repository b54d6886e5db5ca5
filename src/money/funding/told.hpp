// What accounts are told of money that comes in, and operators of what comes in for nobody.
#pragma once

#include <vector>

#include "events/events.hpp"
#include "funding/store.hpp"

namespace berth::funding {

struct FundingFacts {
    IntentState state = IntentState::CONFIRMED;
    Micro amount_micro;
    Asset asset = Asset::usdc;
    wire::Nullable<wire::TransactionHash> tx_hash;
    wire::Nullable<std::string> exception;
};
BOOST_DESCRIBE_STRUCT(FundingFacts, (), (state, amount_micro, asset, tx_hash, exception))
constexpr auto wire_docs(const FundingFacts*) {
    return std::to_array<wire::Doc>({
        {"state", "Of the intent.", "CONFIRMED"},
        {"amount_micro", "What the intent is for.", "25000000"},
        {"asset", "", "USDC"},
        {"tx_hash", "The transaction that was credited; null when none was."},
        {"exception", "What was wrong with the claim; null when nothing was.", "null"},
    });
}

struct SuspenseFacts {
    Micro amount_micro;
    Asset asset = Asset::usdc;
    wire::TransactionHash tx_hash;
};
BOOST_DESCRIBE_STRUCT(SuspenseFacts, (), (amount_micro, asset, tx_hash))
constexpr auto wire_docs(const SuspenseFacts*) {
    return std::to_array<wire::Doc>({
        {"amount_micro", "What came in.", "25000000"},
        {"asset", "", "USDC"},
        {"tx_hash", "By which transaction."},
    });
}

using FundingKind = events::Kind<FundingFacts>;
inline constexpr FundingKind funding_confirmed{
    "funding.confirmed", "funding_intent", events::Audience::renter,
    "A transfer was credited to the balance.", R"({"state":"CONFIRMED"})"};
inline constexpr FundingKind funding_exception{
    "funding.exception",
    "funding_intent",
    events::Audience::renter,
    "A transfer that was claimed does not match the intent.",
    R"({"state":"EXCEPTION","tx_hash":null,"exception":"the transaction was reverted"})",
    events::Mail::now};
inline constexpr FundingKind funding_cancelled{
    "funding.cancelled", "funding_intent", events::Audience::renter, "The intent was called off.",
    R"({"state":"CANCELLED","tx_hash":null})"};
inline constexpr events::Kind<SuspenseFacts> operations_suspense{
    "operations.suspense", "deposit", events::Audience::operators,
    "Money came in that belongs to nobody yet.", R"({"amount_micro":"25000000"})"};

inline std::vector<events::DeclaredKind> event_kinds() {
    return {funding_confirmed, funding_exception, funding_cancelled, operations_suspense};
}

}  // namespace berth::funding
