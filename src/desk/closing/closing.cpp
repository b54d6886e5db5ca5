#include "closing/closing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/accounts.hpp"
#include "accounts/leaving.hpp"
#include "accounts/settings.hpp"
#include "agent_accounts/leaving.hpp"
#include "base/log.hpp"
#include "closing/settings.hpp"
#include "delivery/delivery.hpp"
#include "events/events.hpp"
#include "four_eyes/four_eyes.hpp"
#include "funding/leaving.hpp"
#include "ledger/ledger.hpp"
#include "machines/leaving.hpp"
#include "mail/address.hpp"
#include "tickets/leaving.hpp"
#include "transfers/addresses.hpp"
#include "transfers/adopt.hpp"
#include "transfers/leaving.hpp"
#include "wallets/wallets.hpp"

namespace berth::closing {
namespace {

using accounts::Record;

constexpr Duration one_day = std::chrono::hours(24);
constexpr std::int64_t erased_at_once = 100;

const std::vector<Remains>& remains() {
    static const std::vector<Remains> all{
        {"ledger entries, transfers and deposits",
         "the books are chained by hash and prove what is owed to everybody; they name the account "
         "by its number alone"},
        {"addresses on chain that paid in or were paid, and linked wallets",
         "they are public on the chain, belong to the books, and stay reserved for the account "
         "that proved them"},
        {"rentals, receipts and their evidence", "the other side of each rental relies on them"},
        {"the audit record",
         "it is chained by hash; it names the account by its number, not its owner"},
        {"the letter about it, answers kept for repeated requests, and backups",
         "they end by themselves: after 30 days, and when the backup is replaced"},
    };
    return all;
}

Record require_user(api::Call& call, const UserPath& path) {
    const auto id = parse_uuid(path.id);
    auto row = id ? accounts::find_record(call.tx(), AccountId{*id}) : std::nullopt;
    if (!row) throw Problem(Code::not_found, "no such user");
    return std::move(*row);
}

// As it is once nobody else changes it, so that what is looked at next holds. Whoever closes, opens
// or erases takes the account's turn first, and the row that says so after it.
Record take_user(api::Call& call, const UserPath& path) {
    const AccountId id = require_user(call, path).account_id;
    call.require_step_up();
    accounts::take_turn(call.tx(), id);
    return require_user(call, path);
}

Record own_record(api::Call& call) {
    auto row = accounts::find_record(call.tx(), call.caller.account);
    require(row.has_value(), "a caller has an account");
    return std::move(*row);
}

Problem stale() {
    return Problem(Code::stale_version, "the account was changed meanwhile; look at it again");
}

void require_version(const Record& account, const ExpectedVersion& version) {
    if (version.value != std::to_string(account.version)) throw stale();
}

void add_pockets(std::vector<Obstacle>& found, const ledger::Balances& has,
                 std::string_view asset) {
    const auto say = [&](ObstacleCode code, Micro amount, std::string_view sentence) {
        if (amount > Micro{})
            found.push_back(
                {code, fmt::format("{} micro-units of {} {}", to_string(amount), asset, sentence)});
    };
    say(ObstacleCode::BALANCE, has.available, "are in the account: withdraw them");
    say(ObstacleCode::RENTALS, has.held, "are held for rentals: let them end");
    say(ObstacleCode::BALANCE, has.payable, "are earned: have them paid out when they may be");
    say(ObstacleCode::DISPUTES, has.escrow, "are under dispute: wait for its end");
    say(ObstacleCode::TRANSFERS, has.reserved, "are on their way out: wait until they arrive");
    say(ObstacleCode::DEBT, -has.payable, "are owed for refunds: pay them in");
}

mail::Message letter(const std::string& brand, const std::string& to, const std::string& what,
                     const std::string& text) {
    return {.to = to,
            .subject = fmt::format("{}: {}", brand, what),
            .text = fmt::format("{}\n\nIf you did not expect this, write to support.\n", text)};
}

// That there was mail to whoever runs an agent.
void forget_mail_to_contact(db::Transaction& tx, AccountId account) {
    const auto said = agent_accounts::find_profile(tx, account);
    if (!said || !said->operator_contact) return;
    if (const auto email = mail::normalized_email(*said->operator_contact))
        mail::forget_recipient(tx, *email);
}

// The owner is named by the number alone: what is asked for is kept.
four_eyes::Wish wish_of(std::string action, const Record& account, const std::string& reason,
                        std::string consequence) {
    return {.action = std::move(action),
            .target = {"account", to_string(account.account_id)},
            .about = account.account_id,
            .reason = reason,
            .consequence = std::move(consequence),
            .seen = fmt::format("version {}", account.version)};
}

audit::Event event_of(const api::Call& call, std::string action, AccountId account,
                      std::optional<std::string> reason) {
    return {.actor = audit::Actor::of(call.caller.account),
            .action = std::move(action),
            .target = {"account", to_string(account)},
            .reason = std::move(reason),
            .request = call.request_id};
}

}  // namespace

std::vector<Obstacle> Closing::find_obstacles(db::Transaction& tx, const Record& account) const {
    std::vector<Obstacle> found;
    if (account.role == accounts::Role::admin || account.desk_role)
        found.push_back({ObstacleCode::OPERATOR, "the account is an operator's: end that first"});
    // Whoever is looked into does not leave with what is known of them.
    if (account.frozen || transfers::is_frozen(tx, account.account_id))
        found.push_back({ObstacleCode::FROZEN, "the account is frozen: write to support"});
    for (const ledger::Asset asset : ledger::assets)
        add_pockets(found, ledger::balances(tx, account.account_id, asset), ledger::name(asset));
    const bool is_said = std::any_of(found.begin(), found.end(), [](const Obstacle& one) {
        return one.code == ObstacleCode::DISPUTES;
    });
    if (!is_said && above_.is_under_dispute(tx, account.account_id))
        found.push_back({ObstacleCode::DISPUTES, "a rental is under dispute: wait for its end"});
    if (funding::count_waiting_claims(tx, account.account_id) > 0)
        found.push_back({ObstacleCode::CLAIMS,
                         "a claimed transfer waits for the chain: let it be credited, or cancel "
                         "its intent"});
    if (const auto owned = machines::count_owned(tx, account.account_id); owned > 0)
        found.push_back(
            {ObstacleCode::MACHINES, fmt::format("{} machines are enrolled: retire them", owned)});
    return found;
}

void Closing::require_no_obstacle(db::Transaction& tx, const Record& account) const {
    std::string sentences;
    for (const Obstacle& one : find_obstacles(tx, account))
        sentences += (sentences.empty() ? "" : "; ") + one.message;
    if (!sentences.empty()) throw Problem(Code::conflict, sentences);
}

void require_not_closed(db::Transaction& tx, AccountId account) {
    if (find_closed(tx, account))
        throw Problem(Code::conflict, "the account is closed: open it again first");
}

ClosingState Closing::state(api::Call& call, AccountId account) const {
    const auto record = accounts::find_record(call.tx(), account);
    require(record.has_value(), "somebody looked whether there is such an account");
    const auto row = find_closed(call.tx(), account);
    ClosingState state{account, {}, {}, {}, find_obstacles(call.tx(), *record), remains()};
    if (!row) return state;
    state.closed_at = row->closed_at;
    state.erase_at = row->erase_at;
    state.erased_at = row->erased_at;
    return state;
}

ClosingDone Closing::close_own(api::Call& call, const CloseAccount& wish) const {
    const Record account = own_record(call);
    call.require_step_up();
    return shut(call, account, wish.erase.value_or(false), std::nullopt);
}

// An operator who has the owner forgotten, now or later, asks a second one.
ClosingDone Closing::close(api::Call& call, const UserPath& path, const CloseUser& wish) const {
    const Record account = take_user(call, path);
    require_version(account, wish.expected_version);
    const bool erase = wish.erase.value_or(false);
    if (erase) {
        require_not_closed(call.tx(), account.account_id);
        require_no_obstacle(call.tx(), account);
        four_eyes::require_second(
            call, outbox_,
            wish_of("close_account", account, wish.reason.value,
                    fmt::format("Account {} is closed, and its owner is forgotten {} days later; "
                                "that cannot be undone.",
                                to_string(account.account_id),
                                *call.settings<Settings>().erase_after_days)));
    }
    return shut(call, account, erase, wish.reason.value);
}

// Keeps: an account is closed with nothing in it and nothing on its way. Whoever asks for a
// transfer, or rents by a credit, takes the same turn, and whoever rents otherwise finds nothing to
// hold. What comes to it later, a refund, is still its own: an operator opens it again, and what is
// left of its credits then is good until it expires.
ClosingDone Closing::shut(api::Call& call, const Record& account, bool erase,
                          const std::optional<std::string>& reason) const {
    db::Transaction& tx = call.tx();
    const AccountId id = account.account_id;
    accounts::take_turn(tx, id);
    ClosedRow row{.account_id = id,
                  .closed_at = call.now,
                  .was_suspended = account.suspended,
                  .erase_at = std::nullopt,
                  .erased_at = std::nullopt};
    if (erase) row.erase_at = call.now + *call.settings<Settings>().erase_after_days * one_day;
    if (!add_closed(tx, row)) throw Problem(Code::conflict, "the account is closed already");
    require_no_obstacle(tx, account);
    funding::cancel_intents(tx, id);
    transfers::call_off_parked(tx, id, call.now);
    machines::end_enrollments(tx, id);
    above_.call_off(call.context(), id);
    if (!accounts::shut(tx, {id, account.version}, call.now)) throw stale();
    ClosingDone done{id, row.closed_at, row.erase_at, {}, {}, {}};
    done.consequence = fmt::format(
        "The account is closed: nobody signs in, and every API key is revoked. {}",
        row.erase_at ? fmt::format("On {} its owner is forgotten; until then an operator can open "
                                   "it again.",
                                   to_rfc3339(*row.erase_at).substr(0, 10))
                     : std::string("An operator can open it again."));
    if (account.email)
        outbox_.send(call.context(), letter(accounts::brand(call), *account.email,
                                            "your account was closed", done.consequence));
    audit::Event event = event_of(call, "close_account", id, reason);
    if (row.erase_at)
        event.changes.push_back({"erase_at", std::nullopt, to_rfc3339(*row.erase_at)});
    done.audit_event_id = audit::record(call.context(), event);
    return done;
}

ClosingDone Closing::reopen(api::Call& call, const UserPath& path,
                            const ClosingDecision& wish) const {
    const Record account = take_user(call, path);
    require_version(account, wish.expected_version);
    const auto row = find_closed(call.tx(), account.account_id);
    if (!row) throw Problem(Code::conflict, "the account is not closed");
    if (row->erased_at) throw Problem(Code::conflict, "the account is erased: nobody knows whose");
    if (!remove_closed(call.tx(), account.account_id)) throw stale();
    if (!accounts::put_suspension(call.tx(), {account.account_id, account.version},
                                  row->was_suspended, call.now))
        throw stale();
    ClosingDone done{account.account_id, {}, {}, {}, {}, {}};
    done.consequence = row->was_suspended
                           ? "The account is open again, and suspended as it was before."
                           : "The account is open again: its owner can sign in. Keys from before "
                             "stay revoked.";
    if (account.email)
        outbox_.send(call.context(), letter(accounts::brand(call), *account.email,
                                            "your account is open again", done.consequence));
    done.audit_event_id = audit::record(
        call.context(), event_of(call, "reopen_account", account.account_id, wish.reason.value));
    return done;
}

// It cannot be undone and takes evidence away, so a second admin looks at it, and nobody decides
// over their own.
ClosingDone Closing::erase(api::Call& call, const UserPath& path,
                           const ClosingDecision& wish) const {
    const Record account = take_user(call, path);
    require_version(account, wish.expected_version);
    const auto row = find_closed(call.tx(), account.account_id);
    if (!row) throw Problem(Code::conflict, "the account is open: close it first");
    if (row->erased_at) throw Problem(Code::conflict, "the account is erased already");
    require_no_obstacle(call.tx(), account);
    four_eyes::require_second(
        call, outbox_,
        wish_of("erase_account", account, wish.reason.value,
                fmt::format("The owner of account {} is forgotten; this cannot be undone.",
                            to_string(account.account_id))));
    forget(call.context(), account, accounts::brand(call));
    ClosingDone done{account.account_id, row->closed_at, {}, call.now, {}, {}};
    done.consequence = "The account's owner is forgotten; what the books need stays.";
    done.audit_event_id = audit::record(
        call.context(), event_of(call, "erase_account", account.account_id, wish.reason.value));
    return done;
}

// Keeps: no entry, transfer, deposit or event is changed; what is forgotten is who it was.
void Closing::forget(db::Context context, const Record& account, const std::string& brand) const {
    db::Transaction& tx = context.tx;
    const AccountId id = account.account_id;
    if (!mark_erased(tx, id, context.now))
        throw Problem(Code::conflict, "the account is open again, or erased already");
    for (const wallets::Binding& binding : wallets::list_bindings(tx, id))
        if (!binding.unlinked_at) wallets::unlink(tx, binding.binding_id, context.now);
    machines::forget_labels(tx, id);
    tickets::forget_words(tx, id);
    forget_mail_to_contact(tx, id);
    agent_accounts::forget_profile(tx, id);
    four_eyes::forget_account(tx, id, context.now);
    above_.forget(tx, id);
    if (account.email) {
        mail::forget_recipient(tx, *account.email);
        std::string text = "Your account was erased. What stays of it, and why:\n";
        for (const Remains& one : remains()) text += fmt::format("\n- {}: {}", one.what, one.why);
        outbox_.send(context, letter(brand, *account.email, "your account was erased", text));
    }
    accounts::forget_person(tx, account, context.now);
    transfers::forget_addresses(context, id);
    delivery::forget_readers(tx, id);
    events::forget(tx, id);
}

// One that something stands in the way of waits for another day.
void Closing::erase_due(worker::Attempt& attempt, const TaskParts& parts, AccountId account) const {
    const std::string& brand = *attempt.settings<accounts::Branding>().name;
    const bool erased = parts.database.write([&](db::Transaction& tx) {
        const db::Context context{tx, parts.random, parts.clock.now()};
        accounts::take_turn(tx, account);
        const auto record = accounts::find_record(tx, account);
        const auto row = find_closed(tx, account);
        require(record.has_value(), "what was closed is an account");
        // Opened again, or erased, at this very moment.
        if (!row || row->erased_at || !row->erase_at || *row->erase_at > context.now) return true;
        if (!find_obstacles(tx, *record).empty()) {
            postpone(tx, account, context.now, context.now + one_day);
            return false;
        }
        forget(context, *record, brand);
        audit::record(context, {.actor = audit::Actor::system(),
                                .action = "erase_account",
                                .target = {"account", to_string(account)}});
        return true;
    });
    if (!erased) log(Level::warn, "account_not_erased", {{"account", to_string(account)}});
}

worker::Kind Closing::erase_accounts_kind(const TaskParts& parts) const {
    worker::Kind kind;
    kind.name = "erase_accounts";
    kind.run = [this, parts](worker::Attempt& attempt) {
        const auto due = parts.database.read(
            [&](db::Transaction& tx) { return list_due(tx, parts.clock.now(), erased_at_once); });
        for (const AccountId account : due) erase_due(attempt, parts, account);
    };
    kind.every = std::chrono::minutes(10);
    return kind;
}

}  // namespace berth::closing
