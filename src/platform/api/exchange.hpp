// What the service knows of a request while it carries it out; for the service's own files alone.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "api/idempotency.hpp"
#include "api/service.hpp"

namespace berth::api {

// One request on its way through.
struct Service::Exchange {
    const http::Request& request;
    Time now;
    RequestId id;
    Router::Match match{};
    std::shared_ptr<const settings::Snapshot> settings{};
    Caller caller{};
    bool identified = false;
    bool keyed = false;        // an Idempotency-Key decides
    bool from_memory = false;  // no transaction
    bool counted = false;      // against the rate: a request that is run again does not count twice
    bool admitted = false;
    Input input{};
    std::shared_ptr<const void> arguments{};
    std::shared_ptr<const void> facts{};  // what an asking route learned
    IdempotencyKey key{};
    std::vector<Call::Note> notes{};  // of a read, for before its answer

    using SteadyClock = std::chrono::steady_clock;
    SteadyClock::time_point came = SteadyClock::now();
    std::uint64_t moment = 0;  // of the notifier, before the handler looked
    bool may_wait = false;
    bool on_io_thread = false;  // where nothing is compressed
    bool to_compress = false;   // by whoever may take the time for it
    Duration took{};            // time spent on it, waiting left out

    const Route& route() const { return match.entry->route; }
};

// An API key, whatever else comes with it.
Bytes key_hash(const http::Request& request);

// What the head of a request told, while its body was still to come.
struct Service::Judged final : http::Verdict {
    Judged(const Caller& caller_, bool counted_) : caller(caller_), counted(counted_) {}

    const Caller caller;
    const bool counted;
};

// A request on its way through the pool, kept in one place also while it waits.
struct Service::Visit {
    Visit(http::Request given, http::Reply to, Time now, RequestId id)
        : request(std::move(given)), reply(std::move(to)), exchange{request, now, id} {}

    http::Pool::Lane lane() const {
        if (is_signed(exchange.route().access)) return http::Pool::Lane::first;
        return exchange.route().writes() ? http::Pool::Lane::writes : http::Pool::Lane::reads;
    }

    const http::Request request;
    const http::Reply reply;
    Exchange exchange;
    bool begun = false;
};

}  // namespace berth::api
