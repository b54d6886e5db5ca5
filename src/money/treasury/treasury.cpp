#include "treasury/treasury.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/problem.hpp"
#include "block_list/block_list.hpp"
#include "chain/transaction.hpp"
#include "crypto/evm.hpp"
#include "ledger/journal.hpp"
#include "transfers/evidence.hpp"
#include "transfers/returns.hpp"

namespace berth::treasury {
namespace {

using ledger::Movement;

constexpr std::string_view add_payment_sql =
    "INSERT INTO treasury_payments (tx_hash, ordinal, movement, asset, amount, treasury, "
    "recipient, reference, booked_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) "
    "ON CONFLICT (tx_hash, ordinal) DO NOTHING";
constexpr std::string_view is_booked_sql =
    "SELECT 1 FROM treasury_payments WHERE tx_hash = $1 LIMIT 1";
constexpr std::string_view taken_sql =
    "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM treasury_payments "
    "WHERE asset = $1 AND movement IN ('fee_take_out', 'gas')";

Movement movement_of(Purpose purpose) {
    switch (purpose) {
        case Purpose::gas: return Movement::gas;
        case Purpose::fee_take_out: return Movement::fee_take_out;
        case Purpose::to_cold: return Movement::to_cold;
    }
    throw std::logic_error("a payment has one of three purposes");
}

bool is_among(const std::vector<AccountId>& owners, const std::optional<AccountId>& account) {
    return account && std::ranges::find(owners, *account) != owners.end();
}

// Whoever has the address that money goes to neither asks for that nor confirms it.
std::vector<AccountId> require_no_gain(db::Transaction& tx, const Authority& authority,
                                       const crypto::Address& to) {
    auto owners = transfers::find_owners(tx, to);
    if (is_among(owners, authority.actor.account))
        throw Problem(Code::forbidden, "nobody decides over a payment to their own address");
    return owners;
}

// Whoever books a payment comes after whoever books another: each asks whether the other has booked
// it as something else, and sees it.
void take_turn(ledger::Context context, ledger::Asset asset) {
    ledger::lock_accounts(context, asset, {ledger::platform});
}

// Keeps: a transfer out is booked once, and not as two things.
void add_payment(ledger::Context context, Movement movement, const Payment& payment,
                 const std::string& reference) {
    const chain::Transfer& sent = payment.transfer;
    const std::string hash = chain::to_string(sent.transaction);
    take_turn(context, payment.asset);
    if (transfers::knows_attempt(context.tx, hash))
        throw Problem(Code::conflict, "this transaction is a customer's transfer");
    const auto added = context.tx.run(add_payment_sql, hash, sent.ordinal, ledger::name(movement),
                                      ledger::name(payment.asset), sent.amount.value(),
                                      crypto::to_string(sent.from), crypto::to_string(sent.to),
                                      reference, context.now);
    if (added.affected != 1) throw Problem(Code::conflict, "this payment is booked already");
}

audit::AuditEventId record(ledger::Context context, Movement movement, const std::string& what,
                           const Authority& authority, std::vector<audit::Change> changes) {
    for (const std::string& evidence : authority.evidence)
        changes.push_back({"evidence", std::nullopt, evidence});
    return audit::record(context, {.actor = authority.actor,
                                   .action = "treasury_" + std::string(ledger::name(movement)),
                                   .target = {"transfer_on_chain", what},
                                   .reason = authority.reason,
                                   .changes = std::move(changes),
                                   .request = authority.request});
}

bool is_cold(const ledger::Treasury& ours, const crypto::Address& address) {
    return std::ranges::find(ours.cold, address) != ours.cold.end();
}

// Whoever can sign for the treasury, and whoever books, cannot say where money may go.
void require_recipient(const ledger::Treasury& ours, const Spending& spending) {
    const crypto::Address& to = spending.payment.transfer.to;
    if (spending.purpose == Purpose::to_cold) {
        if (ours.cold.empty())
            throw Problem(Code::conflict,
                          "no cold storage is set up: cold_addresses names no address");
        if (!is_cold(ours, to))
            throw Problem(Code::conflict,
                          fmt::format("it went to {}, which is not among cold_addresses",
                                      crypto::checksummed(to)));
    }
    if (spending.purpose == Purpose::gas && std::ranges::find(ours.gas, to) == ours.gas.end())
        throw Problem(Code::conflict, fmt::format("it went to {}, which is not among gas_addresses",
                                                  crypto::checksummed(to)));
    if (spending.purpose == Purpose::fee_take_out && ours.fee && *ours.fee != to)
        throw Problem(Code::conflict, fmt::format("it went to {}, which is not fee_address",
                                                  crypto::checksummed(to)));
}

std::vector<audit::Change> told(const Payment& payment) {
    return {{"asset", std::nullopt, std::string(ledger::name(payment.asset))},
            {"amount_micro", std::nullopt, to_string(payment.transfer.amount.value())},
            {"recipient", std::nullopt, crypto::to_string(payment.transfer.to)}};
}

std::vector<audit::Change> told(const funding::DepositRow& deposit, std::string_view state) {
    return {{"state", "SUSPENSE", std::string(state)},
            {"asset", std::nullopt, std::string(ledger::name(deposit.asset))},
            {"amount_micro", std::nullopt, to_string(deposit.amount)},
            {"sender", std::nullopt, crypto::to_string(deposit.sender)}};
}

}  // namespace

void check_authority(const Authority& authority) {
    const auto length = utf8_length(authority.reason);
    if (!length || *length < reason_min || *length > reason_max)
        throw Problem(Code::invalid_input,
                      fmt::format("reason: must have {} to {} characters", reason_min, reason_max));
}

bool knows_transaction(db::Transaction& tx, const std::string& transaction) {
    return funding::knows_deposit(tx, transaction) || transfers::knows_attempt(tx, transaction) ||
           !tx.run(is_booked_sql, transaction).empty();
}

std::string_view name(Purpose purpose) { return ledger::name(movement_of(purpose)); }

Payment find_payment(chain::Chain& chain, const std::vector<funding::Watched>& ours,
                     const chain::Hash& transaction, const std::optional<std::int64_t>& ordinal) {
    const chain::Outcome outcome = chain.outcome(transaction);
    if (outcome.status != chain::Outcome::Status::succeeded)
        throw Problem(Code::conflict, "the transaction is not final, or was reverted");
    std::vector<Payment> found;
    for (const chain::Transfer& transfer : outcome.transfers) {
        const auto from = std::ranges::find_if(ours, [&](const funding::Watched& one) {
            return one.treasury == transfer.from && one.token == transfer.token;
        });
        const bool wanted = !ordinal || *ordinal == transfer.ordinal;
        // Anybody can have a token say that nothing was moved from here to there.
        if (from != ours.end() && transfer.amount > Micro{} && wanted)
            found.push_back({transfer, from->asset});
    }
    if (found.empty())
        throw Problem(Code::conflict, "the transaction takes nothing out of a treasury of ours");
    if (found.size() > 1)
        throw Problem(Code::conflict,
                      "the transaction has several payments; name one by its ordinal");
    return found.front();
}

audit::AuditEventId pay(ledger::Context context, const ledger::Treasury& ours,
                        const Spending& spending, const Authority& authority) {
    check_authority(authority);
    require_recipient(ours, spending);
    const auto& [purpose, payment] = spending;
    const Movement movement = movement_of(purpose);
    const std::string what = funding::deposit_reference(payment.transfer);
    const ledger::Own own{.movement = movement,
                          .asset = payment.asset,
                          .amount = payment.transfer.amount.value(),
                          .transfer = what};
    add_payment(context, movement, payment, ledger::reference_of(own));
    ledger::move_own(context, own);
    if (purpose != Purpose::to_cold) {
        // Keeps: gas and what is taken out are the platform's own fees, never customers' money. Now
        // that the platform's row is locked, nobody else takes fees out before we are done.
        const auto taken = context.tx.fetch_value<Micro>(taken_sql, payment.asset);
        if (taken.value() > ledger::fees_earned(context.tx, payment.asset))
            throw Problem(Code::conflict, "this is more than there is of fee income");
    }
    return record(context, movement, what, authority, told(payment));
}

audit::AuditEventId match(ledger::Context context, const funding::DepositMark& deposit,
                          AccountId account, const Authority& authority) {
    check_authority(authority);
    if (authority.actor.account == account)
        throw Problem(Code::forbidden, "nobody credits their own account");
    transfers::require_books_current(context.tx);
    const auto row =
        funding::end_suspense(context, deposit, funding::SuspenseEnd::claimed, account);
    if (block_list::is_blocked(context.tx, row.sender))
        throw Problem(Code::conflict, "its sender is on the block list");
    const std::string what = funding::reference_of(deposit);
    ledger::match(
        context, {.account = account, .asset = row.asset, .amount = row.amount, .reference = what});
    auto changes = told(row, "CLAIMED");
    changes.push_back({"account", std::nullopt, to_string(account)});
    return record(context, Movement::match, what, authority, std::move(changes));
}

audit::AuditEventId keep(ledger::Context context, const ledger::Treasury& ours,
                         const Keeping& keeping, const Authority& authority) {
    check_authority(authority);
    const auto& [deposit, own] = keeping;
    transfers::require_books_current(context.tx);
    const auto row =
        funding::end_suspense(context, deposit, funding::SuspenseEnd::own, std::nullopt);
    // Nobody's blocked money becomes the platform's, which would pay it out again.
    if (block_list::is_blocked(context.tx, row.sender))
        throw Problem(Code::conflict, "its sender is on the block list");
    if (own == Own::from_cold && !is_cold(ours, row.sender))
        throw Problem(Code::conflict,
                      fmt::format("it came from {}, which is not among cold_addresses",
                                  crypto::checksummed(row.sender)));
    const Movement movement = own == Own::top_up ? Movement::top_up : Movement::from_cold;
    const std::string what = funding::reference_of(deposit);
    ledger::move_own(
        context,
        {.movement = movement, .asset = row.asset, .amount = row.amount, .transfer = what});
    return record(context, movement, what, authority, told(row, "OWN"));
}

std::vector<AccountId> check_adoption(db::Transaction& tx, const transfers::Adoption& adoption,
                                      const Authority& authority) {
    check_authority(authority);
    if (authority.actor.account == adoption.account)
        throw Problem(Code::forbidden, "nobody decides over their own account");
    const auto call = chain::payment_in(adoption.payment.data);
    if (!call) throw Problem(Code::conflict, "this is no plain payment");
    auto owners = require_no_gain(tx, authority, call->payment.to);
    if (!is_among(owners, adoption.account) && authority.evidence.empty())
        throw Problem(Code::conflict,
                      "the account does not own the address that was paid, and no evidence says "
                      "why it is to bear this");
    return owners;
}

AdoptedPayment adopt(ledger::Context context, const ledger::Treasury& ours,
                     const transfers::Adoption& adoption, const Authority& authority) {
    check_adoption(context.tx, adoption, authority);
    if (const auto asset = ours.asset_of(adoption.payment.to)) take_turn(context, *asset);
    const std::string hash = chain::to_string(adoption.payment.hash);
    if (!context.tx.run(is_booked_sql, hash).empty())
        throw Problem(Code::conflict, "this payment is booked already");
    const transfers::Adopted what = transfers::adopt_payment(context, ours, adoption);
    std::vector<audit::Change> changes{
        {"account", std::nullopt, to_string(adoption.account)},
        {"transfer", std::nullopt, to_string(what.transfer)},
        {"asset", std::nullopt, std::string(ledger::name(what.asset))},
        {"amount_micro", std::nullopt, to_string(what.amount)},
        {"advance_micro", std::nullopt, to_string(what.advance)},
        {"recipient", std::nullopt, crypto::to_string(what.address)}};
    for (const transfers::TransferId ended : what.called_off)
        changes.push_back({"called_off", to_string(ended), std::nullopt});
    for (const std::string& evidence : authority.evidence)
        changes.push_back({"evidence", std::nullopt, evidence});
    return {what, audit::record(context, {.actor = authority.actor,
                                          .action = "adopt_payment",
                                          .target = {"transaction", hash},
                                          .reason = authority.reason,
                                          .changes = std::move(changes),
                                          .request = authority.request})};
}

audit::AuditEventId give_back(ledger::Context context, const funding::DepositMark& deposit,
                              const Payment& payment, const Authority& authority) {
    check_authority(authority);
    const auto row =
        funding::end_suspense(context, deposit, funding::SuspenseEnd::returned, std::nullopt);
    if (payment.asset != row.asset || payment.transfer.amount != row.amount)
        throw Problem(Code::conflict, "what was paid is not what had come in");
    if (payment.transfer.to != row.sender && authority.evidence.empty())
        throw Problem(Code::conflict,
                      "the payment went to another address than the sender's, and no evidence says "
                      "why");
    if (payment.transfer.to != row.sender)
        require_no_gain(context.tx, authority, payment.transfer.to);
    const std::string what = funding::reference_of(deposit);
    const ledger::Own own{.movement = Movement::suspense_return,
                          .asset = row.asset,
                          .amount = row.amount,
                          .transfer = what};
    add_payment(context, Movement::suspense_return, payment, ledger::reference_of(own));
    ledger::move_own(context, own);
    auto changes = told(row, "RETURNED");
    changes.push_back({"tx_hash", std::nullopt, chain::to_string(payment.transfer.transaction)});
    changes.push_back({"recipient", std::nullopt, crypto::to_string(payment.transfer.to)});
    return record(context, Movement::suspense_return, what, authority, std::move(changes));
}

Returning send_back(ledger::Context context, const ledger::Treasury& treasury,
                    const funding::DepositMark& deposit, const std::optional<crypto::Address>& to,
                    const Authority& authority) {
    check_authority(authority);
    const auto row = funding::find_deposit(context.tx, deposit);
    if (row && to && *to != row->sender && authority.evidence.empty())
        throw Problem(Code::invalid_input,
                      "body.evidence: must say why it goes to another address than its sender's");
    if (row && to && *to != row->sender) require_no_gain(context.tx, authority, *to);
    const auto transfer = transfers::begin_return(context, treasury, deposit, to);
    auto changes = told(row.value(), "RETURNING");
    changes.push_back({"recipient", std::nullopt, crypto::to_string(transfer.address)});
    changes.push_back({"transfer", std::nullopt, to_string(transfer.transfer_id)});
    const auto event = record(context, Movement::suspense_return, funding::reference_of(deposit),
                              authority, std::move(changes));
    return {transfer.transfer_id, event};
}

Returning keep_here(ledger::Context context, const funding::DepositMark& deposit,
                    const Authority& authority) {
    check_authority(authority);
    const auto transfer = transfers::cancel_return(context, deposit);
    const auto event = audit::record(
        context, {.actor = authority.actor,
                  .action = "treasury_cancel_return",
                  .target = {"transfer_on_chain", funding::reference_of(deposit)},
                  .reason = authority.reason,
                  .changes = {{"state", "RETURNING", "SUSPENSE"},
                              {"transfer", to_string(transfer.transfer_id), std::nullopt}},
                  .request = authority.request});
    return {transfer.transfer_id, event};
}

}  // namespace berth::treasury
