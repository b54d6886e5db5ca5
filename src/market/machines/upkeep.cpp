#include "machines/upkeep.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "http/client.hpp"
#include "wire/wire.hpp"

namespace berth::machines {
namespace {

constexpr std::string_view endpoint_path = "/berth-endpoint";
constexpr std::size_t endpoint_answer_bytes_max = 4096;
constexpr Duration endpoint_connect_max = std::chrono::seconds(5);
constexpr Duration endpoint_total_max = std::chrono::seconds(10);

Qualifications::DialResult ask_for_token(const std::string& host, std::int64_t port,
                                         const std::string& token, http::Reach reach) {
    const http::Resolved resolved = http::resolve(host, reach);
    if (resolved.addresses.empty())
        return {Dialled::unreachable,
                fmt::format("{} cannot be dialled: {}", host, resolved.reason)};
    // The address that was judged is the one that is dialled; the name is not asked again.
    std::string address = http::to_string(resolved.addresses.front());
    if (address.find(':') != std::string::npos) address = fmt::format("[{}]", address);
    http::Outbound request;
    request.url = fmt::format("http://{}:{}{}", address, port, endpoint_path);
    request.connect_max = endpoint_connect_max;
    request.total_max = endpoint_total_max;
    request.response_bytes_max = endpoint_answer_bytes_max;
    try {
        const http::Response answer = http::CurlClient().send(request);
        if (answer.status == 200 && answer.body == token) return {Dialled::answered, ""};
        return {Dialled::unreachable, "The endpoint answered with something else than the token."};
    } catch (const http::TransportError& error) {
        return {Dialled::unreachable, error.what()};
    }
}

// Each in a transaction of its own: one machine that cannot be handled holds up no other.
template <class Id, class Function>
std::int64_t for_each(const UpkeepParts& parts, const std::vector<Id>& ids,
                      const Function& function) {
    std::int64_t done = 0;
    for (const Id& id : ids) {
        try {
            done += parts.database.write([&](db::Transaction& tx) {
                return function(db::Context{tx, parts.random, parts.clock.now()}, id);
            });
        } catch (const Problem& problem) {
            log(Level::warn, "machine_upkeep_refused",
                {{"id", to_string(id)}, {"why", problem.message}});
        }
    }
    return done;
}

template <class Function>
auto look(const UpkeepParts& parts, const Function& function) {
    return parts.database.read(
        [&](db::Transaction& tx) { return function(tx, parts.clock.now()); });
}

std::int64_t begin_tests(const UpkeepParts& parts) {
    const auto waiting = look(parts, [](db::Transaction& tx, Time now) {
        return find_untested(tx, now, upkeep_rows_max);
    });
    return for_each(parts, waiting, [&](const db::Context& context, MachineId id) {
        return parts.qualifications.begin(context, id);
    });
}

// Machines that stay blocked are met again in each pass, so all pages are looked at.
std::int64_t admit_all(const UpkeepParts& parts, const ListingRules& rules) {
    std::int64_t done = 0;
    MachineId after{};
    for (;;) {
        const auto page = look(parts, [&](db::Transaction& tx, Time now) {
            return find_unadmitted(tx, now, after, upkeep_rows_max);
        });
        done += for_each(parts, page, [&](const db::Context& context, MachineId id) {
            return admit(context, id, rules);
        });
        if (page.size() < static_cast<std::size_t>(upkeep_rows_max)) return done;
        after = page.back();
    }
}

}  // namespace

std::int64_t run_upkeep(const UpkeepParts& parts, worker::Attempt& attempt) {
    std::int64_t done = begin_tests(parts);
    done +=
        for_each(parts,
                 look(parts, [](db::Transaction& tx,
                                Time now) { return find_overdue_runs(tx, now, upkeep_rows_max); }),
                 [&](const db::Context& context, RunId run) {
                     return parts.qualifications.time_out(context, run);
                 });
    return done + admit_all(parts, listing_rules(attempt));
}

worker::Kind upkeep_kind(const UpkeepParts& parts) {
    worker::Kind kind;
    kind.name = "keep_machines";
    kind.run = [parts](worker::Attempt& attempt) { run_upkeep(parts, attempt); };
    kind.retry_max = std::chrono::minutes(1);
    kind.every = upkeep_every;
    kind.lane = "machines";
    return kind;
}

Qualifications::DialResult dial_endpoint(const Run& run, http::Reach reach) {
    require(run.endpoint_host && run.endpoint_port, "only announced endpoints are dialled");
    return ask_for_token(*run.endpoint_host, *run.endpoint_port, run.endpoint_token, reach);
}

Qualifications::DialResult dial_ways(const Run& run, const std::optional<DoorPlace>& door,
                                     http::Reach reach) {
    Qualifications::DialResult own;
    if (run.endpoint_host) own = dial_endpoint(run, reach);
    if (own.dialled == Dialled::answered || !run.door_host) return own;
    Qualifications::DialResult by_gate{Dialled::unreachable,
                                       "The door that was named is none of this test."};
    // The operator named this address, so that it may be anywhere.
    if (door)
        by_gate = ask_for_token(door->host, door->port, run.endpoint_token, http::Reach::anywhere);
    if (by_gate.dialled == Dialled::answered) return {Dialled::answered, own.reason, Reach::gate};
    if (!own.reason.empty())
        by_gate.reason = fmt::format("Its own port: {} The door: {}", own.reason, by_gate.reason);
    return by_gate;
}

worker::Kind dial_endpoint_kind(const UpkeepParts& parts, http::Reach reach) {
    worker::Kind kind;
    kind.name = dial_endpoint_kind_name;
    kind.run = [parts, reach](worker::Attempt& attempt) {
        const auto id = parse_uuid(attempt.task().payload);
        require(id.has_value(), "a task to dial names its test");
        std::optional<DoorPlace> door;
        const auto run = parts.database.read([&](db::Transaction& tx) {
            auto found = find_run(tx, RunId{*id});
            if (found) door = parts.qualifications.find_door(tx, *found, parts.clock.now());
            return found;
        });
        if (!run || run->state != RunState::dialling) return;
        const auto result = dial_ways(*run, door, reach);
        const ListingRules rules = listing_rules(attempt);
        attempt.finish([&](db::Transaction& tx) {
            const db::Context context{tx, parts.random, parts.clock.now()};
            parts.qualifications.end_dialling(context, run->run_id, result, rules);
        });
    };
    kind.lane = "dial";
    return kind;
}

worker::Kind examine_proof_kind(const UpkeepParts& parts) {
    worker::Kind kind;
    kind.name = examine_proof_kind_name;
    kind.run = [parts](worker::Attempt& attempt) {
        const auto told = wire::decode<ExaminationTask>(attempt.task().payload, "payload");
        const auto proof =
            parts.database.read([&](db::Transaction& tx) { return find_proof(tx, told.run_id); });
        if (!proof) return;  // the test is over
        // Not the process's own randomness, which tests can repeat: what is looked at is nobody's
        // to know.
        SystemRandom random;
        const ProofFacts found = parts.qualifications.proofs().examine(*proof, random);
        const ListingRules rules = listing_rules(attempt);
        attempt.finish([&](db::Transaction& tx) {
            const db::Context context{tx, parts.random, parts.clock.now()};
            parts.qualifications.end_examination(
                context, told.run_id,
                {told.dialled, told.reason, told.reach.value_or(Reach::direct)}, found, rules);
        });
    };
    kind.lane = "proofs";
    return kind;
}

}  // namespace berth::machines
