#include "relay/relayed_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/letters.hpp"
#include "base/log.hpp"

namespace berth::relay {
namespace {

constexpr std::size_t content_type_bytes_max = 200;
constexpr std::string_view events_type = "text/event-stream";

// Whether the media type, without its parameters, is this one, which is spelled in lower case.
bool is_type(std::string_view content_type, std::string_view type) {
    content_type = content_type.substr(0, content_type.find(';'));
    for (const char c : content_type) {
        if (c == ' ' || c == '\t') continue;
        if (type.empty() || to_lower(c) != type.front()) return false;
        type.remove_prefix(1);
    }
    return type.empty();
}

bool is_refusal(int status) { return status >= 500 || (status >= 300 && status < 400); }

bool is_encoded(const http::Headers& headers) {
    const auto coding = headers.find("Content-Encoding");
    return coding && !coding->empty() && !is_type(*coding, "identity");
}

Problem job_over() { return {Code::conflict, "the job is not running any more"}; }
Problem server_stops() { return {Code::unavailable, "the server is stopping; try again later"}; }
Problem engine_failed() {
    return {Code::unavailable, "the engine of this job does not answer, or broke off"};
}

}  // namespace

// What a browser would run or draw at our address is text.
std::string safe_content_type(std::string_view given) {
    const std::string_view essence = given.substr(0, given.find_first_of("; \t"));
    const bool known = is_type(given, "application/json") || is_type(given, events_type) ||
                       is_type(given, "text/plain") ||
                       (essence.starts_with("application/") && essence.ends_with("+json"));
    return known && given.size() <= content_type_bytes_max ? std::string(given)
                                                           : "text/plain; charset=utf-8";
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
    http::Response response{
        .status = head.status,
        .content_type = safe_content_type(head.headers.find("Content-Type").value_or(""))};
    has_events_ = is_type(response.content_type, events_type);
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
    const Problem problem = why == Stop::job_over       ? job_over()
                            : why == Stop::server_stops ? server_stops()
                                                        : engine_failed();
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
