#include "recovery/recovery.hpp"

#include <fmt/format.h>

#include <set>

#include "accounts/mailbox.hpp"
#include "accounts/settings.hpp"
#include "agent_accounts/agents.hpp"
#include "audit/audit.hpp"
#include "base/redaction.hpp"
#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "four_eyes/four_eyes.hpp"
#include "mail/address.hpp"
#include "recovery/settings.hpp"
#include "transfers/addresses.hpp"
#include "wallets/wallets.hpp"

namespace berth::recovery {
namespace {

using accounts::Record;

RecoveryState state_of(const RecoveryRow& row, Time now) {
    const bool over = row.state == RecoveryState::waiting && row.expires_at <= now;
    return over ? RecoveryState::expired : row.state;
}

// Whoever reads the mailbox that is said to be lost contradicts the recovery.
bool signed_in_since(const RecoveryRow& row, const std::optional<Record>& account) {
    return row.kind == RecoveryKind::email && account && account->last_sign_in_at &&
           *account->last_sign_in_at > row.opened_at;
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
            signed_in_since(row, accounts::find_record(call.tx(), row.account_id)),
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
    return {row.recovery_id,  row.kind,      state_of(row, now),
            replacement(row), row.opened_at, row.ready_at};
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
    const Record account = require_record(call, request.account_id);
    call.require_step_up();
    refuse_own(call, account.account_id);
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
    const std::string token = crypto::make_token(issued::objection, call.random);
    row.token_hash = to_hex(crypto::sha256(token));
    row.told = static_cast<std::int64_t>(known_addresses(call, row, account).size());
    if (!add_recovery(call.tx(), row))
        throw Problem(Code::conflict, "a recovery of this account waits already");
    tell(call, row, account,
         {"somebody asks for an account of yours",
          fmt::format(
              "An operator was told that the {} of an account was lost, and that {} is to take its "
              "place. The account is {}. Nothing has changed yet.\n\nIf it is yours and you did "
              "not ask for this, or if you know nothing of it, object until {}: open this link "
              "and press the button.\n{}/recovery/{}#{}\n\nIf you asked for it, there is nothing "
              "to do but wait.",
              row.kind == RecoveryKind::email ? "mailbox" : "wallet", replacement(row),
              to_string(row.account_id), to_rfc3339(row.ready_at), site_.base_url,
              to_string(row.recovery_id), token)});
    audit::Event event = event_of(call, row, "open_recovery", call.caller.account);
    event.reason = row.reason;
    event.changes.push_back({"addresses_told", std::nullopt, std::to_string(row.told)});
    audit::record(call.context(), event);
    return shown(call, row);
}

// Keeps: it happens once, after its time, and not when somebody objected or signed in meanwhile.
Recovery Recoveries::complete(api::Call& call, const RecoveryPath& path,
                              const RecoveryDecision& decision) const {
    RecoveryRow row = require_recovery(call, path.id);
    call.require_step_up();
    refuse_own(call, row.account_id);
    require_waiting(row, call.now);
    if (call.now < row.ready_at)
        throw Problem(Code::conflict, fmt::format("the account's addresses may object until {}",
                                                  to_rfc3339(row.ready_at)));
    accounts::take_turn(call.tx(), row.account_id);
    const Record before = require_record(call, row.account_id);
    if (signed_in_since(row, before))
        throw Problem(Code::conflict,
                      "somebody signed in by the mailbox that is said to be lost; if that was not "
                      "the owner, suspend the account and ask anew");
    row.state = RecoveryState::completed;
    row.ended_by = call.caller.account;
    row.ended_at = call.now;
    row.end_reason = without_unnamed_secrets(decision.reason.value);
    if (!end_recovery(call.tx(), row))
        throw Problem(Code::conflict, "this recovery is over already");
    tell(call, row, before,
         {"an account of yours was recovered",
          fmt::format("The account {} is reached by {} from now on. Its sessions, API keys and "
                      "saved addresses have ended.\n\nIf this was not you, write to support at "
                      "once.",
                      to_string(row.account_id), replacement(row))});
    carry_out(call, row);
    audit::Event event = event_of(call, row, "complete_recovery", call.caller.account);
    event.reason = row.end_reason;
    audit::record(call.context(), event);
    return shown(call, row);
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
    const auto row = crypto::looks_like_token(issued::objection, token.token.value)
                         ? find_recovery(call.tx(), path.id)
                         : std::nullopt;
    if (!row ||
        !crypto::equal_in_constant_time(row->token_hash, to_hex(crypto::sha256(token.token.value))))
        throw Problem(Code::authorization_invalid, "the link is wrong");
    if (row->state != RecoveryState::objected) {
        require_waiting(*row, call.now);
        note_objection(call, *row);
    }
    return {row->recovery_id, RecoveryState::objected};
}

void Recoveries::note_objection(api::Call& call, const RecoveryRow& waiting) const {
    RecoveryRow row = waiting;
    row.state = RecoveryState::objected;
    row.ended_by = row.account_id;
    row.ended_at = call.now;
    row.end_reason = "somebody at a known address, or the account itself, objected";
    if (!end_recovery(call.tx(), row))
        throw Problem(Code::conflict, "this recovery is over already");
    const auto account = accounts::find_record(call.tx(), row.account_id);
    require(account.has_value(), "a recovery is of an account that is there");
    tell(call, row, *account,
         {"the recovery of an account was ended",
          fmt::format("Somebody objected to the recovery of the account {}. Everything stays as it "
                      "is. If it is yours and you are locked out, write to support.",
                      to_string(row.account_id))});
    const std::string& support = *call.settings<accounts::Contact>().support_email;
    if (!support.empty())
        outbox_.send(
            call.context(),
            {.to = support,
             .subject = fmt::format("{}: a recovery met an objection", accounts::brand(call)),
             .text = fmt::format("Somebody objected to the recovery {} of the account {}. "
                                 "Either somebody else asked for it, or somebody else "
                                 "reads the owner's mail: find out which.\n",
                                 to_string(row.recovery_id), to_string(row.account_id))});
    audit::record(call.context(), event_of(call, row, "object_to_recovery", row.account_id));
}

void Recoveries::tell(api::Call& call, const RecoveryRow& row, const Record& account,
                      const News& news) const {
    for (const std::string& email : known_addresses(call, row, account))
        outbox_.send(call.context(),
                     {.to = email,
                      .subject = fmt::format("{}: {}", accounts::brand(call), news.subject),
                      .text = news.text + "\n"});
}

}  // namespace berth::recovery
