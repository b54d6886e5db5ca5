// What accounts are told of money that goes out, and operators of what keeps it from going.
#pragma once

#include <vector>

#include "events/events.hpp"
#include "transfers/store.hpp"

namespace berth::transfers {

struct TransferFacts {
    TransferState state = TransferState::INTENT;
    Micro amount_micro;
    Asset asset = Asset::usdc;
    wire::EvmAddress address;
    wire::Nullable<wire::TransactionHash> tx_hash;
    wire::Nullable<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(TransferFacts, (), (state, amount_micro, asset, address, tx_hash, reason))
constexpr auto wire_docs(const TransferFacts*) {
    return std::to_array<wire::Doc>({
        {"state", "The one that it came into.", "SETTLED"},
        {"amount_micro", "What is to arrive.", "5000000"},
        {"asset", "", "USDC"},
        {"address", "Where it goes.", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"tx_hash", "The transaction on the chain; null before it is over there."},
        {"reason", "Why it ended without a payment; null when it did not.", "null"},
    });
}

struct SettlementHeldFacts {
    std::string why;
};
BOOST_DESCRIBE_STRUCT(SettlementHeldFacts, (), (why))
constexpr auto wire_docs(const SettlementHeldFacts*) {
    return std::to_array<wire::Doc>(
        {{"why", "", "payments to different addresses were reverted one after the other"}});
}

struct TreasuryShortFacts {
    ShortOf short_of = ShortOf::gas;
    wire::Count transfers;
};
BOOST_DESCRIBE_STRUCT(TreasuryShortFacts, (), (short_of, transfers))
constexpr auto wire_docs(const TreasuryShortFacts*) {
    return std::to_array<wire::Doc>({
        {"short_of", "gas, or tokens of the asset; token: the token itself pays nobody.", "gas"},
        {"transfers", "How many wait for it since now.", "3"},
    });
}

// What a mail says of one that is over.
events::Words withdrawal_words(const TransferFacts& facts, std::string_view transfer);
events::Words payout_words(const TransferFacts& facts, std::string_view transfer);

// By state, in the order of TransferState.
using TransferKindOfEvent = events::Kind<TransferFacts>;
inline constexpr auto withdrawal_audience = events::Audience::renter;
inline constexpr std::array withdrawal_kinds{
    TransferKindOfEvent{"withdrawal.awaiting_email_confirmation", "withdrawal", withdrawal_audience,
                        "It was asked for, and waits for the mailed link of its new address.",
                        R"({"state":"AWAITING_EMAIL_CONFIRMATION","tx_hash":null})"},
    TransferKindOfEvent{"withdrawal.intent", "withdrawal", withdrawal_audience,
                        "Its amount is locked; it will be signed.",
                        R"({"state":"INTENT","tx_hash":null})"},
    TransferKindOfEvent{"withdrawal.submitted", "withdrawal", withdrawal_audience,
                        "Its payment is signed and sent.", R"({"state":"SUBMITTED"})"},
    TransferKindOfEvent{"withdrawal.settled", "withdrawal", withdrawal_audience,
                        "Its payment is final on the chain.", R"({"state":"SETTLED"})",
                        events::Mail::now, &withdrawal_words},
    TransferKindOfEvent{"withdrawal.failed", "withdrawal", withdrawal_audience,
                        "Its payment was refused; the amount is back.",
                        R"({"state":"FAILED","tx_hash":null,)"
                        R"("reason":"the token refuses payments to this address"})",
                        events::Mail::now, &withdrawal_words},
    TransferKindOfEvent{"withdrawal.expired", "withdrawal", withdrawal_audience,
                        "Its link was not used in time.", R"({"state":"EXPIRED","tx_hash":null})",
                        events::Mail::now, &withdrawal_words},
    TransferKindOfEvent{"withdrawal.cancelled", "withdrawal", withdrawal_audience,
                        "It was called off; the amount is back.",
                        R"({"state":"CANCELLED","tx_hash":null,"reason":"called off"})",
                        events::Mail::now, &withdrawal_words},
};
inline constexpr auto payout_audience = events::Audience::host;
inline constexpr std::array payout_kinds{
    TransferKindOfEvent{"payout.awaiting_email_confirmation", "payout", payout_audience,
                        "It was asked for, and waits for the mailed link of its new address.",
                        R"({"state":"AWAITING_EMAIL_CONFIRMATION",)"
                        R"("address":"0x52908400098527886E0F7030069857D2E4169EE7",)"
                        R"("amount_micro":"351000000","tx_hash":null})"},
    TransferKindOfEvent{"payout.intent", "payout", payout_audience,
                        "Its amount is locked; it will be signed.",
                        R"({"state":"INTENT",)"
                        R"("address":"0x52908400098527886E0F7030069857D2E4169EE7",)"
                        R"("amount_micro":"351000000","tx_hash":null})"},
    TransferKindOfEvent{"payout.submitted", "payout", payout_audience,
                        "Its payment is signed and sent.",
                        R"({"state":"SUBMITTED",)"
                        R"("address":"0x52908400098527886E0F7030069857D2E4169EE7",)"
                        R"("amount_micro":"351000000"})"},
    TransferKindOfEvent{"payout.settled", "payout", payout_audience,
                        "Its payment is final on the chain.",
                        R"({"state":"SETTLED",)"
                        R"("address":"0x52908400098527886E0F7030069857D2E4169EE7",)"
                        R"("amount_micro":"351000000"})",
                        events::Mail::now, &payout_words},
    TransferKindOfEvent{"payout.failed", "payout", payout_audience,
                        "Its payment was refused; the amount is back.",
                        R"({"state":"FAILED",)"
                        R"("address":"0x52908400098527886E0F7030069857D2E4169EE7",)"
                        R"("amount_micro":"351000000","tx_hash":null,)"
                        R"("reason":"the token refuses payments to this address"})",
                        events::Mail::now, &payout_words},
    TransferKindOfEvent{"payout.expired", "payout", payout_audience,
                        "Its link was not used in time.",
                        R"({"state":"EXPIRED",)"
                        R"("address":"0x52908400098527886E0F7030069857D2E4169EE7",)"
                        R"("amount_micro":"351000000","tx_hash":null})",
                        events::Mail::now, &payout_words},
    TransferKindOfEvent{"payout.cancelled", "payout", payout_audience,
                        "It was called off; the amount is back.",
                        R"({"state":"CANCELLED",)"
                        R"("address":"0x52908400098527886E0F7030069857D2E4169EE7",)"
                        R"("amount_micro":"351000000","tx_hash":null,"reason":"called off"})",
                        events::Mail::now, &payout_words},
};
inline constexpr events::Kind<SettlementHeldFacts> operations_settlement_held{
    "operations.settlement_held", "settlement", events::Audience::operators,
    "Nothing is signed any more until somebody has looked.", R"({})"};
inline constexpr events::Kind<TreasuryShortFacts> operations_treasury_short{
    "operations.treasury_short", "treasury", events::Audience::operators,
    "The treasury cannot pay what waits to be signed.", R"({"short_of":"gas","transfers":3})"};

std::vector<events::DeclaredKind> event_kinds();

// Of a transfer in the state that it is in now; a return is nobody's.
void tell(const db::Context& context, const TransferRow& transfer, std::string_view tx_hash = {});

}  // namespace berth::transfers
