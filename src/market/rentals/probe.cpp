#include "rentals/probe.hpp"

#include <fmt/format.h>

#include <future>
#include <system_error>

#include "http/dial.hpp"
#include "rentals/ssh_greeting.hpp"
#include "wire/open.hpp"

namespace berth::rentals {
namespace {

// As engines list what they serve.
struct ListedModels {
    std::vector<wire::Json> data;
};
BOOST_DESCRIBE_STRUCT(ListedModels, (), (data))

bool lists_models(const std::string& body) {
    try {
        wire::decode_known<ListedModels>(body, "models");
        return true;
    } catch (const Problem&) {
        return false;
    }
}

}  // namespace

std::string authority(const std::string& host, std::int64_t port) {
    const bool bare_v6 = host.find(':') != std::string::npos && !host.starts_with('[');
    return bare_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Prober::Finding Prober::ask(const Question& question) const {
    const EndpointAddress& endpoint = question.endpoint;
    const std::string name = authority(endpoint.host, endpoint.port);
    const http::Resolved resolved = question.dial_host
                                        ? http::resolve(*question.dial_host, http::Reach::anywhere)
                                        : http::resolve(endpoint.host, reach_);
    if (resolved.addresses.empty())
        return {fmt::format("the endpoint {} cannot be used: {}", name, resolved.reason)};
    if (own_listeners_ != nullptr &&
        own_listeners_->contains(resolved.addresses.front(), endpoint.port))
        return {fmt::format("the endpoint {} cannot be used: this service answers there", name)};
    try {
        return question.kind == EndpointKind::ssh ? ask_ssh(question, resolved.addresses.front())
                                                  : ask_http(question, resolved.addresses.front());
    } catch (const http::TransportError& error) {
        return {fmt::format("the endpoint {} does not answer: {}", name, error.what())};
    }
}

Prober::Finding Prober::ask_http(const Question& question, const http::Address& at) const {
    const std::string name = authority(question.endpoint.host, question.endpoint.port);
    const std::string address = http::to_string(at);
    const http::Response answer = get(question, address, question.path);
    if (answer.status >= 500)
        return {fmt::format("the endpoint {} answers {}", name, answer.status)};
    if (!question.serves_model) return {{}, address};
    const bool is_asked = question.path == models_path;
    const http::Response models = is_asked ? answer : get(question, address, models_path);
    if (models.status != 200)
        return {fmt::format("the endpoint {} answers {} when asked for {}", name, models.status,
                            models_path)};
    if (!lists_models(models.body))
        return {fmt::format("the endpoint {} answers {} with something else than a list of models",
                            name, models_path)};
    return {{}, address};
}

Prober::Finding Prober::ask_ssh(const Question& question, const http::Address& at) const {
    const EndpointAddress& endpoint = question.endpoint;
    SystemRandom random;
    http::DialledConnection connection(at, static_cast<std::uint16_t>(endpoint.port),
                                       answer_within);
    const SshGreeting greeting = greet_ssh(connection, random);
    if (question.fingerprint && *question.fingerprint != greeting.fingerprint)
        return {fmt::format("the endpoint {} shows the host key {} and not the one that was told",
                            authority(endpoint.host, endpoint.port), greeting.fingerprint)};
    return {{}, http::to_string(at), greeting.fingerprint};
}

http::Response Prober::get(const Question& question, const std::string& address,
                           const std::string& path) const {
    const EndpointAddress& endpoint = question.endpoint;
    http::Outbound request;
    request.url = fmt::format("{}://{}{}", endpoint.tls_key ? "https" : "http",
                              authority(address, endpoint.port), path);
    request.headers.add("Host", authority(endpoint.host, endpoint.port));
    request.headers.add("Authorization", "Bearer " + question.key);
    request.total_max = answer_within;
    if (endpoint.tls_key) request.pinned_key = *endpoint.tls_key;
    request.fresh_connection = true;  // an idle one would keep the older process of a gate
    return client_.send(request);
}

// A place among those that are asked, for as long as it takes.
class Prober::Turn {
public:
    Turn(const Prober& prober, const Asked& of) : prober_(prober), of_(of) {
        const std::lock_guard lock(prober_.mutex_);
        const auto of_owner = prober_.busy_of_owner_.find(of_.owner);
        const bool has_all =
            of_owner != prober_.busy_of_owner_.end() && of_owner->second >= at_once_of_owner_max;
        if (prober_.busy_.contains(of_.job))
            refusal_ = "the endpoints are being asked already; say READY again after that answer";
        else if (has_all)
            refusal_ =
                "the endpoints of as many of your machines as may be are being asked already";
        else if (prober_.busy_.size() >= at_once_max)
            refusal_ = "the endpoints of many jobs are being asked; say READY again in a moment";
        if (refusal_ != nullptr) return;
        prober_.busy_.insert(of_.job);
        ++prober_.busy_of_owner_[of_.owner];
    }
    ~Turn() {
        if (refusal_ != nullptr) return;
        const std::lock_guard lock(prober_.mutex_);
        prober_.busy_.erase(of_.job);
        const auto of_owner = prober_.busy_of_owner_.find(of_.owner);
        if (--of_owner->second == 0) prober_.busy_of_owner_.erase(of_owner);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    const char* refusal() const { return refusal_; }  // null: it is had

private:
    const Prober& prober_;
    const Asked of_;
    const char* refusal_ = nullptr;
};

Prober::Answers Prober::ask_all(const Asked& of, const std::vector<Question>& questions) const {
    const Turn turn(*this, of);
    if (turn.refusal() != nullptr) return {turn.refusal()};
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
        if (finding.fault) return {.fault = std::move(finding.fault)};
        answers.addresses.push_back(std::move(finding.address));
        if (finding.fingerprint) answers.fingerprint = std::move(finding.fingerprint);
    }
    return answers;
}

}  // namespace berth::rentals
