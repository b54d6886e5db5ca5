#include "host_agent/job/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.hpp"
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

// A program may be named by any bytes.
std::string without_stray_bytes(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = utf8_sequence_length(text);
        out += text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(1, length));
    }
    return out;
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

std::string without(std::string text, const std::vector<std::string>& secrets) {
    for (const std::string& secret : secrets)
        for (std::size_t at = 0; !secret.empty() && (at = text.find(secret, at)) != text.npos;)
            text.replace(at, secret.size(), "…");
    return text;
}

// A path of more than two parts keeps its last one. Shorter ones, as /work or /bin/sh, are the same
// in every container; what follows a host's name in an address is none.
std::string without_folders(const std::string& text) {
    constexpr std::string_view ends = " \"'`()[]{}<>,;=:\t\n";
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of(ends, at), text.size());
        const std::string_view word(text.data() + at, end - at);
        const bool is_path = word.starts_with('/') && !word.starts_with("//");
        if (is_path && std::count(word.begin(), word.end(), '/') > 2)
            out += fmt::format("…{}", word.substr(word.rfind('/')));
        else
            out += word;
        if (end < text.size()) out += text[end];
        at = end + 1;
    }
    return out;
}

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

// Past 80 %, and past all of it.
EgressUse egress_use(std::int64_t sent_bytes, std::int64_t included_bytes) {
    if (sent_bytes > included_bytes) return EgressUse::all;
    return sent_bytes > included_bytes / 5 * 4 ? EgressUse::most : EgressUse::within;
}

std::string presentable_sentence(std::string text, const std::vector<std::string>& secrets,
                                 std::size_t bytes_max) {
    text = without_stray_bytes(without_folders(redact(without(std::move(text), secrets))));
    std::replace_if(
        text.begin(), text.end(), [](char letter) { return !is_for_people(letter); }, ' ');
    std::replace(text.begin(), text.end(), '\n', ' ');
    if (text.size() <= bytes_max) return text;
    // Not within a letter that takes several bytes.
    std::size_t end = bytes_max;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text.resize(end);
    return text;
}

std::string presentable(std::string log, const std::vector<std::string>& secrets) {
    log = redact(without(std::move(log), secrets));
    std::replace(log.begin(), log.end(), '\r', '\n');
    std::erase_if(log, [](char letter) { return !is_for_people(letter); });
    keep_end(log, log_tail_letters_max);
    if (bytes_as_json(log) > log_tail_bytes_max) keep_end(log, log_tail_bytes_max / 3);
    return log;
}

}  // namespace berth::host_agent
