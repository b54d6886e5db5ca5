#include "admin/users.hpp"

#include <fmt/format.h>

#include "accounts/settings.hpp"
#include "admin/store.hpp"
#include "admin/user_effects.hpp"
#include "base/letters.hpp"
#include "closing/closing.hpp"
#include "credits/credits.hpp"
#include "four_eyes/four_eyes.hpp"
#include "transfers/settlement.hpp"

namespace berth::admin {

using accounts::Record;
using accounts::Seen;

// One command, before it is carried out.
struct UserPlan {
    std::string action;
    std::string reason;
    std::string expected_version;
    std::vector<audit::Change> changes;
    std::string consequence;
    bool ends_an_admin = false;
    bool gives_power = false;
    std::string refusal = {};  // why the account cannot be so; empty: it can
    std::function<bool(db::Transaction&, const Seen&, Time)> effect;
};

namespace {

using Plan = UserPlan;

UserSummary summary(const Record& row) {
    return {row.account_id,
            row.email,
            row.kind,
            row.role,
            row.host_capability,
            row.suspended,
            row.totp_secret.has_value(),
            std::to_string(row.version),
            row.created_at,
            row.last_sign_in_at,
            row.desk_role,
            row.frozen};
}

// The id is any text on the wire; one that is no id is nobody's.
Record require_user(api::Call& call, const std::string& text) {
    const auto id = parse_uuid(text);
    auto row = id ? accounts::find_record(call.tx(), AccountId{*id}) : std::nullopt;
    if (!row) throw Problem(Code::not_found, "no such user");
    return std::move(*row);
}

template <class Wish>
Plan plan_for(const Wish& wish) {
    return {.action = std::string(Wish{}.action.value),
            .reason = wish.reason.value,
            .expected_version = wish.expected_version.value,
            .changes = {},
            .consequence = {},
            .effect = {}};
}

std::string word(bool value) { return value ? "true" : "false"; }

void note(Plan& plan, std::string field, std::string from, std::string to) {
    if (from != to) plan.changes.push_back({std::move(field), std::move(from), std::move(to)});
}

bool is_operator(const Record& user) {
    return user.role == accounts::Role::admin || user.desk_role.has_value();
}

Plan plan_of(const Record& user, const SetRole& wish) {
    Plan plan = plan_for(wish);
    // An agent has no sessions, so that it could never act as the admin it is counted as.
    if (wish.role == accounts::Role::admin && user.kind == accounts::Kind::agent)
        plan.refusal = "an agent cannot be an admin: it has no sessions";
    note(plan, "role", std::string(enum_name(user.role)), std::string(enum_name(wish.role)));
    // An admin may do all that a desk role allows; who is no admin any more is no operator either.
    if (user.desk_role && user.role != wish.role)
        note(plan, "desk_role", std::string(enum_name(*user.desk_role)), "none");
    plan.ends_an_admin = user.is_active_admin() && wish.role != accounts::Role::admin;
    plan.gives_power = user.role != accounts::Role::admin && wish.role == accounts::Role::admin;
    plan.consequence = fmt::format(
        "The account's role is {}; all its sessions have ended. Whether it may rent out machines "
        "is its host capability, which stays as it is.",
        enum_name(wish.role));
    plan.effect = [role = wish.role](db::Transaction& tx, const Seen& seen, Time now) {
        return accounts::put_role(tx, seen, role, now);
    };
    return plan;
}

Plan plan_of(const Record& user, const SetHostCapability& wish) {
    Plan plan = plan_for(wish);
    note(plan, "host_capability", word(user.host_capability), word(wish.enabled));
    plan.consequence =
        wish.enabled ? "The account may rent out machines."
                     : "The account may not rent out machines, and cannot turn this on by itself; "
                       "rentals that run go on.";
    plan.effect = [enabled = wish.enabled](db::Transaction& tx, const Seen& seen, Time) {
        return accounts::put_host_capability(tx, seen, enabled);
    };
    return plan;
}

Plan plan_of(const Record& user, const SetSuspension& wish) {
    Plan plan = plan_for(wish);
    note(plan, "suspended", word(user.suspended), word(wish.suspended));
    plan.ends_an_admin = user.is_active_admin() && wish.suspended;
    plan.gives_power = is_operator(user) && user.suspended && !wish.suspended;
    plan.consequence =
        wish.suspended
            ? "Sign-in and every API key are refused from the next request on, and nothing new is "
              "admitted. Rentals that run go on, and are billed until they are stopped or their "
              "funding ends."
            : "The account can sign in again, and its API keys work again; sessions from before do "
              "not.";
    plan.effect = [suspended = wish.suspended](db::Transaction& tx, const Seen& seen, Time now) {
        // As with a freeze: what is signed just now is committed before this, or finds it.
        if (suspended) transfers::take_signing_turn(tx);
        if (!accounts::put_suspension(tx, seen, suspended, now)) return false;
        if (suspended) closing::note_suspension(tx, seen.account);
        return true;
    };
    return plan;
}

Plan plan_of(const Record&, const RevokeSessions& wish) {
    Plan plan = plan_for(wish);
    plan.consequence = "Every session has ended; API keys stay good.";
    plan.effect = [](db::Transaction& tx, const Seen& seen, Time) {
        return accounts::end_sessions(tx, seen);
    };
    return plan;
}

Plan plan_of(const Record& user, const ResetMfa& wish) {
    Plan plan = plan_for(wish);
    note(plan, "mfa_enrolled", word(user.totp_secret.has_value()), word(false));
    // Whoever reads its mail becomes the operator by this.
    plan.gives_power = is_operator(user) && user.totp_secret.has_value();
    plan.consequence =
        "The authenticator, its recovery codes and every session are gone: the user signs in by "
        "mail and enrolls an authenticator anew.";
    plan.effect = [](db::Transaction& tx, const Seen& seen, Time) {
        return accounts::reset_second_factor(tx, seen);
    };
    return plan;
}

// Keeps: once this is answered nothing of the account is signed. Whoever signs holds the turn until
// the signing is committed, and looks whether the account is frozen after it has the turn.
Plan plan_of(const Record& user, const SetFreeze& wish, AccountId by) {
    Plan plan{.action = "set_freeze",
              .reason = wish.reason.value,
              .expected_version = wish.expected_version.value,
              .changes = {},
              .consequence = {},
              .effect = {}};
    note(plan, "frozen", word(user.frozen), word(wish.frozen));
    plan.consequence =
        wish.frozen
            ? "Nothing leaves the account: withdrawals and payouts that were asked for wait, and "
              "new ones, new rentals and higher budgets are refused. Sign-in, API keys and rentals "
              "that run go on."
            : "What had waited is paid, and the account may withdraw and rent again.";
    plan.effect = [frozen = wish.frozen, by](db::Transaction& tx, const Seen& seen, Time) {
        if (frozen) transfers::take_signing_turn(tx);
        return accounts::put_freeze(tx, seen, frozen, by);
    };
    return plan;
}

Plan plan_of(const Record& user, const RevokeKeys& wish) {
    Plan plan{.action = "revoke_keys",
              .reason = wish.reason.value,
              .expected_version = wish.expected_version.value,
              .changes = {},
              .consequence = {},
              .effect = {}};
    plan.consequence = wish.key_id
                           ? "The key is refused from the next request on; others stay good."
                           : "Every API key is refused from the next request on; sessions "
                             "stay good.";
    if (user.kind == accounts::Kind::agent)
        plan.consequence +=
            " An agent gets a new key by a signature of its wallet, unless it is "
            "suspended.";
    return plan;
}

Problem refuse_stale() {
    return Problem(Code::stale_version, "the account was changed meanwhile; look at it again");
}

Plan plan_of(const Record& user, const SetDeskRole& wish) {
    Plan plan{.action = "set_desk_role",
              .reason = wish.reason.value,
              .expected_version = wish.expected_version.value,
              .changes = {},
              .consequence = {},
              .effect = {}};
    const auto named = [](const std::optional<accounts::DeskRole>& role) {
        return role ? std::string(enum_name(*role)) : std::string("none");
    };
    const std::optional<accounts::DeskRole> role = wish.desk_role.value;
    if (role && user.kind == accounts::Kind::agent)
        plan.refusal = "an agent cannot be an operator: it has no sessions";
    if (role && user.role == accounts::Role::admin)
        plan.refusal = "an admin may do all that already";
    note(plan, "desk_role", named(user.desk_role), named(role));
    plan.gives_power = role.has_value() && role != user.desk_role;
    plan.consequence =
        !role ? "The account is no operator any more; all its sessions have ended."
        : *role == accounts::DeskRole::finance
            ? "With an authenticator, the account reads what operators read, and decides over "
              "refunds, disputes, suspense and the treasury's books."
            : "With an authenticator, the account reads what operators read, and answers tickets.";
    plan.effect = [role](db::Transaction& tx, const Seen& seen, Time) {
        return accounts::put_desk_role(tx, seen, role);
    };
    return plan;
}

// Keeps: there is always an admin who is not suspended. All commands that end one change the one
// row of the guard first, so the second of two waits for the first and then counts what it left.
void keep_an_admin(db::Transaction& tx, AccountId leaving) {
    take_admin_guard(tx);
    if (accounts::count_other_admins(tx, leaving) == 0)
        throw Problem(Code::conflict, "this is the last admin: make another one first");
}

// A closed account is suspended, and opened again by the command for that.
Plan plan_of(api::Call& call, const Record& user, const UserAction& wish) {
    const auto* const suspension = std::get_if<SetSuspension>(&wish.value);
    if (suspension != nullptr && !suspension->suspended)
        closing::require_not_closed(call.tx(), user.account_id);
    return std::visit([&](const auto& one) { return plan_of(user, one); }, wish.value);
}

void require_possible(const Record& user, const Plan& plan) {
    if (plan.expected_version != std::to_string(user.version)) throw refuse_stale();
    if (!plan.refusal.empty()) throw Problem(Code::conflict, plan.refusal);
}

void perform(api::Call& call, const Record& user, const Plan& plan) {
    if (plan.ends_an_admin) keep_an_admin(call.tx(), user.account_id);
    if (!plan.effect(call.tx(), {user.account_id, user.version}, call.now)) throw refuse_stale();
}

mail::Message letter(const std::string& brand, const std::string& email, const Plan& plan) {
    return {.to = email,
            .subject = fmt::format("{}: your account was changed by an operator", brand),
            .text = fmt::format("An operator of {} has changed your account.\n\n{}\n\nIf you did "
                                "not expect this, write to support.\n",
                                brand, plan.consequence)};
}

}  // namespace

api::Page<UserSummary> Users::list(api::Call& call, const UsersQuery& query) const {
    std::string part = query.q ? query.q->value : "";
    for (char& c : part) c = to_lower(c);
    const api::Pager pager(call.cursors, {"users", part}, query);
    if (const auto id = parse_uuid(part)) {
        std::vector<Record> one;
        if (auto row = accounts::find_record(call.tx(), AccountId{*id}))
            one.push_back(std::move(*row));
        return pager.page(one, &Record::account_id, summary);
    }
    return pager.page(
        accounts::list_records(call.tx(), {part, pager.after_id<AccountId>()}, pager.rows_wanted()),
        &Record::account_id, summary);
}

User Users::show(api::Call& call, const UserPath& path) const {
    const Record row = require_user(call, path.id);
    const UserSummary top = summary(row);
    User user;
    user.user_id = top.user_id;
    user.email = top.email;
    user.account_kind = top.account_kind;
    user.role = top.role;
    user.host_capability = top.host_capability;
    user.suspended = top.suspended;
    user.mfa_enrolled = top.mfa_enrolled;
    user.version = top.version;
    user.created_at = top.created_at;
    user.last_sign_in_at = top.last_sign_in_at;
    user.desk_role = top.desk_role;
    user.frozen = top.frozen;
    fill_file(call, row.account_id, user);
    if (const auto closed = closing::find_closed(call.tx(), row.account_id)) {
        user.closed_at = closed->closed_at;
        user.erase_at = closed->erase_at;
        user.erased_at = closed->erased_at;
    }
    for (const ledger::Asset asset : ledger::assets) {
        const auto has = ledger::balances(call.tx(), row.account_id, asset);
        user.balances.push_back({asset,
                                 has.available,
                                 has.held,
                                 {has.payable},
                                 has.escrow,
                                 has.reserved,
                                 credits::spendable(call.tx(), row.account_id, asset, call.now)});
    }
    return user;
}

ActionTaken Users::act(api::Call& call, const UserPath& path, const UserAction& wish) const {
    const Record user = require_user(call, path.id);
    call.require_step_up();
    return carry_out(call, user, plan_of(call, user, wish));
}

api::ActionPreview Users::preview(api::Call& call, const UserPath& path,
                                  const UserAction& wish) const {
    const Record user = require_user(call, path.id);
    return api::preview_of([&](api::ActionPreview& shown) {
        const Plan plan = plan_of(call, user, wish);
        require_possible(user, plan);
        shown.needs_second_admin = plan.gives_power && four_eyes::may_wait(call);
        const AtStake before = look_at(call, user.account_id);
        perform(call, user, plan);
        add_effects(shown, before, look_at(call, user.account_id));
        shown.consequence = plan.consequence;
    });
}

ActionTaken Users::set_desk_role(api::Call& call, const UserPath& path,
                                 const SetDeskRole& wish) const {
    const Record user = require_user(call, path.id);
    call.require_step_up();
    return carry_out(call, user, plan_of(user, wish));
}

// An operator whose own money was stopped does not let it go, nor does a friend alone: what one has
// frozen another ends with a second admin.
ActionTaken Users::set_freeze(api::Call& call, const UserPath& path, const SetFreeze& wish) const {
    const Record user = require_user(call, path.id);
    call.require_step_up();
    if (!wish.frozen && user.account_id == call.caller.account)
        throw Problem(Code::forbidden, "nobody ends the freeze of their own account");
    Plan plan = plan_of(user, wish, call.caller.account);
    plan.gives_power = !wish.frozen && user.frozen &&
                       !accounts::was_frozen_by(call.tx(), user.account_id, call.caller.account);
    if (plan.gives_power && !call.caller.admin && !four_eyes::may_wait(call))
        throw Problem(Code::forbidden, "somebody else has frozen it; ask an admin");
    return carry_out(call, user, plan);
}

// What is told is what was revoked, not what was good a moment before.
ActionTaken Users::revoke_keys(api::Call& call, const UserPath& path,
                               const RevokeKeys& wish) const {
    const Record user = require_user(call, path.id);
    call.require_step_up();
    Plan plan = plan_of(user, wish);
    if (plan.expected_version != std::to_string(user.version)) throw refuse_stale();
    const auto ended =
        accounts::end_keys(call.tx(), {user.account_id, user.version}, wish.key_id, call.now);
    if (!ended) throw refuse_stale();
    if (wish.key_id && ended->empty())
        throw Problem(Code::not_found, "body.key_id: the account has no such key that is good");
    if (wish.key_id)
        plan.changes.push_back({"key", ended->front().prefix, std::nullopt});
    else
        note(plan, "keys", std::to_string(ended->size()), "0");
    return tell(call, user, plan);
}

UserNote Users::write_note(api::Call& call, const UserPath& path, const NewNote& wish) const {
    const Record user = require_user(call, path.id);
    call.require_step_up();
    return add_note(call, user.account_id, wish.text.value);
}

ActionTaken Users::carry_out(api::Call& call, const Record& user, const UserPlan& plan) const {
    require_possible(user, plan);
    if (plan.gives_power)
        four_eyes::require_second(
            call, outbox_,
            {.action = plan.action,
             .target = {"account", to_string(user.account_id)},
             .about = user.account_id,
             .gains = user.account_id,
             .reason = plan.reason,
             .consequence = fmt::format("Account {}, {}: {}", to_string(user.account_id),
                                        user.email.value_or("without a mailbox"), plan.consequence),
             .seen = "version " + plan.expected_version});
    perform(call, user, plan);
    return tell(call, user, plan);
}

// The owner, the record, and whoever asked.
ActionTaken Users::tell(api::Call& call, const Record& user, const UserPlan& plan) const {
    if (user.email) outbox_.send(call.context(), letter(accounts::brand(call), *user.email, plan));
    ActionTaken taken{
        user.account_id, std::to_string(user.version + 1), plan.action, {}, plan.consequence, {}};
    for (const audit::Change& change : plan.changes)
        taken.changed.push_back({change.field, change.from, change.to});
    taken.audit_event_id =
        audit::record(call.context(), {.actor = audit::Actor::of(call.caller.account),
                                       .action = plan.action,
                                       .target = {"account", to_string(user.account_id)},
                                       .reason = plan.reason,
                                       .changes = plan.changes,
                                       .request = call.request_id});
    return taken;
}

}  // namespace berth::admin
