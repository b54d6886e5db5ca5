#include "machines/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/problem.hpp"

namespace berth::machines {
namespace {

constexpr double rate_max = 1e9;
constexpr double gib = 1024.0 * 1024.0 * 1024.0;

// Who answers for a check.
enum class By {
    agent,   // reported, and needed
    server,  // found out here; what is reported of it does not count
    advice,  // warns and never fails
};

struct Rule {
    std::string_view id;
    By by;
    std::string_view trouble;
    std::string_view remedy;
    bool hopeless = false;  // its failure does not pass by itself
};

constexpr Rule rules[] = {
    {"agent.signature", By::server, "The result was not signed by the machine.",
     "Enroll the machine again."},
    {"manifest.match", By::server, "The hardware or its drivers changed during the test.",
     "The machine is tested again by itself."},
    {"driver.version", By::agent, "The GPU's driver is too old.",
     "Install a newer driver and restart the agent.", true},
    {"gpu.uniform", By::agent, "The GPUs are not all of one model.",
     "Enroll machines with GPUs of one model, or hide the others from the agent."},
    {"gpu.memory", By::agent, "A GPU has too little memory of its own.",
     "Only GPUs with at least 8 GB of dedicated memory can be rented out."},
    {"gpu.idle", By::agent, "Another program uses a GPU.",
     "End every program that uses the GPUs; the test is repeated by itself."},
    {"gpu.vram_write_read", By::agent, "Memory of a GPU gave back other bytes than were written.",
     "The GPU may be faulty or overclocked: reset its clocks, check its cooling."},
    {"gpu.compute", By::agent, "A GPU computed wrong results or none.",
     "The GPU may be faulty or overclocked: reset its clocks, check driver and cooling."},
    {"gpu.mem_bandwidth", By::agent, "The memory of a GPU is slower than it should be.",
     "Check power limits, clocks and cooling."},
    {"gpu.pcie", By::agent, "The connection between host and GPU is too slow.",
     "Check that the GPU sits in a full slot and runs at its full link width."},
    {"disk.free", By::agent, "There is too little free disk space for jobs.",
     "Free at least 20 GB on the disk that the agent uses."},
    {"ram", By::agent, "The host has too little memory.", "At least 4 GB of RAM are needed."},
    {"net.down", By::advice, "Downloads are slow or were not measured.",
     "Models take long to fetch: a faster line makes the machine more attractive."},
    {"net.up", By::advice, "Uploads are slow or were not measured.",
     "Results take long to send: a faster line makes the machine more attractive."},
    {"net.endpoint", By::server, "The announced endpoint did not answer the server.",
     "Open the port in the firewall and forward it to this host."},
    {"container.profile", By::agent, "Containers do not have the confinement that is required.",
     "Update the container runtime and run the agent's installer again."},
    {"cleanup.wipe", By::agent, "GPU memory and disk could not be wiped after a job.",
     "Update driver and agent; without a wipe no rental can begin."},
    {"gpu.proof", By::server, "The cards were not proven.",
     "See that nothing else uses the GPUs, that agent and driver are up to date, and that the line "
     "to the server is not overloaded; the test is repeated by itself."},
};

bool may_be_skipped(std::string_view id, RuntimeKind runtime) {
    if (runtime == RuntimeKind::container) return false;
    if (id == "container.profile") return true;
    return runtime == RuntimeKind::simulated && id.starts_with("gpu.");
}

const Check* find_check(const std::vector<Check>& checks, std::string_view id) {
    const auto found = std::find_if(checks.begin(), checks.end(),
                                    [&](const Check& check) { return check.id.value == id; });
    return found == checks.end() ? nullptr : &*found;
}

template <class Text>
std::string text_of(const Text& text) {
    return text && text->value ? text->value->value : std::string();
}

// What the server found out itself, in words.
std::string own_words(std::string_view id, const TestFacts& facts) {
    if (id == "net.endpoint") return facts.dial_reason;
    if (id != "gpu.proof") return "";
    const ProofFacts& proof = facts.proof;
    if (proof.state != ProofState::proven) return proof.reason;
    return fmt::format(
        "{:.1f} GB of every GPU held what the server asked for; at least {:.1f} TOPS.",
        static_cast<double>(proof.bytes) / 1e9, proof.tops);
}

std::string_view trouble_of_ways(const TestFacts& facts, const TestResult& result) {
    if (result.endpoint.value && result.door)
        return "Neither its own port nor the gate's door answered the server.";
    if (result.endpoint.value) return "The announced endpoint did not answer the server.";
    if (result.door) return "The gate's door did not answer the server.";
    return facts.gate_offered ? "The agent got no door of a gate." : "No endpoint was announced.";
}

// Why no way leads to the machine, and which could be opened.
std::string message_of_ways(const TestFacts& facts, const TestResult& result) {
    std::string trouble(trouble_of_ways(facts, result));
    // An agent without a door says why under this name.
    if (const Check* gate = find_check(result.checks.value, "net.gate"); gate != nullptr)
        if (const std::string why = text_of(gate->summary); !why.empty()) trouble += " " + why;
    if (facts.wish == GateWish::always)
        return trouble + " Allow outbound TCP to the gate; `berth-agent doctor` tries it.";
    if (facts.gate_offered)
        return trouble +
               " Allow outbound TCP to the gate (`berth-agent doctor` tries it), or open a port in "
               "the firewall, forward it to this host and name it with --public-host.";
    if (facts.wish == GateWish::never)
        return trouble +
               " Open the port in the firewall and forward it to this host, or let the agent use a "
               "gate: it was told --gate never.";
    return trouble +
           " Open a port in the firewall and forward it to this host, so that renters can reach "
           "their jobs from outside.";
}

std::string message_of(const Rule& rule, const TestFacts& facts, const TestResult& result,
                       const Check* reported) {
    if (rule.id == "net.endpoint") return message_of_ways(facts, result);
    const std::string own_reason = own_words(rule.id, facts);
    const bool unproven = facts.proof.state == ProofState::none;
    std::string trouble(rule.id == "gpu.proof" && !own_reason.empty() ? own_reason : rule.trouble);
    std::string remedy(rule.remedy);
    // An agent knows best why it did not carry a proof through.
    if (reported != nullptr && (rule.by != By::server || (rule.id == "gpu.proof" && unproven))) {
        if (std::string own = text_of(reported->summary); !own.empty()) trouble = std::move(own);
        if (std::string own = text_of(reported->remediation); !own.empty()) remedy = std::move(own);
    }
    return fmt::format("{} {}", trouble, remedy);
}

Check check_of(std::string_view id, CheckStatus status, std::string_view summary) {
    Check check;
    check.id.value = id;
    check.status = status;
    if (!summary.empty()) check.summary.emplace(wire::Text<0, 500>{std::string(summary)});
    return check;
}

// The numbers that the server asks for, of a check that the agent says it passed.
bool meets_numbers(std::string_view id, const TestFacts& facts, const Measurements& measured) {
    const auto at_least = [](const std::optional<wire::Decimal>& value, std::int64_t least) {
        return !value || value->value >= least;
    };
    if (id == "gpu.memory")
        return !facts.gpu_memory_shared && measured.vram_bytes.has_value() &&
               at_least(measured.vram_bytes, vram_bytes_min);
    if (id == "disk.free") return at_least(measured.disk_bytes, disk_bytes_min);
    if (id == "ram") return at_least(measured.ram_bytes, ram_bytes_min);
    return true;
}

// What a machine of this much GPU memory should have, in megabits a second.
double rate_wanted(const TestFacts& facts, const Measurements& measured) {
    const double vram = measured.vram_bytes ? static_cast<double>(measured.vram_bytes->value) : 0;
    const double total_gib = vram * static_cast<double>(facts.gpu_count) / gib;
    return std::min(500.0, std::max(100.0, 500.0 * total_gib / 192.0));
}

bool is_slow(std::string_view id, const TestFacts& facts, const Measurements& measured) {
    const std::optional<double>& rate =
        id == "net.down" ? measured.download_mbps : measured.upload_mbps;
    return !rate || *rate < rate_wanted(facts, measured);
}

CheckStatus judge_endpoint(const TestFacts& facts, const TestResult& result) {
    if (!result.endpoint.value && !result.door) {
        // Who wants a gate and has none has no way at all.
        const bool needed = facts.needs_endpoint || facts.wish == GateWish::always;
        return needed ? CheckStatus::fail : CheckStatus::warn;
    }
    return facts.dialled == Dialled::unreachable ? CheckStatus::fail : CheckStatus::pass;
}

// More memory than was proven is not sold.
CheckStatus judge_proof(const ProofFacts& proof, const Measurements& measured) {
    switch (proof.state) {
        case ProofState::waits: return CheckStatus::pass;
        case ProofState::failed: return CheckStatus::fail;
        case ProofState::none:
            return proof.unproven_allowed ? CheckStatus::skipped : CheckStatus::fail;
        case ProofState::proven: break;
    }
    const std::int64_t vram = measured.vram_bytes ? measured.vram_bytes->value : 0;
    const bool enough = vram / 100 <= proof.bytes / proven_percent_min;
    return enough && proof.tops >= proof.tops_min ? CheckStatus::pass : CheckStatus::fail;
}

CheckStatus judge_check(const Rule& rule, const TestFacts& facts, const TestResult& result,
                        const Check* reported) {
    if (rule.id == "agent.signature") return CheckStatus::pass;  // else the request was refused
    if (rule.id == "manifest.match")
        return facts.manifest_matches ? CheckStatus::pass : CheckStatus::fail;
    if (rule.id == "net.endpoint") return judge_endpoint(facts, result);
    if (rule.id == "gpu.proof") return judge_proof(facts.proof, result.measurements);
    if (rule.by == By::advice) {
        const bool good = reported != nullptr && reported->status == CheckStatus::pass &&
                          !is_slow(rule.id, facts, result.measurements);
        return good ? CheckStatus::pass : CheckStatus::warn;
    }
    const bool skipped = reported == nullptr || reported->status == CheckStatus::skipped;
    if (skipped)
        return may_be_skipped(rule.id, facts.runtime_kind) ? CheckStatus::skipped
                                                           : CheckStatus::fail;
    if (reported->status == CheckStatus::fail) return CheckStatus::fail;
    return meets_numbers(rule.id, facts, result.measurements) ? reported->status
                                                              : CheckStatus::fail;
}

void add_rule(Judgement& judgement, const Rule& rule, const TestFacts& facts,
              const TestResult& result) {
    const Check* reported = find_check(result.checks.value, rule.id);
    const CheckStatus status = judge_check(rule, facts, result, reported);
    Check check = reported != nullptr && rule.by != By::server
                      ? *reported
                      : check_of(rule.id, status, own_words(rule.id, facts));
    check.status = status;
    judgement.checks.push_back(std::move(check));
    if (rule.id == "cleanup.wipe") judgement.wipes = status != CheckStatus::fail;
    if (status != CheckStatus::fail && status != CheckStatus::warn) return;
    judgement.findings.push_back(
        {std::string(rule.id), status == CheckStatus::fail ? Severity::blocker : Severity::warning,
         message_of(rule, facts, result, reported)});
    const bool said_so = reported != nullptr && reported->status == CheckStatus::fail;
    judgement.hopeless = judgement.hopeless || (rule.hopeless && said_so);
}

void refuse_nonsense(const TestResult& result) {
    std::set<std::string_view> ids;
    for (const Check& check : result.checks.value)
        if (!ids.insert(check.id.value).second)
            throw Problem(Code::invalid_input,
                          fmt::format("body.checks: {} is there twice", check.id.value));
    static_cast<void>(measured_of(result.measurements));
}

std::optional<std::int64_t> milli(const std::optional<double>& rate, std::string_view name) {
    if (!rate) return std::nullopt;
    if (!(*rate > 0) || *rate > rate_max)
        throw Problem(Code::invalid_input,
                      fmt::format("body.measurements.{}: must be above 0 and at most 1000000000; "
                                  "what was not measured is left out",
                                  name));
    return std::max<std::int64_t>(1, std::llround(*rate * rate_scale));
}

std::optional<std::int64_t> positive(const std::optional<wire::Decimal>& bytes,
                                     std::string_view name) {
    if (!bytes) return std::nullopt;
    if (bytes->value == 0)
        throw Problem(Code::invalid_input,
                      fmt::format("body.measurements.{}: must be above 0; what was not measured "
                                  "is left out",
                                  name));
    return bytes->value;
}

}  // namespace

Measured measured_of(const Measurements& from) {
    Measured to;
    to.vram_bytes = positive(from.vram_bytes, "vram_bytes");
    to.ram_bytes = positive(from.ram_bytes, "ram_bytes");
    to.disk_bytes = positive(from.disk_bytes, "disk_bytes");
    if (from.cpu_cores) to.cpu_cores_measured = from.cpu_cores->value;
    to.download_mbps_milli = milli(from.download_mbps, "download_mbps");
    to.upload_mbps_milli = milli(from.upload_mbps, "upload_mbps");
    to.gpu_mem_bw_gbps_milli = milli(from.gpu_mem_bw_gbps, "gpu_mem_bw_gbps");
    to.tflops_milli = milli(from.tflops, "tflops");
    to.ai_speed_tok_s_milli = milli(from.ai_speed_tok_s, "ai_speed_tok_s");
    to.pcie_gbps_milli = milli(from.pcie_gbps, "pcie_gbps");
    return to;
}

std::optional<Finding> hopeless_from_manifest(const TestFacts& facts) {
    if (facts.runtime_kind == RuntimeKind::simulated) return std::nullopt;
    if (facts.gpu_count == 0)
        return Finding{"gpu.none", Severity::blocker,
                       "The agent found no GPU. Install the GPU's driver, see that the agent may "
                       "use it, and restart the agent."};
    if (facts.gpu_memory_shared)
        return Finding{"gpu.memory", Severity::blocker,
                       "A GPU shares its memory with the system. Only GPUs with at least 8 GB of "
                       "dedicated memory can be rented out."};
    return std::nullopt;
}

Judgement judge(const TestFacts& facts, const TestResult& result) {
    refuse_nonsense(result);
    Judgement judgement;
    if (const auto hopeless = hopeless_from_manifest(facts)) {
        judgement.findings.push_back(*hopeless);
        judgement.hopeless = true;
    }
    for (const Rule& rule : rules) add_rule(judgement, rule, facts, result);
    for (const Check& check : result.checks.value)
        if (find_check(judgement.checks, check.id.value) == nullptr)
            judgement.checks.push_back(check);

    const auto is_blocker = [](const Finding& finding) {
        return finding.severity == Severity::blocker;
    };
    auto& findings = judgement.findings;
    std::stable_partition(findings.begin(), findings.end(), is_blocker);
    const bool failed = std::any_of(findings.begin(), findings.end(), is_blocker);
    const bool announced = result.endpoint.value || result.door;
    const bool waits =
        (announced && facts.dialled == Dialled::not_yet) || facts.proof.state == ProofState::waits;
    judgement.outcome = failed ? Outcome::failed : waits ? Outcome::pending : Outcome::passed;
    return judgement;
}

}  // namespace berth::machines
