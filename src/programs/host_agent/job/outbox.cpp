#include "host_agent/job/outbox.hpp"

#include <algorithm>

#include "agent_protocol/events.hpp"
#include "base/enum_names.hpp"
#include "wire/wire.hpp"

namespace berth::host_agent {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::size_t fleeting_max = 16;
constexpr Duration patience_max = 30s;

}  // namespace

void Outbox::add(const std::string& kind, const std::string& evidence) {
    unsent_.push_back({kind, event_body(kind, evidence)});
    try_at_ = {};
}

void Outbox::add_fleeting(const std::string& kind, const std::string& evidence,
                          std::optional<bool> is_engine_down) {
    std::erase_if(fleeting_,
                  [&](const Outgoing& each) { return each.kind == kind && kind == "PROGRESS"; });
    if (fleeting_.size() == fleeting_max) fleeting_.pop_front();
    fleeting_.push_back({kind, event_body(kind, evidence), false, is_engine_down});
}

bool Outbox::has(const std::string& kind) const {
    return std::any_of(unsent_.begin(), unsent_.end(),
                       [&](const Unsent& event) { return event.kind == kind; });
}

std::optional<std::string> Outbox::body_of(const std::string& kind) const {
    for (const Unsent& event : unsent_)
        if (event.kind == kind) return event.body;
    return std::nullopt;
}

void Outbox::drop(const std::string& kind) {
    std::erase_if(unsent_, [&](const Unsent& event) { return event.kind == kind; });
}

bool Outbox::lacks_engine(bool is_down, Moment now) const {
    return now >= try_at_ &&
           std::none_of(fleeting_.begin(), fleeting_.end(),
                        [&](const Outgoing& each) { return each.is_engine_down == is_down; });
}

std::optional<Outgoing> Outbox::next(Moment now) const {
    if (now < try_at_) return std::nullopt;
    if (!unsent_.empty()) return Outgoing{unsent_.front().kind, unsent_.front().body, true};
    if (fleeting_.empty()) return std::nullopt;
    return fleeting_.front();
}

std::optional<Outbox::Moment> Outbox::next_try() const {
    if (unsent_.empty() && fleeting_.empty()) return std::nullopt;
    return try_at_;
}

void Outbox::back_off() {
    patience_ = std::clamp<Duration>(patience_ * 2, 1s, patience_max);
    try_at_ = steady_clock::now() + patience_;
    // What was told in passing is stale by the time that anybody hears it. How the engine is is
    // told anew (see Job::has_engine_to_tell).
    fleeting_.clear();
}

Outbox::Fate Outbox::answered(const Outgoing& outgoing, int status, const std::string& code) {
    patience_ = {};
    if (!outgoing.is_durable) {
        if (!fleeting_.empty()) fleeting_.pop_front();
        if (status != 200) try_at_ = steady_clock::now() + 5s;
        return status == 200 ? Fate::heard : Fate::waits;
    }
    // Dropped meanwhile: a READY of a job that was stopped.
    if (unsent_.empty() || unsent_.front().body != outgoing.body) return Fate::waits;
    if (code == "STALE_FENCE" || code == "LEASE_SEQ_REPLAY") {
        try_at_ = steady_clock::now() + 1s;
        if (restamp(unsent_.front())) return Fate::restamped;
    }
    // What was told under this very lease already is known, if in other words.
    const bool is_known = code == "LEASE_SEQ_REPLAY" && outgoing.kind != "READY";
    if ((status == 409 && !is_known) || (status == 404 && outgoing.kind == "CLEANED")) {
        // READY is asked for again until the server reaches the endpoint; the rest waits for
        // the server to come to the state in which it fits.
        try_at_ = steady_clock::now() + 2s;
        return Fate::waits;
    }
    unsent_.erase(unsent_.begin());
    return status == 200 || is_known ? Fate::taken : Fate::refused;
}

std::string Outbox::event_body(const std::string& kind, const std::string& evidence) const {
    agent_protocol::JobEvent event;
    event.fence.value = context_.counters.fence();
    event.lease_seq.value = context_.counters.job(job_).lease_seq;
    event.kind = parse_enum<agent_protocol::JobEventKind>(kind).value();
    event.at = context_.now();
    event.evidence.text = evidence;
    return wire::encode(event);
}

// Fence and lease have moved on since it was written; what happened has not.
bool Outbox::restamp(Unsent& event) const {
    auto said = wire::decode<agent_protocol::JobEvent>(event.body, "event");
    said.fence.value = context_.counters.fence();
    said.lease_seq.value = context_.counters.job(job_).lease_seq;
    const std::string before = std::exchange(event.body, wire::encode(said));
    return event.body != before;
}

}  // namespace berth::host_agent
