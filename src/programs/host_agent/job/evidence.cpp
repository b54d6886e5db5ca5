#include "host_agent/job/evidence.hpp"

#include <algorithm>

#include "base/json_text.hpp"
#include "base/log.hpp"

namespace berth::host_agent {
namespace {

constexpr std::size_t log_tail_letters_max = 8000;  // the server takes 8192
// With all that goes around it: the server takes events of 16 KiB, and one that it does not take
// would never be told. Quotes and letters that are none take more room there than they have here.
constexpr std::size_t log_tail_bytes_max = 12'000;

bool is_for_people(char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return (byte >= 0x20 && byte != 0x7F) || letter == '\n' || letter == '\t';
}

std::size_t bytes_as_json(const std::string& text) {
    std::string json;
    append_json_string(json, text);
    return json.size();
}

// The end of it, from the beginning of a line where there is one.
void keep_end(std::string& text, std::size_t bytes) {
    if (text.size() <= bytes) return;
    text.erase(0, text.size() - bytes);
    const std::size_t line = text.find('\n');
    if (line != std::string::npos) text.erase(0, line + 1);
}

constexpr std::size_t brief_bytes_max = 500;

}  // namespace

std::vector<agent_protocol::GpuWipe> told_wipes(const std::vector<gpu::Wipe>& wipes) {
    std::vector<agent_protocol::GpuWipe> told;
    for (const gpu::Wipe& wipe : wipes) {
        agent_protocol::GpuWipe& gpu = told.emplace_back();
        gpu.pci_address.emplace(wipe.pci_address);
        if (wipe.uuid) gpu.uuid.emplace(*wipe.uuid);
        gpu.total_bytes = wipe.total_bytes;
        gpu.wiped_bytes = wipe.wiped_bytes;
        gpu.verified_bytes = wipe.verified_bytes;
        gpu.milliseconds.emplace(wipe.milliseconds);
        if (wipe.simulated) gpu.simulated.emplace(*wipe.simulated);
        if (wipe.error) gpu.error.emplace(agent_protocol::HostText{wipe.error->value});
    }
    return told;
}

std::string brief(std::string text) {
    if (text.size() > brief_bytes_max) text.resize(brief_bytes_max);
    return text;
}

std::string presentable(std::string log, const std::vector<std::string>& secrets) {
    for (const std::string& secret : secrets)
        for (std::size_t at = 0; !secret.empty() && (at = log.find(secret, at)) != log.npos;)
            log.replace(at, secret.size(), "…");
    log = redact(log);
    std::replace(log.begin(), log.end(), '\r', '\n');
    std::erase_if(log, [](char letter) { return !is_for_people(letter); });
    keep_end(log, log_tail_letters_max);
    if (bytes_as_json(log) > log_tail_bytes_max) keep_end(log, log_tail_bytes_max / 3);
    return log;
}

}  // namespace berth::host_agent
