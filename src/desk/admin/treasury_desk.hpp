// What operators do with the treasury: transfers in suspense, and the operator's own money. What
// left the treasury is looked up on the chain before it is booked.
#pragma once

#include "admin/adjustments.hpp"
#include "admin/types.hpp"
#include "funding/suspense.hpp"
#include "treasury/treasury.hpp"

namespace berth::admin {

struct DepositPath {
    funding::DepositId deposit_id;
};
BOOST_DESCRIBE_STRUCT(DepositPath, (), (deposit_id))
constexpr auto wire_docs(const DepositPath*) {
    return std::to_array<wire::Doc>({
        {"deposit_id", "As the list of suspense has it."},
    });
}

struct MatchDeposit {
    AccountId account_id;
    Reason reason;
    Evidence evidence;
};
BOOST_DESCRIBE_STRUCT(MatchDeposit, (), (account_id, reason, evidence))
constexpr auto wire_docs(const MatchDeposit*) {
    return std::to_array<wire::Doc>({
        {"account_id", "The account that proved that the transfer is its own."},
        api::reason_doc("Signed a message with the sending wallet."),
        {"evidence", "What shows it.", "ticket 0193a6"},
    });
}

struct ReturnDeposit {
    std::optional<wire::EvmAddress> address;
    Reason reason;
    std::optional<Evidence> evidence;
    std::optional<wire::TransactionHash> tx_hash;
};
BOOST_DESCRIBE_STRUCT(ReturnDeposit, (), (address, reason, evidence, tx_hash))
constexpr auto wire_docs(const ReturnDeposit*) {
    return std::to_array<wire::Doc>({
        {"address",
         "Where it goes. Left out: to the address that it came from. Another one needs evidence.",
         "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        api::reason_doc("Sent by mistake; asked for in a ticket."),
        {"evidence", "What shows that the address is right.", "ticket 0193a6"},
        {"tx_hash",
         "Only where it was paid back by hand already: the transaction that did, which is looked "
         "up on the chain and booked. Nothing is paid then."},
    });
}

struct DepositEnded {
    funding::DepositId deposit_id;
    std::string state;
    audit::AuditEventId audit_event_id;
    std::optional<ledger::TransferId> transfer_id;
};
BOOST_DESCRIBE_STRUCT(DepositEnded, (), (deposit_id, state, audit_event_id, transfer_id))
constexpr auto wire_docs(const DepositEnded*) {
    return std::to_array<wire::Doc>({
        {"state", "CLAIMED, RETURNING, RETURNED, or SUSPENSE again.", "CLAIMED"},
        {"transfer_id", "The payment that sends it back."},
    });
}

struct KeepDeposit {
    Reason reason;
};
BOOST_DESCRIBE_STRUCT(KeepDeposit, (), (reason))
constexpr auto wire_docs(const KeepDeposit*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("Its owner has made an account meanwhile."),
    });
}

enum class MovementKind { gas, fee_take_out, top_up, to_cold };
BOOST_DESCRIBE_ENUM(MovementKind, gas, fee_take_out, top_up, to_cold)

struct NewMovement {
    MovementKind kind{};
    ledger::Asset asset{};
    wire::PositiveMicro amount_micro;
    wire::Nullable<wire::TransactionHash> tx_hash;
    Reason reason;
};
BOOST_DESCRIBE_STRUCT(NewMovement, (), (kind, asset, amount_micro, tx_hash, reason))
constexpr auto wire_docs(const NewMovement*) {
    return std::to_array<wire::Doc>({
        {"kind",
         "What it was: paid for gas, fee income taken out, the operator's own money put "
         "in, or put into cold storage."},
        {"amount_micro", "What the transaction moved.", "5000000"},
        {"tx_hash", "The transaction; what is named by none cannot be booked."},
        api::reason_doc("Fees of January."),
    });
}

struct MovementBooked {
    MovementKind kind{};
    ledger::Asset asset{};
    Micro amount_micro;
    wire::TransactionHash tx_hash;
    audit::AuditEventId audit_event_id;
};
BOOST_DESCRIBE_STRUCT(MovementBooked, (), (kind, asset, amount_micro, tx_hash, audit_event_id))
constexpr auto wire_docs(const MovementBooked*) {
    return std::to_array<wire::Doc>({
        {"kind", ""},
        {"amount_micro", "", "5000000"},
    });
}

// What the chain says of a payment; none where nothing had to be asked.
struct PaymentFacts {
    std::optional<treasury::Payment> payment;
};

class TreasuryDesk {
public:
    TreasuryDesk(const ledger::Treasury& treasury, chain::Chain* chain, const mail::Outbox& outbox)
        : treasury_(treasury), chain_(chain), outbox_(outbox) {}

    void add_routes(api::Router& router) const;
    void add_suspense_routes(api::Router& router) const;

    DepositEnded match(api::Call& call, const DepositPath& path, const MatchDeposit& request) const;
    std::function<PaymentFacts()> prepare_return(api::Call& call, const DepositPath& path,
                                                 const ReturnDeposit& request) const;
    DepositEnded give_back(api::Call& call, const PaymentFacts& facts, const DepositPath& path,
                           const ReturnDeposit& request) const;
    DepositEnded cancel_return(api::Call& call, const DepositPath& path,
                               const KeepDeposit& request) const;
    std::function<PaymentFacts()> prepare_movement(api::Call& call,
                                                   const NewMovement& request) const;
    MovementBooked move(api::Call& call, const PaymentFacts& facts,
                        const NewMovement& request) const;

private:
    std::function<PaymentFacts()> ask(api::Call& call, const wire::TransactionHash& hash) const;
    void require_foreign(api::Call& call, const funding::DepositRow& deposit,
                         const crypto::Address& to, const Reason& reason) const;

    const ledger::Treasury& treasury_;
    chain::Chain* chain_;
    const mail::Outbox& outbox_;
};

}  // namespace berth::admin
