#include "rentals/probe.hpp"

#include <fmt/format.h>

#include <future>
#include <system_error>

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
    request.url = fmt::format("{}://{}{}", endpoint.tls_key ? "https" : "http",
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

Prober::Answers Prober::ask_all(JobId job, const std::vector<Question>& questions) const {
    struct Turn {
        Turn(const Prober& prober_, JobId job_) : prober(prober_), job(job_) {
            const std::lock_guard lock(prober.mutex_);
            is_mine = prober.busy_.insert(job).second;
        }
        ~Turn() {
            const std::lock_guard lock(prober.mutex_);
            if (is_mine) prober.busy_.erase(job);
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

        const Prober& prober;
        const JobId job;
        bool is_mine = false;
    };
    const Turn turn(*this, job);
    if (!turn.is_mine)
        return {"the endpoints are being asked already; say READY again after that answer"};
    std::vector<std::future<Finding>> asked;
    try {
        for (const Question& question : questions)
            asked.push_back(std::async(std::launch::async, [&] { return ask(question); }));
    } catch (const std::system_error&) {
        return {"the endpoints could not be asked just now; say READY again"};
    }
    Answers answers;
    for (auto& answer : asked) {
        Finding finding = answer.get();
        if (finding.fault) return {std::move(finding.fault)};
        answers.addresses.push_back(std::move(finding.address));
    }
    return answers;
}

}  // namespace berth::rentals
