// What the owner of this host allows, whatever the server says: a file on the host that no server
// can change. It is read anew whenever it counts, so that an edit holds from the next job on. What
// it refuses is refused before anything is begun.
//
//     {"registries": ["docker.io", "ghcr.io/ggml-org"], "custom_images": false,
//      "disk_gib_max": 200, "hours": {"from": "20:00", "until": "08:00"},
//      "power_limit_w": 300, "least_rate_micro_per_hour": "500000"}
//
// Every member may be left out, and the file as well.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent_protocol/payloads.hpp"
#include "wire/wire.hpp"

namespace berth::host_agent {

// Of every day, by the clock of the host. From 20:00 until 08:00 is the night.
struct PolicyHours {
    std::string from;
    std::string until;
};
BOOST_DESCRIBE_STRUCT(PolicyHours, (), (from, until))

struct Policy {
    std::optional<std::vector<std::string>> registries;  // or a part of one: "ghcr.io/ggml-org"
    std::optional<bool> custom_images;
    std::optional<wire::Integer<0, 1'000'000>> disk_gib_max;
    std::optional<PolicyHours> hours;
    std::optional<wire::Integer<1, 100'000>> power_limit_w;  // of each card
    std::optional<Micro> least_rate_micro_per_hour;          // for the whole machine
};
BOOST_DESCRIBE_STRUCT(Policy, (),
                      (registries, custom_images, disk_gib_max, hours, power_limit_w,
                       least_rate_micro_per_hour))

inline constexpr const char* usual_policy_file = "/etc/berth-agent/policy.json";

class OwnersPolicy {
public:
    // The usual file need not be there; one that was named has to.
    explicit OwnersPolicy(std::string path = usual_policy_file);

    // Throws std::invalid_argument with a sentence when it cannot be read, says what it may not, or
    // could be changed by others than root and the agent's own user. Then nothing is allowed.
    Policy now() const;

private:
    const std::string path_;
};

// A policy from its text. Throws std::invalid_argument.
Policy read_policy(const std::string& text, const std::string& path);

// How long the owner's hours go on, from this minute of the day; empty outside of them. Without
// hours there is no end.
struct HoursLeft {
    bool is_open = true;
    std::optional<Duration> until_closing;
};
HoursLeft hours_left(const Policy& policy, int minute);
int local_minute(Time wall);  // of the day, where the host is

// Why the owner does not want this job; empty when nothing stands against it.
std::optional<std::string> refusal_by(const Policy& policy,
                                      const agent_protocol::StartPayload& order, int minute);

}  // namespace berth::host_agent
