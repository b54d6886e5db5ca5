// The signed line to the server. Safe to call from any thread; every call blocks for as long as its
// deadline says.
#pragma once

#include <atomic>
#include <mutex>

#include "agent_protocol/signature.hpp"
#include "host_agent/core/boot_clock.hpp"
#include "host_agent/core/state_folder.hpp"
#include "http/client.hpp"

namespace berth::host_agent {

// Only https, but for this very host. Throws std::invalid_argument with a sentence.
void check_server_address(const std::string& server);
bool is_loopback_address(const std::string& server);

struct ServerPlace {
    std::string host;  // a name or an address
    std::int64_t port = 0;
};
ServerPlace place_of(const std::string& server);

struct Call {
    std::string method = "POST";
    std::string target{};  // path and query
    std::string body{};
    std::string content_type = "application/json";
    Duration total_max = std::chrono::seconds(15);
    std::size_t response_bytes_max = std::size_t{4} * 1024 * 1024;
};

class Link {
public:
    Link(http::Client& client, const BootClock& clock, const Identity& identity);

    // Throws http::TransportError when no answer came.
    http::Response send(const Call& call);
    // As this machine, for another who knows its key: a gate. Adds the fields of a signature.
    void sign(http::Outbound& request);
    // From the next call on.
    void use_key(const std::string& seed);

private:
    http::Response attempt(const Call& call);
    Time created() const;
    bool note_date(const http::Response& response);

    http::Client& client_;
    const BootClock& clock_;
    const std::string server_;
    const std::string ca_file_;
    const MachineId machine_;
    SystemRandom random_;
    mutable std::mutex mutex_;
    std::string seed_;
    // The server's clock less ours since boot, by its Date field; our wall clock before the first.
    std::atomic<std::int64_t> offset_us_;
};

}  // namespace berth::host_agent
