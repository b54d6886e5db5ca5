#include "transfers/adopt.hpp"

#include <algorithm>

#include "accounts/operators.hpp"
#include "base/check.hpp"
#include "base/problem.hpp"
#include "chain/transaction.hpp"
#include "transfers/rows.hpp"
#include "wallets/wallets.hpp"

namespace berth::transfers {
namespace {

constexpr std::string_view find_owners_sql =
    "SELECT account_id FROM withdrawal_addresses WHERE address = $1 AND state = 'SAVED' "
    "UNION SELECT account_id FROM transfers WHERE address = $1 AND kind <> 'return' "
    "ORDER BY account_id";
constexpr std::string_view freeze_sql =
    "INSERT INTO transfer_freezes (treasury, nonce, account_id, created_at, ended_at) "
    "VALUES ($1, $2, $3, $4, NULL) ON CONFLICT (treasury, nonce, account_id) DO NOTHING";
constexpr std::string_view end_freezes_sql =
    "UPDATE transfer_freezes SET ended_at = $3 "
    "WHERE treasury = $1 AND nonce = $2 AND ended_at IS NULL";
constexpr std::string_view is_frozen_sql =
    "SELECT 1 FROM transfer_freezes WHERE account_id = $1 AND ended_at IS NULL LIMIT 1";
const db::Query<TransferRow> unsigned_ones_sql(
    "SELECT {} FROM transfers WHERE account_id = $1 AND asset = $2 AND state = 'INTENT' "
    "ORDER BY transfer_id DESC");

[[noreturn]] void refuse_adoption(const char* why) { throw Problem(Code::conflict, why); }

// The transfer had this id before it was lost; one that carries none, or another's, gets its own.
TransferId id_for(ledger::Context context, const std::optional<Bytes>& reference) {
    const auto fresh = TransferId::make(context.now, context.random);
    const auto uuid = reference ? uuid_from_bytes(*reference) : std::nullopt;
    if (!uuid) return fresh;
    const auto known = find_transfer(context.tx, TransferId{*uuid});
    if (!known) return TransferId{*uuid};
    if (known->state == TransferState::INTENT || known->state == TransferState::SUBMITTED)
        refuse_adoption(
            "its transfer is in the books: chain reconcile adopts it without an account");
    return fresh;
}

// What waits to be signed is taken back, newest first, until the balance covers what was paid: the
// same money was asked for a second time.
std::vector<TransferId> call_off(ledger::Context context, const Adoption& adoption, Asset asset,
                                 Micro amount) {
    std::vector<TransferId> ended;
    for (const TransferRow& one : context.tx.fetch(unsigned_ones_sql, adoption.account, asset)) {
        const auto has = ledger::balances(context.tx, adoption.account, asset);
        if (has.available + std::max(Micro{}, has.payable) >= amount) break;
        if (std::ranges::find(adoption.paid_too, one.transfer_id) != adoption.paid_too.end())
            continue;
        const Step step{TransferState::INTENT, TransferState::CANCELLED,
                        "a payment that was made before was booked instead"};
        if (!move_transfer(context, one.transfer_id, step)) continue;
        ledger::give_back(context, one.transfer_id);
        ended.push_back(one.transfer_id);
    }
    return ended;
}

// Below this block there is still nothing of the treasury that the books do not know: other
// payments of it may be adopted later than this one, and were made before it.
std::int64_t looked_at_from(const Adoption& adoption, std::int64_t known_block) {
    return known_block > 0 ? std::min(adoption.after_block, known_block) : adoption.after_block;
}

// Signed when it was paid, as far as we know: what is adopted today is not of today's cap.
AttemptRow only_attempt(const Adoption& adoption, TransferId transfer, std::int64_t after_block) {
    const chain::Original& payment = adoption.payment;
    return {.transfer_id = transfer,
            .attempt = 1,
            .signer = payment.from,
            .nonce = payment.nonce,
            .fee_max = payment.fee_max,
            .priority_fee = payment.priority_fee,
            .tx_hash = payment.hash,
            .signed_bytes = payment.bytes,
            .created_at = adoption.paid_at,
            .after_block = after_block};
}

// From INTENT to SETTLED in one transaction, by the same steps as any other.
void write_down(ledger::Context context, const TransferRow& transfer, const AttemptRow& attempt) {
    add_transfer(context.tx, transfer);
    const TransferId id = transfer.transfer_id;
    using enum TransferState;
    const std::string hash = chain::to_string(attempt.tx_hash);
    const Step settled{.from = SUBMITTED, .to = SETTLED, .tx_hash = hash};
    const bool moved = move_transfer(context, id, {INTENT, SUBMITTED}) &&
                       add_attempt(context.tx, attempt, context.now) &&
                       move_transfer(context, id, settled) &&
                       set_transfer_hash(context.tx, id, SETTLED, attempt.tx_hash);
    require(moved, "nobody else has seen a transfer that was just made");
}

// Keeps: the next nonce is above every one that was used, and no payment below it is hidden by
// that. Other payments may be unknown still, so nothing is signed until all of them were looked at.
void count_nonce(ledger::Context context, const Adoption& adoption, std::int64_t known_block) {
    const chain::Original& payment = adoption.payment;
    const std::int64_t next = find_next_nonce(context.tx, payment.from);
    if (payment.nonce < next) return;
    // A look from where the books end has seen all: what it did not find moved none of our tokens.
    const bool saw_all = adoption.after_block <= known_block;
    for (std::int64_t nonce = next; nonce < payment.nonce && !saw_all; ++nonce)
        if (std::ranges::find(adoption.found_too, nonce) == adoption.found_too.end() &&
            !is_accounted_for(context.tx, payment.from, nonce))
            refuse_adoption(
                "an earlier nonce of this treasury was neither booked nor found: look from an "
                "earlier block");
    if (!advance_nonce(context.tx, payment.from, next, payment.nonce + 1))
        refuse_adoption("the books have changed meanwhile; look again");
    if (!find_hold(context.tx)) add_hold(context, "payments that the books lost are being adopted");
}

}  // namespace

Adopted adopt_payment(ledger::Context context, const ledger::Treasury& ours,
                      const Adoption& adoption) {
    take_signing_turn(context.tx);  // whoever signs now has done so, or finds the hold
    const chain::Original& payment = adoption.payment;
    const auto asset = ours.asset_of(payment.to);
    const auto call = chain::payment_in(payment.data);
    if (!asset || !call) refuse_adoption("this is no plain payment of one of our tokens");
    if (is_known(context.tx, payment.hash) || is_signed(context.tx, payment.from, payment.nonce))
        refuse_adoption("this payment is in the books already");
    TransferRow transfer;
    transfer.transfer_id = id_for(context, call->reference);
    transfer.kind = TransferKind::withdrawal;
    transfer.account_id = adoption.account;
    transfer.asset = *asset;
    transfer.amount = call->payment.amount;
    transfer.address = call->payment.to;
    if (const auto saved = find_address(context.tx, adoption.account, transfer.address))
        transfer.address_id = saved->address_id;
    transfer.state = TransferState::INTENT;
    transfer.created_at = context.now;
    Adopted adopted{transfer.transfer_id, *asset, transfer.amount, transfer.address, {}, {}};
    adopted.called_off = call_off(context, adoption, *asset, transfer.amount);
    const std::int64_t known_block = last_known_block(context.tx, payment.from);
    write_down(context, transfer,
               only_attempt(adoption, transfer.transfer_id, looked_at_from(adoption, known_block)));
    adopted.advance = ledger::adopt(context, {.transfer = transfer.transfer_id,
                                              .account = adoption.account,
                                              .asset = *asset,
                                              .amount = transfer.amount,
                                              .source = ledger::Source::withdrawal});
    count_nonce(context, adoption, known_block);
    end_freezes(context.tx, {payment.from, payment.nonce}, context.now);
    return adopted;
}

std::vector<AccountId> find_owners(db::Transaction& tx, const crypto::Address& address) {
    auto owners = tx.fetch_values<AccountId>(find_owners_sql, address);
    const auto wallet = wallets::find_latest_binding(tx, address);
    if (wallet && std::ranges::find(owners, wallet->account_id) == owners.end())
        owners.push_back(wallet->account_id);
    return owners;
}

void freeze(db::Transaction& tx, const UnknownPayment& payment, AccountId account, Time now) {
    tx.run(freeze_sql, payment.treasury, payment.nonce, account, now);
}

void end_freezes(db::Transaction& tx, const UnknownPayment& payment, Time now) {
    tx.run(end_freezes_sql, payment.treasury, payment.nonce, now);
}

bool is_frozen(db::Transaction& tx, AccountId account) {
    return !tx.run(is_frozen_sql, account).empty();
}

void require_not_frozen(db::Transaction& tx, AccountId account) {
    accounts::require_not_frozen(tx, account);
    if (is_frozen(tx, account))
        throw Problem(Code::unavailable,
                      "payments to an address of this account are being compared with the chain; "
                      "nothing was changed; try again later");
}

}  // namespace berth::transfers
