// The outside of a test without sockets: whatever READY names answers there, but for the first,
// where nobody does. Nothing else is looked at; tests/rentals/probe_test.cpp has what the real one
// sees.
#pragma once

#include <fmt/format.h>

#include "rentals/probe.hpp"

namespace berth::test {

inline constexpr std::int64_t dark_port = 1024;
inline constexpr std::string_view double_host = "203.0.113.7";

class EndpointsDouble final : public rentals::EndpointProber {
public:
    Answers ask_all(const Asked&, const std::vector<Question>& questions) const override {
        Answers answers;
        for (const Question& question : questions) {
            const rentals::EndpointAddress& endpoint = question.endpoint;
            if (endpoint.port == dark_port)
                return {.fault = fmt::format("the endpoint {} does not answer",
                                             rentals::authority(endpoint.host, endpoint.port))};
            answers.addresses.push_back(endpoint.host);
            if (question.kind == rentals::EndpointKind::ssh)
                answers.fingerprint = question.fingerprint;
        }
        return answers;
    }
};

}  // namespace berth::test
