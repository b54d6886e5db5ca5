#include "host_agent/access/front_order.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace berth::host_agent {
namespace {

std::optional<std::int64_t> port_of(const std::string& text) {
    std::int64_t port = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, port);
    if (read.ec != std::errc() || read.ptr != end || port < 1 || port > 65535) return {};
    return port;
}

}  // namespace

std::string write_order(const FrontOrder& order) {
    std::string out = order.opens ? "open" : "close";
    for (const std::string& each : {std::to_string(order.port), std::to_string(order.local_port),
                                    order.shown_sha256, order.certificate, order.key}) {
        out += '\0';
        out += each;
    }
    return out;
}

std::optional<FrontOrder> read_order(std::string_view bytes) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at <= bytes.size();) {
        const std::size_t end = std::min(bytes.find('\0', at), bytes.size());
        words.emplace_back(bytes.substr(at, end - at));
        at = end + 1;
    }
    if (words.size() != 6 || (words[0] != "open" && words[0] != "close")) return {};
    FrontOrder order{.opens = words[0] == "open"};
    const auto port = port_of(words[1]);
    const auto local_port = port_of(words[2]);
    if (!port || (order.opens && !local_port)) return {};
    order.port = *port;
    order.local_port = local_port.value_or(0);
    order.shown_sha256 = std::move(words[3]);
    order.certificate = std::move(words[4]);
    order.key = std::move(words[5]);
    return order;
}

}  // namespace berth::host_agent
