#include "host_agent/gate/doors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/log.hpp"
#include "http/resolve.hpp"
#include "wire/open.hpp"

namespace berth::host_agent {
namespace {

using namespace std::chrono_literals;
using agent_protocol::ByeReason;
using agent_protocol::DoorsGiven;
using agent_protocol::GatePlace;

constexpr std::size_t draining_max = 2;
constexpr Duration storm = 5s;  // a link that ends sooner than this is no reason to hurry

// The server's refusal.
struct DoorsErrorCode {
    std::string code;
};
BOOST_DESCRIBE_STRUCT(DoorsErrorCode, (), (code))
struct DoorsError {
    DoorsErrorCode error;
};
BOOST_DESCRIBE_STRUCT(DoorsError, (), (error))

std::string refusal_in(const http::Response& answer) {
    const auto body = wire::read_known<DoorsError>(answer.body);
    return body ? body->error.code : "";
}

std::optional<Duration> wait_named_in(const http::Response& answer) {
    const auto field = answer.headers.find("Retry-After");
    std::int64_t seconds = 0;
    if (!field) return std::nullopt;
    const auto read = std::from_chars(field->data(), field->data() + field->size(), seconds);
    if (read.ec != std::errc() || seconds < 0 || seconds > 3600) return std::nullopt;
    return std::chrono::seconds(seconds);
}

// Of a gate that can be pinned; empty for one that cannot.
std::optional<GateAddress> gate_named(const GatePlace& place) {
    const auto key = from_hex(place.tls_key_sha256);
    if (!key || key->size() != 32) return std::nullopt;
    return GateAddress{.id = place.gate_id,
                       .host = place.host,
                       .address = {},
                       .link_port = static_cast<std::uint16_t>(place.link_port.value),
                       .call_port = static_cast<std::uint16_t>(place.call_port.value),
                       .key_sha256 = *key};
}

// Wherever it is dialled.
bool is_same_gate(GateAddress one, const GateAddress& other) {
    one.address = other.address;
    return one == other;
}

}  // namespace

DoorKeeper::DoorKeeper(const Parts& parts, Options options)
    : parts_(parts), options_(options), calls_(options.calls), thread_([this] { run(); }) {}

DoorKeeper::~DoorKeeper() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

// ---- What others want

void DoorKeeper::want(const DoorOwner& owner, const std::vector<LocalDoor>& doors) {
    if (doors.empty()) return give_back(owner);
    {
        const std::lock_guard lock(mutex_);
        auto& wanted = wanted_[owner];
        if (wanted == doors) return;
        wanted = doors;
        ask_at_ = Clock::now();
        is_news_ = true;
    }
    changed_.notify_all();
}

void DoorKeeper::give_back(const DoorOwner& owner) {
    {
        const std::lock_guard lock(mutex_);
        if (wanted_.erase(owner) == 0) return;
        if (given_)
            std::erase_if(given_->doors, [&](const Held& each) { return each.owner == owner; });
        tell_calls();
        ask_at_ = Clock::now();
        is_news_ = true;
    }
    changed_.notify_all();
}

// Only what calls get through to: the link is there, and the gate has seen the ticket with them.
std::optional<std::vector<DoorPlace>> DoorKeeper::places(const DoorOwner& owner) const {
    const std::lock_guard lock(mutex_);
    const auto wanted = wanted_.find(owner);
    if (wanted == wanted_.end() || !given_ || !current_ || shown_ticket_ != given_->ticket ||
        !current_->status().is_open())
        return std::nullopt;
    std::vector<DoorPlace> places;
    for (const LocalDoor& local : wanted->second) {
        const auto held = std::ranges::find_if(given_->doors, [&](const Held& each) {
            return each.owner == owner && each.local == local;
        });
        if (held == given_->doors.end()) return std::nullopt;
        places.push_back({given_->gate.host, held->port});
    }
    return places;
}

std::string DoorKeeper::trouble() const {
    const std::lock_guard lock(mutex_);
    return trouble_;
}

bool DoorKeeper::wants_for_job() const {
    return std::ranges::any_of(
        wanted_, [](const auto& each) { return std::holds_alternative<JobId>(each.first); });
}

std::string DoorKeeper::in_words() const {
    const GateCalls::Counts counts = calls_.counts();
    const std::lock_guard lock(mutex_);
    if (!wants_for_job()) return {};  // a test says by itself how it went
    std::string text;
    if (given_)
        text +=
            fmt::format("gate {} {}, {} doors, {} streams\n", given_->gate.host,
                        lost_since_ ? "not linked" : "linked", given_->doors.size(), counts.open);
    if (!trouble_.empty()) text += fmt::format("trouble {}\n", trouble_);
    return text;
}

// ---- The thread

void DoorKeeper::run() {
    Lock lock(mutex_);
    while (!ends_) {
        is_news_ = false;
        const Moment now = Clock::now();
        Links over = look_at_links(now);
        note_loss(now);
        if (!over.empty()) {
            // Their threads may want the lock before they end.
            lock.unlock();
            over.clear();
            lock.lock();
        }
        if (now >= ask_at_) {
            ask(lock);
        } else if (is_renewal_due()) {
            show_ticket(lock);
        } else if (given_ && !current_ && now >= link_at_) {
            open_link();
        } else {
            changed_.wait_until(lock, next_look(), [this] { return ends_ || is_news_; });
        }
    }
    Links all = std::exchange(draining_, {});
    if (current_) all.push_back(std::move(current_));
    lock.unlock();
    for (const auto& link : all) link->leave();
}

DoorKeeper::Moment DoorKeeper::next_look() const {
    // A clock of so long a wait would overflow where it is turned into another's.
    Moment next = std::min(ask_at_, Clock::now() + 60s);
    if (given_ && !current_) next = std::min(next, link_at_);
    if (lost_since_ && ask_pause_ == Duration{})
        next = std::min(next, std::max(*lost_since_ + options_.pace.lost_max,
                                       asked_at_ + options_.pace.lost_again));
    if (!draining_.empty()) next = std::min<Moment>(next, Clock::now() + 1s);
    return next;
}

// Time in which doors are wanted and nobody gets through. The server may have another gate.
void DoorKeeper::note_loss(Moment now) {
    const auto is_open = [](const auto& link) { return link->status().is_open(); };
    const bool is_linked =
        (current_ && is_open(current_)) || std::ranges::any_of(draining_, is_open);
    if (wanted_.empty() || is_linked) {
        lost_since_.reset();
        return;
    }
    if (!lost_since_) lost_since_ = now;
    if (now >= *lost_since_ + options_.pace.lost_max &&
        now >= asked_at_ + options_.pace.lost_again && ask_pause_ == Duration{})
        ask_at_ = std::min(ask_at_, now);
}

// Gives those that are over, to be destroyed without the lock.
DoorKeeper::Links DoorKeeper::look_at_links(Moment now) {
    Links over;
    if (current_) look_at_current(now, over);
    const auto status = current_ ? current_->status() : GateLink::Status{};
    const bool has_moved = status.is_open() && shown_ticket_ == given_->ticket &&
                           now - *status.opened_at >= options_.pace.draining_grace;
    for (auto each = draining_.begin(); each != draining_.end();) {
        if (has_moved || !given_ || draining_.size() > draining_max) (*each)->leave();
        if (!(*each)->status().is_over && draining_.size() <= draining_max) {
            ++each;
            continue;
        }
        over.push_back(std::move(*each));
        each = draining_.erase(each);
    }
    return over;
}

void DoorKeeper::look_at_current(Moment now, Links& over) {
    const GateLink::Status status = current_->status();
    if (!given_ || given_->gate != current_->gate()) {
        // Its doors are not there any more.
        current_->leave();
        over.push_back(std::move(current_));
        link_at_ = now;
        return;
    }
    const bool is_draining = status.has_bye && status.bye == ByeReason::draining;
    if (is_draining && !status.is_over) {
        // Another process of the same gate is at the same place. What this one still tells of is
        // answered until there is a link to that.
        const bool is_storm = !status.opened_at || now - *status.opened_at < storm;
        link_at_ = is_storm ? now + jittered(options_.pace.pause_min) : now;
        draining_.push_back(std::move(current_));
        return;
    }
    if (status.is_over || status.has_bye) return end_current(status, now, over);
    if (status.is_open()) trouble_.clear();
}

void DoorKeeper::end_current(const GateLink::Status& status, Moment now, Links& over) {
    const DoorPace& pace = options_.pace;
    if (status.opened_at && now - *status.opened_at >= pace.settled) link_pause_ = Duration{};
    link_pause_ = std::clamp(link_pause_ * 2, pace.pause_min, pace.pause_max);
    const bool is_replaced = status.bye == ByeReason::replaced;
    const bool is_moving =
        status.bye == ByeReason::draining && status.opened_at && now - *status.opened_at >= storm;
    link_at_ = now + (is_replaced ? pace.replaced_pause
                      : is_moving ? Duration{}
                                  : jittered(link_pause_));
    // A name may have addresses that lead nowhere from here, as IPv6 on many hosts.
    if (!status.opened_at && status.refused == 0) use_next_address();
    // Another ticket may help where this one did not.
    const bool is_refused = status.refused / 100 == 4 || status.bye == ByeReason::expired ||
                            status.bye == ByeReason::refused || status.bye == ByeReason::cut;
    if (is_refused) ask_at_ = std::min(ask_at_, std::max(now, asked_at_ + pace.pause_min));
    trouble_ = fmt::format("There is no link to the gate {}: {}.", given_->gate.host,
                           is_replaced          ? "another agent with this machine's key has one"
                           : status.why.empty() ? "the gate said goodbye"
                                                : status.why);
    log(Level::warn, "gate_link_lost", {{"gate", given_->gate.host}, {"why", trouble_}});
    current_->leave();
    over.push_back(std::move(current_));
}

void DoorKeeper::use_next_address() {
    auto& all = given_->addresses;
    const auto used = std::ranges::find(all, given_->gate.address);
    given_->gate.address = used == all.end() || used + 1 == all.end() ? all.front() : *(used + 1);
}

void DoorKeeper::open_link() {
    shown_ticket_ = given_->ticket;
    current_ = std::make_unique<GateLink>(
        GateLink::Setup{.client = parts_.client,
                        .signer = parts_.link,
                        .gate = given_->gate,
                        .ticket = given_->ticket,
                        .silence_max = options_.pace.silence_max},
        GateLink::Hooks{
            .on_call = [this](const GateAddress& gate,
                              const agent_protocol::LinkLine& line) { calls_.answer(gate, line); },
            .on_change =
                [this] {
                    {
                        const std::lock_guard lock(mutex_);
                        is_news_ = true;
                    }
                    changed_.notify_all();
                }});
}

bool DoorKeeper::is_renewal_due() const {
    return given_ && current_ && shown_ticket_ != given_->ticket && current_->status().is_open();
}

// Only this thread lets go of a link, so that it can be used without the lock.
void DoorKeeper::show_ticket(Lock& lock) {
    GateLink& link = *current_;
    const std::string ticket = given_->ticket;
    lock.unlock();
    const bool is_taken = link.renew(ticket);
    lock.lock();
    shown_ticket_ = ticket;
    if (!is_taken) link.leave();  // another begins with it
}

// ---- The server

DoorKeeper::Asked DoorKeeper::asked_now() const {
    Asked asked;
    for (const auto& [owner, doors] : wanted_)
        for (const LocalDoor& door : doors)
            if (asked.size() < agent_protocol::wanted_doors_max) asked.emplace_back(owner, door);
    return asked;
}

void DoorKeeper::ask(Lock& lock) {
    const Asked asked = asked_now();
    const Moment now = Clock::now();
    ask_at_ = asked.empty() ? Moment::max() : now + jittered(options_.pace.renewal);
    asked_at_ = now;
    if (asked.empty() && !has_asked_) return;
    has_asked_ = true;
    const auto lost =
        lost_since_ ? std::chrono::duration_cast<std::chrono::seconds>(now - *lost_since_) : 0s;
    lock.unlock();
    try {
        const http::Response answer = send_wanted(asked, lost.count());
        lock.lock();
        take_answer(asked, answer, lock);
    } catch (const std::exception& error) {
        if (!lock.owns_lock()) lock.lock();
        ask_again_later(fmt::format("The server was not reached: {}.", error.what()));
    }
}

http::Response DoorKeeper::send_wanted(const Asked& asked, std::int64_t lost_s) {
    agent_protocol::WantDoors body;
    body.fence.value = parts_.counters.fence();
    body.lost_s.value = lost_s;
    for (const auto& [owner, door] : asked) {
        agent_protocol::WantedDoor& wanted = body.wanted.value.emplace_back();
        if (const JobId* const job = std::get_if<JobId>(&owner)) wanted.job_id = *job;
        if (const auto* const run = std::get_if<agent_protocol::RunId>(&owner))
            wanted.run_id = *run;
        wanted.name.value = door.name;
        wanted.kind = door.kind;
    }
    return parts_.link.send({.target = "/api/v1/host-agent/doors", .body = wire::encode(body)});
}

// What came back is held to what was asked: as many doors, by the same names, in the same order.
void DoorKeeper::take_answer(const Asked& asked, const http::Response& answer, Lock& lock) {
    const bool is_final = answer.status / 100 == 4 && answer.status != 401 &&
                          answer.status != 409 && answer.status != 429;
    if (asked.empty() && (answer.status == 200 || is_final)) {
        has_asked_ = false;
        ask_pause_ = Duration{};
        given_.reset();
        trouble_.clear();
        return tell_calls();
    }
    if (answer.status != 200) return take_refusal(answer);
    const auto told = wire::read_known<DoorsGiven>(answer.body);
    const bool fits = told && told->doors.size() == asked.size() && told->gate.value &&
                      std::equal(asked.begin(), asked.end(), told->doors.begin(),
                                 [](const auto& mine, const auto& door) {
                                     return mine.second.name == door.name;
                                 });
    if (!fits) return ask_again_later("The server's answer about doors is not to be understood.");
    auto given = find_gate(*told->gate.value, lock);
    if (!given) return;
    ask_pause_ = Duration{};
    given->ticket = told->ticket;
    // What was given back meanwhile stays closed.
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto& [owner, local] = asked[i];
        const auto wanted = wanted_.find(owner);
        if (wanted == wanted_.end() || std::ranges::count(wanted->second, local) == 0) continue;
        given->doors.push_back({owner, local, told->doors[i].door_id, told->doors[i].port.value});
    }
    given_ = std::move(given);
    tell_calls();
}

// Links and calls go to one address of the gate's. It is looked up again only while there is no
// link: the gate may have moved.
std::optional<DoorKeeper::Given> DoorKeeper::find_gate(const GatePlace& place, Lock& lock) {
    const auto named = gate_named(place);
    if (!named) {
        ask_again_later("The server names a gate without a key that could be pinned.");
        return std::nullopt;
    }
    const bool is_known = given_ && is_same_gate(given_->gate, *named);
    if (is_known && !lost_since_) return Given{given_->gate, given_->addresses, {}, {}};
    lock.unlock();
    const http::Resolved found = http::resolve(place.host, http::Reach::anywhere);
    lock.lock();
    if (found.addresses.empty()) {
        ask_again_later(fmt::format("The gate {} has no address: {}", place.host, found.reason));
        return std::nullopt;
    }
    Given given{*named, found.addresses, {}, {}};
    given.gate.address = found.addresses.front();
    if (is_known && std::ranges::count(found.addresses, given_->gate.address) > 0)
        given.gate.address = given_->gate.address;
    if (!is_known) {
        link_at_ = Clock::now();
        link_pause_ = Duration{};
        log(Level::info, "gate_given", {{"gate", place.host}});
    }
    return given;
}

// A test that is over takes no door from a job.
void DoorKeeper::take_refusal(const http::Response& answer) {
    const std::string code = refusal_in(answer);
    if (code == "CONFLICT" && wants_for_job()) {
        const auto ended = std::erase_if(
            wanted_, [](const auto& each) { return !std::holds_alternative<JobId>(each.first); });
        if (ended > 0) {
            ask_at_ = Clock::now();
            return;
        }
    }
    if (code == "NO_GATE")
        return ask_again_later("No gate of the server is up.", wait_named_in(answer));
    ask_again_later(fmt::format("The server gives no doors: {} {}.", answer.status, code));
}

void DoorKeeper::ask_again_later(const std::string& why, std::optional<Duration> pause) {
    const DoorPace& pace = options_.pace;
    ask_pause_ = std::clamp(ask_pause_ * 2, pace.pause_min, pace.pause_max);
    // Somebody wants something else since: that is not to wait for what failed.
    if (ask_at_ > Clock::now())
        ask_at_ = Clock::now() + (pause ? std::clamp(*pause, pace.pause_min, pace.pause_max)
                                        : jittered(ask_pause_));
    if (std::exchange(trouble_, why) != why) log(Level::warn, "no_doors", {{"why", why}});
}

void DoorKeeper::tell_calls() {
    GateCalls::Doors doors;
    if (given_)
        for (const Held& each : given_->doors)
            doors[each.id] = {each.local.kind, each.local.local_port};
    calls_.set_doors(std::move(doors));
}

// Not all agents of a gate that comes back shall come at once.
Duration DoorKeeper::jittered(Duration span) {
    const auto half = static_cast<std::uint64_t>(std::max<std::int64_t>(1, span.count() / 2));
    return span / 2 + Duration(static_cast<std::int64_t>(random_.below(half)));
}

}  // namespace berth::host_agent
