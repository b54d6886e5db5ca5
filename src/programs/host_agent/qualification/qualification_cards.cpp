// The checks of a machine's cards.
#include <fmt/format.h>

#include <algorithm>

#include "host_agent/qualification/qualification.hpp"

namespace berth::host_agent {
namespace {

constexpr double mem_bw_gbps_min = 50;
constexpr double pcie_gbps_min = 1.5;  // less than four lanes of the third generation
constexpr int cuda_major_min = 12;
constexpr std::int64_t pattern_percent_min = 90;

Check check(std::string id, CheckStatus status, std::string summary, std::string remedy) {
    Check said;
    said.id = {std::move(id)};
    said.status = status;
    said.summary.emplace(wire::Text<0, 500>{std::move(summary)});
    if (status == CheckStatus::fail)
        said.remediation.emplace(wire::Text<0, 1000>{std::move(remedy)});
    return said;
}

CheckStatus passed(bool yes) { return yes ? CheckStatus::pass : CheckStatus::fail; }

bool is_simulated(const std::vector<gpu::Measurement>& measured) {
    return std::any_of(measured.begin(), measured.end(),
                       [](const gpu::Measurement& card) { return card.simulated.value_or(false); });
}

// The least of what was measured; empty when some card has none.
template <class T>
std::optional<T> least(const std::vector<gpu::Measurement>& measured,
                       std::optional<T> (*value)(const gpu::Measurement&)) {
    std::optional<T> found;
    for (const gpu::Measurement& card : measured) {
        const auto one = value(card);
        if (!one) return std::nullopt;
        found = found ? std::min(*found, *one) : *one;
    }
    return found;
}

std::optional<std::int64_t> number(const std::optional<wire::Decimal>& value) {
    return value ? std::optional(value->value) : std::nullopt;
}

// Why there is no number, as the cards tell it.
std::string reasons(const std::vector<gpu::Measurement>& measured) {
    std::string all;
    for (const gpu::Measurement& card : measured)
        if (card.error) all += (all.empty() ? "" : " ") + card.error->value;
    return all.empty() ? "It was not measured." : all.substr(0, 400);
}

Check driver_check(const gpu::Inventory& inventory) {
    const std::string version = inventory.driver_version.value_or("none");
    const bool simulated = version == "simulated";
    const int major = std::atoi(inventory.cuda_max.value_or("0").c_str());
    Check said = check("driver.version", passed(simulated || major >= cuda_major_min),
                       simulated ? "The card is simulated; it has no driver."
                                 : fmt::format("Driver {}, CUDA up to {}.", version,
                                               inventory.cuda_max.value_or("none")),
                       "Install a driver of NVIDIA's that serves CUDA 12 or newer.");
    said.actual = wire::Json{fmt::format("\"{}\"", version)};
    return said;
}

// Which cards of the host are not offered, and why.
std::string left_out(const gpu::Inventory& inventory) {
    std::string text;
    for (const gpu::LeftOut& card : inventory.left_out)
        text += fmt::format(" {} ({}) is left out: {}.", card.model, card.pci_address, card.why);
    return text.substr(0, 350);
}

// Who has a card for something else, and what to do about it.
Check idle_check(const std::vector<gpu::User>& users) {
    if (users.empty())
        return check("gpu.idle", CheckStatus::pass, "No other program uses a GPU.", "");
    const auto screen = std::ranges::find_if(users, &gpu::User::is_screen);
    if (screen == users.end())
        return check("gpu.idle", CheckStatus::fail,
                     fmt::format("A GPU is in use: {}.", gpu::in_words(users.front())),
                     "End every program that uses the GPUs.");
    return check("gpu.idle", CheckStatus::fail,
                 fmt::format("A desktop runs on a GPU: {}.", gpu::in_words(*screen)),
                 "Connect the screen to the graphics of the processor, or start the host without "
                 "a desktop: systemctl set-default multi-user.target, and restart it. A host with "
                 "other GPUs can leave this one out: --gpus names those that are offered.");
}

Check uniform_check(const gpu::Inventory& inventory) {
    const auto& cards = inventory.gpus;
    const bool same = std::all_of(cards.begin(), cards.end(), [&](const auto& card) {
        return card.model.value.has_value() && card.model.value == cards.front().model.value;
    });
    Check said = check("gpu.uniform", passed(!cards.empty() && same),
                       (cards.empty() ? "There is no GPU that can be rented out."
                        : same        ? fmt::format("{} of one model.", cards.size())
                                      : "The GPUs are not all of one model.") +
                           left_out(inventory),
                       "Offer GPUs of one model: --gpus names them.");
    said.actual = wire::Json{std::to_string(cards.size())};
    return said;
}

Check rate_check(std::string id, std::optional<double> rate, double least_rate,
                 const std::string& why) {
    Check said = check(std::move(id), passed(rate && *rate >= least_rate),
                       rate ? fmt::format("{:.1f} GB/s.", *rate) : why,
                       "Check power limits, cooling and the slot of the GPU.");
    if (rate) said.actual = wire::Json{fmt::format("{:.1f}", *rate)};
    said.required = wire::Json{fmt::format("{}", least_rate)};
    said.unit.emplace(wire::Text<0, 32>{"GB/s"});
    return said;
}

Check memory_check(const gpu::Inventory& inventory, std::optional<std::int64_t> vram,
                   std::int64_t least_bytes, const std::string& why) {
    const bool dedicated =
        std::all_of(inventory.gpus.begin(), inventory.gpus.end(), [](const auto& card) {
            return card.memory_class == agent_protocol::MemoryClass::dedicated;
        });
    Check said =
        check("gpu.memory", passed(vram && *vram >= least_bytes && dedicated),
              vram ? fmt::format("{:.1f} GB on every GPU.", static_cast<double>(*vram) / 1e9) : why,
              "Only GPUs with enough memory of their own can be rented out.");
    if (vram) said.actual = wire::Json{std::to_string(*vram)};
    said.required = wire::Json{std::to_string(least_bytes)};
    said.unit.emplace(wire::Text<0, 32>{"bytes"});
    return said;
}

Check pattern_check(const std::vector<gpu::Measurement>& measured, const std::string& why) {
    std::int64_t mismatches = 0;
    std::int64_t bytes = 0;
    bool enough = !measured.empty();
    for (const gpu::Measurement& card : measured) {
        if (!card.pattern_bytes || !card.mismatches || !card.free_bytes) {
            enough = false;
            continue;
        }
        mismatches += card.mismatches->value;
        bytes += card.pattern_bytes->value;
        enough = enough && card.pattern_bytes->value / 100 >=
                               card.free_bytes->value / 100 * pattern_percent_min / 100;
    }
    Check said = check(
        "gpu.vram_write_read", passed(enough && mismatches == 0),
        enough ? fmt::format("{} bytes written and read back, {} words wrong.", bytes, mismatches)
               : why,
        "The GPU may be faulty or overclocked: reset its clocks.");
    said.actual = wire::Json{std::to_string(mismatches)};
    said.required = wire::Json{"0"};
    said.unit.emplace(wire::Text<0, 32>{"words"});
    return said;
}

Check compute_check(const std::vector<gpu::Measurement>& measured, const std::string& why) {
    const bool right =
        !measured.empty() && std::all_of(measured.begin(), measured.end(), [](const auto& card) {
            return card.results_right.value_or(false) && card.fp32_tflops;
        });
    double fp32 = 0;
    double tensor = 0;
    for (const gpu::Measurement& card : measured) {
        fp32 += card.fp32_tflops.value_or(0);
        tensor += card.tensor_tflops.value_or(0);
    }
    Check said = check("gpu.compute", passed(right),
                       right ? fmt::format("{:.1f} TFLOPS in FP32, {:.1f} with tensor cores, "
                                           "every result right.",
                                           fp32, tensor)
                             : why,
                       "The GPU may be faulty or overclocked: check clocks and cooling.");
    if (right) said.actual = wire::Json{fmt::format("{:.1f}", fp32)};
    said.unit.emplace(wire::Text<0, 32>{"TFLOPS"});
    return said;
}

}  // namespace

void judge_cards(const gpu::Inventory& inventory, const std::vector<gpu::User>& users,
                 const std::vector<gpu::Measurement>& measured, std::int64_t min_vram_bytes,
                 TestResult& said) {
    const std::string why = reasons(measured);
    const auto vram = least<std::int64_t>(
        measured, [](const gpu::Measurement& card) { return number(card.vram_bytes); });
    const auto bandwidth =
        least<double>(measured, [](const gpu::Measurement& card) { return card.mem_bw_gbps; });
    const auto pcie =
        least<double>(measured, [](const gpu::Measurement& card) { return card.pcie_gbps; });
    std::vector<Check> checks{uniform_check(inventory),
                              memory_check(inventory, vram, min_vram_bytes, why)};
    checks.push_back(idle_check(users));
    checks.push_back(pattern_check(measured, why));
    checks.push_back(compute_check(measured, why));
    checks.push_back(rate_check("gpu.mem_bandwidth", bandwidth, mem_bw_gbps_min, why));
    checks.push_back(rate_check("gpu.pcie", pcie, pcie_gbps_min, why));
    if (is_simulated(measured))
        for (Check& each : checks) {
            each = check(each.id.value, CheckStatus::skipped,
                         "The card is simulated: nothing was measured.", "");
        }
    said.checks.value.push_back(driver_check(inventory));
    for (Check& each : checks) said.checks.value.push_back(std::move(each));
    if (vram) said.measurements.vram_bytes = wire::Decimal{*vram};
    said.measurements.gpu_mem_bw_gbps = bandwidth;
    said.measurements.pcie_gbps = pcie;
    double tflops = 0;
    for (const gpu::Measurement& card : measured) tflops += card.fp32_tflops.value_or(0);
    if (tflops > 0) said.measurements.tflops = tflops;
}

Check judge_wipes(const std::vector<gpu::Wipe>& wipes) {
    std::int64_t total = 0;
    std::int64_t verified = 0;
    std::int64_t took = 0;
    std::string error;
    bool simulated = false;
    for (const gpu::Wipe& wipe : wipes) {
        total += wipe.total_bytes.value;
        verified += wipe.verified_bytes.value;
        took += wipe.milliseconds.value;
        simulated = simulated || wipe.simulated.value_or(false);
        const bool shown = wipe.wiped_bytes.value / 100 >= wipe.total_bytes.value / 100 * 9 / 10 &&
                           wipe.verified_bytes.value >= wipe.wiped_bytes.value;
        if (wipe.error)
            error = wipe.error->value;
        else if (!shown)
            error =
                fmt::format("{}: not all of the memory could be wiped.", wipe.pci_address.value);
    }
    Check said =
        check("cleanup.wipe", passed(!wipes.empty() && error.empty()),
              wipes.empty()    ? "There is no GPU to wipe."
              : !error.empty() ? error
                               : fmt::format("{} of {} bytes wiped in {} ms{}.", verified, total,
                                             took, simulated ? ", of a simulated card" : ""),
              "Update driver and agent; without a wipe no rental can begin.");
    said.actual = wire::Json{std::to_string(verified)};
    said.required = wire::Json{std::to_string(total / 10 * 9)};
    said.unit.emplace(wire::Text<0, 32>{"bytes"});
    return said;
}

}  // namespace berth::host_agent
