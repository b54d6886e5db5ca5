#include "machines/heartbeats.hpp"

#include <fmt/format.h>

#include "agent_protocol/counters.hpp"
#include "base/json_text.hpp"
#include "machines/credentials.hpp"
#include "machines/states.hpp"
#include "wire/wire.hpp"

namespace berth::machines {
namespace {

using agent_protocol::Heartbeat;
using agent_protocol::Orders;

constexpr Duration clocks_apart_max = std::chrono::seconds(60);

bool are_clocks_apart(Time theirs, Time ours) {
    return theirs - ours > clocks_apart_max || ours - theirs > clocks_apart_max;
}

std::string reasons_of(const Heartbeat& beat) {
    std::string json = "[";
    for (const auto& reason : beat.host_mode.reasons.value) {
        if (json.size() > 1) json += ',';
        append_json_string(json, reason.value);
    }
    return json + "]";
}

// Row is a Machine, or the MachineFacts that are remembered of one.
template <class Row>
bool has_mode_of(const Row& row, const Heartbeat& beat) {
    return row.mode_observed_at && row.mode == beat.host_mode.mode.value &&
           row.offerable == beat.host_mode.offerable.value && row.mode_reasons == reasons_of(beat);
}

// Whether the heartbeat tells of another manifest than the row. It does not count for a machine
// that is tested anew anyway, or whose change was noted already.
template <class Row>
bool has_changed(const Row& row, const Heartbeat& beat) {
    if (row.manifest_hash == beat.manifest_hash.value) return false;
    switch (row.state) {
        case MachineState::AVAILABLE:
        case MachineState::UNLISTED: return true;
        case MachineState::ALLOCATED:
        case MachineState::DRAINING:
        case MachineState::CLEANING: return !row.manifest_pending;
        case MachineState::UNQUALIFIED:
        case MachineState::QUARANTINED: return false;
    }
    return false;
}

bool brings_news(const MachineFacts& facts, const Heartbeat& beat) {
    return !beat.jobs.value.empty() || facts.job_id || beat.fence.value > facts.fence ||
           has_changed(facts, beat) || !has_mode_of(facts, beat) || beat.warm_images;
}

std::vector<std::string> warnings_for(const Heartbeat& beat, std::string_view manifest_hash,
                                      Time now) {
    std::vector<std::string> warnings;
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(beat.sent_at - now).count();
    if (beat.sent_at - now > clocks_apart_max)
        warnings.push_back(fmt::format("sent_at is {} s ahead of our clock", seconds));
    if (now - beat.sent_at > clocks_apart_max)
        warnings.push_back(fmt::format("sent_at is {} s behind our clock", -seconds));
    if (manifest_hash != beat.manifest_hash.value)
        warnings.push_back("manifest_hash is not that of the manifest we have: send the manifest");
    return warnings;
}

// Of a heartbeat that was overtaken by a later one only the time counts, not its telemetry.
Heard heard_of(MachineId id, const Heartbeat& beat, bool overtaken, Time now) {
    Heard heard{.machine_id = id, .last_healthy_at = now, .boot_id = beat.boot_id.value};
    if (beat.telemetry && !overtaken) {
        heard.telemetry = wire::encode(*beat.telemetry);
        heard.telemetry_at = now;
    }
    return heard;
}

}  // namespace

bool adopt_fence(Machine& machine, const wire::Decimal& shown) {
    if (shown.value <= machine.fence) return false;
    if (shown.value >= fence_max || shown.value - machine.fence > agent_protocol::fence_step_max)
        throw Problem(Code::invalid_input,
                      fmt::format("body.fence: is beyond any that we could have given: ours is {}; "
                                  "`berth-agent mend-fence` takes it",
                                  machine.fence));
    machine.fence = shown.value + 1;
    return true;
}

void require_fence(const Machine& machine, const wire::Decimal& shown) {
    if (shown.value < machine.fence)
        throw Problem(Code::stale_fence, fmt::format("body.fence: is {}, and the machine's is {}",
                                                     shown.value, machine.fence));
}

Orders Heartbeats::take(api::Call& call, const Heartbeat& beat, db::Database& database) {
    const MachineId id = machine_of(call.caller);
    const bool overtaken = !are_clocks_apart(beat.sent_at, call.now) &&
                           cache_.is_overtaken(id, beat.sent_at, call.now);
    const auto known = cache_.find(id);
    if (known == nullptr || !batching_ || (!overtaken && brings_news(known->facts, beat))) {
        try {
            return database.write([&](db::Transaction& tx) {
                return take_in({tx, call.random, call.now}, id, {call.request, beat, overtaken});
            });
        } catch (const db::OutcomeUnknown&) {
            throw Problem(Code::unavailable, "the heartbeat may not have been kept; send another");
        }
    }
    health_.note(heard_of(id, beat, overtaken, call.now));
    Orders orders{call.now,
                  {known->facts.fence},
                  {},
                  {},
                  warnings_for(beat, known->facts.manifest_hash, call.now)};
    if (cache_.has_commands(id)) orders.commands = commands_.deliver(database, id, call.now);
    return orders;
}

Orders Heartbeats::take_in(const db::Context& context, MachineId id, const Arrival& arrival) const {
    const auto& [request, beat, overtaken] = arrival;
    auto machine = hold(context.tx, id);
    if (!machine) throw api::InvalidCredential("the machine has left");
    if (!overtaken) {
        bool changed = adopt_fence(*machine, beat.fence);
        if (!has_mode_of(*machine, beat)) {
            machine->mode = beat.host_mode.mode.value;
            machine->offerable = beat.host_mode.offerable.value;
            machine->mode_reasons = reasons_of(beat);
            machine->mode_observed_at = context.now;
            changed = true;
        }
        if (beat.warm_images)
            save_images(context.tx, {id, wire::encode(beat.warm_images->value), context.now});
        if (has_changed(*machine, beat))
            apply(context, *machine, MachineEvent::manifest_changed);
        else if (changed)
            save(context, *machine);
    }
    Orders orders{context.now, {}, {}, {}, warnings_for(beat, machine->manifest_hash, context.now)};
    if (!overtaken && (!beat.jobs.value.empty() || machine->job_id))
        orders.leases = jobs_.heartbeat(context, *machine, beat, signed_message(request, *machine));
    note_heard(context.tx, heard_of(id, beat, overtaken, context.now));
    orders.fence.value = machine->fence;
    orders.commands = commands_.deliver(context.tx, id, context.now);
    return orders;
}

}  // namespace berth::machines
