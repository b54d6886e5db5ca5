#include "relay/relay.hpp"

#include <fmt/format.h>

#include "accounts/oversight.hpp"
#include "base/check.hpp"
#include "base/enum_names.hpp"
#include "relay/settings.hpp"
#include "rentals/rentals.hpp"

namespace berth::relay {
namespace {

constexpr std::size_t passed_field_bytes_max = 256;

void pass_field(const http::Request& from, http::UpstreamRequest& to, const char* name) {
    const auto value = from.headers.find(name);
    if (value && value->size() <= passed_field_bytes_max) to.headers.add(name, std::string(*value));
}

rentals::ServingJob own(const api::Call& call, std::optional<rentals::ServingJob> job) {
    if (!job || (job->renter_id != call.caller.account && !call.caller.admin))
        throw Problem(Code::not_found, "no such job");
    return std::move(*job);
}

}  // namespace

std::optional<rentals::ServingJob> Relay::find(const api::Call& call, JobId id) {
    if (!call.from_memory()) return jobs_.find(call.tx(), id, call.now);
    require(database_ != nullptr, "the relay has its database before any call");
    auto job = jobs_.recall(id, database_->changes(), call.now);
    if (!job) throw api::NotRemembered();
    remembered_.fetch_add(1, std::memory_order_relaxed);
    return job;
}

api::Streamed Relay::pass(api::Call& call, const JobPath& path, const Operation& operation) {
    rentals::ServingJob job = own(call, find(call, path.id));
    if (job.renter_id != call.caller.account) {
        const bool reads = std::string_view(operation.method) == "GET";
        accounts::note_look(call, {job.renter_id,
                                   reads ? "read_job_models" : "use_job_relay",
                                   {"job", to_string(path.id)}});
    }
    if (job.state != rentals::JobState::RUNNING)
        throw Problem(Code::conflict,
                      fmt::format("a job that is {} serves no model", enum_name(job.state)));
    if (!job.endpoint) throw Problem(Code::conflict, "this job serves no model");
    // It was judged at READY; what may be dialled can have become less since.
    if (reach_ == http::Reach::public_only && !job.is_by_gate &&
        !http::is_public(job.endpoint->address))
        throw Problem(Code::conflict, "the endpoint of this job may not be dialled");
    const api::Caller& caller = call.caller;
    auto place =
        open_requests_.enter(path.id, {caller.account, {caller.credential, caller.credential_id}},
                             *call.settings<Settings>().relay_streams_max);
    if (!place) throw Problem::rate_limited();
    return {std::make_shared<RelayedRequest>(
        RelayedRequest::Parts{dialler_, counters_, std::move(place), path.id, call.request_id,
                              make_request(call, std::move(*job.endpoint), job.key, operation)})};
}

// Of the client's fields only these go on; its credentials and cookies stay here.
http::UpstreamRequest Relay::make_request(api::Call& call, http::Endpoint endpoint,
                                          const std::string& key,
                                          const Operation& operation) const {
    const Settings& settings = call.settings<Settings>();
    const http::Request& from = call.request;
    http::UpstreamRequest request{
        .endpoint = std::move(endpoint),
        .method = operation.method,
        .target = operation.path,
        .body = from.body,
        .held = from.held.another(),
        .try_again = true,
        .connect_max = connect_max,
        .first_byte_max = std::chrono::seconds(*settings.relay_first_byte_s),
        .silence_max = std::chrono::seconds(*settings.relay_silence_s)};
    if (!request.held.resize(request.body.size()))
        throw Problem(Code::unavailable, "the server holds too many requests; try again later");
    request.headers.reserve(4);  // all that there can be
    pass_field(from, request, "Content-Type");
    pass_field(from, request, "Accept");
    pass_field(from, request, "X-Request-Id");
    if (!request.headers.find("X-Request-Id"))
        request.headers.add("X-Request-Id", to_string(call.request_id));
    request.headers.add("Authorization", "Bearer " + key);
    return request;
}

JobUsage Relay::usage(api::Call& call, const JobPath& path) {
    require(database_ != nullptr, "the relay has its database before any call");
    std::optional<std::int64_t> carried;
    const auto job = database_->read([&](db::Transaction& tx) {
        carried = rentals::carried_bytes_of(tx, path.id);
        return own(call, jobs_.find(tx, path.id, call.now));
    });
    JobUsage usage = counters_.read(*database_, path.id, job.since);
    if (carried) usage.carried_bytes = wire::Decimal{*carried};
    return usage;
}

OpenRequests::Grounds Relay::find_ended(const OpenRequests::Grounds& grounds) {
    const std::vector<JobId> jobs(grounds.jobs.begin(), grounds.jobs.end());
    const std::vector<accounts::HeldCredential> held(grounds.credentials.begin(),
                                                     grounds.credentials.end());
    OpenRequests::Grounds ended;
    database_->read([&](db::Transaction& tx) {
        const std::vector<JobId> over = rentals::find_ended(tx, jobs);
        const std::vector<bool> good = accounts::find_good(tx, held, clock_->now());
        ended = {{over.begin(), over.end()}, {}};
        for (std::size_t i = 0; i < held.size(); ++i)
            if (!good[i]) ended.credentials.insert(held[i]);
    });
    return ended;
}

void Relay::start() {
    require(database_ != nullptr, "the relay has its database before it starts");
    open_requests_.start(
        [this](const OpenRequests::Grounds& grounds) { return find_ended(grounds); });
    counters_.start(*database_);
}

void Relay::stop() {
    open_requests_.stop();
    counters_.stop();
}

}  // namespace berth::relay
