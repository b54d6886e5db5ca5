#include "server/restored.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "accounts/operators.hpp"
#include "audit/events.hpp"
#include "delivery/delivery.hpp"
#include "events/keeping.hpp"
#include "four_eyes/four_eyes.hpp"
#include "liabilities/verify.hpp"
#include "recovery/recovery.hpp"
#include "server/schema.hpp"
#include "settings/changes.hpp"
#include "transfers/settlement.hpp"
#include "wire/wire.hpp"

namespace berth::server {
namespace {

constexpr std::int64_t events_at_once = 500;
constexpr std::size_t lost_max = 10'000;  // that are told
constexpr std::string_view audited_event = "audited";

using Members = std::map<std::string, wire::Json>;

// Looking changes nothing, so that there is nothing to do again.
bool is_looking(std::string_view action) {
    return action.starts_with("read_") || action == "use_job_relay";
}

// One line, whatever people wrote: somebody does again what the lines say, and a line break or a
// code for the terminal in a reason would be a line of its own.
std::string on_one_line(std::string_view text) {
    std::string line;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
        const bool wide_control = byte == 0xc2 && next >= 0x80 && next < 0xa0;
        if (wide_control) {
            line += fmt::format("\\u{:04x}", next);
            ++i;
        } else if (byte < 0x20 || byte == 0x7f) {
            line += fmt::format("\\x{:02x}", byte);
        } else {
            line += text[i];
        }
    }
    return line;
}

std::string line_of(const audit::Recorded& event) {
    std::string line = fmt::format("{} {} {} {} {}", to_rfc3339(event.at),
                                   event.account ? to_string(*event.account) : event.actor_kind,
                                   event.action, event.target.kind, event.target.id);
    for (const audit::Change& change : event.changes)
        line += fmt::format(" {}={}", change.field, change.to.value_or("none"));
    if (event.reason) line += fmt::format(" ({})", *event.reason);
    return on_one_line(line);
}

// The newest event, which is the end of what a database knows; none in an empty one.
std::optional<audit::Recorded> newest(db::Transaction& tx) {
    auto events = audit::list_events(tx, {}, 1);
    return events.empty() ? std::nullopt : std::optional(std::move(events.front()));
}

std::string text_of(const Members& members, const std::string& name) {
    const auto found = members.find(name);
    return found == members.end() ? "" : wire::decode<std::string>(found->second.text);
}

struct Logged {
    Lost event;
    bool looked = false;  // it changed nothing
};
// A line of the log that tells of an audit event; nothing for any other.
std::optional<Logged> read_line(const std::string& line) {
    if (line.find(audited_event) == std::string::npos) return std::nullopt;
    try {
        const auto members = wire::decode<Members>(line);
        const auto number = members.find("sequence");
        if (text_of(members, "event") != audited_event || number == members.end())
            return std::nullopt;
        const auto sequence = parse_decimal(number->second.text);
        const std::string action = text_of(members, "action");
        if (!sequence) return std::nullopt;
        const std::string told =
            fmt::format("{} {} {} {}{}", text_of(members, "at"), text_of(members, "actor"), action,
                        text_of(members, "target"), text_of(members, "changes"));
        return Logged{{*sequence, on_one_line(told)}, is_looking(action)};
    } catch (const std::exception&) {
        return std::nullopt;  // a line that was cut off, or that is no log of ours
    }
}

}  // namespace

void quieten(db::Database& database, const std::string& why, Random& random, Time now) {
    database.write([&](db::Transaction& tx) {
        const db::Context context{tx, random, now};
        transfers::add_hold(context, why);
        const std::int64_t ended = accounts::end_all_sessions(tx);
        const std::int64_t asked = four_eyes::end_waiting(tx, now);
        const std::int64_t recoveries = recovery::end_waiting(tx, now);
        delivery::move_readers(tx, events::renumber(tx));
        audit::record(
            context, {.actor = audit::Actor::local_operator(),
                      .action = "restore_database",
                      .target = {"database", why},
                      .changes = {{"sessions_ended", std::nullopt, std::to_string(ended)},
                                  {"pending_actions_ended", std::nullopt, std::to_string(asked)},
                                  {"recoveries_ended", std::nullopt, std::to_string(recoveries)}}});
        settings::change(registry(), context,
                         {.key = "money.payouts_paused",
                          .value = "true",
                          .actor = audit::Actor::local_operator(),
                          .reason = why});
    });
}

std::vector<Lost> lost_since(db::Database& restored, db::Database& before) {
    const auto last = restored.read(newest);
    const std::int64_t after = last ? last->sequence : 0;
    std::vector<Lost> lost;
    before.read([&](db::Transaction& tx) {
        lost.clear();
        if (last) {
            const auto same = audit::read_events(tx, after - 1, 1);
            if (same.empty() || same.front().hash != last->hash)
                throw std::runtime_error(
                    "what was replaced is not a later state of what was restored");
        }
        std::int64_t at = after;
        while (lost.size() < lost_max) {
            const auto events = audit::read_events(tx, at, events_at_once);
            if (events.empty()) break;
            at = events.back().sequence;
            for (const audit::Recorded& event : events)
                if (!is_looking(event.action)) lost.push_back({event.sequence, line_of(event)});
        }
    });
    return lost;
}

// What was begun and not finished stands in the log, too, under a number that comes again: of one
// number the last one happened, whatever it was, and of the very last nobody can tell.
std::vector<Lost> lost_by_log(db::Database& restored, const std::string& log_file) {
    std::ifstream in(log_file);
    if (!in) throw std::invalid_argument("--log: cannot be read");
    const auto last = restored.read(newest);
    std::map<std::int64_t, Logged> found;
    for (std::string line; found.size() < lost_max && std::getline(in, line);) {
        auto logged = read_line(line);
        if (logged && logged->event.sequence > (last ? last->sequence : 0))
            found[logged->event.sequence] = std::move(*logged);
    }
    std::vector<Lost> all;
    for (auto& [sequence, logged] : found) {
        if (logged.looked) continue;
        if (sequence == found.rbegin()->first)
            logged.event.line += " [the last in the log: perhaps it was not carried out]";
        all.push_back(std::move(logged.event));
    }
    return all;
}

std::int64_t count_missing(db::Database& restored, const std::string& record_file) {
    std::ifstream in(record_file, std::ios::binary);
    if (!in) throw std::invalid_argument("--record: cannot be read");
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const auto last = restored.read(newest);
    return std::max<std::int64_t>(0,
                                  liabilities::count_audited(text) - (last ? last->sequence : 0));
}

void print_missing(std::int64_t events) {
    fmt::print("by that record {} events of the audit record are missing here\n", events);
}

void print_lost(const std::vector<Lost>& lost) {
    if (lost.empty()) {
        fmt::print(
            "nothing that somebody did since is known; only the server's log (--log) and the "
            "database that was replaced could tell\n");
        return;
    }
    fmt::print(
        "done since, and not any more; look at each and do it again where it should be so:\n");
    for (const Lost& each : lost) fmt::print("  {}\n", each.line);
    if (lost.size() >= lost_max) fmt::print("  and more\n");
}

int note_restored(const settings::Given& given, const RestoredOptions& options) {
    SystemRandom random;
    const auto database = db::open(*start_settings(given).db);
    db::migrate(*database, schema());
    std::vector<Lost> lost;
    if (!options.log_file.empty()) lost = lost_by_log(*database, options.log_file);
    if (!options.record_file.empty()) print_missing(count_missing(*database, options.record_file));
    quieten(*database, options.why, random, SystemClock().now());
    print_lost(lost);
    return 0;
}

}  // namespace berth::server
