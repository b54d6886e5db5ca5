// The outside of a test without sockets: whatever READY names answers there, but for one port,
// where nobody does. Nothing else is looked at; tests/rentals/probe_test.cpp has what the real one
// sees.
#pragma once

#include <fmt/format.h>

#include "http/client.hpp"
#include "rentals/probe.hpp"

namespace berth::test {

inline constexpr std::int64_t dark_port = 1024;
inline constexpr std::string_view double_host = "203.0.113.7";

class EndpointsDouble final : public rentals::EndpointProber {
public:
    // With a reach, http endpoints at another address than the double's are asked over the network.
    explicit EndpointsDouble(std::optional<http::Reach> reach = {}) {
        if (reach) network_.emplace(client_, *reach);
    }

    Answers ask_all(const Asked& of, const std::vector<Question>& questions) const override {
        Answers answers;
        for (const Question& question : questions) {
            const rentals::EndpointAddress& endpoint = question.endpoint;
            if (network_ && question.kind == rentals::EndpointKind::http &&
                endpoint.host != double_host) {
                Answers seen = network_->ask_all(of, {question});
                if (seen.fault) return seen;
                answers.addresses.push_back(seen.addresses.front());
            } else if (endpoint.port == dark_port) {
                return {.fault = fmt::format("the endpoint {} does not answer",
                                             rentals::authority(endpoint.host, endpoint.port))};
            } else {
                answers.addresses.push_back(endpoint.host);
                if (question.kind == rentals::EndpointKind::ssh)
                    answers.fingerprint = question.fingerprint;
            }
        }
        return answers;
    }

private:
    mutable http::CurlClient client_;
    std::optional<rentals::Prober> network_;
};

}  // namespace berth::test
