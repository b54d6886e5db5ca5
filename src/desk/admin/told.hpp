// What both sides of a rental are told when operators put something right about it, each its share;
// and what operators are told of what they have paused.
#pragma once

#include <vector>

#include "admin/store.hpp"
#include "events/events.hpp"
#include "ledger/ledger.hpp"

namespace berth::admin {

enum class Side { renter, host };
BOOST_DESCRIBE_ENUM(Side, renter, host)

struct RefundFacts {
    JobId job_id;
    Side side = Side::renter;
    ledger::Asset asset = ledger::Asset::usdc;
    Micro amount_micro;
    Micro refund_micro;
    wire::Nullable<Micro> credit_micro;
    wire::Nullable<Micro> from_available_micro;
    wire::Nullable<Micro> host_debt_micro;
    wire::Nullable<Micro> from_platform_micro;
};
BOOST_DESCRIBE_STRUCT(RefundFacts, (),
                      (job_id, side, asset, amount_micro, refund_micro, credit_micro,
                       from_available_micro, host_debt_micro, from_platform_micro))
constexpr auto wire_docs(const RefundFacts*) {
    return std::to_array<wire::Doc>({
        {"job_id", "Which rental."},
        {"side", "Whether the account rented or hosted it.", "renter"},
        {"asset", "", "USDC"},
        {"amount_micro", "What the renter got back; for the host, what is taken back.", "250000"},
        {"refund_micro", "What the renter got back.", "250000"},
        {"credit_micro", "Of that: what is back in a promotional credit; null for the host.", "0"},
        {"from_available_micro",
         "What the host's balance paid beyond its earnings; null for the renter.", "null"},
        {"host_debt_micro", "What the host owes of it; null for the renter.", "null"},
        {"from_platform_micro", "What the service bears of the host's part; null for the renter.",
         "null"},
    });
}

struct DisputeFacts {
    JobId job_id;
    Side side = Side::renter;
    ledger::Asset asset = ledger::Asset::usdc;
    Micro amount_micro;
    wire::Nullable<Micro> held_micro;
    wire::Nullable<Micro> released_micro;
    wire::Nullable<Outcome> outcome;
};
BOOST_DESCRIBE_STRUCT(DisputeFacts, (),
                      (job_id, side, asset, amount_micro, held_micro, released_micro, outcome))
constexpr auto wire_docs(const DisputeFacts*) {
    return std::to_array<wire::Doc>({
        {"job_id", "Which rental."},
        {"side", "Whether the account rented or hosted it.", "host"},
        {"asset", "", "USDC"},
        {"amount_micro", "The part of the charge that is disputed.", "500000"},
        {"held_micro", "Of the host's earnings: what is held back; null for the renter.", "450000"},
        {"released_micro",
         "What had been held back and is free again; null for the renter, and while it is open.",
         "null"},
        {"outcome", "How it was decided; null while it is open.", "null"},
    });
}

struct PauseFacts {
    std::string setting;
    bool paused = false;
};
BOOST_DESCRIBE_STRUCT(PauseFacts, (), (setting, paused))
constexpr auto wire_docs(const PauseFacts*) {
    return std::to_array<wire::Doc>({
        {"setting", "What was switched.", "operations.admission_paused"},
        {"paused", "Whether it is paused now."},
    });
}

// What a mail says of each.
events::Words refund_words(const RefundFacts& facts, std::string_view refund);
events::Words opened_words(const DisputeFacts& facts, std::string_view dispute);
events::Words closed_words(const DisputeFacts& facts, std::string_view dispute);

inline constexpr events::Kind<RefundFacts> refund_posted{
    "refund.posted",        "refund",
    events::Audience::both, "A refund for a rental was booked.",
    R"({"side":"renter"})", events::Mail::now,
    &refund_words};
inline constexpr events::Kind<DisputeFacts> dispute_opened{
    "dispute.opened",       "dispute",
    events::Audience::both, "A part of a rental's charge is disputed.",
    R"({"side":"host"})",   events::Mail::now,
    &opened_words};
inline constexpr events::Kind<DisputeFacts> dispute_closed{
    "dispute.closed",
    "dispute",
    events::Audience::both,
    "A dispute was decided.",
    R"({"side":"host","held_micro":null,"released_micro":"450000",)"
    R"("outcome":"rejected"})",
    events::Mail::now,
    &closed_words};
inline constexpr events::Kind<PauseFacts> operations_paused{
    "operations.paused", "setting", events::Audience::operators,
    "New rentals, or payments, were paused or go on.", R"({"paused":true})"};

inline std::vector<events::DeclaredKind> event_kinds() {
    return {refund_posted, dispute_opened, dispute_closed, operations_paused};
}

}  // namespace berth::admin
