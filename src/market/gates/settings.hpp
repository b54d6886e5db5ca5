// Settings of gates.
#pragma once

#include "settings/registry.hpp"

namespace berth::gates {

using Addresses = std::vector<std::string>;
// Separated by commas; throws BadValue for what is no address.
Addresses addresses_of(const std::string& text);

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Whole gate_gib_per_job_day{
        50,
        {0, 1'000'000},
        {.label = "Gate traffic of a job",
         .help = "What one job may send and receive by a gate on a day (UTC) at full speed; then "
                 "it is slowed to gate_slow_mbps, and never cut. 0: no limit.",
         .unit = "GiB"}};
    settings::Whole gate_gib_per_account_day{
        200,
        {0, 1'000'000},
        {.label = "Gate traffic of a renter",
         .help = "The same for all jobs of one renter together. 0: no limit.",
         .unit = "GiB"}};
    settings::Whole gate_slow_mbps{10,
                                   {1, 1'000'000},
                                   {.label = "Slowed gate traffic",
                                    .help = "How fast each door of a job goes over these limits.",
                                    .unit = "Mbit/s"}};
    settings::Parsed<Addresses> gate_relays{
        "",
        addresses_of,
        {.label = "Addresses of the relay",
         .help = "From which addresses the servers reach gates, separated by commas: a gate's "
                 "limits by source leave them alone."}};
    settings::Whole rate_doors_per_minute{
        30,
        {1, 1'000'000'000},
        {.label = "Requests for doors",
         .help = "How often one machine may ask for the doors that it wants.",
         .unit = "per minute"}};
    settings::Whole rate_gate_reports_per_minute{
        120,
        {1, 1'000'000'000},
        {.label = "Reports of a gate",
         .help = "How often one gate may report; two of its processes may at once.",
         .unit = "per minute"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (gate_gib_per_job_day, gate_gib_per_account_day, gate_slow_mbps, gate_relays,
                       rate_doors_per_minute, rate_gate_reports_per_minute))

}  // namespace berth::gates
