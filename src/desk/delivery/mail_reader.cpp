#include "delivery/mail_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/notices.hpp"
#include "accounts/settings.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "events/events.hpp"
#include "wire/schema.hpp"

namespace berth::delivery {
namespace {

constexpr std::int64_t mail_rows_max = 200;
constexpr std::int64_t digest_rows_max = 2000;  // looked at for one digest
constexpr std::size_t lines_max = 100;          // of one mail
constexpr std::int64_t accounts_of_a_pass = 100;
constexpr int passes_max = 100;  // the rest comes with the next attempt
constexpr Duration mailed_every = std::chrono::seconds(5);

bool may_choose(const events::DeclaredKind& kind) {
    return kind.audience != events::Audience::operators && kind.mail != events::Mail::apart;
}

MailChoice usual_choice(const events::DeclaredKind& kind) {
    switch (kind.mail) {
        case events::Mail::now: return MailChoice::now;
        case events::Mail::digest: return MailChoice::digest;
        case events::Mail::off:
        case events::Mail::apart: break;
    }
    return MailChoice::off;
}

// Who holds a stolen session is not to silence the mails that tell of money that leaves.
bool tells_of_leaving_money(std::string_view type) {
    return type.starts_with("withdrawal.") || type.starts_with("payout.");
}

// A sentence as a part of a subject.
std::string without_stop(std::string_view sentence) {
    if (sentence.ends_with('.')) sentence.remove_suffix(1);
    return std::string(sentence);
}

}  // namespace

MailNotices MailReader::show(api::Call& call) const {
    const MailChoices chosen = choices_of(call.tx(), call.caller.account);
    MailNotices notices;
    for (const auto& [type, kind] : parts_.registry.kinds())
        if (may_choose(kind))
            notices.types[std::string(type)] = choice_of(std::string(type), chosen);
    return notices;
}

MailNotices MailReader::choose(api::Call& call, const MailNotices& wish) const {
    for (const auto& [type, choice] : wish.types) {
        const events::DeclaredKind* kind = parts_.registry.find(type);
        if (kind == nullptr || kind->audience == events::Audience::operators)
            throw Problem(Code::invalid_input, "body.types: has a name that is no type of event");
        if (!may_choose(*kind))
            throw Problem(Code::invalid_input,
                          fmt::format("body.types: \"{}\" is always mailed", type));
    }
    const MailChoices before = choices_of(call.tx(), call.caller.account);
    for (const auto& [type, kind] : parts_.registry.kinds()) {
        const std::string name(type);
        if (tells_of_leaving_money(type) && choice_of(name, before) == MailChoice::now &&
            choice_of(name, wish.types) != MailChoice::now)
            call.require_step_up(api::StepUp::account_sensitive);
    }
    put_choices(call.tx(), call.caller.account, wish.types);
    return show(call);
}

MailChoice MailReader::choice_of(const std::string& type, const MailChoices& chosen) const {
    const events::DeclaredKind* kind = parts_.registry.find(type);
    // One of a later version of the service: it knows what to do with it.
    if (kind == nullptr || !may_choose(*kind)) return MailChoice::off;
    const auto found = chosen.find(type);
    return found == chosen.end() ? usual_choice(*kind) : found->second;
}

std::vector<events::Event> MailReader::wanted_now(std::vector<events::Kept> rows,
                                                  const MailChoices& chosen, MailPlace& place,
                                                  Time now) const {
    std::vector<events::Event> wanted;
    for (events::Kept& kept : rows) {
        const std::int64_t sequence = kept.event.sequence.value;
        const MailChoice choice = choice_of(kept.event.type, chosen);
        if (choice == MailChoice::digest && !place.digest_at) {
            place.digest_at = now + digest_every;
            place.digest_through = sequence - 1;
        }
        if (choice == MailChoice::now) wanted.push_back(std::move(kept.event));
        place.through = sequence;
    }
    return wanted;
}

void MailReader::look(const db::Context& context, AccountId account,
                      const std::string& brand) const {
    MailPlace place;
    place.account_id = account;
    if (const auto known = find_place(context.tx, account)) place = *known;
    const MailPlace before = place;
    auto rows = events::read_after(context.tx, account, place.through, mail_rows_max);
    if (rows.empty()) {
        // All of it was pruned before anybody looked.
        place.through = events::head_of(context.tx, account).newest;
        static_cast<void>(move_place(context.tx, place, before.through));
        return;
    }
    const auto owner = accounts::find_account(context.tx, account);
    if (!owner || !owner->email) {
        place.through = rows.back().event.sequence.value;
        static_cast<void>(move_place(context.tx, place, before.through));
        return;
    }
    const auto wanted =
        wanted_now(std::move(rows), choices_of(context.tx, account), place, context.now);
    if (context.now >= place.window_began + single_mails_within) {
        place.window_began = context.now;
        place.window_mails = 0;
    }
    const std::int64_t room = single_mails_max - place.window_mails;
    if (!wanted.empty() && room <= 0) {
        // It gathers until the window is over, and then comes in one mail.
        place.through = before.through;
        place.digest_at = before.digest_at;
        place.digest_through = before.digest_through;
        place.next_at = place.window_began + single_mails_within;
        static_cast<void>(move_place(context.tx, place, before.through));
        return;
    }
    const bool is_much = std::ssize(wanted) > room;
    place.window_mails = is_much ? single_mails_max : place.window_mails + std::ssize(wanted);
    if (!move_place(context.tx, place, before.through)) return;  // another worker was quicker
    const Addressee to{*owner->email, brand};
    if (is_much) return write_many(context, to, wanted);
    for (const events::Event& event : wanted) write_one(context, to, event);
}

void MailReader::send_digest(const db::Context& context, AccountId account,
                             const std::string& brand) const {
    const auto place = find_place(context.tx, account);
    if (!place || !place->digest_at || *place->digest_at > context.now) return;
    if (!end_digest(context.tx, account, *place->digest_at)) return;
    const auto owner = accounts::find_account(context.tx, account);
    if (!owner || !owner->email) return;
    const MailChoices chosen = choices_of(context.tx, account);
    std::vector<events::Event> all;
    for (events::Kept& kept :
         events::read_after(context.tx, account, place->digest_through, digest_rows_max))
        if (kept.event.sequence.value <= place->through &&
            choice_of(kept.event.type, chosen) == MailChoice::digest)
            all.push_back(std::move(kept.event));
    if (!all.empty()) write_many(context, {*owner->email, brand}, all);
}

// What cannot be a mail is told to the log: nothing of one account may hold up the rest.
void MailReader::send(const db::Context& context, const Addressee& to,
                      const events::Words& words) const {
    try {
        parts_.outbox.send(context, {.to = to.email,
                                     .subject = fmt::format("{}: {}", to.brand, words.subject),
                                     .text = fmt::format(
                                         "{}\n\nWhich events are mailed is chosen at {}, or by PUT "
                                         "/api/v1/account/notices.\n",
                                         words.text, parts_.site.base_url)});
    } catch (const Problem& refused) {
        log(Level::error, "event_not_mailed", {{"why", refused.message}});
    }
}

// The feature's own words where it has some, else what every kind says of itself.
events::Words MailReader::words_of(const events::Event& event) const {
    const events::DeclaredKind* kind = parts_.registry.find(event.type);
    require(kind != nullptr, "only events of kinds that are known are mailed");
    try {
        if (kind->words) return kind->words(event.data.text, event.subject.id);
    } catch (const Problem&) {
        // Its facts were told by an earlier version: they are shown as they are.
    }
    const std::string about(kind->about);
    return {fmt::format("{}: {}", kind->subject, without_stop(about)),
            fmt::format("{}\n\nIt is about the {} {}.\n\n{}", about, kind->subject,
                        event.subject.id, wire::indented(boost::json::parse(event.data.text)))};
}

void MailReader::write_one(const db::Context& context, const Addressee& to,
                           const events::Event& event) const {
    const events::Words words = words_of(event);
    send(context, to,
         {words.subject,
          fmt::format("{}\n\nIt happened at {}; it is event {} of your account, {}.", words.text,
                      to_rfc3339(event.timestamp), event.sequence.value, event.type)});
}

void MailReader::write_many(const db::Context& context, const Addressee& to,
                            const std::vector<events::Event>& all) const {
    std::string text = fmt::format("{} things happened to your account:\n\n", all.size());
    for (std::size_t i = 0; i < std::min(all.size(), lines_max); ++i)
        text += fmt::format("{}  {}  {} ({} {})\n", to_rfc3339(all[i].timestamp), all[i].type,
                            words_of(all[i]).subject, all[i].subject.kind, all[i].subject.id);
    if (all.size() > lines_max)
        text +=
            fmt::format("… and {} more, which GET /api/v1/events has.\n", all.size() - lines_max);
    send(context, to, {fmt::format("{} events", all.size()), text});
}

worker::Kind MailReader::mail_events_kind(const TaskParts& parts) const {
    const auto run = [this, parts](worker::Attempt& attempt) {
        const std::string brand = *attempt.settings<accounts::Branding>().name;
        const auto for_each = [&](const std::vector<AccountId>& some, auto act) {
            for (const AccountId& account : some)
                parts.database.write([&](db::Transaction& tx) {
                    (this->*act)({tx, parts.random, parts.clock.now()}, account, brand);
                });
        };
        AccountId after = events::operators_stream;  // the first of all, and not mailed
        for (int pass = 0; pass < passes_max; ++pass) {
            const auto some = parts.database.read([&](db::Transaction& tx) {
                return accounts_with_news(tx, after, parts.clock.now(), accounts_of_a_pass);
            });
            for_each(some, &MailReader::look);
            if (std::ssize(some) < accounts_of_a_pass) break;
            after = some.back();
        }
        for_each(parts.database.read([&](db::Transaction& tx) {
            return accounts_with_digest(tx, parts.clock.now(), accounts_of_a_pass);
        }),
                 &MailReader::send_digest);
    };
    return {.name = "mail_events", .run = run, .every = mailed_every};
}

}  // namespace berth::delivery
