// READY is seen, not believed: before a job is billed the server asks its endpoints itself. The
// name is resolved once, the address is judged, and that address is dialled.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "http/client.hpp"
#include "http/resolve.hpp"
#include "rentals/types.hpp"

namespace berth::rentals {

// How an endpoint of a job is reached.
struct EndpointAddress {
    std::string host;
    std::int64_t port = 0;
    std::optional<Bytes> tls_key;  // SHA-256 of the key that it must have; none: plain HTTP
};

// Where an engine lists what it serves.
inline constexpr const char* models_path = "/v1/models";

// As a URL and the Host field have it.
std::string authority(const std::string& host, std::int64_t port);

// Whether the http endpoints of a job must speak TLS.
enum class EngineTls { required, optional };

// Whoever looks at endpoints from outside; tests have one of their own.
class EndpointProber {
public:
    struct Question {
        EndpointAddress endpoint;
        std::string path = {};  // that an http endpoint is asked for
        std::string key = {};   // of the job
        EndpointKind kind = EndpointKind::http;
        bool serves_model = false;  // then its models are asked for as well, and must be listed
        std::optional<std::string> fingerprint = {};  // of an ssh host key, as READY told it
        // Of a door: where its operator says that the gate is. It is dialled instead of the host,
        // wherever it is, since no host has chosen it.
        std::optional<std::string> dial_host = {};
    };
    struct Answers {
        std::optional<std::string> fault = {};        // why one cannot be used, as a sentence
        std::vector<std::string> addresses = {};      // of all of them, when there is no fault
        std::optional<std::string> fingerprint = {};  // of the ssh host key that was seen
    };
    virtual ~EndpointProber() = default;
    // Whose endpoints they are.
    struct Asked {
        JobId job;
        AccountId owner;  // of the machine
    };
    virtual Answers ask_all(const Asked& of, const std::vector<Question>& questions) const = 0;
};

class Prober final : public EndpointProber {
public:
    static constexpr Duration answer_within = std::chrono::seconds(10);
    // Jobs whose endpoints are asked at a time, each of which keeps a thread of the pool waiting.
    static constexpr std::size_t at_once_max = 16;
    static constexpr std::size_t at_once_of_owner_max = 4;

    // `own_listeners`, if given, are never asked.
    Prober(http::Client& client, http::Reach reach,
           const http::OwnListeners* own_listeners = nullptr)
        : client_(client), reach_(reach), own_listeners_(own_listeners) {}

    struct Finding {
        std::optional<std::string> fault = {};        // why it does not answer, as a sentence
        std::string address = {};                     // where it did
        std::optional<std::string> fingerprint = {};  // of the host key that it showed
    };
    // Blocks.
    Finding ask(const Question& question) const;

    // Asks all at once. A host can keep each waiting, and a thread with it: who asks for a job that
    // is being asked for already is told so, and so is who has as many as he may, or is late.
    Answers ask_all(const Asked& of, const std::vector<Question>& questions) const override;

private:
    class Turn;

    Finding ask_http(const Question& question, const http::Address& address) const;
    Finding ask_ssh(const Question& question, const http::Address& address) const;
    http::Response get(const Question& question, const std::string& address,
                       const std::string& path) const;

    http::Client& client_;
    const http::Reach reach_;
    const http::OwnListeners* const own_listeners_;
    mutable std::mutex mutex_;
    mutable std::set<JobId> busy_;
    mutable std::map<AccountId, std::size_t> busy_of_owner_;
};

}  // namespace berth::rentals
