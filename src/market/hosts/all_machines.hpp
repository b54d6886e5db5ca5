// Machines of all accounts, as operators look through them.
#pragma once

#include "api/page.hpp"
#include "api/router.hpp"
#include "machines/types.hpp"

namespace berth::hosts {

struct AdminMachinesQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<AccountId> owner;
    std::optional<MachineId> machine;
    std::optional<machines::MachineState> state;
    std::optional<machines::OfferState> offer;
    std::optional<machines::QualifyState> test;
    std::optional<bool> retired;
    std::optional<machines::Reach> reach;
};
BOOST_DESCRIBE_STRUCT(AdminMachinesQuery, (),
                      (cursor, limit, owner, machine, state, offer, test, retired, reach))
constexpr auto wire_docs(const AdminMachinesQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"owner", "Only machines of this account."},
        {"machine", "Only this one, also when it is out of service; no other filter counts then."},
        {"state", "Only machines in this state.", "QUARANTINED"},
        {"offer", "Only machines whose offer is in this state.", "listed"},
        {"test", "Only machines whose test stands so.", "needs_attention"},
        {"retired", "Only those out of service for good; left out or false: only the others.",
         "true", "false"},
        {"reach", "Only machines that are reached so.", "gate"},
    });
}

struct AdminMachine {
    MachineId machine_id;
    AccountId owner;
    wire::Nullable<std::string> label;
    machines::MachineState state = machines::MachineState::UNQUALIFIED;
    wire::Decimal version;
    wire::Nullable<std::string> gpu_model;
    wire::Nullable<wire::Count> gpu_count;
    machines::VerificationLevel verification_level = machines::VerificationLevel::unverified;
    wire::Nullable<machines::OfferState> offer;
    machines::QualifyState test = machines::QualifyState::waiting;
    wire::Nullable<std::string> test_reason;
    wire::Nullable<machines::QuarantineCause> quarantined_by;
    wire::Nullable<JobId> current_job_id;
    wire::Nullable<Time> last_healthy_at;
    Time enrolled_at;
    Time changed_at;
    wire::Nullable<Time> retired_at;
    machines::Reach reach = machines::Reach::direct;
    wire::Nullable<std::string> reach_why;
};
BOOST_DESCRIBE_STRUCT(AdminMachine, (),
                      (machine_id, owner, label, state, version, gpu_model, gpu_count,
                       verification_level, offer, test, test_reason, quarantined_by, current_job_id,
                       last_healthy_at, enrolled_at, changed_at, retired_at, reach, reach_why))
constexpr auto wire_docs(const AdminMachine*) {
    return std::to_array<wire::Doc>({
        {"owner", "The account that it belongs to."},
        {"label", "", "rack 3, left"},
        {"version", "To be sent as expected_version with a command.", "12"},
        {"gpu_model", "Of the first card; null while none is known.", "NVIDIA GeForce RTX 4090"},
        {"gpu_count", "How many cards it has; null while that is not known.", "2"},
        {"verification_level", "How far somebody has vouched for it.", "auto_verified"},
        {"offer", "Null when no offer was ever published.", "listed"},
        {"test", "How its machine test stands.", "passed"},
        {"test_reason", "Why it is not passed; null when there is nothing to tell.", "null"},
        {"quarantined_by", "Why it was put aside; null when it is not.", "null"},
        {"current_job_id", "The job that holds it, or was not cleaned up after yet.", "null"},
        {"last_healthy_at", "When its host agent was last heard; null: never."},
        {"enrolled_at", "When it came."},
        {"changed_at", "When something of it last changed."},
        {"retired_at", "When it went out of service for good; null: it did not.", "null"},
        {"reach", "How renters reach its jobs: at its own ports, or by a gate.", "gate"},
        {"reach_why", "What its last passed test found of that; null before the first.",
         "A gate leads to it: the agent names no address of its own."},
    });
}

void add_all_machines_route(api::Router& router);
api::Page<AdminMachine> list_all_machines(api::Call& call, const AdminMachinesQuery& query);

}  // namespace berth::hosts
