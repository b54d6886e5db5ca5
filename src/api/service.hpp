// Carries out requests: finds the route, identifies and judges the caller, decodes the input, runs
// the handler in its transaction with idempotency, and turns whatever happens into one response.
//
// The order of checks is fixed: route 404, credential 401, rate 429, scope or role 403, then every
// fault of key, path, query and body at once as 422; the rest is the handler's.
#pragma once

#include "api/metrics.hpp"
#include "api/router.hpp"
#include "http/pool.hpp"
#include "settings/live.hpp"

namespace berth::api {

class Service final : public http::Handler {
public:
    struct Parts {
        const Router& router;
        db::Database& database;
        Authenticator& authenticator;
        const Clock& clock;
        Random& random;  // called from many threads
        Bytes cursor_secret;
        Metrics& metrics;
        const settings::Live& settings;
        const RateRule* unknown_routes = nullptr;  // for paths that lead nowhere, by address
    };

    explicit Service(const Parts& parts);

    // Where requests that may block are carried out from now on; the pool ends before the service
    // does. Without one, every request is carried out on the thread that brings it.
    void set_pool(http::Pool* pool) { pool_ = pool; }

    std::size_t body_bytes_max(const http::Request& head) override;
    void handle(http::Request request, http::Reply reply) override;

    // The whole of a request, on this thread.
    http::Response answer(const http::Request& request);

private:
    struct Exchange;

    http::Response carry_out(Exchange& exchange);
    http::Response respond(const Exchange& exchange, int status, std::string body) const;
    http::Response refuse(const Exchange& exchange, const Problem& problem) const;

    void note_use(const Exchange& exchange);
    http::Response run(Exchange& exchange);
    void admit(Exchange& exchange, db::Transaction* tx);
    void limit_rate(const Exchange& exchange, const RateRule* rule);
    void decode(Exchange& exchange);
    Inquiry prepare(Exchange& exchange, db::Transaction& tx);
    void ask(Exchange& exchange, const Inquiry& inquiry);
    http::Response invoke(Exchange& exchange, db::Transaction* tx);
    http::Response write(Exchange& exchange);
    http::Response write_once(Exchange& exchange, db::Transaction& tx);
    http::Response settle_unknown(Exchange& exchange);

    Parts parts_;
    Cursors cursors_;
    RateLimiter limiter_;
    http::Pool* pool_ = nullptr;
};

}  // namespace berth::api
