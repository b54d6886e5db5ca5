// What goes with events about a job, beside the structs of the protocol.
#pragma once

#include <boost/describe.hpp>

#include "agent_protocol/evidence.hpp"
#include "gpu/gpu.hpp"
#include "wire/wire.hpp"

namespace berth::host_agent {

using agent_protocol::CleanedEvidence;

// What a wipe of the cards says in CLEANED.
std::vector<agent_protocol::GpuWipe> told_wipes(const std::vector<gpu::Wipe>& wipes);

// What stands in .berth/notice.json of the work folder.
struct Notice {
    std::string kind;  // "stop", "preempt"
    wire::Nullable<Time> deadline;
    wire::Nullable<Time> billing_stopped_at;
};
BOOST_DESCRIBE_STRUCT(Notice, (), (kind, deadline, billing_stopped_at))

// What stands in .berth/egress.json of the work folder once most of what is included was sent.
struct EgressNotice {
    wire::Decimal sent_bytes;
    wire::Decimal included_bytes;
    bool is_slowed = false;
};
BOOST_DESCRIBE_STRUCT(EgressNotice, (), (sent_bytes, included_bytes, is_slowed))

// How much of what is included was sent: told when it changes.
enum class EgressUse { within, most, all };
EgressUse egress_use(std::int64_t sent_bytes, std::int64_t included_bytes);

// A sentence of ours, or one that a tool of the host has written, as the renter and the server may
// read it: one line that fits into an event, without these secrets and without the folders of this
// host. The last part of a path stays: it names what was missing.
std::string presentable_sentence(std::string text, const std::vector<std::string>& secrets,
                                 std::size_t bytes_max = 500);
// The last of a log as it may leave the host: text, at most 8 KiB, without these secrets.
std::string presentable(std::string log, const std::vector<std::string>& secrets);

}  // namespace berth::host_agent
