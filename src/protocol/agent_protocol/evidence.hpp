// What goes with the events of each kind. Evidence is open: what is named here is read, whatever
// else stands there is kept with it. What the server can do without may be left out, or null.
#pragma once

#include <boost/describe.hpp>
#include <optional>

#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::agent_protocol {

using Name = wire::Text<1, 128>;
using HostText = wire::Text<0, 4096>;  // what a host says in its own words
using LogTail = wire::Text<0, 8192>;
using ExitCode = wire::Integer<-2'147'483'648, 2'147'483'647>;
using XidCode = wire::Integer<-2'147'483'648, 2'147'483'647>;

template <class T>
using Maybe = std::optional<wire::Nullable<T>>;  // left out, null, or there
template <class T>
std::optional<T> given(const Maybe<T>& member) {
    return member ? member->value : std::nullopt;
}

// ---- STARTED, PROGRESS

struct StartedEvidence {
    Maybe<Name> container_id;
};
BOOST_DESCRIBE_STRUCT(StartedEvidence, (), (container_id))
constexpr auto wire_docs(const StartedEvidence*) {
    return std::to_array<wire::Doc>({
        {"container_id", "Of the workload.", "3f2a9c"},
    });
}

enum class ProgressStep { pull, load, probe };
BOOST_DESCRIBE_ENUM(ProgressStep, pull, load, probe)

struct ProgressEvidence {
    ProgressStep step = ProgressStep::pull;
    Maybe<wire::Decimal> done_bytes;
    Maybe<wire::Decimal> total_bytes;
};
BOOST_DESCRIBE_STRUCT(ProgressEvidence, (), (step, done_bytes, total_bytes))
constexpr auto wire_docs(const ProgressEvidence*) {
    return std::to_array<wire::Doc>({
        {"step", "Fetching the image, loading, or waiting for the first answer."},
        {"done_bytes", "Of what is fetched; null when it is not counted.", "1073741824"},
        {"total_bytes", "Of what is fetched; null when it is not known.", "8589934592"},
    });
}

// ---- READY

enum class EndpointKind { ssh, http };
BOOST_DESCRIBE_ENUM(EndpointKind, ssh, http)

// The server dials what a host names. Below 1024 stands what is nobody's engine: mail, shells,
// databases of others.
using EndpointPort = wire::Integer<1'024, 65'535>;

struct JobEndpoint {
    EndpointKind kind = EndpointKind::http;
    wire::Text<1, 64> name;
    wire::Text<1, 253> host;
    EndpointPort port;
    Maybe<wire::Text<64, 71>> tls_key_sha256;
};
BOOST_DESCRIBE_STRUCT(JobEndpoint, (), (kind, name, host, port, tls_key_sha256))
constexpr auto wire_docs(const JobEndpoint*) {
    return std::to_array<wire::Doc>({
        {"kind", "How it is spoken to. The server asks http ones before it believes READY.",
         "http"},
        {"name", "As START named it; ssh for the way in.", "openai"},
        {"host", "A name or an address that the server and renters can reach.", "203.0.113.7"},
        {"port", "The port there, 1024 or above.", "40000"},
        {"tls_key_sha256",
         "With TLS, which servers ask of http endpoints unless their operator says otherwise: "
         "SHA-256 of its public key (SubjectPublicKeyInfo) in hex, which alone is trusted.",
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    });
}

struct TimeToReady {
    wire::Decimal pull_ms;
    wire::Decimal load_ms;
    wire::Decimal probe_ms;
};
BOOST_DESCRIBE_STRUCT(TimeToReady, (), (pull_ms, load_ms, probe_ms))
constexpr auto wire_docs(const TimeToReady*) {
    return std::to_array<wire::Doc>({
        {"pull_ms", "Fetching the image.", "61000"},
        {"load_ms", "Loading the model.", "42000"},
        {"probe_ms", "Until the first answer.", "900"},
    });
}

struct ReadyEvidence {
    Name container_id;
    Name boot_id;
    wire::List<JobEndpoint, 0, 16> endpoints;
    Maybe<wire::Text<1, 200>> ssh_host_key_fingerprint;
    Maybe<TimeToReady> time_to_ready;
};
BOOST_DESCRIBE_STRUCT(ReadyEvidence, (),
                      (container_id, boot_id, endpoints, ssh_host_key_fingerprint, time_to_ready))
constexpr auto wire_docs(const ReadyEvidence*) {
    return std::to_array<wire::Doc>({
        {"container_id", "Of the workload; another one later is another workload.", "3f2a9c"},
        {"boot_id", "Of the host; another one later is another workload.",
         "6a1f2c1e-0c2b-4c5e-8a2d-3c9d2b1a0f4e"},
        {"endpoints", "Where the workload is reached. They are fixed for the job."},
        {"ssh_host_key_fingerprint", "For the renter's first login; null without SSH.",
         "SHA256:uNiVztksCsDhcc0u9e8BrrjXVGDxkZ7xZ1A9Zf1E7sQ"},
        {"time_to_ready", "What the start took."},
    });
}

// ---- USAGE, PREEMPT_NOTICE

enum class Engine { up, down };
BOOST_DESCRIBE_ENUM(Engine, up, down)

struct UsageEvidence {
    wire::Decimal runtime_ms;
    Name container_id;
    Name boot_id;
    Maybe<Engine> engine;
    Maybe<LogTail> log_tail;
    Maybe<wire::Decimal> egress_bytes;
};
BOOST_DESCRIBE_STRUCT(UsageEvidence, (),
                      (runtime_ms, container_id, boot_id, engine, log_tail, egress_bytes))
constexpr auto wire_docs(const UsageEvidence*) {
    return std::to_array<wire::Doc>({
        {"runtime_ms", "Milliseconds since READY; it never falls.", "421337"},
        {"container_id", "As in READY.", "3f2a9c"},
        {"boot_id", "As in READY.", "6a1f2c1e-0c2b-4c5e-8a2d-3c9d2b1a0f4e"},
        {"engine",
         "Whether the readiness_path answers: down after three failures 10 s apart. Time in which "
         "it is down is not paid for. Left out where there is no such path, and with SSH."},
        {"log_tail", "The end of what the workload wrote, without its secrets.", "INFO: 200 OK\n"},
        {"egress_bytes", "What the workload has sent so far.", "1048576"},
    });
}

struct PreemptNoticeEvidence {
    Maybe<HostText> reason;
};
BOOST_DESCRIBE_STRUCT(PreemptNoticeEvidence, (), (reason))
constexpr auto wire_docs(const PreemptNoticeEvidence*) {
    return std::to_array<wire::Doc>({
        {"reason", "Why the owner wants the machine back.", "the owner wants it"},
    });
}

// ---- EXITED, STOPPED

struct EndEvidence {
    Maybe<Name> container_id;
    Maybe<Name> boot_id;
    Maybe<wire::Decimal> runtime_ms;
    Maybe<ExitCode> exit_code;
    Maybe<bool> oom;
    Maybe<Name> code;
    Maybe<HostText> message;
    Maybe<HostText> reason;
    Maybe<LogTail> log_tail;
    Maybe<wire::Decimal> egress_bytes;
};
BOOST_DESCRIBE_STRUCT(EndEvidence, (),
                      (container_id, boot_id, runtime_ms, exit_code, oom, code, message, reason,
                       log_tail, egress_bytes))
constexpr auto wire_docs(const EndEvidence*) {
    return std::to_array<wire::Doc>({
        {"container_id", "As in READY; left out when nothing was started.", "3f2a9c"},
        {"boot_id", "Of the host.", "6a1f2c1e-0c2b-4c5e-8a2d-3c9d2b1a0f4e"},
        {"runtime_ms", "Milliseconds from READY to the end; left out before READY.", "421337"},
        {"exit_code", "Of the workload, where it has one.", "1"},
        {"oom", "Whether it was ended because it wanted more memory than there is.", "false"},
        {"code",
         "Why it could not be started: IMAGE_NOT_FOUND, IMAGE_DIGEST_MISMATCH, PULL_TIMEOUT, "
         "DISK_FULL, OUT_OF_MEMORY, ENGINE_EXITED, PROBE_FAILED or INTERNAL.",
         "DISK_FULL"},
        {"message", "The same in a sentence, which the renter reads.",
         "The disk was full before the image was there."},
        {"reason",
         "Only where the agent ended the workload itself: why, such as funded_through or the "
         "reason of STOP.",
         "funded_through"},
        {"log_tail", "The end of what the workload wrote, without its secrets.",
         "out of disk space\n"},
        {"egress_bytes", "What the workload has sent.", "1048576"},
    });
}

// ---- CLEANED

// All memory that could be had was filled with a pattern and with zeros, and read back each time.
// A card of which nothing can be shown has an error and no bytes.
struct GpuWipe {
    Maybe<wire::Text<1, 64>> pci_address;
    Maybe<Name> uuid;
    wire::Decimal total_bytes;
    wire::Decimal wiped_bytes;
    wire::Decimal verified_bytes;
    Maybe<wire::Decimal> milliseconds;
    Maybe<bool> simulated;
    Maybe<HostText> error;
};
BOOST_DESCRIBE_STRUCT(GpuWipe, (),
                      (pci_address, uuid, total_bytes, wiped_bytes, verified_bytes, milliseconds,
                       simulated, error))
constexpr auto wire_docs(const GpuWipe*) {
    return std::to_array<wire::Doc>({
        {"pci_address", "Which device.", "0000:01:00.0"},
        {"uuid", "The device's own identity, if it has one.",
         "GPU-6f1d0e9c-3f9a-4d8e-9a51-0f6f1c7a2b3c"},
        {"total_bytes", "Memory of the device.", "25757220864"},
        {"wiped_bytes", "Overwritten: at least 90 % of it.", "25000000000"},
        {"verified_bytes", "And read back as they should be: all of them.", "25000000000"},
        {"milliseconds", "How long it took.", "2900"},
        {"simulated", "True: a buffer stood in for the device's memory.", "false"},
        {"error", "Why it could not be shown; null when it could.", "null"},
    });
}

struct CleanedEvidence {
    bool volume_recreated = false;
    wire::List<GpuWipe, 0, 64> gpus;
    Maybe<Time> started_at;
    Maybe<Time> ended_at;
    Maybe<HostText> error;
};
BOOST_DESCRIBE_STRUCT(CleanedEvidence, (), (volume_recreated, gpus, started_at, ended_at, error))
constexpr auto wire_docs(const CleanedEvidence*) {
    return std::to_array<wire::Doc>({
        {"volume_recreated", "Whether nothing of the job's files is left."},
        {"gpus", "Every device of the machine."},
        {"started_at", "By the agent's clock."},
        {"ended_at", "By the agent's clock."},
        {"error", "Why the files could not be removed; left out when they were.", "null"},
    });
}

// ---- Of the machine

struct HealthEvidence {
    Maybe<wire::Text<1, 64>> pci_address;
    Maybe<XidCode> code;
    Maybe<HostText> text;
};
BOOST_DESCRIBE_STRUCT(HealthEvidence, (), (pci_address, code, text))
constexpr auto wire_docs(const HealthEvidence*) {
    return std::to_array<wire::Doc>({
        {"pci_address", "Which device.", "0000:01:00.0"},
        {"code", "Of an Xid; null otherwise.", "79"},
        {"text", "As the driver said it.", "GPU has fallen off the bus"},
    });
}

}  // namespace berth::agent_protocol
