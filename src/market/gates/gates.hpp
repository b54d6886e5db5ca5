// What the rest of the market asks about gates: where a job's doors are, whether they are carried,
// and how much went through them. Every question is answered in the caller's transaction.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_protocol/reach.hpp"
#include "db/changes.hpp"
#include "db/db.hpp"

namespace berth::gates {

using agent_protocol::DoorId;
using agent_protocol::DoorKind;
using agent_protocol::GateId;

// A gate lives while its last report is no older; then nobody knows what it carries.
inline constexpr Duration gate_fresh = std::chrono::seconds(15);

// Whether any gate could be given a door now.
bool is_any_live(db::Transaction& tx, Time now);

// A door that is given to a job and not taken back, where it is now.
struct JobDoor {
    DoorId door_id;
    GateId gate_id;
    std::string name;
    DoorKind kind = DoorKind::http;
    std::string host;       // the gate's public name, for renters
    std::string dial_host;  // where the operator says that we reach it
    std::int64_t port = 0;
};
BOOST_DESCRIBE_STRUCT(JobDoor, (), (door_id, gate_id, name, kind, host, dial_host, port))

std::vector<JobDoor> doors_of_job(db::Transaction& tx, JobId job);
// Whether it was given a door, taken back since or not, at a gate that is heard now.
bool has_gate_that_lives(db::Transaction& tx, JobId job, Time now);
std::optional<JobDoor> door_of_job(db::Transaction& tx, JobId job, std::string_view name);
// Where a door is now, whichever gate it has moved to; nothing when it was taken back.
std::optional<JobDoor> find_door(db::Transaction& tx, DoorId door);

// An endpoint as READY names it.
struct NamedEndpoint {
    MachineId machine_id;
    JobId job_id;
    std::string name;
    std::string host;
    std::int64_t port = 0;
};
// Nothing when that is not a door of this machine for this job, by this name and at this place.
std::optional<JobDoor> door_at(db::Transaction& tx, const NamedEndpoint& endpoint);

// Whether an open door of any gate is there, whosever it is.
bool is_door(db::Transaction& tx, std::string_view host, std::int64_t port);

// Columns by which a remembered door has to be looked at again.
std::vector<db::Watched> watched_of_doors();

// A time in which a door of the job for ssh or http was not carried: its machine had no link, or
// its gate was silent. By our clock. It begins with the door, so that the first one of a job mostly
// begins before READY. Our own outages end it: what is uncarried after one begins with its end, and
// goes on with what was uncarried before.
struct Gap {
    Time from;
    std::optional<Time> to;  // none: until now and on
    bool goes_on = false;    // from the one before: only an outage of ours was between them
};
// Of all of its doors together, in order, none over another; those that ended before `since`
// left out, with what went on from them.
std::vector<Gap> gaps_of_job(db::Transaction& tx, JobId job, Time since, Time now);

struct Carriage {
    bool by_gate = false;                 // it has doors now
    std::optional<Time> uncarried_since;  // none: carried, or not by a gate
};
Carriage carriage_of(db::Transaction& tx, JobId job, Time now);

// What went through the job's doors so far, both ways.
std::int64_t carried_bytes(db::Transaction& tx, JobId job);

// Whose a job is, for limits, and how it was placed. Rentals tell; nothing when they do not know
// it.
struct PlacedJob {
    AccountId renter;
    agent_protocol::Reach reach = agent_protocol::Reach::direct;
};
using FindJob = std::function<std::optional<PlacedJob>(db::Transaction& tx, JobId job)>;

// Requests can be heard now: whoever notes that for machines notes it here too. When they could not
// for longer than `gap`, that was an outage of ours.
void note_listening(db::Transaction& tx, Time now, Duration gap);

}  // namespace berth::gates
