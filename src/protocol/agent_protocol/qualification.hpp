// The test of a machine: what QUALIFY asks for, what the agent reports, and what the server
// answers.
#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <vector>

#include "agent_protocol/evidence.hpp"
#include "agent_protocol/reach.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::agent_protocol {

using RunId = Id<struct RunTag>;

// ---- The payload of QUALIFY

struct TestLimits {
    wire::Decimal min_vram_bytes;
    wire::Decimal min_ram_bytes;
    wire::Decimal min_disk_bytes;
    wire::Count deadline_s;
};
BOOST_DESCRIBE_STRUCT(TestLimits, (), (min_vram_bytes, min_ram_bytes, min_disk_bytes, deadline_s))
constexpr auto wire_docs(const TestLimits*) {
    return std::to_array<wire::Doc>({
        {"min_vram_bytes", "Of each GPU.", "8000000000"},
        {"min_ram_bytes", "Of the host.", "8000000000"},
        {"min_disk_bytes", "Free for jobs.", "20000000000"},
        {"deadline_s", "After this many seconds the result comes too late.", "900"},
    });
}

struct QualifyPayload {
    RunId run_id;
    std::string seed;
    std::string endpoint_token;
    TestLimits limits;
    std::optional<Reach> reach = {};
};
BOOST_DESCRIBE_STRUCT(QualifyPayload, (), (run_id, seed, endpoint_token, limits, reach))
constexpr auto wire_docs(const QualifyPayload*) {
    return std::to_array<wire::Doc>({
        {"run_id", "To be named in the address of the result."},
        {"seed", "Of the pattern that is written to the GPUs' memory.", "8f1c2d3e4b5a6978"},
        {"endpoint_token", "The whole body of GET /berth-endpoint at the announced endpoint.",
         "5e884898da28047151d0e56f8dc62927"},
        {"limits", "What is asked for at least."},
        {"reach",
         "gate: a gate may lead to the machine. The agent asks for a door of the kind test and "
         "names it in the result beside its own endpoint. direct, or left out: no door.",
         "gate"},
    });
}

// ---- The result

inline constexpr std::size_t checks_max = 64;

enum class CheckStatus { pass, fail, warn, skipped };
BOOST_DESCRIBE_ENUM(CheckStatus, pass, fail, warn, skipped)

struct Check {
    wire::Text<1, 64> id;
    CheckStatus status = CheckStatus::skipped;
    std::optional<wire::Json> actual;
    std::optional<wire::Json> required;
    std::optional<wire::Nullable<wire::Text<0, 32>>> unit;
    std::optional<wire::Nullable<wire::Text<0, 500>>> summary;
    std::optional<wire::Nullable<wire::Text<0, 1000>>> remediation;
};
BOOST_DESCRIBE_STRUCT(Check, (), (id, status, actual, required, unit, summary, remediation))
constexpr auto wire_docs(const Check*) {
    return std::to_array<wire::Doc>({
        {"id", "Which check; ids that the server does not know are kept and not judged.",
         "gpu.memory"},
        {"status", "How it went."},
        {"actual", "What was found.", "25757220864"},
        {"required", "What is asked for.", "8000000000"},
        {"unit", "Of both.", "bytes"},
        {"summary", "In words.", "24.0 GiB on every GPU"},
        {"remediation", "What the owner can do about it."},
    });
}

struct Measurements {
    std::optional<wire::Decimal> vram_bytes;
    std::optional<wire::Decimal> ram_bytes;
    std::optional<wire::Decimal> disk_bytes;
    std::optional<wire::Integer<1, 65536>> cpu_cores;
    std::optional<double> download_mbps;
    std::optional<double> upload_mbps;
    std::optional<double> gpu_mem_bw_gbps;
    std::optional<double> tflops;
    std::optional<double> ai_speed_tok_s;
    std::optional<double> pcie_gbps;
};
BOOST_DESCRIBE_STRUCT(Measurements, (),
                      (vram_bytes, ram_bytes, disk_bytes, cpu_cores, download_mbps, upload_mbps,
                       gpu_mem_bw_gbps, tflops, ai_speed_tok_s, pcie_gbps))
constexpr auto wire_docs(const Measurements*) {
    return std::to_array<wire::Doc>({
        {"vram_bytes", "Of the smallest GPU.", "25757220864"},
        {"ram_bytes", "Of the host.", "68719476736"},
        {"disk_bytes", "Free for jobs.", "1000000000000"},
        {"cpu_cores", "Of the host.", "16"},
        {"download_mbps", "Megabits a second from the server.", "912.4"},
        {"upload_mbps", "Megabits a second to the server.", "401.2"},
        {"gpu_mem_bw_gbps", "Gigabytes a second in a GPU's memory.", "921.7"},
        {"tflops", "FP32, of all GPUs.", "80.1"},
        {"ai_speed_tok_s", "Tokens a second; the check's summary names the benchmark.", "110.5"},
        {"pcie_gbps", "Gigabytes a second between host and GPU.", "25.2"},
    });
}

struct AnnouncedEndpoint {
    wire::Text<1, 253> host;
    EndpointPort port;
};
BOOST_DESCRIBE_STRUCT(AnnouncedEndpoint, (), (host, port))
constexpr auto wire_docs(const AnnouncedEndpoint*) {
    return std::to_array<wire::Doc>({
        {"host", "A name or an address that the server can reach.", "203.0.113.7"},
        {"port", "Where GET /berth-endpoint answers with the token of the test.", "40000"},
    });
}

struct TestResult {
    wire::Decimal fence;
    wire::List<Check, 0, checks_max> checks;
    Measurements measurements;
    wire::Nullable<AnnouncedEndpoint> endpoint;
    std::optional<AnnouncedEndpoint> door = {};
};
BOOST_DESCRIBE_STRUCT(TestResult, (), (fence, checks, measurements, endpoint, door))
constexpr auto wire_docs(const TestResult*) {
    return std::to_array<wire::Doc>({
        {"fence", "The highest one the agent knows.", "3"},
        {"checks", "Each once, the cheap ones first."},
        {"measurements", "What could be measured; the rest is left out and is never 0."},
        {"endpoint", "Where jobs could be reached from outside without a gate; null when nowhere."},
        {"door",
         "The gate's host and the port of the test's door, which leads to the same token. It is "
         "dialled when the endpoint does not answer."},
    });
}

// ---- The answer

enum class Severity { blocker, warning };
BOOST_DESCRIBE_ENUM(Severity, blocker, warning)

struct Finding {
    std::string code;
    Severity severity = Severity::blocker;
    std::string message;
};
BOOST_DESCRIBE_STRUCT(Finding, (), (code, severity, message))
constexpr auto wire_docs(const Finding*) {
    return std::to_array<wire::Doc>({
        {"code", "What was found, for programs.", "HEARTBEAT_STALE"},
        {"severity", "A blocker keeps the machine from being listed; a warning does not."},
        {"message", "What was found and what to do about it, for people.",
         "The agent has not been heard from for 90 seconds: see that it runs."},
    });
}

enum class TestOutcome { passed, failed, pending };
BOOST_DESCRIBE_ENUM(TestOutcome, passed, failed, pending)

struct TestJudged {
    RunId run_id;
    TestOutcome outcome = TestOutcome::pending;
    std::vector<Finding> findings;
};
BOOST_DESCRIBE_STRUCT(TestJudged, (), (run_id, outcome, findings))
constexpr auto wire_docs(const TestJudged*) {
    return std::to_array<wire::Doc>({
        {"outcome", "As the server judges; pending while it dials the endpoint."},
        {"findings", "What failed or could be better, each with what to do."},
    });
}

}  // namespace berth::agent_protocol
