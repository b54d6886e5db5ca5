#include "four_eyes/four_eyes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/operators.hpp"
#include "accounts/settings.hpp"
#include "base/redaction.hpp"
#include "four_eyes/store.hpp"
#include "four_eyes/told.hpp"

namespace berth::four_eyes {
namespace {

Time remembered_since(db::Transaction& tx, Time now) {
    return std::max(now - alone_for, counted_since(tx));
}

PendingRow row_of(db::Context context, const Wish& wish) {
    PendingRow row;
    row.pending_action_id = PendingActionId::make(context.now, context.random);
    row.action = wish.action;
    row.target_kind = wish.target.kind;
    row.target_id = wish.target.id;
    row.about = wish.about;
    row.gains = wish.gains;
    row.amount = wish.amount;
    row.reason = without_unnamed_secrets(wish.reason);
    row.consequence = wish.consequence;
    row.seen = wish.seen;
    row.asked_at = context.now;
    row.expires_at = context.now + waits_for;
    return row;
}

void ask(db::Context context, const PendingRow& row, const std::optional<RequestId>& request) {
    add_pending(context.tx, row);
    events::tell_operators(
        context, operations_action_asked, row.pending_action_id,
        PendingActionFacts{row.action, row.target_kind, row.target_id, row.expires_at});
    audit::record(context, {.actor = row.asked_by ? audit::Actor::of(*row.asked_by)
                                                  : audit::Actor::local_operator(),
                            .action = "ask_second_admin",
                            .target = {"pending_action", to_string(row.pending_action_id)},
                            .reason = row.reason,
                            .changes = {{"action", std::nullopt, row.action},
                                        {row.target_kind, std::nullopt, row.target_id}},
                            .request = request});
}

// To whoever may confirm it. Its reason is not in the mail: whoever asks would write to the others
// in the market's name.
void tell_others(api::Call& call, const mail::Outbox& outbox, const PendingRow& row) {
    const std::string& brand = accounts::brand(call);
    for (const accounts::Record& admin : accounts::list_admins(call.tx(), call.now)) {
        if (!admin.email || !admin.is_active_admin() || admin.account_id == row.asked_by) continue;
        outbox.send(call.context(),
                    {.to = *admin.email,
                     .subject = fmt::format("{}: {} waits for a second admin", brand, row.action),
                     .text = fmt::format(
                         "An operator of {} has asked for this:\n\n{}\n\nNothing of it has "
                         "happened. Another admin confirms or refuses it, as pending action {}, "
                         "until {}; after that it cannot be done any more without being asked for "
                         "anew.\n",
                         brand, row.consequence, to_string(row.pending_action_id),
                         to_rfc3339(row.expires_at))});
    }
}

struct Letter {
    std::string subject;
    std::string text;
};
// To every admin there is, or was within what `auto` remembers.
std::vector<std::string> tell_admins(db::Context context, const mail::Outbox& outbox,
                                     const Letter& letter) {
    std::vector<std::string> told;
    for (const accounts::Record& admin :
         accounts::list_admins(context.tx, context.now - alone_for)) {
        if (!admin.email) continue;
        outbox.send(context, {.to = *admin.email, .subject = letter.subject, .text = letter.text});
        told.push_back(*admin.email);
    }
    return told;
}

// How much a mode asks for.
int strictness(Mode mode) {
    switch (mode) {
        case Mode::off: return 0;
        case Mode::automatic: return 1;
        case Mode::on: break;
    }
    return 2;
}

// Whether the caller may decide this alone, and then it is counted.
bool is_within_limit(api::Call& call, Micro amount) {
    take_turn(call.tx());
    const Micro limit = *call.settings<Settings>().four_eyes_limit_micro;
    const Micro before = decided_alone(call.tx(), call.caller.account, call.now - limit_period);
    if (amount > limit || before > limit - amount) return false;
    note_alone(call.context(), {call.caller.account, call.now, amount});
    return true;
}

}  // namespace

Mode mode_of(const std::string& text) {
    if (text == "auto") return Mode::automatic;
    if (text == "on") return Mode::on;
    if (text == "off") return Mode::off;
    throw settings::BadValue("must be auto, on or off");
}

std::string name_of(Mode mode) {
    switch (mode) {
        case Mode::off: return "off";
        case Mode::automatic: return "auto";
        case Mode::on: break;
    }
    return "on";
}

bool is_on(db::Transaction& tx, const Settings& settings, Time now) {
    if (*settings.four_eyes != Mode::automatic) return *settings.four_eyes == Mode::on;
    return accounts::list_admins(tx, remembered_since(tx, now)).size() >= 2;
}

bool may_wait(api::Call& call) {
    return call.approval() != nullptr || is_on(call.tx(), call.settings<Settings>(), call.now);
}

void require_second(api::Call& call, const mail::Outbox& outbox, const Wish& wish) {
    if (const api::Approval* const approval = call.approval()) {
        if (approval->action != wish.action || approval->seen != wish.seen)
            throw Problem(Code::stale_version,
                          "it would do something else than was shown; it has to be asked anew");
        return;
    }
    if (!is_on(call.tx(), call.settings<Settings>(), call.now)) return;
    if (wish.amount && is_within_limit(call, *wish.amount)) return;
    PendingRow row = row_of(call.context(), wish);
    row.method = call.request.method;
    row.target = call.request.target;
    row.body = call.request.body;
    row.asked_by = call.caller.account;
    tell_others(call, outbox, row);
    ask(call.context(), row, call.request_id);
    throw waits.answer({row.pending_action_id, row.action, row.consequence, PendingState::waiting,
                        row.expires_at});
}

PendingActionId ask_from_command(db::Context context, const Wish& wish,
                                 const std::string& operation, const std::string& arguments) {
    PendingRow row = row_of(context, wish);
    row.target = operation;
    row.body = arguments;
    ask(context, row, std::nullopt);
    return row.pending_action_id;
}

TurnedOff turn_off(db::Context context, const mail::Outbox& outbox, const std::string& brand,
                   const std::string& reason) {
    const auto admins =
        accounts::list_admins(context.tx, remembered_since(context.tx, context.now));
    const auto active = std::count_if(admins.begin(), admins.end(),
                                      [](const auto& one) { return one.is_active_admin(); });
    if (active >= 2)
        throw std::invalid_argument(fmt::format(
            "there are {} admins, who can confirm for each other; to do without, start the server "
            "with --four-eyes off",
            active));
    TurnedOff off;
    const auto started = last_start(context.tx);
    off.still_on = started && started->mode == Mode::on;
    off.told = tell_admins(
        context, outbox,
        {fmt::format("{}: four eyes are off", brand),
         fmt::format("Somebody on the server of {} has said that one admin may act alone again, "
                     "before the 72 hours were over.\n\nReason: {}\n\nYou are told because you "
                     "are an admin or were one in these hours. If this is not known to you, look "
                     "at the server and its audit record now.\n",
                     brand, reason)});
    count_since(context.tx, context.now);
    audit::record(context,
                  {.actor = audit::Actor::local_operator(),
                   .action = "turn_four_eyes_off",
                   .target = {"service", "four_eyes"},
                   .reason = reason,
                   .changes = {{"admins_told", std::nullopt, std::to_string(off.told.size())}}});
    return off;
}

std::vector<std::string> note_start(db::Context context, const mail::Outbox& outbox,
                                    const std::string& brand, const Start& start) {
    const auto before = last_start(context.tx);
    if (before && before->mode == start.mode && before->limit == start.limit) return {};
    put_start(context.tx, start);
    const bool weaker = before && (strictness(start.mode) < strictness(before->mode) ||
                                   start.limit > before->limit);
    if (!weaker) return {};
    const auto shown = [](const Start& one) {
        return fmt::format("{}, with {} micro-units for one alone", name_of(one.mode),
                           to_string(one.limit));
    };
    auto told = tell_admins(
        context, outbox,
        {fmt::format("{}: four eyes ask for less", brand),
         fmt::format("The server of {} was started anew, and asks for a second admin more seldom "
                     "than before.\n\nBefore: {}\nNow: {}\n\nYou are told because you are an "
                     "admin or were one in the last 72 hours. If this is not known to you, look at "
                     "the server and its audit record now.\n",
                     brand, shown(*before), shown(start))});
    audit::record(
        context,
        {.actor = audit::Actor::local_operator(),
         .action = "start_with_fewer_eyes",
         .target = {"service", "four_eyes"},
         .changes = {{"four_eyes", name_of(before->mode), name_of(start.mode)},
                     {"four_eyes_limit_micro", to_string(before->limit), to_string(start.limit)}}});
    return told;
}

}  // namespace berth::four_eyes
