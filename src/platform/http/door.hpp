// Who may come in: counts the connections of each address over all loops of a server, and what was
// refused, by connection and by request.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/random.hpp"
#include "base/seldom.hpp"
#include "http/address.hpp"

namespace berth::http {

class Door {
public:
    // Proxies stand for many clients, and loopback is the machine itself: neither is counted.
    Door(std::size_t per_address_max, AddressBlocks proxies);

    // False when the address has as many connections as it may; true is undone by leave().
    bool enter(const Address& peer);
    void leave(const Address& peer);

    // Whose share of the memory for requests a client uses; empty when it is not counted.
    std::string counted_as(const Address& client) const;

    void refuse_connection(std::string_view why);
    std::uint64_t connections_refused() const { return connections_refused_; }

    // A request is refused before it was understood; gives the id by which the answer names it.
    std::string refuse_request(int status, std::string_view peer);
    std::uint64_t requests_refused() const { return requests_refused_; }

private:
    bool is_counted(const Address& peer) const;

    const std::size_t per_address_max_;
    const AddressBlocks uncounted_;

    std::mutex mutex_;
    std::unordered_map<std::string, std::size_t> by_address_;
    std::atomic<std::uint64_t> connections_refused_{0};
    std::atomic<std::uint64_t> requests_refused_{0};
    SystemRandom random_;
    Seldom tell_connection_{std::chrono::seconds(1)};
    Seldom tell_request_{std::chrono::seconds(1)};
};

}  // namespace berth::http
