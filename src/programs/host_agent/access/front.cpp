#include "host_agent/access/front.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/letters.hpp"
#include "base/log.hpp"
#include "crypto/hash.hpp"
#include "http/source.hpp"
#include "http/tls_key.hpp"
#include "http/upstream.hpp"

namespace berth::host_agent {
namespace {

constexpr std::size_t body_bytes_max = std::size_t{16} * 1024 * 1024;
constexpr std::size_t all_bodies_bytes_max = std::size_t{64} * 1024 * 1024;
constexpr std::size_t connections_max = 1'000;
constexpr std::size_t per_address_max = 500;  // the relay comes from one
// The relay has bounds of its own for what people wait for; these only end what is dead.
constexpr auto first_byte_max = std::chrono::seconds(900);
constexpr auto silence_max = std::chrono::seconds(900);

http::Response told(int status, std::string_view sentence) {
    http::Response response{.status = status};
    response.body = R"({"error":{"message":")" + std::string(sentence) + R"("}})";
    return response;
}

// Fields of one connection, and those that the two sides of a conversation set for themselves.
bool is_passed_on(std::string_view name) {
    static constexpr std::string_view own[] = {
        "connection",         "keep-alive", "proxy-connection",
        "proxy-authenticate", "te",         "trailer",
        "transfer-encoding",  "upgrade",    "host",
        "content-length",     "expect",     "date",
        "content-type"};
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
    return std::find(std::begin(own), std::end(own), lower) == std::end(own);
}

void pass_fields(const http::Headers& from, http::Headers& to) {
    for (const http::Headers::Field& field : from)
        if (is_passed_on(field.name)) to.add(field.name, field.value);
}

// One request, from here to the workload's last byte.
class Passing final : public http::Source, public http::UpstreamReader {
public:
    explicit Passing(http::UpstreamRequest request) : request_(std::move(request)) {}

    void start(http::Outlet& outlet) override {
        outlet_ = &outlet;
        call_ = outlet.upstream().start(std::move(request_), *this);
    }
    void on_room() override {
        if (call_) call_->resume();
    }
    void on_gone() override {
        outlet_ = nullptr;
        call_.reset();
    }

    void on_head(http::UpstreamHead head) override {
        begun_ = true;
        http::Response response{.status = head.status};
        response.content_type = head.headers.find("Content-Type").value_or("");
        pass_fields(head.headers, response.headers);
        outlet_->begin(std::move(response));
    }
    bool on_bytes(std::string_view bytes) override {
        return outlet_ == nullptr || outlet_->write(bytes);
    }
    void on_end() override {
        if (outlet_ != nullptr) outlet_->end();
        over();
    }
    void on_failure(const http::UpstreamFailure&) override {
        if (outlet_ == nullptr) return over();
        if (begun_) {
            outlet_->abort();
        } else {
            http::Response response = told(502, "the workload does not answer");
            const std::string body = std::move(response.body);
            outlet_->begin(std::move(response));
            static_cast<void>(outlet_->write(body));
            outlet_->end();
        }
        over();
    }

private:
    void over() {
        outlet_ = nullptr;
        call_.reset();
    }

    http::UpstreamRequest request_;
    http::Outlet* outlet_ = nullptr;
    std::unique_ptr<http::UpstreamCall> call_;
    bool begun_ = false;
};

class Doorkeeper final : public http::Handler {
public:
    Doorkeeper(const std::string& key, std::int64_t local_port)
        : key_(crypto::sha256("Bearer " + key)) {
        workload_.address = *http::parse_address("127.0.0.1");
        workload_.port = static_cast<std::uint16_t>(local_port);
        workload_.host = "localhost";
    }

    std::size_t body_bytes_max(const http::Request& head) override {
        return may_enter(head) ? host_agent::body_bytes_max : 0;
    }

    void handle(http::Request request, http::Reply reply) override {
        if (!may_enter(request)) {
            http::Response response = told(401, "show the job's key: Authorization: Bearer KEY");
            response.headers.add("WWW-Authenticate", "Bearer");
            return reply(std::move(response));
        }
        if (request.unread == http::Unread::too_large)
            return reply(told(413, "a body may have 16 MiB here"));
        if (request.unread == http::Unread::no_room)
            return reply(told(503, "too many bodies are on their way; try again later"));
        http::UpstreamRequest onwards{.endpoint = workload_,
                                      .method = std::move(request.method),
                                      .target = std::move(request.target),
                                      .body = std::move(request.body),
                                      .held = std::move(request.held),
                                      .try_again = true,
                                      .first_byte_max = host_agent::first_byte_max,
                                      .silence_max = host_agent::silence_max};
        pass_fields(request.headers, onwards.headers);
        if (const auto type = request.headers.find("Content-Type"))
            onwards.headers.add("Content-Type", std::string(*type));
        http::Response response;
        response.source = std::make_shared<Passing>(std::move(onwards));
        reply(std::move(response));
    }

private:
    // Hashes are compared, so that the time tells nothing, not even a length.
    bool may_enter(const http::Request& request) const {
        const auto shown = request.headers.find("Authorization");
        return shown && request.headers.count("Authorization") == 1 &&
               crypto::equal_in_constant_time(crypto::sha256(*shown), key_);
    }

    const Bytes key_;
    http::Endpoint workload_;
};

}  // namespace

struct TlsFront::Opened {
    Opened(const Opening& opening, http::ServerOptions options)
        : keeper(opening.key, opening.local_port), server(std::move(options), keeper) {
        server.start();
    }
    Doorkeeper keeper;
    http::Server server;
};

TlsFront::TlsFront(std::string address)
    : address_(std::move(address)),
      request_bytes_(std::make_shared<http::ByteBudget>(all_bodies_bytes_max)) {}
TlsFront::~TlsFront() = default;

std::string TlsFront::open(const Opening& opening) {
    http::ServerOptions options;
    options.address = address_;
    options.port = static_cast<std::uint16_t>(opening.port);
    options.tls_certificate_file = opening.folder + "/tls.crt";
    options.tls_key_file = opening.folder + "/tls.key";
    options.connections_max = connections_max;
    options.connections_per_address_max = per_address_max;
    options.request_bytes = request_bytes_;
    options.drain_max = std::chrono::seconds(0);
    const std::lock_guard lock(mutex_);
    try {
        const Bytes hash =
            http::make_self_signed(options.tls_certificate_file, options.tls_key_file);
        doors_.erase(opening.port);
        doors_.emplace(opening.port, std::make_unique<Opened>(opening, std::move(options)));
        return to_hex(hash);
    } catch (const std::exception& error) {
        throw RuntimeError("INTERNAL", fmt::format("the endpoint {} cannot be opened: {}",
                                                   opening.name, error.what()));
    }
}

void TlsFront::close(std::int64_t port) {
    std::unique_ptr<Opened> closing;
    const std::lock_guard lock(mutex_);
    const auto found = doors_.find(port);
    if (found == doors_.end()) return;
    closing = std::move(found->second);
    doors_.erase(found);
}

}  // namespace berth::host_agent
