#include "hosts/hosts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent_protocol/types.hpp"
#include "audit/audit.hpp"
#include "base/check.hpp"
#include "hosts/store.hpp"
#include "machines/commands.hpp"
#include "machines/figures.hpp"
#include "machines/qualification.hpp"
#include "machines/states.hpp"
#include "offers/offers.hpp"
#include "rentals/rentals.hpp"
#include "wire/wire.hpp"

namespace berth::hosts {
namespace {

using agent_protocol::Manifest;
using machines::Machine;

template <class T>
std::optional<wire::Decimal> decimal(const std::optional<T>& value) {
    return value ? std::optional(wire::Decimal{*value}) : std::nullopt;
}

std::vector<RecentJob> recent_jobs(db::Transaction& tx, MachineId machine) {
    std::vector<RecentJob> shown;
    for (const rentals::PastJob& job : rentals::past_jobs(tx, machine, recent_jobs_max)) {
        const ledger::Job booked = booked_job(tx, job.job_id);
        shown.push_back({.job_id = job.job_id,
                         .state = std::string(enum_name(job.state)),
                         .started_at = job.started_at,
                         .ended_at = job.ended_at,
                         .rate_micro_per_hour = job.rate_per_hour,
                         .ready = job.ready,
                         .billed_ms = wire::Decimal{job.billed_ms},
                         .earned_micro = earned_with(booked),
                         .payout_delay_hours = wire::Integer<0, 100'000>{booked.payout_delay_hours},
                         .failure = wire::Nullable<rentals::Failure>(job.failure),
                         .clean_error = wire::Nullable<std::string>(job.clean_error),
                         .end_reason = wire::Nullable<rentals::EndReason>(job.end_reason)});
    }
    return shown;
}

std::vector<GpuDevice> inventory_of(const Manifest& manifest) {
    std::vector<GpuDevice> devices;
    for (const agent_protocol::ManifestGpu& gpu : manifest.gpus.value) {
        GpuDevice device;
        device.pci_address = gpu.pci_address.value;
        device.vendor = gpu.vendor.value;
        if (gpu.model.value) device.model = gpu.model.value->value;
        device.memory_bytes = gpu.memory_bytes;
        device.memory_class = gpu.memory_class;
        devices.push_back(std::move(device));
    }
    return devices;
}

MachineSummary summary_of(const SummaryRow& row, const Manifest& manifest) {
    MachineSummary shown;
    shown.machine_id = row.machine_id;
    shown.state = row.state;
    shown.manifest_hash = row.manifest_hash;
    shown.fence = {row.fence};
    shown.version = {row.version};
    shown.last_healthy_at = row.last_healthy_at;
    shown.gpu_inventory = {inventory_of(manifest)};
    shown.gpu_model = row.gpu_model;
    if (row.gpu_count) shown.gpu_count = wire::Integer<1, 1024>{*row.gpu_count};
    shown.vram_bytes = decimal(row.vram_bytes);
    shown.ram_bytes = decimal(row.ram_bytes);
    shown.disk_bytes = decimal(row.disk_bytes);
    if (row.offer_state)
        shown.current_offer = OfferSold{
            {row.offer_version}, row.rate_micro_per_hour.value_or(Micro{}), *row.offer_state};
    return shown;
}

void copy(const MachineSummary& from, MachineDetail& to) {
    to.machine_id = from.machine_id;
    to.state = from.state;
    to.manifest_hash = from.manifest_hash;
    to.fence = from.fence;
    to.version = from.version;
    to.last_healthy_at = from.last_healthy_at;
    to.gpu_inventory = from.gpu_inventory;
    to.gpu_model = from.gpu_model;
    to.gpu_count = from.gpu_count;
    to.vram_bytes = from.vram_bytes;
    to.ram_bytes = from.ram_bytes;
    to.disk_bytes = from.disk_bytes;
    to.region = from.region;
    to.current_offer = from.current_offer;
}

std::string triple_of(const Manifest& manifest) {
    const auto or_none = [](const auto& text) { return text.value ? text.value->value : "none"; };
    return fmt::format("{} / {} / {}", manifest.kernel.value, or_none(manifest.driver_version),
                       or_none(manifest.runtime));
}

wire::Nullable<HostModeShown> mode_of(const Machine& machine) {
    if (!machine.mode_observed_at) return std::nullopt;
    return HostModeShown{machine.mode, machine.offerable,
                         wire::decode<std::vector<std::string>>(machine.mode_reasons, "stored"),
                         *machine.mode_observed_at};
}

wire::Nullable<TelemetryShown> telemetry_of(db::Transaction& tx, MachineId id, Time now) {
    const auto sample = find_sample(tx, id);
    if (!sample || !sample->telemetry || !sample->telemetry_at) return std::nullopt;
    const auto told = wire::decode<agent_protocol::Telemetry>(*sample->telemetry, "stored");
    const auto age =
        std::chrono::duration_cast<std::chrono::seconds>(now - *sample->telemetry_at).count();
    return TelemetryShown{*sample->telemetry_at,
                          {std::max<std::int64_t>(0, age)},
                          sample->boot_id,
                          told.uptime_ms,
                          told.ram_used_bytes,
                          told.ram_total_bytes,
                          told.disk_used_bytes,
                          told.disk_total_bytes,
                          told.cpu_util_pct,
                          told.load_1m,
                          told.net_rx_mbps,
                          told.net_tx_mbps,
                          told.gpus};
}

wire::Nullable<ShareBps> share(std::int64_t part, std::int64_t whole) {
    constexpr std::int64_t all_bps = 10'000;
    if (whole <= 0) return std::nullopt;
    return ShareBps{std::min(part * all_bps / whole, all_bps)};
}

MachineHours hours_of(const machines::DaySamples& found) {
    const auto lasted = [](std::int64_t samples) {
        constexpr auto each =
            std::chrono::duration_cast<std::chrono::milliseconds>(machines::sample_every).count();
        return wire::Decimal{samples * each};
    };
    return {.window_days = {machines::uptime_days},
            .observed_ms = lasted(found.samples),
            .online_ms = lasted(found.heard),
            .listed_ms = lasted(found.listed),
            .rented_ms = lasted(found.rented),
            .online_bps = share(found.heard, found.samples),
            .listed_bps = share(found.listed, found.samples),
            .rented_bps = share(found.rented, found.listed)};
}

}  // namespace

ledger::Job booked_job(db::Transaction& tx, JobId id) {
    const auto job = ledger::find_job(tx, id);
    require(job.has_value(), "every rental has its hold in the ledger");
    return *job;
}

Micro earned_with(const ledger::Job& job) {
    return (job.charged - job.fee) - (job.refunded - job.fee_refunded);
}

api::Page<MachineSummary> Hosts::list(api::Call& call, const MachinesQuery& query) const {
    std::optional<AccountId> owner = query.owner;
    if (!call.caller.admin) owner = call.caller.account;
    const api::Pager pager(call.cursors, {"host-machines", owner ? to_string(*owner) : "all"},
                           query);
    // Somebody else's machines are none, for all but operators.
    std::vector<SummaryRow> rows;
    if (!query.owner || *query.owner == owner)
        rows = list_machines(call.tx(), owner, pager.after_id<MachineId>(), pager.rows_wanted());
    return pager.page(rows, &SummaryRow::machine_id, [](const SummaryRow& row) {
        return summary_of(row, wire::decode<Manifest>(row.manifest, "stored"));
    });
}

MachineDetail Hosts::show(api::Call& call, MachineId id) const {
    const auto machine = machines::find(call.tx(), id);
    if (!machine || (machine->owner != call.caller.account && !call.caller.admin))
        throw Problem(Code::not_found, "there is no such machine");
    const auto row = find_summary(call.tx(), id);
    require(row.has_value(), "a machine that was found has a summary");
    const auto manifest = wire::decode<Manifest>(row->manifest, "stored");
    MachineDetail shown;
    copy(summary_of(*row, manifest), shown);
    shown.accepts_custom_images = machine->accepts_custom_images;
    shown.tier = machine->tier;
    shown.host_mode = mode_of(*machine);
    shown.kernel_driver_runtime = wire::Nullable<std::string>(triple_of(manifest));
    shown.recent_jobs = recent_jobs(call.tx(), id);
    const auto facts =
        offers::find_offer_facts(call.tx(), call.now, *machine, machines::listing_rules(call));
    shown.listing_blockers = machines::listing_blockers(*machine, facts);
    shown.market_price = wire::Nullable(offers::market_price(call.tx(), *machine));
    shown.auto_qualify = machines::auto_qualify_of(*machine);
    shown.telemetry = telemetry_of(call.tx(), id, call.now);
    shown.health_events = machines::find_health_events(call.tx(), id, Time{}, call.now);
    shown.label = wire::Nullable<std::string>(machine->label);
    shown.hours = hours_of(machines::samples_of(call.tx(), id, call.now));
    shown.reach = machine->reach;
    shown.reach_why = wire::Nullable<std::string>(machines::find_reach_why(call.tx(), id));
    shown.slot = wire::Nullable<std::string>();
    if (manifest.slot) shown.slot = wire::Nullable<std::string>(manifest.slot->value);
    return shown;
}

void Hosts::retire(api::Call& call, MachineId id) const {
    Machine machine = machines::hold_own(call.tx(), id, call.caller.account);
    machines::apply(call.context(), machine, machines::MachineEvent::retire);
    machines::cancel_commands(call.tx(), id);
    audit::record(call.context(), {.actor = audit::Actor::of(call.caller.account),
                                   .action = "retire_machine",
                                   .target = {"machine", to_string(id)},
                                   .request = call.request_id});
}

offers::ListingOutcome Hosts::retry_test(api::Call& call, MachineId id) const {
    const Machine machine = machines::ask_for_test(call, id);
    offers::ListingOutcome outcome;
    outcome.operation_id = call.make_id<offers::OperationId>();
    outcome.machine_id = id;
    outcome.state = machine.state;
    if (machine.offer_version > 0) outcome.offer_version = wire::Decimal{machine.offer_version};
    // The test begins when the agent is heard.
    const auto heard = machines::find_last_healthy(call.tx(), id);
    if (!heard || call.now - *heard > machines::heartbeat_fresh) {
        outcome.findings.push_back(machines::finding_of(machines::Blocker::HEARTBEAT_STALE));
        outcome.findings.back().severity = machines::Severity::warning;
    }
    return outcome;
}

}  // namespace berth::hosts
