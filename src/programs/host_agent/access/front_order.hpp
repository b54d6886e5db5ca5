// What the agent tells the process that speaks with strangers: to open a door, with the socket that
// listens there, or to shut it. Its answer is one word, or a sentence that says why not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::host_agent {

struct FrontOrder {
    bool opens = true;
    std::int64_t port = 0;        // open to the world; names the door
    std::int64_t local_port = 0;  // on loopback: where the workload listens
    std::string shown_sha256{};   // in hex, of the Authorization field that lets one in
    std::string certificate{};    // PEM
    std::string key{};            // PEM
};
inline constexpr std::size_t order_bytes_max = 64 * 1024;
inline constexpr std::string_view front_obeyed = "obeyed";

std::string write_order(const FrontOrder& order);
std::optional<FrontOrder> read_order(std::string_view bytes);

}  // namespace berth::host_agent
