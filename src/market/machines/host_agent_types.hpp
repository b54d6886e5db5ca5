// Requests and answers around agents that are no messages of the protocol: what an owner asks for,
// paths and queries.
#pragma once

#include "api/sibling.hpp"
#include "machines/commands.hpp"

namespace berth::machines {

using agent_protocol::AckTaken;
using agent_protocol::HealthEventTaken;

inline constexpr std::int64_t available_days_max = 3650;

struct NewEnrollment {
    Tier tier = Tier::container;
    std::optional<wire::Text<1, 100>> label;
    std::optional<Micro> rate_micro_per_hour;
    std::optional<wire::Count> included_disk_gib;
    std::optional<wire::Count> included_egress_gib;
    std::optional<wire::Integer<1, available_days_max>> available_days;
    std::optional<bool> list;
};
BOOST_DESCRIBE_STRUCT(NewEnrollment, (),
                      (tier, label, rate_micro_per_hour, included_disk_gib, included_egress_gib,
                       available_days, list))
constexpr auto wire_docs(const NewEnrollment*) {
    return std::to_array<wire::Doc>({
        {"tier", "Whether the machine takes renters' containers, or serves models itself."},
        {"label", "What the owner calls it.", "rack 2, left"},
        {"rate_micro_per_hour",
         "What the machine is to cost: its first offer, published when it has passed its test, "
         "unless another one was published by then.",
         "400000"},
        {"included_disk_gib",
         "Disk that the price includes; never more than the test finds free. Needs a price.", "100",
         "100"},
        {"included_egress_gib", "Outgoing traffic that the price includes. Needs a price.", "1000",
         "1000"},
        {"available_days", "For how many days it is offered from then on. Needs a price.", "365",
         "365"},
        {"list",
         "Whether it is to be listed then, as soon as nothing keeps it from that. Needs a price.",
         "true", "false"},
    });
}

struct Enrollment {
    EnrollmentId enrollment_id;
    wire::Secret token;
    Time expires_at;
    std::string install_line;
};
BOOST_DESCRIBE_STRUCT(Enrollment, (), (enrollment_id, token, expires_at, install_line))
constexpr auto wire_docs(const Enrollment*) {
    return std::to_array<wire::Doc>({
        {"token", "For the agent on the machine, once, within fifteen minutes.", "bre_…"},
        {"install_line",
         "To be pasted into a shell of the machine; it then asks for the token, which is not in "
         "it.",
         "berth-agent enroll --server 'https://berth.example' --token-file -"},
    });
}

struct EnrollmentPath {
    EnrollmentId id;
};
BOOST_DESCRIBE_STRUCT(EnrollmentPath, (), (id))
constexpr auto wire_docs(const EnrollmentPath*) {
    return std::to_array<wire::Doc>({{"id", "The enrollment."}});
}

enum class EnrollmentState { waiting, used, expired };
BOOST_DESCRIBE_ENUM(EnrollmentState, waiting, used, expired)

struct EnrollmentShown {
    EnrollmentId enrollment_id;
    EnrollmentState state = EnrollmentState::waiting;
    Tier tier = Tier::container;
    wire::Nullable<std::string> label;
    Time expires_at;
    wire::Nullable<Time> used_at;
    wire::Nullable<MachineId> machine_id;
    wire::Nullable<Micro> rate_micro_per_hour;
    bool list = false;
};
BOOST_DESCRIBE_STRUCT(EnrollmentShown, (),
                      (enrollment_id, state, tier, label, expires_at, used_at, machine_id,
                       rate_micro_per_hour, list))
constexpr auto wire_docs(const EnrollmentShown*) {
    return std::to_array<wire::Doc>({
        {"state", "waiting for a machine, used by one, or expired without.", "waiting"},
        {"tier", "Whether the machine takes renters' containers, or serves models itself."},
        {"label", "What the machine will be called; null without one.", "rack 2, left"},
        {"expires_at", "Until when a machine can come in with it."},
        {"used_at", "When one did; null before.", "null"},
        {"machine_id", "The machine that did; null before.", "null"},
        {"rate_micro_per_hour",
         "What its first offer costs, once it has passed its test; null when nothing was said.",
         "400000"},
        {"list", "Whether it is listed then.", "true"},
    });
}

// The versions that we speak, beside the error UNSUPPORTED_PROTOCOL_VERSION.
inline constexpr api::Sibling<std::vector<wire::Count>> supported_versions{
    Code::unsupported_protocol_version, "supported"};

struct MachinePath {
    MachineId id;
};
BOOST_DESCRIBE_STRUCT(MachinePath, (), (id))
constexpr auto wire_docs(const MachinePath*) {
    return std::to_array<wire::Doc>({{"id", "The machine."}});
}

struct CommandPath {
    CommandId id;
};
BOOST_DESCRIBE_STRUCT(CommandPath, (), (id))
constexpr auto wire_docs(const CommandPath*) {
    return std::to_array<wire::Doc>({{"id", "The command."}});
}

struct AgentJobPath {
    JobId id;
};
BOOST_DESCRIBE_STRUCT(AgentJobPath, (), (id))
constexpr auto wire_docs(const AgentJobPath*) {
    return std::to_array<wire::Doc>({{"id", "The job."}});
}

struct WaitForCommands {
    std::optional<wire::Integer<0, 30>> wait_s;
};
BOOST_DESCRIBE_STRUCT(WaitForCommands, (), (wait_s))
constexpr auto wire_docs(const WaitForCommands*) {
    return std::to_array<wire::Doc>(
        {{"wait_s", "Seconds to wait for a command when there is none.", "30", "0"}});
}

struct KeyRotation {
    MachineId machine_id;
    CommandId command_id;
};
BOOST_DESCRIBE_STRUCT(KeyRotation, (), (machine_id, command_id))
constexpr auto wire_docs(const KeyRotation*) {
    return std::to_array<wire::Doc>({
        {"machine_id", "The machine that gets a new key."},
        {"command_id", "The command that its agent answers."},
    });
}

inline constexpr std::int64_t speed_test_bytes_max = std::int64_t{256} << 20;

struct SpeedTestDownload {
    wire::Integer<1, speed_test_bytes_max> bytes;
};
BOOST_DESCRIBE_STRUCT(SpeedTestDownload, (), (bytes))
constexpr auto wire_docs(const SpeedTestDownload*) {
    return std::to_array<wire::Doc>({{"bytes", "How many bytes to send.", "1048576"}});
}

struct SpeedTestUpload {
    wire::Integer<1, speed_test_bytes_max> bytes;
};
BOOST_DESCRIBE_STRUCT(SpeedTestUpload, (), (bytes))
constexpr auto wire_docs(const SpeedTestUpload*) {
    return std::to_array<wire::Doc>({{"bytes", "How many bytes the body has.", "1048576"}});
}

struct SpeedTestTaken {
    wire::Count bytes;
};
BOOST_DESCRIBE_STRUCT(SpeedTestTaken, (), (bytes))
constexpr auto wire_docs(const SpeedTestTaken*) {
    return std::to_array<wire::Doc>({{"bytes", "How many bytes came.", "1048576"}});
}

}  // namespace berth::machines
