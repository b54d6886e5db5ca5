// Carries out requests: finds the route, identifies and judges the caller, decodes the input, runs
// the handler in its transaction with idempotency, and turns whatever happens into one response.
//
// The order of checks is fixed: route 404, credential 401, rate 429, scope or role 403, then every
// fault of key, path, query and body at once as 422; the rest is the handler's.
#pragma once

#include <atomic>

#include "api/known_callers.hpp"
#include "api/metrics.hpp"
#include "api/notifier.hpp"
#include "api/router.hpp"
#include "base/log_limiter.hpp"
#include "http/gzip.hpp"
#include "http/pool.hpp"
#include "settings/live.hpp"

namespace berth::api {

class Service final : public http::Handler {
public:
    struct Parts {
        const Router& router;
        db::Database& database;
        Authenticators authenticators;
        const Clock& clock;
        Random& random;  // called from many threads
        Bytes cursor_secret;
        Metrics& metrics;
        const settings::Live& settings;
        std::vector<Topic> topics = {};                // what requests may wait for
        bool https = false;                            // clients reach the service by https alone
        std::vector<Bytes> other_cursor_secrets = {};  // whose cursors are good, too
    };

    explicit Service(const Parts& parts);

    // Where requests that may block are carried out from now on; the pool ends before the service
    // does. Without one, every request is carried out on the thread that brings it, and none waits.
    void set_pool(http::Pool* pool);
    // Requests that wait for news are answered with what there is, and none waits from now on.
    void end_waiting() { notifier_.stop(); }
    // Until take_work(), what takes more than memory is refused with `why`, a constant.
    void refuse_work(const char* why) { refusing_ = why; }
    void take_work() { refusing_ = nullptr; }
    std::uint64_t refused_for_queue() const { return refused_for_queue_; }
    // What machines sent and we could not take, for want of memory, threads or the database.
    std::uint64_t refused_to_machines() const { return refused_to_machines_; }

    Notifier& notifier() { return notifier_; }

    std::size_t body_bytes_max(const http::Request& head) override;
    std::shared_ptr<http::BodySink> body_sink(const http::Request& head) override;
    http::BodyCare body_care(const http::Request& head) override;
    void handle(http::Request request, http::Reply reply) override;

    // The whole of a request, on this thread.
    http::Response answer(const http::Request& request);

private:
    struct Exchange;
    struct Visit;
    struct Judged;

    bool is_refusing() const { return refusing_.load() != nullptr; }
    http::Response refuse_now(const Exchange& exchange) const;
    void refuse_for_queue(const Exchange& exchange, const http::Reply& reply);
    void answer_at_once(const http::Request& request, const http::Reply& reply);
    void proceed(const std::shared_ptr<Visit>& visit);
    std::optional<http::Response> answer_from_memory(Exchange& exchange);
    http::Response attempt(Exchange& exchange);
    http::Response carry_out(Exchange& exchange);
    enum class Kind : std::uint8_t { data, page };
    http::Response respond(const Exchange& exchange, int status, std::string body,
                           Kind kind = Kind::data) const;
    http::Response refuse(const Exchange& exchange, const Problem& problem) const;

    void note_use(const Exchange& exchange);
    void note_refusal(const Exchange& exchange);
    http::Response run(Exchange& exchange);
    http::Response run_handler(Exchange& exchange);
    http::Response judge_head(Exchange& exchange);
    http::Response go_on(const Exchange& exchange) const;
    bool recognise(Exchange& exchange);
    void identify(Exchange& exchange, db::Transaction& tx);
    void admit(Exchange& exchange, db::Transaction* tx);
    void admit_caller(Exchange& exchange, db::Transaction* tx);
    void count_invalid(const Exchange& exchange);
    const RateRule& rate_of(const Route& route) const;
    void limit_rate(const Exchange& exchange, const RateRule& rule);
    void decode(Exchange& exchange);
    Inquiry prepare(Exchange& exchange, db::Transaction& tx);
    void ask(Exchange& exchange, const Inquiry& inquiry);
    http::Response invoke(Exchange& exchange, db::Transaction* tx);
    http::GzipCache& compressed_of(const Exchange& exchange);
    void offer_compressed(Exchange& exchange, http::Response& response);
    http::Response write(Exchange& exchange);
    http::Response rehearse(Exchange& exchange);
    http::Response write_once(Exchange& exchange, db::Transaction& tx);
    http::Response settle_unknown(Exchange& exchange);

    Parts parts_;
    Cursors cursors_;
    const RateRules rates_;
    RateLimiter limiter_;
    RateLimiter good_credentials_;  // those that were good lately, by their hash
    KnownCallers known_callers_;
    http::GzipCache compressed_;
    http::GzipCache compressed_files_{256};  // what stays: the other texts do not push it out
    http::Pool* pool_ = nullptr;
    std::atomic<const char*> refusing_{nullptr};  // the reason
    std::atomic<std::uint64_t> refused_for_queue_{0};
    std::atomic<std::uint64_t> refused_to_machines_{0};
    LogLimiter queue_full_{std::chrono::seconds(1)};
    Notifier notifier_;
    db::Wakes::Listening listening_;  // to what is committed, for the notifier
};

}  // namespace berth::api
