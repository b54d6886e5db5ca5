// Heartbeats: that a machine is there, what it does, and what it is to do next. Most of them bring
// nothing new and touch memory only; what they change is written before they are answered.
#pragma once

#include "api/call.hpp"
#include "machines/commands.hpp"
#include "machines/health.hpp"
#include "machines/job_side.hpp"
#include "machines/machine_cache.hpp"

namespace berth::machines {

// The highest fence that an agent may show: ours has to rise above it, and must not overflow.
inline constexpr std::int64_t fence_max = std::int64_t{1} << 53;

class Heartbeats {
public:
    Heartbeats(MachineCache& cache, const Commands& commands, JobSide& jobs)
        : cache_(cache), commands_(commands), jobs_(jobs) {}

    // Called without a transaction; it begins one only when there is something to write.
    agent_protocol::Orders take(api::Call& call, const agent_protocol::Heartbeat& beat,
                                db::Database& database);
    // While `batching`, signs of life are noted for write_health(); otherwise each is written.
    void set_batching(bool batching) { batching_ = batching; }
    void write_health(db::Database& database) { health_.write(database); }

private:
    struct Arrival {
        const http::Request& request;
        const agent_protocol::Heartbeat& beat;
        bool overtaken;  // by a later one of the same machine
    };
    agent_protocol::Orders take_in(const db::Context& context, MachineId id,
                                   const Arrival& arrival) const;

    MachineCache& cache_;
    const Commands& commands_;
    JobSide& jobs_;
    HealthBatch health_;
    std::atomic<bool> batching_{false};
};

// After a restored backup an agent may have seen a higher fence than we have. Ours then rises above
// it, so that messages of the lost time are refused. True when the fence rose.
bool adopt_fence(Machine& machine, const wire::Decimal& shown);
// Throws STALE_FENCE when the agent shows a lower fence than the machine's.
void require_fence(const Machine& machine, const wire::Decimal& shown);

}  // namespace berth::machines
