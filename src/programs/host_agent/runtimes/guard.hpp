// What of the network a job reaches: the internet and names, and nothing else. No service of the
// host, no other job, no private, link-local, carrier or metadata address; nobody but the agent
// reaches it, and other users of the host as little as the world. What it reaches it cannot flood:
// so many connections at once, so many new ones a second, and no mail. One nftables table for each
// job, in place before its container is.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace berth::host_agent {

// Far above what downloads, clusters and browsers need, and far below what scans and floods do.
struct ConnectionLimits {
    std::int64_t open_max = 4096;           // from the job to the internet, at once
    std::int64_t new_per_second_max = 200;  // names that are asked for among them
    std::int64_t new_at_once_max = 400;     // after a pause
    // Of packets to who tells names, in whichever conversation; he is one for all jobs of the host.
    std::int64_t asking_per_second_max = 1000;
    std::int64_t asking_at_once_max = 2000;
};

struct GuardedNetwork {
    std::string bridge;
    std::string subnet;   // "10.213.0.0/29"
    std::string gateway;  // the host's address in it, where names are asked for
    // Ports of the host by which the job is reached: what leaves through them is the job's too.
    std::vector<std::int64_t> host_ports;
    // By those ports it is the agent that is spoken to, which passes all of it on to a gate.
    bool leaves_by_loopback = false;
    // Users of the host, beside root, whose processes may speak to the job.
    std::vector<uid_t> host_users;
    // Networks that the host itself is in, whatever their addresses: "203.0.113.0/24".
    std::vector<std::string> neighbours;
    ConnectionLimits connections{};
    // How fast what passes by the ports of the host goes at most, each way, in bytes a second; 0:
    // no bound.
    std::int64_t passing_max = 0;
};

class Guard {
public:
    explicit Guard(JobId job);

    void put(const GuardedNetwork& network);  // throws std::runtime_error; anew when it is there
    void remove();                            // harmless when it is not there
    // What leaves by the ports of the host goes at most so fast from now on; that of the container
    // is another's affair (shaper.hpp). Harmless when it does already. Throws std::runtime_error.
    void slow_down(std::int64_t bytes_per_second);
    // Likewise, and what comes by them too.
    void keep_to(std::int64_t bytes_per_second);
    // Bytes that left the host for this job; empty when the guard is not there.
    std::optional<std::int64_t> egress_bytes() const;

private:
    const std::string table_;
};

// The rules as nft reads them.
std::string guard_rules(const std::string& table, const GuardedNetwork& network);

}  // namespace berth::host_agent
