#include "host_agent/program/options.hpp"

#include <charconv>

namespace berth::host_agent {

std::optional<Ports> parse_ports(const std::string& text) {
    constexpr std::int64_t port_min = 1024;  // the server dials none below
    constexpr std::int64_t port_max = 65535;
    Ports ports{0, 0};
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, ports.first);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
    const auto last = std::from_chars(first.ptr + 1, end, ports.last);
    if (last.ec != std::errc() || last.ptr != end) return std::nullopt;
    if (ports.first < port_min || ports.last > port_max || ports.first >= ports.last)
        return std::nullopt;
    return ports;
}

}  // namespace berth::host_agent
