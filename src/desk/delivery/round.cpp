#include "delivery/round.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "accounts/credentials.hpp"
#include "accounts/notices.hpp"
#include "base/check.hpp"
#include "delivery/signing.hpp"
#include "delivery/told.hpp"

namespace berth::delivery {
namespace {

constexpr std::int64_t round_rows_max = 100;
// While so many are being noted, no more than as many again are sent: 16 come again at most.
constexpr std::size_t noted_at_once = 8;
constexpr std::chrono::milliseconds noted_every{200};
// Whose key is revoked hears nothing after a second, also by an attempt that began before.
constexpr std::chrono::milliseconds may_hear_for{500};
constexpr Duration tried_again_after = std::chrono::seconds(2);   // what we had no room for
constexpr Duration looked_again_after = std::chrono::minutes(1);  // of a suspended account

std::int64_t milliseconds_of(Duration span) { return span / std::chrono::milliseconds(1); }

events::Event test_event(const DeliveryRow& row, const std::string& host) {
    return {row.event_id,
            {0},
            std::string(webhook_test.type),
            row.at,
            {std::string(webhook_test.subject), to_string(row.webhook_id)},
            {wire::encode(WebhookFacts{host, std::nullopt, std::nullopt})}};
}

}  // namespace

Round::Round(const Parts& parts, WebhookId id, const std::optional<Lease>& from)
    : parts_(parts), id_(id), from_(from), lease_(LeaseId::make(parts.clock.now(), parts.random)) {}

bool Round::run() {
    if (!begin()) return false;
    began_ = SteadyClock::now();
    while (true) {
        send_asked();
        const bool all_sent = !stopped_ && send_events();
        const bool has_more = is_late_ || std::ssize(events_) == round_rows_max;
        if (!all_sent || !has_more || is_late_) return !record() || (all_sent && has_more);
        // Where it cannot go on, whoever takes it next says so.
        parts_.database.read([&](db::Transaction& tx) { static_cast<void>(read(tx)); });
    }
}

bool Round::begin() {
    return parts_.database.write([&](db::Transaction& tx) {
        return take({tx, parts_.random, parts_.clock.now()});
    });
}

bool Round::take(const db::Context& context) {
    db::Transaction& tx = context.tx;
    if (!take_webhook(tx, id_, {lease_, context.now + lease_max}, from_)) return false;
    looked_at_ = SteadyClock::now();
    disables_.reset();
    row_ = find_webhook(tx, id_).value();
    const Target target = target_of(row_.url, {.reach = http::Reach::anywhere}, "url");
    host_ = target.host;
    progress_ = {row_.sent_through, row_.attempts, row_.refusals,          row_.failing_since,
                 row_.warned,       row_.next_at,  context.now + lease_max};
    if (const Hindrance hindrance = look_at_owner(tx, context.now); hindrance != Hindrance::none) {
        stop_for(context, hindrance);
        return false;
    }
    rules_ = parts_.way.rules.as_of(tx);
    secrets_.clear();
    const std::string sealed_for = secret_context(id_);
    const auto open = [&](const Bytes& sealed) {
        auto secret = parts_.sealer.open({sealed, sealed_for});
        require(secret.has_value(), "what we sealed opens");
        secrets_.push_back(std::move(*secret));
    };
    open(row_.sealed_secret);
    if (row_.sealed_previous && row_.previous_until && *row_.previous_until > context.now)
        open(*row_.sealed_previous);
    asked_.clear();
    for (DeliveryRow& row : list_asked(tx, id_)) {
        Asked asked{std::move(row)};
        if (asked.row.kind == DeliveryKind::test)
            asked.event = test_event(asked.row, host_);
        else if (auto kept = events::find_event(tx, row_.account_id, asked.row.sequence);
                 kept && filter_.hearing.hears(kept->audience))
            asked.event = std::move(kept->event);
        asked_.push_back(std::move(asked));
    }
    // A line that waits for its next attempt goes on waiting, whatever else was asked for.
    events_.clear();
    const bool is_due = !row_.next_at || *row_.next_at <= context.now;
    if (!is_due || read(tx)) return true;
    stop_for(context, Hindrance::events_expired);
    return false;
}

// It hears what its key hears by now, and no more than when it was made.
Round::Hindrance Round::look_at_owner(db::Transaction& tx, Time now) {
    const auto account = accounts::find_account(tx, row_.account_id);
    if (!account || account->suspended) return Hindrance::suspended;
    filter_ = row_.filter();
    if (!row_.key_id) return Hindrance::none;
    const std::vector<accounts::HeldCredential> key{{api::Credential::api_key, *row_.key_id}};
    const auto rights = accounts::find_rights(tx, key, now).front();
    if (!rights) return Hindrance::key_ended;
    filter_.hearing.renter = filter_.hearing.renter && rights->renter;
    filter_.hearing.host = filter_.hearing.host && rights->host;
    return Hindrance::none;
}

void Round::stop_for(const db::Context& context, Hindrance hindrance) {
    switch (hindrance) {
        case Hindrance::none: break;
        case Hindrance::suspended: progress_.next_at = context.now + looked_again_after; break;
        case Hindrance::key_ended: disables_ = DisabledCause::key_ended; break;
        case Hindrance::events_expired: disables_ = DisabledCause::events_expired; break;
    }
    progress_.lease_until = {};
    // Before it is disabled: that is a change like its owner's.
    static_cast<void>(note_progress(context.tx, hold(), progress_));
    tell(context);
}

// False when what follows its place is not kept any more: numbers have no gaps.
bool Round::read(db::Transaction& tx) {
    const std::int64_t after = progress_.sent_through;
    events_ = events::read_after(tx, row_.account_id, after, round_rows_max);
    const bool reaches = events_.empty() ? events::head_of(tx, row_.account_id).oldest <= after + 1
                                         : events_.front().event.sequence.value == after + 1;
    if (!reaches) events_.clear();
    return reaches;
}

void Round::send_asked() {
    for (Asked& asked : asked_) {
        if (is_late()) break;  // the rest still waits
        DeliveryRow& row = asked.row;
        row.attempt = 1;
        if (!asked.event) {
            row.state = DeliveryState::failed;
            row.fault = "the event is not kept any more";
            row.took_ms = 0;
        } else {
            const Answered answered = send(*asked.event, row);
            const Verdict verdict = verdict_of(answered);
            if (verdict == Verdict::untried) continue;  // it still waits
            const bool is_good = verdict == Verdict::delivered;
            row.state = is_good ? DeliveryState::delivered : DeliveryState::failed;
            // Whoever answers well may have the rest at once.
            if (is_good) progress_.next_at.reset();
        }
        log_.push_back(std::move(row));
        if (!keep_noted()) break;
    }
    asked_.clear();
}

// False when the line waits, or the round has to end.
bool Round::send_events() {
    for (const events::Kept& kept : events_) {
        if (is_late()) return true;
        if (filter_.wants(kept)) {
            if (!deliver(kept.event)) return false;
        } else {
            progress_.sent_through = kept.event.sequence.value;
        }
        if (!keep_noted()) return false;
    }
    return true;
}

bool Round::is_late() {
    is_late_ = is_late_ || withheld_ || SteadyClock::now() - began_ >= round_max;
    return is_late_;
}

bool Round::deliver(const events::Event& event) {
    DeliveryRow row;
    row.delivery_id = DeliveryId::make(parts_.clock.now(), parts_.random);
    row.webhook_id = id_;
    row.event_id = event.event_id;
    row.sequence = event.sequence.value;
    row.type = event.type;
    row.attempt = progress_.attempts + 1;
    const Answered answered = send(event, row);
    bool goes_on = true;
    switch (verdict_of(answered)) {
        case Verdict::delivered: row.state = DeliveryState::delivered; break;
        case Verdict::waits: goes_on = note_waiting(row, answered); break;
        case Verdict::refused: goes_on = note_refusal(row); break;
        case Verdict::gone:
            row.state = DeliveryState::failed;
            disables_ = DisabledCause::gone;
            goes_on = false;
            break;
        case Verdict::untried:
            if (!withheld_) progress_.next_at = parts_.clock.now() + tried_again_after;
            return false;
    }
    if (goes_on) {
        progress_.sent_through = event.sequence.value;
        progress_.attempts = 0;
        progress_.refusals = 0;
        progress_.failing_since.reset();
        progress_.warned = false;
        progress_.next_at.reset();
    }
    parts_.totals.delivered += row.state == DeliveryState::delivered ? 1 : 0;
    parts_.totals.retried += row.state == DeliveryState::retrying ? 1 : 0;
    parts_.totals.failed += row.state == DeliveryState::failed ? 1 : 0;
    log_.push_back(std::move(row));
    return goes_on;
}

bool Round::note_waiting(DeliveryRow& row, const Answered& answered) {
    const Time now = parts_.clock.now();
    row.state = DeliveryState::retrying;
    ++progress_.attempts;
    if (!progress_.failing_since) progress_.failing_since = row.at;
    const Duration failing_for = now - *progress_.failing_since;
    if (failing_for >= disabled_after) {
        disables_ = DisabledCause::unreachable;
        return false;
    }
    warns_ = failing_for >= warned_after && !progress_.warned;
    if (warns_) progress_.warned = true;
    progress_.next_at = now + pause_after(progress_.attempts, answered.retry_after, parts_.random);
    return false;
}

// True when the event is given up, and the line goes on behind it. Times when nobody answered are
// no refusals: a target that comes back and is not set up yet has all of its tries.
bool Round::note_refusal(DeliveryRow& row) {
    ++progress_.refusals;
    const bool is_given_up = progress_.refusals >= refused_attempts_max;
    row.state = is_given_up ? DeliveryState::failed : DeliveryState::retrying;
    if (is_given_up) return true;
    ++progress_.attempts;
    if (!progress_.failing_since) progress_.failing_since = row.at;
    progress_.next_at = parts_.clock.now() + pause_after_refusal(progress_.refusals);
    return false;
}

Answered Round::send(const events::Event& event, DeliveryRow& row) {
    Parcel parcel;
    parcel.id = to_string(event.event_id);
    parcel.attempted_at = parts_.clock.now();
    parcel.body = events::text_of(event);
    parcel.signature = signatures(secrets_, {parcel.id, parcel.attempted_at, parcel.body});
    const Way way{parts_.way.client, rules_, parts_.way.ca_file,
                  [this] { return may_still_hear(); }};
    Answered answered = post(way, row_.url, parcel);
    if (log_.empty()) logged_since_ = SteadyClock::now();
    row.at = parcel.attempted_at;
    row.status = answered.status;
    if (!answered.status) row.fault = answered.fault;
    if (answered.status) row.answer = answered.answer;
    row.took_ms = milliseconds_of(answered.took);
    longest_ = std::max(longest_, answered.took);
    if (!answered.status && withheld_) answered.is_ours = true;
    return answered;
}

// Names, lines and TLS may take their time, and so may whoever was sent something before.
bool Round::may_still_hear() {
    const auto now = SteadyClock::now();
    if (withheld_ || now - looked_at_ < may_hear_for) return !withheld_;
    const events::Hearing before = filter_.hearing;
    const bool is_so = parts_.database.read([&](db::Transaction& tx) {
        return is_held(tx, hold()) && look_at_owner(tx, parts_.clock.now()) == Hindrance::none;
    });
    looked_at_ = now;
    withheld_ = !is_so || filter_.hearing != before;
    return !withheld_;
}

// After each event. False when the webhook is not ours any more, or not as it was: the round ends.
bool Round::keep_noted() {
    if (noting_ && noting_->is_done()) stopped_ = !has_noted();
    if (stopped_ || log_.empty()) return !stopped_;
    const bool is_due =
        log_.size() >= noted_at_once || SteadyClock::now() - logged_since_ >= noted_every;
    if (!is_due) return true;
    stopped_ = !has_noted();
    if (stopped_) return false;
    progress_.lease_until = parts_.clock.now() + lease_max;
    noting_ = std::make_shared<PlaceNotes::Note>(hold(), progress_, std::exchange(log_, {}));
    parts_.notes.put(noting_);
    if (noting_->is_done()) stopped_ = !has_noted();
    return !stopped_;
}

// Waits for the note under way. What could not be noted as it was is left to record().
bool Round::has_noted() {
    const auto note = std::exchange(noting_, nullptr);
    if (!note || parts_.notes.await(*note)) return true;
    std::vector<DeliveryRow>& before = note->log();
    log_.insert(log_.begin(), std::make_move_iterator(before.begin()),
                std::make_move_iterator(before.end()));
    return false;
}

// At its end.
bool Round::record() {
    static_cast<void>(has_noted());
    return parts_.database.write([&](db::Transaction& tx) {
        return write_down({tx, parts_.random, parts_.clock.now()});
    });
}

// False when the webhook is somebody else's by now, or not as it was when it was taken: how it was
// answered then means nothing for what it is now.
bool Round::write_down(const db::Context& context) {
    db::Transaction& tx = context.tx;
    progress_.lease_until = {};
    const bool is_same = note_progress(tx, hold(), progress_);
    if (!is_same && !note_place(tx, row_, lease_, progress_)) give_lease_back(tx, id_, lease_);
    if (is_same || find_webhook(tx, id_))
        for (const DeliveryRow& row : log_) start_logging(tx, row);
    if (!is_same) return false;
    tell(context);
    bound_deliveries(tx, id_);
    return true;
}

void Round::tell(const db::Context& context) {
    WebhookFacts facts{host_, std::nullopt, progress_.failing_since};
    if (warns_) events::tell(context, webhook_failing, row_.account_id, id_, facts);
    if (!disables_ || !disable_webhook(context.tx, id_, *disables_, context.now)) return;
    facts.cause = *disables_;
    events::tell(context, webhook_disabled, row_.account_id, id_, facts);
}

}  // namespace berth::delivery
