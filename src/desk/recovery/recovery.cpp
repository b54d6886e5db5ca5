#include "recovery/recovery.hpp"

#include <fmt/format.h>

#include <set>

#include "accounts/mailbox.hpp"
#include "accounts/settings.hpp"
#include "agent_accounts/agents.hpp"
#include "audit/audit.hpp"
#include "base/redaction.hpp"
#include "closing/closing.hpp"
#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "four_eyes/four_eyes.hpp"
#include "mail/address.hpp"
#include "recovery/settings.hpp"
#include "transfers/addresses.hpp"
#include "transfers/call_back.hpp"
#include "transfers/settlement.hpp"
#include "wallets/wallets.hpp"

namespace berth::recovery {
namespace {

using accounts::Record;

RecoveryState state_of(const RecoveryRow& row, Time now) {
    const bool over = row.state == RecoveryState::waiting && row.expires_at <= now;
    return over ? RecoveryState::expired : row.state;
}

// Whoever uses the mailbox or the wallet that is said to be lost contradicts the recovery. Where
// nobody could be told of it, whoever uses a key of the account does so, too: its owner lets the
// keys rest, or has the account suspended.
bool signed_in_since(api::Call& call, const RecoveryRow& row) {
    if (row.state != RecoveryState::waiting) return false;
    if (row.kind == RecoveryKind::email)
        return accounts::was_entered(call.tx(), row.account_id, row.opened_at);
    const crypto::Address fresh = crypto::parse_address(row.wallet.value()).value();
    return wallets::has_signed(call.tx(), row.account_id, fresh, row.opened_at) ||
           (row.told == 0 && accounts::was_key_used(call.tx(), row.account_id, row.opened_at));
}

std::vector<Objection> objections_of(api::Call& call, const RecoveryRow& row) {
    std::vector<Objection> objections;
    for (const NoticeRow& notice : list_objected(call.tx(), row.recovery_id))
        objections.push_back({notice.address, notice.objected_at.value()});
    return objections;
}

Recovery shown(api::Call& call, const RecoveryRow& row) {
    return {row.recovery_id,
            row.account_id,
            row.kind,
            state_of(row, call.now),
            row.email,
            row.wallet,
            row.lost_authenticator,
            row.reason,
            wire::decode<std::vector<std::string>>(row.evidence),
            {row.told},
            signed_in_since(call, row),
            row.was_suspended,
            objections_of(call, row),
            row.opened_by,
            row.opened_at,
            row.ready_at,
            row.expires_at,
            row.ended_by,
            row.ended_at,
            row.end_reason};
}

// What takes the place of what was lost, as records and owners see it.
std::string replacement(const RecoveryRow& row) {
    return row.kind == RecoveryKind::email ? accounts::masked_email(row.email.value())
                                           : row.wallet.value();
}

OwnRecovery shown_to_owner(const RecoveryRow& row, Time now) {
    return {row.recovery_id,        row.kind,      state_of(row, now), replacement(row),
            row.lost_authenticator, row.opened_at, row.ready_at};
}

RecoveryRow require_recovery(api::Call& call, RecoveryId id) {
    auto row = find_recovery(call.tx(), id);
    if (!row) throw Problem(Code::not_found, "no such recovery");
    return std::move(*row);
}

void refuse_own(const api::Call& call, AccountId account) {
    if (account == call.caller.account)
        throw Problem(Code::forbidden, "nobody decides over their own account");
}

crypto::Address parse_wallet(const std::string& text) {
    const auto address = crypto::parse_address(text);
    if (!address) throw Problem(Code::invalid_input, "body.wallet: has a wrong checksum");
    if (*address == crypto::Address{})
        throw Problem(Code::invalid_input, "body.wallet: must not be the zero address");
    return *address;
}

void check_email(api::Call& call, const Record& account, const std::string& email) {
    if (account.kind != accounts::Kind::human)
        throw Problem(Code::conflict, "an agent has no mailbox: name the wallet that it has now");
    if (accounts::find_account_by_email(call.tx(), email))
        throw Problem(Code::conflict, "body.email: this address has an account, or is this one's");
    if (accounts::is_promised(call.tx(), email, account.account_id, call.now))
        throw Problem(Code::conflict, "body.email: another account is to be reached by it");
}

void check_wallet(api::Call& call, const Record& account, const crypto::Address& wallet) {
    if (account.kind != accounts::Kind::agent)
        throw Problem(Code::conflict,
                      "a person links another wallet without help; name the mailbox that was lost");
    const auto owner = wallets::find_owner(call.tx(), wallet);
    if ((owner && *owner != account.account_id) || wallets::is_barred(call.tx(), wallet))
        throw Problem(Code::conflict, "body.wallet: belongs to another account, or was replaced");
    for (const wallets::Binding& binding : wallets::list_bindings(call.tx(), account.account_id))
        if (!binding.unlinked_at && binding.address == wallet)
            throw Problem(Code::conflict, "body.wallet: is the wallet that the account has");
}

// What is asked for, after everything about it that can be refused.
RecoveryRow planned(api::Call& call, const Record& account, const NewRecovery& request) {
    RecoveryRow row;
    if (request.email) {
        row.email = mail::normalized_email(request.email->value).value();
        check_email(call, account, *row.email);
        row.lost_authenticator = request.lost_authenticator.value_or(false);
    } else {
        const crypto::Address wallet = parse_wallet(request.wallet->value);
        check_wallet(call, account, wallet);
        row.kind = RecoveryKind::wallet;
        row.wallet = crypto::checksummed(wallet);
    }
    if (has_waiting(call.tx(), account.account_id, call.now))
        throw Problem(Code::conflict, "a recovery of this account waits already");
    std::vector<std::string> evidence;
    for (const auto& text : request.evidence.value)
        evidence.push_back(without_unnamed_secrets(text.value));
    row.recovery_id = call.make_id<RecoveryId>();
    row.account_id = account.account_id;
    row.was_suspended = account.suspended;
    row.reason = without_unnamed_secrets(request.reason.value);
    row.evidence = wire::encode(evidence);
    row.opened_by = call.caller.account;
    row.opened_at = call.now;
    row.ready_at = call.now + std::chrono::hours(*call.settings<Settings>().recovery_wait_hours);
    row.expires_at = row.ready_at + completed_within;
    return row;
}

std::string consequence(const RecoveryRow& row) {
    const std::string wait =
        fmt::format("Unless somebody at an address that the account is known by objects until {}, ",
                    to_rfc3339(row.ready_at));
    return row.kind == RecoveryKind::email
               ? fmt::format(
                     "{}it signs in by {} from then on{}. Its sessions, API keys and saved "
                     "addresses end.",
                     wait, *row.email,
                     row.lost_authenticator ? ", and its authenticator is gone" : "")
               : fmt::format(
                     "{}the wallet {} registers for it from then on. Its earlier wallets, "
                     "API keys and saved addresses end.",
                     wait, *row.wallet);
}

// Every address that leads to the account's owner, or did; and the one that is to.
std::set<std::string> known_addresses(api::Call& call, const RecoveryRow& row,
                                      const Record& account) {
    std::set<std::string> all;
    if (account.email) all.insert(*account.email);
    for (const std::string& former : accounts::list_former_emails(call.tx(), account.account_id))
        all.insert(former);
    if (const auto contact = agent_accounts::find_operator_contact(call.tx(), account.account_id))
        if (const auto email = mail::normalized_email(*contact)) all.insert(*email);
    if (row.email) all.insert(*row.email);
    return all;
}

// What everybody reads who may be the owner.
std::string question(const RecoveryRow& row, const std::string& link) {
    const bool mailbox = row.kind == RecoveryKind::email;
    return fmt::format(
        "An operator was told that the {} of an account was lost, and that {} is to take its "
        "place.{}{} The account is {}. Nothing has changed yet.\n\nIf it is yours and you did not "
        "ask for this, or if you know nothing of it, object until {}: open this link and press "
        "the button.\n{}\n\nIf you asked for it, there is nothing to do but wait.",
        mailbox ? "mailbox" : "wallet", replacement(row),
        row.lost_authenticator ? " Its authenticator would go as well." : "",
        mailbox ? " Nobody can sign in by that address before." : "", to_string(row.account_id),
        to_rfc3339(row.ready_at), link);
}

// Keeps: what a thief asked for before is not paid after the owner is back, and its money is the
// account's again. The settler signs from the same state by a conditional update. How many.
std::size_t call_off_transfers(api::Call& call, AccountId account) {
    constexpr std::int64_t rows_max = 1000;  // far more than one account may have open
    const transfers::TransferFilter wanted{.account = account,
                                           .state = transfers::TransferState::INTENT};
    std::size_t ended = 0;
    for (const transfers::TransferRow& row :
         transfers::list_transfers_like(call.tx(), wanted, std::nullopt, rows_max)) {
        if (row.kind == transfers::TransferKind::return_) continue;
        transfers::end_unsigned({call.tx(), call.random, call.now}, row,
                                {.reason = "called off: the account was recovered"});
        ++ended;
    }
    return ended;
}

audit::Event event_of(const api::Call& call, const RecoveryRow& row, std::string action,
                      AccountId by) {
    return {.actor = audit::Actor::of(by),
            .action = std::move(action),
            .target = {"account", to_string(row.account_id)},
            .changes = {{"recovery_id", std::nullopt, to_string(row.recovery_id)},
                        {std::string(enum_name(row.kind)), std::nullopt, replacement(row)}},
            .request = call.request_id};
}

Record require_record(api::Call& call, AccountId id) {
    auto account = accounts::find_record(call.tx(), id);
    if (!account) throw Problem(Code::not_found, "body.account_id: no such account");
    return std::move(*account);
}

void require_waiting(const RecoveryRow& row, Time now) {
    if (state_of(row, now) != RecoveryState::waiting)
        throw Problem(Code::conflict, fmt::format("this recovery is over: it was {}",
                                                  enum_name(state_of(row, now))));
}

}  // namespace

// Keeps: nobody gets into an account by an operator's word alone. Two admins agree where there are
// two, everybody who may be the owner hears of it, and it takes as long as the setting says.
Recovery Recoveries::open(api::Call& call, const NewRecovery& request) const {
    if (request.email.has_value() == request.wallet.has_value())
        throw Problem(Code::invalid_input, "body: name either email or wallet");
    if (request.wallet && request.lost_authenticator)
        throw Problem(Code::invalid_input, "body.lost_authenticator: an agent has none");
    if (request.wallet) parse_wallet(request.wallet->value);
    require_record(call, request.account_id);
    call.require_step_up();
    refuse_own(call, request.account_id);
    accounts::take_turn(call.tx(), request.account_id);
    const Record account = require_record(call, request.account_id);
    closing::require_not_closed(call.tx(), account.account_id);
    RecoveryRow row = planned(call, account, request);
    four_eyes::require_second(
        call, outbox_,
        {.action = "open_recovery",
         .target = {"account", to_string(account.account_id)},
         .about = account.account_id,
         .gains = account.account_id,
         .reason = row.reason,
         .consequence = fmt::format("Account {}, {}: {}", to_string(account.account_id),
                                    account.email.value_or("an agent"), consequence(row)),
         .seen = fmt::format("version {}", account.version)});
    row.told = static_cast<std::int64_t>(known_addresses(call, row, account).size());
    if (!add_recovery(call.tx(), row))
        throw Problem(Code::conflict, "a recovery of this account waits already");
    if (row.email &&
        !accounts::promise_email(call.tx(), {*row.email, row.account_id, row.expires_at}, call.now))
        throw Problem(Code::conflict, "body.email: another account is to be reached by it");
    ask_addresses(call, row, account);
    audit::Event event = event_of(call, row, "open_recovery", call.caller.account);
    event.reason = row.reason;
    event.changes.push_back({"addresses_told", std::nullopt, std::to_string(row.told)});
    audit::record(call.context(), event);
    return shown(call, row);
}

// A link of its own to each, so that it shows who objected.
void Recoveries::ask_addresses(api::Call& call, const RecoveryRow& row,
                               const Record& account) const {
    for (const std::string& email : known_addresses(call, row, account)) {
        const std::string token = crypto::make_token(issued::objection, call.random);
        add_notice(call.tx(), {.token_hash = to_hex(crypto::sha256(token)),
                               .recovery_id = row.recovery_id,
                               .address = accounts::masked_email(email),
                               .lost = row.kind == RecoveryKind::email && email == account.email});
        const std::string link =
            fmt::format("{}/recovery/{}#{}", site_.base_url, to_string(row.recovery_id), token);
        send(call, email, {"somebody asks for an account of yours", question(row, link)});
    }
}

// Keeps: it happens once, after its time, and not when somebody objected or signed in meanwhile.
// Whoever signs transfers takes the first of the two turns as well.
Recovery Recoveries::complete(api::Call& call, const RecoveryPath& path,
                              const RecoveryDecision& decision) const {
    RecoveryRow row = require_recovery(call, path.id);
    call.require_step_up();
    refuse_own(call, row.account_id);
    require_waiting(row, call.now);
    if (call.now < row.ready_at)
        throw Problem(Code::conflict, fmt::format("the account's addresses may object until {}",
                                                  to_rfc3339(row.ready_at)));
    transfers::take_signing_turn(call.tx());
    accounts::take_turn(call.tx(), row.account_id);
    closing::require_not_closed(call.tx(), row.account_id);
    const Record before = require_record(call, row.account_id);
    if (signed_in_since(call, row))
        throw Problem(Code::conflict,
                      "somebody used the mailbox, wallet or keys of the account meanwhile; if that "
                      "was not the owner, suspend the account and ask anew");
    overrule_objections(call, row, before, decision);
    row.state = RecoveryState::completed;
    row.ended_by = call.caller.account;
    row.ended_at = call.now;
    row.end_reason = without_unnamed_secrets(decision.reason.value);
    if (!end_recovery(call.tx(), row))
        throw Problem(Code::conflict, "this recovery is over already");
    tell(call, row, before,
         {"an account of yours was recovered",
          fmt::format("The account {} is reached by {} from now on. Its sessions, API keys and "
                      "saved addresses have ended{}, and withdrawals and payouts that were not "
                      "sent yet are called off.\n\nIf this was not you, write to support at "
                      "once.",
                      to_string(row.account_id), replacement(row),
                      row.lost_authenticator ? ", its authenticator is gone" : "")});
    const std::size_t called_off = call_off_transfers(call, row.account_id);
    carry_out(call, row);
    audit::Event event = event_of(call, row, "complete_recovery", call.caller.account);
    event.reason = row.end_reason;
    event.changes.push_back({"transfers_called_off", std::nullopt, std::to_string(called_off)});
    audit::record(call.context(), event);
    return shown(call, row);
}

// Keeps: who reads the mailbox of a suspended account that is said to be lost, a thief perhaps,
// does not keep the owner out for ever; but one admin alone does not pass over an objection either.
void Recoveries::overrule_objections(api::Call& call, const RecoveryRow& row, const Record& account,
                                     const RecoveryDecision& decision) const {
    const auto objections = objections_of(call, row);
    if (objections.empty()) return;
    std::string from;
    for (const Objection& one : objections) from += (from.empty() ? "" : ", ") + one.address;
    four_eyes::require_second(
        call, outbox_,
        {.action = "complete_recovery",
         .target = {"account", to_string(row.account_id)},
         .about = row.account_id,
         .gains = row.account_id,
         .reason = without_unnamed_secrets(decision.reason.value),
         .consequence = fmt::format("Account {} is reached by {} from now on, although somebody at "
                                    "{} objected, which is said to be lost.",
                                    to_string(row.account_id), replacement(row), from),
         .seen = fmt::format("version {}, {} objections", account.version, objections.size())});
}

void Recoveries::carry_out(api::Call& call, const RecoveryRow& row) const {
    const AccountId account = row.account_id;
    if (row.kind == RecoveryKind::email) {
        if (!accounts::put_email(call.context(), account, *row.email))
            throw Problem(Code::conflict, "the address has an account of its own by now");
        if (row.lost_authenticator) accounts::disable_totp(call.tx(), account);
    } else {
        const crypto::Address wallet = crypto::parse_address(*row.wallet).value();
        if (wallets::reserve_address(call.tx(), wallet, account) != account)
            throw Problem(Code::conflict, "the wallet belongs to another account by now");
        wallets::bar_wallets(call.tx(), account, wallet, call.now);
    }
    accounts::end_promises(call.tx(), account);
    accounts::delete_sessions(call.tx(), account);
    accounts::revoke_keys(call.tx(), account, call.now);
    transfers::forget_addresses(call.context(), account);
}

Recovery Recoveries::cancel(api::Call& call, const RecoveryPath& path,
                            const RecoveryDecision& decision) const {
    RecoveryRow row = require_recovery(call, path.id);
    call.require_step_up();
    require_waiting(row, call.now);
    row.state = RecoveryState::cancelled;
    row.ended_by = call.caller.account;
    row.ended_at = call.now;
    row.end_reason = without_unnamed_secrets(decision.reason.value);
    if (!end_recovery(call.tx(), row))
        throw Problem(Code::conflict, "this recovery is over already");
    accounts::end_promises(call.tx(), row.account_id);
    tell(call, row, require_record(call, row.account_id),
         {"the recovery of an account was called off",
          fmt::format("The recovery of the account {} was called off by an operator. Everything "
                      "stays as it is.",
                      to_string(row.account_id))});
    audit::Event event = event_of(call, row, "cancel_recovery", call.caller.account);
    event.reason = row.end_reason;
    audit::record(call.context(), event);
    return shown(call, row);
}

api::Page<Recovery> Recoveries::list(api::Call& call, const RecoveriesQuery& query) const {
    const std::string filters =
        fmt::format("{}:{}", query.account_id ? to_string(*query.account_id) : "all",
                    query.state ? enum_name(*query.state) : "any");
    const api::Pager pager(call.cursors, {"recoveries", filters}, query);
    const RecoveriesWanted wanted{query.state, query.account_id, pager.after_id<RecoveryId>(),
                                  call.now};
    return pager.page(list_recoveries(call.tx(), wanted, pager.rows_wanted()),
                      &RecoveryRow::recovery_id,
                      [&call](const RecoveryRow& row) { return shown(call, row); });
}

Recovery Recoveries::show(api::Call& call, const RecoveryPath& path) const {
    return shown(call, require_recovery(call, path.id));
}

OwnRecoveries Recoveries::list_own(api::Call& call) const {
    OwnRecoveries own;
    const RecoveriesWanted wanted{.account = call.caller.account, .now = call.now};
    for (const RecoveryRow& row : list_recoveries(call.tx(), wanted, own_recoveries_max))
        own.items.push_back(shown_to_owner(row, call.now));
    return own;
}

// It asks for nothing that could be lost, and undoes nothing: whoever objects by mistake asks anew.
OwnRecovery Recoveries::object(api::Call& call, const RecoveryPath& path) const {
    RecoveryRow row = require_recovery(call, path.id);
    if (row.account_id != call.caller.account) throw Problem(Code::not_found, "no such recovery");
    if (row.state != RecoveryState::objected) {
        require_waiting(row, call.now);
        note_objection(call, row);
        row.state = RecoveryState::objected;
    }
    return shown_to_owner(row, call.now);
}

Objected Recoveries::object(api::Call& call, const RecoveryPath& path,
                            const ObjectionToken& token) const {
    const auto notice = crypto::looks_like_token(issued::objection, token.token.value)
                            ? find_notice(call.tx(), to_hex(crypto::sha256(token.token.value)))
                            : std::nullopt;
    if (!notice || notice->recovery_id != path.id)
        throw Problem(Code::authorization_invalid, "the link is wrong");
    const RecoveryRow row = require_recovery(call, path.id);
    if (row.state == RecoveryState::objected) return {row.recovery_id, row.state};
    require_waiting(row, call.now);
    const bool is_first = note_objected(call.tx(), notice->token_hash, call.now);
    if (!row.was_suspended || !notice->lost) {
        note_objection(call, row);
        return {row.recovery_id, RecoveryState::objected};
    }
    if (is_first) {
        warn_support(call, row, notice->address);
        audit::record(call.context(), event_of(call, row, "doubt_recovery", row.account_id));
    }
    return {row.recovery_id, row.state};
}

void Recoveries::note_objection(api::Call& call, const RecoveryRow& waiting) const {
    RecoveryRow row = waiting;
    row.state = RecoveryState::objected;
    row.ended_by = row.account_id;
    row.ended_at = call.now;
    row.end_reason = "somebody at a known address, or the account itself, objected";
    if (!end_recovery(call.tx(), row))
        throw Problem(Code::conflict, "this recovery is over already");
    accounts::end_promises(call.tx(), row.account_id);
    tell(call, row, require_record(call, row.account_id),
         {"the recovery of an account was ended",
          fmt::format("Somebody objected to the recovery of the account {}. Everything stays as it "
                      "is. If it is yours and you are locked out, write to support.",
                      to_string(row.account_id))});
    warn_support(call, row, "a known address, or the account itself,");
    audit::record(call.context(), event_of(call, row, "object_to_recovery", row.account_id));
}

void Recoveries::tell(api::Call& call, const RecoveryRow& row, const Record& account,
                      const News& news) const {
    for (const std::string& email : known_addresses(call, row, account)) send(call, email, news);
}

void Recoveries::send(api::Call& call, const std::string& email, const News& news) const {
    outbox_.send(call.context(),
                 {.to = email,
                  .subject = fmt::format("{}: {}", accounts::brand(call), news.subject),
                  .text = news.text + "\n"});
}

void Recoveries::warn_support(api::Call& call, const RecoveryRow& row,
                              const std::string& who) const {
    const std::string& support = *call.settings<accounts::Contact>().support_email;
    if (support.empty()) return;
    send(call, support,
         {"a recovery met an objection",
          fmt::format("Somebody at {} objected to the recovery {} of the account {}. Either "
                      "somebody else asked for it, or somebody else reads the owner's mail: find "
                      "out which.",
                      who, to_string(row.recovery_id), to_string(row.account_id))});
}

}  // namespace berth::recovery
