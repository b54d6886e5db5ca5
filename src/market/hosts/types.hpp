// Requests and responses about machines, as their owners see them.
#pragma once

#include <algorithm>
#include <array>

#include "agent_protocol/types.hpp"
#include "api/page.hpp"
#include "machines/health_events.hpp"
#include "machines/listing.hpp"
#include "machines/qualification_types.hpp"
#include "offers/types.hpp"
#include "rentals/types.hpp"

namespace berth::hosts {

// A device as the agent found it; nothing of it was tested.
struct GpuDevice {
    std::string pci_address;
    std::string vendor;
    wire::Nullable<std::string> model;
    wire::Nullable<wire::Decimal> memory_bytes;
    agent_protocol::MemoryClass memory_class = agent_protocol::MemoryClass::unknown;
};
BOOST_DESCRIBE_STRUCT(GpuDevice, (), (pci_address, vendor, model, memory_bytes, memory_class))
constexpr bool wire_closed(const GpuDevice*) { return true; }
constexpr auto wire_docs(const GpuDevice*) {
    return std::to_array<wire::Doc>({
        {"pci_address", "Where the device sits.", "0000:01:00.0"},
        {"vendor", "Who made it.", "NVIDIA"},
        {"model", "As the driver names it.", "NVIDIA GeForce RTX 4090"},
        {"memory_bytes", "As the driver reports it.", "25757220864"},
        {"memory_class", "Whether the memory is the device's own."},
    });
}

using GpuDevices = wire::List<GpuDevice, 0, agent_protocol::gpus_max>;

struct OfferSold {
    wire::Decimal offer_version;
    Micro rate_micro_per_hour;
    machines::OfferState state = machines::OfferState::unlisted;
};
BOOST_DESCRIBE_STRUCT(OfferSold, (), (offer_version, rate_micro_per_hour, state))
constexpr bool wire_closed(const OfferSold*) { return true; }
constexpr auto wire_docs(const OfferSold*) {
    return std::to_array<wire::Doc>({
        {"offer_version", "The one that counts.", "3"},
        {"rate_micro_per_hour", "For the whole machine.", "390000"},
    });
}

// What the two shapes of a machine have in common is explained once.
inline constexpr auto machine_docs = std::to_array<wire::Doc>({
    {"manifest_hash", "Of what the agent says the machine is.", "sha256:…"},
    {"fence", "Rises whenever the machine changes hands.", "3"},
    {"version", "Rises with every change but heartbeats.", "17"},
    {"last_healthy_at", "When the agent was last heard; null before the first time."},
    {"gpu_inventory", "The devices as the agent found them, untested."},
    {"gpu_model", "Of the first device.", "NVIDIA GeForce RTX 4090"},
    {"gpu_count", "As the agent found them.", "1"},
    {"vram_bytes", "Of the smallest GPU, measured by a test; null before.", "25757220864"},
    {"ram_bytes", "Measured by a test; null before.", "68719476736"},
    {"disk_bytes", "Measured by a test; null before.", "1000000000000"},
    {"region", "Never measured.", "null"},
    {"current_offer", "Null when no version was ever published, which is no free listing."},
});

// What nobody measured is null, never 0.
struct MachineSummary {
    MachineId machine_id;
    machines::MachineState state = machines::MachineState::UNQUALIFIED;
    std::string manifest_hash;
    wire::Decimal fence;
    wire::Decimal version;
    wire::Nullable<Time> last_healthy_at;
    std::optional<GpuDevices> gpu_inventory;
    wire::Nullable<std::string> gpu_model;
    wire::Nullable<wire::Integer<1, 1024>> gpu_count;
    wire::Nullable<wire::Decimal> vram_bytes;
    wire::Nullable<wire::Decimal> ram_bytes;
    wire::Nullable<wire::Decimal> disk_bytes;
    wire::Nullable<std::string> region;
    wire::Nullable<OfferSold> current_offer;
};
BOOST_DESCRIBE_STRUCT(MachineSummary, (),
                      (machine_id, state, manifest_hash, fence, version, last_healthy_at,
                       gpu_inventory, gpu_model, gpu_count, vram_bytes, ram_bytes, disk_bytes,
                       region, current_offer))
constexpr bool wire_closed(const MachineSummary*) { return true; }
constexpr auto wire_docs(const MachineSummary*) { return machine_docs; }

struct HostModeShown {
    wire::Nullable<machines::HostMode> mode;
    wire::Nullable<bool> offerable;
    std::vector<std::string> reasons;
    Time observed_at;
};
BOOST_DESCRIBE_STRUCT(HostModeShown, (), (mode, offerable, reasons, observed_at))
constexpr auto wire_docs(const HostModeShown*) {
    return std::to_array<wire::Doc>({
        {"mode", "What else the machine does; null when the agent cannot tell.", "dedicated"},
        {"offerable", "Whether a renter could have it now; null when the agent cannot tell.",
         "true"},
        {"reasons", "Why it is not offerable.", "a game is running"},
        {"observed_at", "When a heartbeat last changed it."},
    });
}

struct RecentJob {
    JobId job_id;
    std::string state;
    Time started_at;
    wire::Nullable<Time> ended_at;
    Micro rate_micro_per_hour;
    std::optional<bool> ready;
    std::optional<wire::Decimal> billed_ms;
    std::optional<Micro> earned_micro;
    std::optional<wire::Integer<0, 100'000>> payout_delay_hours;
    std::optional<wire::Nullable<rentals::Failure>> failure;
    std::optional<wire::Nullable<std::string>> clean_error;
    std::optional<wire::Nullable<rentals::EndReason>> end_reason;
};
BOOST_DESCRIBE_STRUCT(RecentJob, (),
                      (job_id, state, started_at, ended_at, rate_micro_per_hour, ready, billed_ms,
                       earned_micro, payout_delay_hours, failure, clean_error, end_reason))
constexpr auto wire_docs(const RecentJob*) {
    return std::to_array<wire::Doc>({
        {"state", "Of the rental.", "CLOSED"},
        {"started_at", "When it became READY; before that, when it was reserved."},
        {"ended_at", "Null while it is open.", "null"},
        {"rate_micro_per_hour", "As it was quoted.", "390000"},
        {"ready", "False when the host never reached READY: nothing ran, nothing was billed."},
        {"billed_ms", "Metered runtime since READY.", "3600000"},
        {"earned_micro", "The host's share that was posted.", "351000"},
        {"payout_delay_hours",
         "How long each posting of it matures before it can be paid out, as it was quoted.", "24"},
        {"failure",
         "Why it did not come up, or broke, in the words that its renter reads; null when it did "
         "not.",
         "null"},
        {"clean_error",
         "Why the agent could not clean up after it, in the agent's words; null when it could, and "
         "before.",
         "null"},
        {"end_reason", "Why it ended; null before.", "renter_stop"},
    });
}

using ShareBps = wire::Integer<0, 10'000>;

// How a machine has spent its time, as it was found every five minutes.
struct MachineHours {
    wire::Count window_days;
    wire::Decimal observed_ms;
    wire::Decimal online_ms;
    wire::Decimal listed_ms;
    wire::Decimal rented_ms;
    wire::Nullable<ShareBps> online_bps;
    wire::Nullable<ShareBps> listed_bps;
    wire::Nullable<ShareBps> rented_bps;
};
BOOST_DESCRIBE_STRUCT(MachineHours, (),
                      (window_days, observed_ms, online_ms, listed_ms, rented_ms, online_bps,
                       listed_bps, rented_bps))
constexpr auto wire_docs(const MachineHours*) {
    return std::to_array<wire::Doc>({
        {"window_days", "Of how many days it is, today with them.", "30"},
        {"observed_ms", "How long the machine was looked at in these days.", "2592000000"},
        {"online_ms", "How much of that its agent was heard.", "2590000000"},
        {"listed_ms", "How much of it the machine was for rent, rented or not.", "2000000000"},
        {"rented_ms", "How much of it the machine was rented.", "900000000"},
        {"online_bps", "Of the observed time; null while nothing was observed.", "9992"},
        {"listed_bps", "Of the observed time; null while nothing was observed.", "7716"},
        {"rented_bps", "Of the listed time; null while it was never listed.", "4500"},
    });
}

// The latest sample; what the host could not measure is left out.
struct TelemetryShown {
    Time observed_at;
    wire::Count age_s;
    std::string boot_id;
    std::optional<wire::Decimal> uptime_ms;
    std::optional<wire::Decimal> ram_used_bytes;
    std::optional<wire::Decimal> ram_total_bytes;
    std::optional<wire::Decimal> disk_used_bytes;
    std::optional<wire::Decimal> disk_total_bytes;
    std::optional<double> cpu_util_pct;
    std::optional<double> load_1m;
    std::optional<double> net_rx_mbps;
    std::optional<double> net_tx_mbps;
    std::optional<wire::List<agent_protocol::GpuTelemetry, 0, agent_protocol::gpus_max>> gpus;
};
BOOST_DESCRIBE_STRUCT(TelemetryShown, (),
                      (observed_at, age_s, boot_id, uptime_ms, ram_used_bytes, ram_total_bytes,
                       disk_used_bytes, disk_total_bytes, cpu_util_pct, load_1m, net_rx_mbps,
                       net_tx_mbps, gpus))
constexpr auto wire_docs(const TelemetryShown*) {
    return std::to_array<wire::Doc>({
        {"observed_at", "When the server received it."},
        {"age_s", "How long ago that is, by the server's clock.", "12"},
        {"boot_id", "Changes with every boot of the host.", "6a1f2c1e-0c2b-4c5e-8a2d-3c9d2b1a0f4e"},
        {"uptime_ms", "Milliseconds since the host was booted.", "86400000"},
        {"ram_used_bytes", "Main memory in use.", "17179869184"},
        {"ram_total_bytes", "Main memory it has.", "68719476736"},
        {"disk_used_bytes", "Of the disk that jobs get.", "107374182400"},
        {"disk_total_bytes", "Of the disk that jobs get.", "1099511627776"},
        {"cpu_util_pct", "All cores together, 0 to 100.", "12.5"},
        {"load_1m", "Runnable processes over the last minute.", "1.25"},
        {"net_rx_mbps", "Megabits a second coming in.", "4.2"},
        {"net_tx_mbps", "Megabits a second going out.", "1.1"},
        {"gpus", "One for each device that could be asked."},
    });
}

// The summary's members, each of which may be left out here, and what only the page of one machine
// shows.
struct MachineDetail {
    std::optional<MachineId> machine_id;
    std::optional<machines::MachineState> state;
    std::optional<std::string> manifest_hash;
    std::optional<wire::Decimal> fence;
    std::optional<wire::Decimal> version;
    std::optional<wire::Nullable<Time>> last_healthy_at;
    std::optional<GpuDevices> gpu_inventory;
    std::optional<wire::Nullable<std::string>> gpu_model;
    std::optional<wire::Nullable<wire::Integer<1, 1024>>> gpu_count;
    std::optional<wire::Nullable<wire::Decimal>> vram_bytes;
    std::optional<wire::Nullable<wire::Decimal>> ram_bytes;
    std::optional<wire::Nullable<wire::Decimal>> disk_bytes;
    std::optional<wire::Nullable<std::string>> region;
    std::optional<wire::Nullable<OfferSold>> current_offer;
    std::optional<bool> accepts_custom_images;
    std::optional<machines::Tier> tier;
    std::optional<wire::Nullable<HostModeShown>> host_mode;
    std::optional<wire::Nullable<std::string>> kernel_driver_runtime;
    std::optional<std::vector<RecentJob>> recent_jobs;
    std::optional<std::vector<machines::Blocker>> listing_blockers;
    std::optional<wire::Nullable<offers::MarketPrice>> market_price;
    std::optional<machines::AutoQualify> auto_qualify;
    std::optional<wire::Nullable<TelemetryShown>> telemetry;
    std::optional<std::vector<machines::HealthShown>> health_events;
    std::optional<wire::Nullable<std::string>> label;
    std::optional<MachineHours> hours;
    std::optional<machines::Reach> reach;
    std::optional<wire::Nullable<std::string>> reach_why;
    std::optional<wire::Nullable<std::string>> slot;
};
BOOST_DESCRIBE_STRUCT(MachineDetail, (),
                      (machine_id, state, manifest_hash, fence, version, last_healthy_at,
                       gpu_inventory, gpu_model, gpu_count, vram_bytes, ram_bytes, disk_bytes,
                       region, current_offer, accepts_custom_images, tier, host_mode,
                       kernel_driver_runtime, recent_jobs, listing_blockers, market_price,
                       auto_qualify, telemetry, health_events, label, hours, reach, reach_why,
                       slot))
constexpr auto wire_docs(const MachineDetail*) {
    constexpr auto more = std::to_array<wire::Doc>({
        {"accepts_custom_images", "Whether renters may bring public images of their own."},
        {"tier", "Set at enrollment: renters' containers, or models that the host serves."},
        {"host_mode", "Null until a heartbeat tells."},
        {"kernel_driver_runtime", "From the manifest; \"none\" for what the host does not have.",
         "6.1.0 / 570.86.10 / podman 4.3.1"},
        {"recent_jobs", "The latest 20 rentals, newest first."},
        {"listing_blockers", "What keeps the machine from being listed.", "NOT_QUALIFIED"},
        {"market_price", "A suggestion for one GPU and one hour; null when there is no basis."},
        {"auto_qualify", "How the automatic test stands."},
        {"telemetry", "Evidence only: nothing is decided by it. Null when nothing ever came."},
        {"health_events", "What its agent told of its GPUs lately, the latest 20."},
        {"label", "What its owner calls it; null without a name.", "rack 2, left"},
        {"hours", "How it spent the last 30 days: online, listed, rented."},
        {"reach",
         "How renters reach its jobs: at its own ports, or by a gate, which its agent calls.",
         "gate"},
        {"reach_why", "What its last passed test found of that; null before the first.",
         "A gate leads to it: the agent names no address of its own."},
        {"slot", "Which slot of its computer it is; null where it is all of it.", "left"},
    });
    std::array<wire::Doc, machine_docs.size() + more.size()> all{};
    std::copy(more.begin(), more.end(),
              std::copy(machine_docs.begin(), machine_docs.end(), all.begin()));
    return all;
}

struct MachinesQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<AccountId> owner;
};
BOOST_DESCRIBE_STRUCT(MachinesQuery, (), (cursor, limit, owner))
constexpr auto wire_docs(const MachinesQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"owner", "Only this account's machines; an operator otherwise sees all."},
    });
}

}  // namespace berth::hosts
