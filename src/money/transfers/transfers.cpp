#include "transfers/transfers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/policies.hpp"
#include "accounts/settings.hpp"
#include "block_list/block_list.hpp"
#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "funding/suspense.hpp"
#include "ledger/maturing.hpp"
#include "transfers/adopt.hpp"
#include "transfers/brakes.hpp"
#include "transfers/call_back.hpp"
#include "transfers/payees.hpp"
#include "transfers/settlement.hpp"
#include "transfers/told.hpp"
#include "wallets/wallets.hpp"

namespace berth::transfers {
namespace {

constexpr std::string_view transfer_purpose = "transfer";

accounts::Account own_account(api::Call& call) {
    auto account = accounts::find_account(call.tx(), call.caller.account);
    require(account.has_value(), "a caller has an account");
    return *account;
}

Transfer shown(const TransferRow& row, const std::optional<Wait>& wait = std::nullopt) {
    Transfer transfer;
    if (wait) transfer.waits_for = wait->why;
    if (wait) transfer.waits_until = wait->until;
    transfer.id = row.transfer_id;
    transfer.state = row.state;
    transfer.address = {crypto::checksummed(row.address)};
    transfer.amount_micro = row.amount;
    transfer.asset = row.asset;
    if (row.tx_hash) transfer.tx_hash = wire::TransactionHash{*row.tx_hash};
    transfer.created_at = row.created_at;
    transfer.updated_at = row.updated_at;
    transfer.reason = row.reason;
    return transfer;
}

WithdrawalAddress shown(const AddressRow& row) {
    return {row.address_id,  row.state,      Network::base,    {crypto::checksummed(row.address)},
            row.label,       row.created_at, row.confirmed_at, row.expires_at,
            row.last_used_at};
}

void name_transfer(const TransferRow& transfer, std::optional<TransferId>& withdrawal,
                   std::optional<TransferId>& payout) {
    (transfer.kind == TransferKind::payout ? payout : withdrawal) = transfer.transfer_id;
}

std::optional<std::string> text_of(const std::optional<Label>& label) {
    return label ? std::optional(label->value) : std::nullopt;
}

wallets::Challenges::Scope scope_of(const api::Call& call) {
    return {transfer_purpose, to_string(call.caller.account)};
}

TransferKind kind_of(AskedKind kind) {
    return kind == AskedKind::payout ? TransferKind::payout : TransferKind::withdrawal;
}

// Calls off what waits for this address.
void end_waiting(db::Context context, AddressId address) {
    for (const ConfirmationRow& waiting : find_confirmations(context.tx, address)) {
        if (!delete_confirmation(context.tx, waiting.confirmation_id))
            continue;  // used at this very moment
        if (waiting.transfer_id)
            move_transfer(context, *waiting.transfer_id,
                          {TransferState::AWAITING_EMAIL_CONFIRMATION, TransferState::CANCELLED,
                           "its address was removed"});
    }
}

// Where the money of a transfer comes from.
struct Purse {
    AccountId account;
    Asset asset{};
    TransferKind kind{};
};
Micro funds_of(const api::Call& call, const Purse& purse) {
    const auto has = ledger::balances(call.tx(), purse.account, purse.asset);
    if (purse.kind != TransferKind::payout) return has.available;
    return has.payable - ledger::maturing(call.tx(), purse.account, purse.asset, call.now).amount;
}

}  // namespace

Transfers::Wish Transfers::wish_of(api::Call& call, TransferKind kind,
                                   const wire::EvmAddress& address, Micro amount,
                                   const std::optional<Asset>& asset) const {
    return {kind, checked_address(call, address), amount, asset.value_or(Asset::usdc)};
}

// Money is not locked for a payment that nobody here can make.
void Transfers::require_payments() const {
    if (!treasury_.pays)
        throw Problem(Code::unavailable,
                      "payments are not set up on this server; nothing was locked");
}

// Gas is ours to pay, so a small part of a balance stays where it is; all of one may leave.
void Transfers::check_least(api::Call& call, const Wish& wish) const {
    const Micro least = *call.settings<Settings>().transfer_min_micro;
    if (wish.amount >= least) return;
    if (wish.amount != funds_of(call, {call.caller.account, wish.asset, wish.kind}))
        throw Problem(Code::invalid_input,
                      fmt::format("body.amount_micro: must be at least {}, or the whole balance",
                                  to_string(least)));
}

// What is above the cap of a day by itself would wait for ever.
void Transfers::check_most(api::Call& call, const Wish& wish) const {
    const Settings& limits = call.settings<Settings>();
    const Micro most =
        std::min(*limits.payouts_account_day_max_micro, *limits.payouts_day_max_micro);
    if (wish.amount > most)
        throw Problem(Code::conflict,
                      fmt::format("at most {} micro-units leave an account in a day; ask for less",
                                  to_string(most)));
}

// Tokens that are sent to such a place are lost, or come back to us without an owner.
crypto::Address Transfers::checked_address(api::Call& call, const wire::EvmAddress& text) const {
    const auto address = crypto::parse_address(text.value);
    if (!address) throw Problem(Code::invalid_input, "body.address: has a wrong checksum");
    if (*address == crypto::Address{})
        throw Problem(Code::invalid_input, "body.address: must not be the zero address");
    if (treasury_.asset_of(*address) || address == treasury_.address ||
        funding::is_treasury(call.tx(), *address))
        throw Problem(Code::invalid_input,
                      "body.address: must not be a treasury or a token contract");
    block_list::require_not_blocked(call.tx(), *address, "body.address");
    return *address;
}

TransferAccepted Transfers::request(api::Call& call, TransferKind kind,
                                    const TransferRequest& request) const {
    const Wish wish = wish_of(call, kind, request.address, request.amount_micro, request.asset);
    check_least(call, wish);
    if (request.siwe_message.has_value() != request.signature.has_value())
        throw Problem(Code::invalid_input,
                      "body: siwe_message and signature must be given together");
    const accounts::Account account = own_account(call);
    const auto saved = find_address(call.tx(), account.id, wish.address);
    const bool is_saved = saved && saved->state == AddressState::SAVED;
    if (call.caller.credential == api::Credential::session)
        check_person(call, account, wish, request);
    else
        check_key(call, account, wish, request, is_saved);

    accounts::take_turn(call.tx(), account.id);
    require_not_frozen(call.tx(), account.id);
    check_most(call, wish);
    require_payable(call.tx(), {wish.asset, wish.address});
    if (count_open_transfers(call.tx(), account.id) >= open_transfers_max)
        throw Problem(Code::conflict, "this account has as many open transfers as it can");

    TransferRow transfer;
    transfer.transfer_id = call.make_id<TransferId>();
    transfer.kind = kind;
    transfer.account_id = account.id;
    transfer.asset = wish.asset;
    transfer.amount = wish.amount;
    transfer.address = wish.address;
    transfer.created_at = call.now;
    if (!is_saved) return park(call, transfer, account, request.label);
    transfer.address_id = saved->address_id;
    transfer.state = TransferState::INTENT;
    return begin(call, transfer, account);
}

// A session proves each transfer anew: the authenticator, or a code by mail for exactly this one.
void Transfers::check_person(api::Call& call, const accounts::Account& account, const Wish& wish,
                             const TransferRequest& request) const {
    if (request.siwe_message)
        throw Problem(Code::invalid_input,
                      "body.siwe_message: is for accounts that have only a wallet");
    if (!request.code)
        throw Problem(Code::forbidden, account.totp_secret
                                           ? "send the code of your authenticator as code"
                                           : "ask for a code by mail and send it as code");
    if (account.totp_secret) {
        accounts_.factors().redeem_authenticator(call, account, request.code->value);
        return;
    }
    accounts_.codes().redeem(
        call,
        {std::string(transfer_purpose), account.email.value(), letters::bound_to(wish), false},
        request.code->value);
}

// A key reaches only what its owner saved before, and one with a policy only what that says.
void Transfers::check_key(api::Call& call, const accounts::Account& account, const Wish& wish,
                          const TransferRequest& request, bool saved) const {
    if (request.code)
        throw Problem(Code::invalid_input, "body.code: is for sessions; a key needs none");
    if (!saved)
        throw Problem(Code::forbidden, "an API key can only use addresses that are saved already");
    if (request.siwe_message) {
        if (account.kind != accounts::Kind::agent)
            throw Problem(Code::invalid_input,
                          "body.siwe_message: is for accounts that have only a wallet");
        check_signature(call, wish, request);
    }
    accounts::withdraw(call, wish.amount);
}

// The text must be the one we issued for this very wish. It is spent whether the proof holds or
// not.
void Transfers::check_signature(api::Call& call, const Wish& wish,
                                const TransferRequest& request) const {
    const auto message = challenges_.redeem_text(
        call, scope_of(call), {request.siwe_message->value, request.signature->value});
    if (message.statement != letters::statement(wish))
        throw api::CommittedProblem(Code::authorization_invalid,
                                    "the challenge was issued for another transfer");
}

void lock_transfer(ledger::Context context, const TransferRow& transfer) {
    const bool payout = transfer.kind == TransferKind::payout;
    ledger::lock(context, {.transfer = transfer.transfer_id,
                           .account = transfer.account_id,
                           .asset = transfer.asset,
                           .amount = transfer.amount,
                           .source = payout ? ledger::Source::payout : ledger::Source::withdrawal});
}

// Keeps: money is locked in the same transaction that makes the transfer one to be settled.
TransferAccepted Transfers::begin(api::Call& call, const TransferRow& transfer,
                                  const accounts::Account& account) const {
    require_payments();
    add_transfer(call.tx(), transfer);
    tell(call.context(), transfer);
    lock_transfer({call.tx(), call.random, call.now}, transfer);
    note_address_use(call.tx(), transfer.address_id, call.now);
    if (account.email)
        outbox_.send(call.context(), letters::requested({accounts::brand(call), site_},
                                                        *account.email, letters::of(transfer)));
    TransferAccepted accepted;
    accepted.state = AcceptedState::INTENT;
    name_transfer(transfer, accepted.withdrawal_id, accepted.payout_id);
    accepted.address_id = transfer.address_id;
    accepted.asset = transfer.asset;
    return accepted;
}

// To a new address: nothing is locked until the mailed link confirms it.
TransferAccepted Transfers::park(api::Call& call, TransferRow transfer,
                                 const accounts::Account& account,
                                 const std::optional<Label>& label) const {
    require_payments();
    if (funds_of(call, {account.id, transfer.asset, transfer.kind}) < transfer.amount)
        throw Problem(Code::insufficient_funds, "the balance does not cover this amount");
    AddressRow address;
    address.address_id = call.make_id<AddressId>();
    address.account_id = account.id;
    address.address = transfer.address;
    address.label = text_of(label);
    address.created_at = call.now;
    transfer.state = TransferState::AWAITING_EMAIL_CONFIRMATION;
    const ConfirmationRow confirmation = ask_confirmation(call, account, address, &transfer);
    transfer.address_id = confirmation.address_id;
    add_transfer(call.tx(), transfer);
    tell(call.context(), transfer);
    TransferAccepted accepted;
    accepted.state = AcceptedState::AWAITING_EMAIL_CONFIRMATION;
    name_transfer(transfer, accepted.withdrawal_id, accepted.payout_id);
    accepted.confirmation_id = confirmation.confirmation_id;
    accepted.address_id = confirmation.address_id;
    accepted.expires_at = confirmation.expires_at;
    accepted.asset = transfer.asset;
    return accepted;
}

// Saves the address as one that waits, and mails the link.
ConfirmationRow Transfers::ask_confirmation(api::Call& call, const accounts::Account& account,
                                            const AddressRow& address,
                                            const TransferRow* transfer) const {
    require(account.email.has_value(), "a session belongs to a person");
    accounts::take_turn(call.tx(), account.id);
    if (transfers::list_addresses(call.tx(), account.id).size() >= addresses_max)
        throw Problem(Code::conflict, "this account has as many addresses as it can; remove some");
    const Time of_last_hour = call.now + confirmation_lifetime - std::chrono::hours(1);
    if (count_confirmations(call.tx(), account.id, of_last_hour) >= links_per_hour_max)
        throw Problem::rate_limited();
    AddressRow waiting = address;
    waiting.expires_at = call.now + confirmation_lifetime;
    const std::string token = crypto::make_token(issued::confirmation, call.random);
    ConfirmationRow confirmation;
    confirmation.confirmation_id = call.make_id<ConfirmationId>();
    confirmation.account_id = account.id;
    confirmation.address_id = put_waiting_address(call.tx(), waiting);
    if (transfer != nullptr) confirmation.transfer_id = transfer->transfer_id;
    confirmation.token_hash = crypto::sha256(token);
    confirmation.expires_at = *waiting.expires_at;
    add_confirmation(call.tx(), confirmation);
    const auto wish = transfer != nullptr ? std::optional(letters::of(*transfer)) : std::nullopt;
    outbox_.send(call.context(),
                 letters::confirm({accounts::brand(call), site_}, *account.email,
                                  {confirmation.confirmation_id, token, address.address, wish,
                                   confirmation.expires_at}));
    return confirmation;
}

api::Page<Transfer> Transfers::list(api::Call& call, TransferKind kind,
                                    const api::PageQuery& query) const {
    const std::string list = kind == TransferKind::payout ? "payouts" : "withdrawals";
    const api::Pager pager(call.cursors, {list, to_string(call.caller.account)}, query);
    Brakes brakes(call.tx(), call.settings<Settings>(), call.now);
    return pager.page(list_transfers(call.tx(), call.caller.account, kind,
                                     pager.after_id<TransferId>(), pager.rows_wanted()),
                      &TransferRow::transfer_id,
                      [&](const TransferRow& row) { return shown(row, brakes.wait_of(row)); });
}

// One that an operator holds back is not its owner's to call off: it would be asked for anew.
Transfer Transfers::cancel(api::Call& call, TransferKind kind, const TransferPath& path) const {
    const auto found = [&] {
        auto transfer = find_transfer(call.tx(), path.id);
        if (!transfer || transfer->account_id != call.caller.account || transfer->kind != kind)
            throw Problem(Code::not_found, "no such transfer");
        return *transfer;
    };
    end_unsigned({call.tx(), call.random, call.now}, found(),
                 {.reason = "called off", .unless_held = true});
    const TransferRow ended = found();
    if (ended.state == TransferState::CANCELLED) return shown(ended);
    const bool held = ended.held_why && (ended.state == TransferState::INTENT ||
                                         ended.state == TransferState::AWAITING_EMAIL_CONFIRMATION);
    throw Problem(Code::conflict, held ? "an operator holds this transfer back; write to support"
                                       : "this transfer was signed already, or is over");
}

accounts::CodeSent Transfers::send_code(api::Call& call, const AskCode& request) const {
    const Wish wish =
        wish_of(call, kind_of(request.kind), request.address, request.amount_micro, request.asset);
    check_least(call, wish);
    const accounts::Account account = own_account(call);
    if (account.totp_secret)
        throw Problem(Code::conflict, "this account confirms with its authenticator");
    const auto issued = accounts_.codes().issue(
        call,
        {std::string(transfer_purpose), account.email.value(), letters::bound_to(wish), false});
    outbox_.send(call.context(),
                 letters::code({accounts::brand(call), site_}, *account.email, wish, issued));
    return {true, issued.expires_at};
}

TransferChallenge Transfers::challenge(api::Call& call, const AskCode& request) const {
    const Wish wish =
        wish_of(call, kind_of(request.kind), request.address, request.amount_micro, request.asset);
    check_least(call, wish);
    if (own_account(call).kind != accounts::Kind::agent)
        throw Problem(Code::conflict, "this account confirms by mail or with its authenticator");
    std::optional<crypto::Address> wallet;
    for (const auto& binding : wallets::list_bindings(call.tx(), call.caller.account))
        if (!binding.unlinked_at) wallet = binding.address;
    if (!wallet) throw Problem(Code::conflict, "this account has no wallet to sign with");
    const auto issued = challenges_.issue_text(
        call, scope_of(call), {.address = *wallet, .statement = letters::statement(wish)});
    return {issued.text, issued.expires_at};
}

AddressAccepted Transfers::add_address(api::Call& call, const NewAddress& request) const {
    AddressRow address;
    address.address = checked_address(call, request.address);
    const accounts::Account account = own_account(call);
    if (account.totp_secret) {
        if (!request.code)
            throw Problem(Code::forbidden, "send the code of your authenticator as code");
        accounts_.factors().redeem_authenticator(call, account, request.code->value);
    }
    const auto known = find_address(call.tx(), account.id, address.address);
    if (known && known->state == AddressState::SAVED)
        return {AddressState::SAVED, known->address_id, std::nullopt, std::nullopt};
    address.address_id = call.make_id<AddressId>();
    address.account_id = account.id;
    address.label = text_of(request.label);
    address.created_at = call.now;
    const ConfirmationRow confirmation = ask_confirmation(call, account, address, nullptr);
    return {AddressState::AWAITING_EMAIL_CONFIRMATION, confirmation.address_id,
            confirmation.confirmation_id, confirmation.expires_at};
}

WithdrawalAddresses Transfers::list_addresses(api::Call& call) const {
    WithdrawalAddresses list;
    for (const AddressRow& row : transfers::list_addresses(call.tx(), call.caller.account))
        if (!row.expires_at || *row.expires_at > call.now) list.items.push_back(shown(row));
    return list;
}

void forget_addresses(db::Context context, AccountId account) {
    for (const AddressRow& row : transfers::list_addresses(context.tx, account)) {
        end_waiting(context, row.address_id);
        delete_address(context.tx, row.address_id);
        if (row.state == AddressState::SAVED)
            record_address(context, AddressChange::removed, account, row.address_id, row.address);
    }
}

// What still waits for the address is called off with it; what is on its way goes on.
void Transfers::remove_address(api::Call& call, const AddressPath& path) const {
    const auto address = find_address(call.tx(), call.caller.account, path.id);
    if (!address) throw Problem(Code::not_found, "no such address");
    call.require_step_up();
    end_waiting(call.context(), address->address_id);
    delete_address(call.tx(), address->address_id);
    if (address->state == AddressState::SAVED)
        record_address(call.context(), AddressChange::removed, address->account_id,
                       address->address_id, address->address);
}

// Whoever has the token has read the owner's mail; nothing else is asked. A transfer whose money
// has gone meanwhile is over, and its address is saved all the same.
Confirmed Transfers::confirm(api::Call& call, const ConfirmationPath& path,
                             const ConfirmationToken& request) const {
    const std::string& token = request.token.value;
    const auto confirmation =
        crypto::looks_like_token(issued::confirmation, token)
            ? spend_confirmation(call.tx(), path.confirmation_id, crypto::sha256(token))
            : std::nullopt;
    if (!confirmation || confirmation->expires_at <= call.now)
        throw Problem(Code::authorization_invalid, "the link is wrong, used or expired");
    const auto account = accounts::find_account(call.tx(), confirmation->account_id);
    require(account.has_value(), "a confirmation belongs to an account");
    if (account->suspended) throw Problem(Code::forbidden, "this account is suspended");
    const auto factor = accounts::second_factor_since(call.tx(), account->id);
    const bool proven = factor && call.now - *factor >= factor_age_min;
    if (!save_address(call.tx(), {confirmation->address_id, call.now, !proven}))
        throw Problem(Code::authorization_invalid, "the address was removed");
    const auto saved = find_address(call.tx(), account->id, confirmation->address_id);
    require(saved.has_value(), "an address that was saved is there");
    block_list::require_not_blocked(call.tx(), saved->address, "this address");
    Confirmed confirmed;
    confirmed.address_id = confirmation->address_id;
    if (confirmation->transfer_id) go_on(call, *confirmation, confirmed);
    record_address(call.context(), AddressChange::saved, account->id, saved->address_id,
                   saved->address);
    return confirmed;
}

// The transfer that had waited for the address.
void Transfers::go_on(api::Call& call, const ConfirmationRow& confirmation,
                      Confirmed& confirmed) const {
    const auto transfer = find_transfer(call.tx(), *confirmation.transfer_id);
    require(transfer.has_value(), "a confirmation names a transfer that is there");
    const bool covered =
        funds_of(call, {transfer->account_id, transfer->asset, transfer->kind}) >= transfer->amount;
    const bool payable = !is_barred(call.tx(), {transfer->asset, transfer->address});
    const bool goes = covered && payable;
    const Step step{TransferState::AWAITING_EMAIL_CONFIRMATION,
                    goes ? TransferState::INTENT : TransferState::CANCELLED,
                    goes       ? ""
                    : !payable ? "the token refuses payments to this address"
                               : "the balance did not cover it any more"};
    if (!move_transfer(call.context(), transfer->transfer_id, step))
        throw Problem(Code::conflict, "this transfer was called off");
    name_transfer(*transfer, confirmed.withdrawal_id, confirmed.payout_id);
    if (!goes) {
        confirmed.state = ConfirmedState::CANCELLED;
        return;
    }
    require_payments();
    require_not_frozen(call.tx(), transfer->account_id);
    lock_transfer({call.tx(), call.random, call.now}, *transfer);
    note_address_use(call.tx(), confirmation.address_id, call.now);
    confirmed.state = ConfirmedState::INTENT;
}

std::int64_t expire_confirmations(const db::Context& context, std::int64_t rows_max) {
    db::Transaction& tx = context.tx;
    const Time now = context.now;
    const auto over = find_expired_confirmations(tx, now, rows_max);
    for (const ConfirmationRow& confirmation : over) {
        if (!delete_confirmation(tx, confirmation.confirmation_id))
            continue;  // used at this very moment
        if (confirmation.transfer_id)
            move_transfer(context, *confirmation.transfer_id,
                          {TransferState::AWAITING_EMAIL_CONFIRMATION, TransferState::EXPIRED,
                           "its link was not used in time"});
        delete_expired_address(tx, confirmation.address_id, now);
    }
    return static_cast<std::int64_t>(over.size());
}

}  // namespace berth::transfers
