#include "host_agent/core/policy.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/letters.hpp"

namespace berth::host_agent {
namespace {

constexpr int minutes_a_day = 24 * 60;

// "08:30" as minutes of the day.
std::optional<int> parse_minute(std::string_view text) {
    if (text.size() != 5 || text[2] != ':') return std::nullopt;
    for (const std::size_t at : {0U, 1U, 3U, 4U})
        if (!is_digit(text[at])) return std::nullopt;
    const int hour = (text[0] - '0') * 10 + (text[1] - '0');
    const int minute = (text[3] - '0') * 10 + (text[4] - '0');
    if (hour > 23 || minute > 59) return std::nullopt;
    return hour * 60 + minute;
}

// A name without a registry is one of Docker's, as podman's own configuration would have it.
std::string full_name(const std::string& image) {
    const std::string repository = image.substr(0, image.find('@'));
    const std::string first = repository.substr(0, repository.find('/'));
    const bool has_registry = repository.find('/') != std::string::npos &&
                              (first.find('.') != std::string::npos ||
                               first.find(':') != std::string::npos || first == "localhost");
    return has_registry ? repository : "docker.io/" + repository;
}

// "ghcr.io/ggml-org" is for everything below it, and not for ghcr.io/ggml-organisation.
bool is_below(const std::string& name, std::string registry) {
    while (registry.ends_with('/')) registry.pop_back();
    return name == registry || name.starts_with(registry + "/");
}

bool is_renters_own(const agent_protocol::StartPayload& order) {
    return !order.template_.value ||
           order.template_.value->kind == agent_protocol::TemplateKind::custom;
}

}  // namespace

OwnersPolicy::OwnersPolicy(std::string path) : path_(std::move(path)) {}

Policy OwnersPolicy::now() const {
    struct stat info {};
    if (::stat(path_.c_str(), &info) != 0) {
        if (errno == ENOENT && path_ == usual_policy_file) return {};
        throw std::invalid_argument(path_ + ": the owner's policy cannot be read");
    }
    const bool is_ours = info.st_uid == 0 || info.st_uid == ::geteuid();
    if (!is_ours || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        throw std::invalid_argument(path_ +
                                    ": others than root and the agent could change the owner's "
                                    "policy: chown and chmod it to 0644");
    std::ifstream file(path_);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file) throw std::invalid_argument(path_ + ": the owner's policy cannot be read");
    return read_policy(text, path_);
}

Policy read_policy(const std::string& text, const std::string& path) {
    try {
        auto policy = wire::decode<Policy>(text, "policy");
        if (policy.hours &&
            (!parse_minute(policy.hours->from) || !parse_minute(policy.hours->until)))
            throw std::invalid_argument(
                path + ": policy.hours: from and until must be times of the day, as 08:30");
        return policy;
    } catch (const Problem& problem) {
        throw std::invalid_argument(fmt::format("{}: {}", path, problem.message));
    }
}

HoursLeft hours_left(const Policy& policy, int minute) {
    if (!policy.hours) return {};
    const int from = parse_minute(policy.hours->from).value();
    const int until = parse_minute(policy.hours->until).value();
    if (from == until) return {};  // all day
    const auto since = [&](int begin, int end) {
        return (end - begin + minutes_a_day) % minutes_a_day;
    };
    if (since(from, minute) >= since(from, until)) return {false, std::nullopt};
    return {true, std::chrono::minutes(since(minute, until))};
}

int local_minute(Time wall) {
    const std::time_t seconds = wall.micros / 1'000'000;
    std::tm fields{};
    ::localtime_r(&seconds, &fields);
    return fields.tm_hour * 60 + fields.tm_min;
}

std::optional<std::string> refusal_by(const Policy& policy,
                                      const agent_protocol::StartPayload& order, int minute) {
    const std::string name = full_name(order.image_digest);
    if (policy.custom_images == false && is_renters_own(order))
        return "The host's owner takes no images of renters' own.";
    if (policy.registries &&
        std::none_of(policy.registries->begin(), policy.registries->end(),
                     [&](const std::string& registry) { return is_below(name, registry); }))
        return fmt::format("The host's owner takes no images from {}.",
                           name.substr(0, name.find('/')));
    if (policy.disk_gib_max && order.included_disk_gib.value > policy.disk_gib_max->value)
        return fmt::format(
            "The host's owner gives a job {} GiB of disk at most, and this one was "
            "promised {}.",
            policy.disk_gib_max->value, order.included_disk_gib.value);
    if (policy.least_rate_micro_per_hour &&
        order.rate_micro_per_hour < *policy.least_rate_micro_per_hour)
        return "The host's owner takes no job at this price.";
    const HoursLeft left = hours_left(policy, minute);
    if (!left.is_open)
        return fmt::format("The host's owner rents it out from {} until {} only.",
                           policy.hours->from, policy.hours->until);
    if (left.until_closing &&
        *left.until_closing < std::chrono::seconds(order.duration_limit_s.value))
        return fmt::format(
            "The host's owner rents it out until {} only, and the job may last "
            "longer.",
            policy.hours->until);
    return std::nullopt;
}

}  // namespace berth::host_agent
