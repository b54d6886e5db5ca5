// What a list of jobs is asked for, and what is shown of the machine that a job rents.
#pragma once

#include "api/page.hpp"
#include "machines/types.hpp"

namespace berth::rentals {

struct JobsQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<wire::Text<1, 200>> state;
};
BOOST_DESCRIBE_STRUCT(JobsQuery, (), (cursor, limit, state))
constexpr auto wire_docs(const JobsQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor", "Where to go on: next_cursor of the page before. Left out for the first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"state",
         "Only jobs in these states, with commas between them. `closed` is FAILED and CLOSED, "
         "`open` all others.",
         "open"},
    });
}

// As it was when it was rented, whatever became of it and of its offer.
struct MachineOfJob {
    wire::Nullable<std::string> gpu_model;
    wire::Nullable<wire::Count> gpu_count;
    wire::Nullable<wire::Decimal> vram_bytes;
    wire::Nullable<machines::Continent> continent;
};
BOOST_DESCRIBE_STRUCT(MachineOfJob, (), (gpu_model, gpu_count, vram_bytes, continent))
constexpr auto wire_docs(const MachineOfJob*) {
    return std::to_array<wire::Doc>({
        {"gpu_model", "Of the first GPU, as its driver names it.", "NVIDIA GeForce RTX 4090"},
        {"gpu_count", "How many GPUs it has.", "2"},
        {"vram_bytes", "Of one GPU, measured; null when it was not.", "25757220864"},
        {"continent", "Of the address it enrolled from; null when that is unknown.", "EU"},
    });
}

}  // namespace berth::rentals
