#include "transfers/returns.hpp"

#include "base/problem.hpp"
#include "block_list/block_list.hpp"
#include "ledger/journal.hpp"
#include "transfers/payees.hpp"
#include "transfers/settlement.hpp"

namespace berth::transfers {
namespace {

// Tokens that are sent there are lost, or come back to us without an owner.
bool can_be_paid(db::Transaction& tx, const ledger::Treasury& treasury,
                 const crypto::Address& address) {
    return address != crypto::Address{} && !treasury.asset_of(address) &&
           address != treasury.address && !funding::is_treasury(tx, address);
}

funding::DepositMark deposit_of(const TransferRow& transfer) {
    return {transfer.deposit_tx.value(), transfer.deposit_ordinal.value()};
}

// Keeps: what came in leaves suspense once, for the final payment that sent it back.
void end_return(ledger::Context context, const TransferRow& transfer, bool paid) {
    const funding::DepositMark deposit = deposit_of(transfer);
    funding::end_return(context, deposit, paid);
    if (paid)
        ledger::move_own(context, {.movement = ledger::Movement::suspense_return,
                                   .asset = transfer.asset,
                                   .amount = transfer.amount,
                                   .transfer = funding::reference_of(deposit)});
}

}  // namespace

void require_books_current(db::Transaction& tx) {
    if (find_hold(tx))
        throw Problem(Code::unavailable,
                      "payments are being compared with the chain, where this transfer may have "
                      "been sent back already; nothing was changed; try again later");
}

void PaymentsForFunding::require_books_current(db::Transaction& tx) const {
    transfers::require_books_current(tx);
}

std::optional<funding::DepositReturn> PaymentsForFunding::find_return(
    db::Transaction& tx, const funding::DepositMark& deposit) const {
    const auto sent = transfers::find_return(tx, deposit);
    if (!sent) return std::nullopt;
    funding::DepositReturn shown{sent->transfer_id, {crypto::checksummed(sent->address)}, {}};
    if (sent->tx_hash) shown.tx_hash = wire::TransactionHash{*sent->tx_hash};
    return shown;
}

TransferRow begin_return(ledger::Context context, const ledger::Treasury& treasury,
                         const funding::DepositMark& deposit,
                         const std::optional<crypto::Address>& to) {
    require_books_current(context.tx);
    const funding::DepositRow came = funding::begin_return(context, deposit);
    if (!treasury.pays)
        throw Problem(Code::unavailable,
                      "payments are not set up on this server; nothing was changed");
    if (!can_be_paid(context.tx, treasury, to.value_or(came.sender)))
        throw to ? Problem(Code::invalid_input,
                           "body.address: must not be the zero address, a treasury or a token")
                 : Problem(Code::conflict,
                           "its sender cannot be paid; say where it goes in body.address");
    if (is_barred(context.tx, {came.asset, to.value_or(came.sender)}))
        throw Problem(
            Code::conflict,
            "its token refuses payments to that address, which is barred; say another one "
            "in body.address, or lift the bar");
    if (block_list::is_blocked(context.tx, to.value_or(came.sender)))
        throw Problem(Code::conflict, "the address that it would go to is on the block list");
    TransferRow transfer;
    transfer.transfer_id = TransferId::make(context.now, context.random);
    transfer.kind = TransferKind::return_;
    transfer.account_id = ledger::platform;
    transfer.asset = came.asset;
    transfer.amount = came.amount;
    transfer.address = to.value_or(came.sender);
    transfer.state = TransferState::INTENT;
    transfer.created_at = context.now;
    transfer.deposit_tx = deposit.transaction;
    transfer.deposit_ordinal = deposit.ordinal;
    add_transfer(context.tx, transfer);
    return transfer;
}

TransferRow cancel_return(ledger::Context context, const funding::DepositMark& deposit) {
    const auto transfer = find_return(context.tx, deposit);
    if (!transfer) throw Problem(Code::not_found, "this transfer is not being sent back");
    // Otherwise what one operator has stopped would be asked for anew, to another address.
    if (transfer->held_why)
        throw Problem(Code::conflict, "an operator holds its payment back; release it first");
    const Step step{TransferState::INTENT, TransferState::CANCELLED, "called off", true};
    if (!move_transfer(context, transfer->transfer_id, step))
        throw Problem(Code::conflict, "its payment was signed already, is over, or is held back");
    if (find_hold(context.tx))
        throw Problem(Code::unavailable,
                      "payments are being compared with the chain, where this one may be already; "
                      "try again later");
    end_return(context, *transfer, false);
    return *transfer;
}

void book_ending(ledger::Context context, const TransferRow& transfer, TransferState state) {
    const bool paid = state == TransferState::SETTLED;
    if (transfer.kind == TransferKind::return_)
        end_return(context, transfer, paid);
    else if (paid)
        ledger::settle(context, transfer.transfer_id);
    else
        ledger::give_back(context, transfer.transfer_id);
}

}  // namespace berth::transfers
