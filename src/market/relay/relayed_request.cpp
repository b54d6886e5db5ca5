#include "relay/relayed_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/letters.hpp"
#include "base/log.hpp"
#include "http/text.hpp"

namespace berth::relay {
namespace {

constexpr std::string_view events_type = "text/event-stream";
constexpr std::size_t essence_bytes_max = 100;

bool is_refusal(int status) { return status >= 500 || (status >= 300 && status < 400); }

bool is_encoded(const http::Headers& headers) {
    const auto coding = headers.find("Content-Encoding");
    return coding && !coding->empty() && !http::equal_without_case(*coding, "identity");
}

Problem job_over() { return {Code::conflict, "the job is not running any more"}; }
Problem credential_over() {
    return {Code::unauthenticated, "the key or session of this request is not good any more"};
}
Problem server_stops() { return {Code::unavailable, "the server is stopping; try again later"}; }
Problem engine_failed() {
    return {Code::unavailable, "the engine of this job does not answer, or broke off"};
}

Problem problem_of(Stop why) {
    switch (why) {
        case Stop::job_over: return job_over();
        case Stop::credential_over: return credential_over();
        case Stop::server_stops: return server_stops();
        case Stop::engine_failed: break;
    }
    return engine_failed();
}

}  // namespace

// Only constants leave this function: nothing that a host wrote reaches a parser of media types.
std::string_view relayed_type(std::string_view given) {
    constexpr std::string_view anything = "application/octet-stream";
    std::string essence(http::trim(given.substr(0, given.find(';'))));
    std::transform(essence.begin(), essence.end(), essence.begin(), to_lower);
    const std::size_t slash = essence.find('/');
    if (slash == essence.npos || essence.size() > essence_bytes_max) return anything;
    const std::string_view kind = std::string_view(essence).substr(0, slash);
    const std::string_view subtype = std::string_view(essence).substr(slash + 1);
    if (!http::is_token(kind) || !http::is_token(subtype)) return anything;
    if (essence == events_type) return events_type;
    if (kind == "text") return "text/plain; charset=utf-8";
    if (kind == "application" && (subtype == "json" || subtype.ends_with("+json")))
        return "application/json";
    return anything;
}

RelayedRequest::RelayedRequest(Parts parts) : parts_(std::move(parts)) {
    tally_.bytes_in = static_cast<std::int64_t>(parts_.request.body.size());
}

Duration RelayedRequest::since(SteadyClock::time_point moment) {
    return std::chrono::duration_cast<Duration>(SteadyClock::now() - moment);
}

void RelayedRequest::start(http::Outlet& outlet) {
    outlet_ = &outlet;
    began_ = SteadyClock::now();
    if (!parts_.place->attach(outlet.loop(), weak_from_this())) return stop(Stop::server_stops);
    conversation_ = parts_.dialler.dial(outlet, std::move(parts_.request), *this);
}

void RelayedRequest::on_room() {
    if (conversation_) conversation_->resume();
}

void RelayedRequest::on_gone() {
    if (stage_ != Stage::over) finish(Outcome::good);
}

void RelayedRequest::on_head(http::UpstreamHead head) {
    engine_status_ = head.status;
    body_sent_ = tally_.bytes_in > 0;
    if (is_refusal(head.status)) return refuse_answer(head.status, "the engine of this job failed");
    if (is_encoded(head.headers))
        return refuse_answer(head.status,
                             "the engine of this job answered in a coding that "
                             "nobody asked for");
    const std::string_view type = relayed_type(head.headers.find("Content-Type").value_or(""));
    has_events_ = type == events_type;
    http::Response response{.status = head.status, .content_type = std::string(type)};
    response.headers.add("X-Accel-Buffering", "no");  // a proxy in front passes on as we do
    stage_ = Stage::passing;
    if (head.status == 409) response.headers.add("x-should-retry", "false");
    outlet_->hold();
    outlet_->begin(std::move(response));
}

bool RelayedRequest::on_bytes(std::string_view bytes) {
    if (tally_.bytes_out == 0) {
        first_byte_ = SteadyClock::now();
        if (has_events_) tally_.first_token = since(began_);
    }
    tally_.bytes_out += static_cast<std::int64_t>(bytes.size());
    usage_.feed(bytes);
    outlet_->hold();
    return has_events_ ? event_stream_.pass(bytes, *outlet_) : outlet_->write(bytes);
}

void RelayedRequest::on_pause() {
    if (stage_ != Stage::over) outlet_->release();
}

void RelayedRequest::on_end() {
    if (stage_ != Stage::passing) return;
    if (has_events_) event_stream_.finish(*outlet_);
    outlet_->end();
    finish(engine_status_ < 400 ? Outcome::good : Outcome::failed);
}

// Whether the engine failed or was stopped with its job is known to the database alone.
void RelayedRequest::on_failure(const http::UpstreamFailure& failure) {
    if (stage_ == Stage::over) return;
    body_sent_ = failure.body_sent;
    if (has_events_ && event_stream_.is_done()) return on_end();
    log(Level::info, "relay_failed",
        {{"job", to_string(parts_.job)},
         {"request_id", to_string(parts_.request_id)},
         {"why", failure.reason}});
    outlet_->release();
    conversation_.reset();
    parts_.place->ask_why();
}

void RelayedRequest::stop(Stop why) {
    if (stage_ == Stage::over) return;
    if (conversation_) body_sent_ = tally_.bytes_in > 0;  // for all that is known here
    conversation_.reset();
    const Problem problem = problem_of(why);
    if (stage_ == Stage::waiting) {
        refuse(problem);
    } else {
        break_off(problem);
    }
    finish(Outcome::failed);
}

void RelayedRequest::refuse_answer(int status, std::string_view why) {
    log(Level::info, "relay_refused",
        {{"job", to_string(parts_.job)},
         {"request_id", to_string(parts_.request_id)},
         {"engine_status", status}});
    conversation_.reset();
    refuse({Code::unavailable, std::string(why)});
    finish(Outcome::failed);
}

void RelayedRequest::break_off(const Problem& problem) {
    if (!has_events_) return outlet_->abort();
    event_stream_.break_off(api::error_body(problem, parts_.request_id), *outlet_);
    outlet_->end();
}

// Clients of this API try 409 and 503 again by themselves, with the same body.
void RelayedRequest::refuse(const Problem& problem) {
    http::Response response{.status = problem.status};
    if (engine_status_ != 0)
        response.headers.add("X-Engine-Status", std::to_string(engine_status_));
    if (problem.status == 401) response.headers.add("WWW-Authenticate", "Bearer");
    if (problem.status == 409 || body_sent_) response.headers.add("x-should-retry", "false");
    response.body = api::error_body(problem, parts_.request_id);
    outlet_->begin(std::move(response));
    outlet_->end();
}

void RelayedRequest::finish(Outcome outcome) {
    stage_ = Stage::over;
    conversation_.reset();
    tally_.failed = outcome == Outcome::failed;
    tally_.usage = usage_.found();
    tally_.making = since(has_events_ && tally_.bytes_out > 0 ? first_byte_ : began_);
    parts_.counters.add(parts_.job, tally_);
    parts_.place.reset();
}

}  // namespace berth::relay
