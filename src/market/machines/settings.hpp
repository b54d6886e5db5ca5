// Settings of machines.
#pragma once

#include "agent_protocol/types.hpp"
#include "settings/registry.hpp"

namespace berth::machines {

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Flag allow_process_runtime{
        false,
        {.label = "Process runtime",
         .help = "Machines whose jobs are processes of the host, not containers, may enroll "
                 "(trusted hosts).",
         .pinned = settings::root_of_trust}};
    settings::Flag allow_simulated{
        false,
        {.label = "Simulated machines",
         .help = "Machines without GPUs that only pretend may enroll (development).",
         .pinned = settings::root_of_trust}};
    settings::Flag allow_unproven_cards{
        false,
        {.label = "Unproven cards",
         .help = "Machines pass their test although their GPUs did not prove themselves, such as "
                 "simulated ones (development). Implied by --simulated.",
         .pinned = settings::root_of_trust}};
    settings::Whole rate_heartbeats_per_minute{6,
                                               {1, 1'000'000'000},
                                               {.label = "Heartbeats of a machine",
                                                .help = "Heartbeats that one machine may send.",
                                                .unit = "per minute"}};
    settings::Whole rate_job_events_per_minute{
        120,
        {1, 1'000'000'000},
        {.label = "Job events of a machine",
         .help = "Events of its jobs that one machine may tell of.",
         .unit = "per minute"}};
    settings::Whole rate_enrolments_per_hour{
        10,
        {1, 1'000'000'000},
        {.label = "Enrollments of an address",
         .help = "Machines that one network address may enroll.",
         .unit = "per hour"}};
    settings::Whole test_results_kept_days{
        90,
        {1, 3650},
        {.label = "Test results kept",
         .help = "How long the tests of a machine are kept; the newest always is.",
         .unit = "days"}};
    settings::Whole machine_events_kept_days{
        90,
        {30, 3650},
        {.label = "Events of machines kept",
         .help = "How long what happened to a machine and its GPUs is kept.",
         .unit = "days"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (allow_process_runtime, allow_simulated, allow_unproven_cards,
                       rate_heartbeats_per_minute, rate_job_events_per_minute,
                       rate_enrolments_per_hour, test_results_kept_days, machine_events_kept_days))

// Whether jobs of this kind may run here.
inline bool is_allowed(const Settings& settings, agent_protocol::RuntimeKind runtime) {
    switch (runtime) {
        case agent_protocol::RuntimeKind::container: return true;
        case agent_protocol::RuntimeKind::process: return *settings.allow_process_runtime;
        case agent_protocol::RuntimeKind::simulated: return *settings.allow_simulated;
    }
    return false;
}

}  // namespace berth::machines
