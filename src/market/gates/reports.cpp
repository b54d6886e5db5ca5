#include "gates/reports.hpp"

#include <unordered_map>
#include <unordered_set>

#include "agent_protocol/hashes.hpp"
#include "base/log.hpp"
#include "gates/allot.hpp"
#include "gates/carriage.hpp"
#include "gates/credentials.hpp"
#include "gates/settings.hpp"

namespace berth::gates {
namespace {

using agent_protocol::DoorReport;
using agent_protocol::GateOrders;
using agent_protocol::GateReport;

constexpr std::int64_t micros_of_day = 86'400'000'000;
// What went through a door just before it was taken back is told after.
constexpr Duration counted_after_end = std::chrono::hours(1);

constexpr std::int64_t told_at_once_max = std::int64_t{1} << 44;

bool is_newer(const BootRow& a, const BootRow& b) {
    return a.started_at != b.started_at ? a.started_at > b.started_at : a.boot_id > b.boot_id;
}

// One report, while it is taken.
class Taking {
public:
    Taking(api::Call& call, const GateReport& report)
        : context_(call.context()), report_(report), gate_(gate_of(call.caller)) {}

    GateOrders take() {
        // Reports of one gate follow one another, also those of two processes.
        if (!hold_gate(context_.tx, gate_)) throw api::InvalidCredential("the gate was removed");
        find_self();
        for (const DoorRow& door : stray_doors_of_gate(context_.tx, gate_))
            free_door(context_, door);
        const std::vector<DoorRow> open = open_doors_of_gate(context_.tx, gate_);
        for (const DoorReport& door : report_.doors.value) reported_[door.door_id] = &door;
        GateOrders orders;
        orders.drain = successor_ != nullptr;
        std::unordered_set<DoorId> here;
        for (const DoorRow& door : open) here.insert(door.door_id);
        for (const DoorReport& door : report_.doors.value)
            if (!here.contains(door.door_id)) orders.cut.push_back(door.door_id);
        for (const DoorRow& door : open) note_link(door);
        count(open);
        finish();
        return orders;
    }

private:
    // This process as it was before, and the one that has taken its place, if any.
    void find_self() {
        BootRow self{.gate_id = gate_,
                     .boot_id = report_.boot_id.value,
                     // By its own clock; it must not seem newer than all that follow.
                     .started_at = std::min(report_.started_at, context_.now),
                     .heard_at = {},
                     .draining = report_.draining};
        self_ = find_or_add_boot(context_.tx, self);
        self_.draining = report_.draining;
        boots_ = boots_of_gate(context_.tx, gate_);
        hearing_ = {context_.now, hearing_since(context_.tx)};
        for (const BootRow& boot : boots_) {
            const bool lives = boot.heard_at && *boot.heard_at + gate_fresh >= context_.now;
            if (lives && !boot.draining && is_newer(boot, self_) &&
                (successor_ == nullptr || is_newer(boot, *successor_)))
                successor_ = &boot;
        }
    }

    void note_link(const DoorRow& door) {
        const auto found = reported_.find(door.door_id);
        // A link by which no call is answered carries nothing.
        const bool is_linked =
            found != reported_.end() && found->second->linked &&
            (!found->second->unanswered || found->second->unanswered->value == 0);
        const auto since =
            uncarried_since(door, find_boot(boots_, gate_, door.linked_boot), hearing_);
        if (is_linked) {
            if (since) add_gap(context_.tx, {door.door_id, *since, context_.now});
            if (since || door.linked_boot != self_.boot_id)
                link_door(context_.tx, door, self_.boot_id);
        } else if (door.linked_boot == self_.boot_id) {
            // An older process that drains has sent its links on: the next word is the newer one's.
            if (successor_ != nullptr && !since)
                hand_over_door(context_.tx, door, self_.boot_id, successor_->boot_id);
            else
                unlink_door(context_.tx, door, self_.boot_id, since.value_or(context_.now));
        }
    }

    void count(std::vector<DoorRow> doors) {
        for (DoorRow& door :
             doors_freed_since(context_.tx, gate_, context_.now - counted_after_end))
            doors.push_back(std::move(door));
        std::unordered_map<DoorId, UsageRow> before;
        for (UsageRow& row : usage_of_boot(context_.tx, gate_, self_.boot_id))
            before[row.door_id] = std::move(row);
        for (const DoorRow& door : doors) {
            const auto found = reported_.find(door.door_id);
            if (found == reported_.end()) continue;
            const auto known = before.find(door.door_id);
            count_door(door, *found->second, known == before.end() ? UsageRow{} : known->second);
        }
    }

    // Counters rise within a process. Those that fall, or that nobody could have carried, are not
    // believed and change nothing.
    void count_door(const DoorRow& door, const DoorReport& told, const UsageRow& before) {
        const std::int64_t more_in = told.bytes_in.value - before.bytes_in;
        const std::int64_t more_out = told.bytes_out.value - before.bytes_out;
        const bool is_believed = more_in >= 0 && more_out >= 0 && more_in <= told_at_once_max &&
                                 more_out <= told_at_once_max;
        if (!is_believed) {
            log(Level::warn, "gate_counters_not_believed",
                {{"gate", to_string(gate_)}, {"door", to_string(door.door_id)}});
            return;
        }
        if (more_in == 0 && more_out == 0 && told.streams.value == before.streams) return;
        put_usage(context_.tx, {door.door_id, self_.boot_id, told.bytes_in.value,
                                told.bytes_out.value, told.streams.value});
        bytes_in_ += more_in;
        bytes_out_ += more_out;
        if (!door.job_id || more_in + more_out == 0) return;
        add_to_day(context_.tx, {.job_id = *door.job_id,
                                 .day = context_.now.micros / micros_of_day,
                                 .account = door.account,
                                 .bytes_in = more_in,
                                 .bytes_out = more_out});
    }

    void finish() {
        note_boot_heard(context_.tx, self_, context_.now);
        // What the newest process says holds for the gate.
        const bool draining = successor_ != nullptr ? successor_->draining : self_.draining;
        note_heard(context_.tx, gate_, {context_.now, draining, bytes_in_, bytes_out_});
    }

    const db::Context context_;
    const GateReport& report_;
    const GateId gate_;
    BootRow self_;
    std::vector<BootRow> boots_;  // before this report
    const BootRow* successor_ = nullptr;
    Hearing hearing_{};
    std::unordered_map<DoorId, const DoorReport*> reported_;
    std::int64_t bytes_in_ = 0;
    std::int64_t bytes_out_ = 0;
};

}  // namespace

Reports::Reports(const agent_protocol::CommandKey& key, const agent_protocol::CommandKey* next) {
    keys_.push_back({key.id(), agent_protocol::key_text(key.public_key())});
    if (next != nullptr)
        keys_.push_back({next->id(), agent_protocol::key_text(next->public_key())});
}

GateOrders Reports::take(api::Call& call, const GateReport& report) const {
    GateOrders orders = Taking(call, report).take();
    orders.keys = keys_;
    orders.relays = *call.settings<Settings>().gate_relays;
    return orders;
}

}  // namespace berth::gates
