#include "rentals/probe.hpp"

#include <fmt/format.h>

namespace berth::rentals {

std::string authority(const std::string& host, std::int64_t port) {
    const bool bare_v6 = host.find(':') != std::string::npos && !host.starts_with('[');
    return bare_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Prober::Finding Prober::ask(const Question& question) const {
    const EndpointAddress& endpoint = question.endpoint;
    const std::string name = authority(endpoint.host, endpoint.port);
    const http::Resolved resolved = http::resolve(endpoint.host, reach_);
    if (resolved.addresses.empty())
        return {fmt::format("the endpoint {} cannot be used: {}", name, resolved.reason)};
    const std::string address = http::to_string(resolved.addresses.front());
    http::Outbound request;
    request.url =
        fmt::format("{}://{}{}", endpoint.tls_key ? "https" : "http",
                    authority(address, endpoint.port), question.path);
    request.headers.add("Host", name);
    request.headers.add("Authorization", "Bearer " + question.key);
    request.total_max = answer_within;
    if (endpoint.tls_key) request.pinned_key = *endpoint.tls_key;
    try {
        const http::Response answer = client_.send(request);
        if (answer.status < 500) return {{}, address};
        return {fmt::format("the endpoint {} answers {}", name, answer.status)};
    } catch (const http::TransportError& error) {
        return {fmt::format("the endpoint {} does not answer: {}", name, error.what())};
    }
}

}  // namespace berth::rentals
