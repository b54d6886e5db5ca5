#include "rentals/serving_jobs.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace berth::rentals {
namespace {

// A bare IPv6 address stands in brackets wherever a port may follow.
std::string host_field(const std::string& host) {
    const bool bare_v6 = host.find(':') != std::string::npos && !host.starts_with('[');
    return bare_v6 ? "[" + host + "]" : host;
}

// Without an address where a door stands for it.
std::optional<http::Endpoint> dialled(const StoredEndpoint& endpoint) {
    const auto address = endpoint.address ? http::parse_address(*endpoint.address) : std::nullopt;
    if (!address && !endpoint.door_id) return std::nullopt;
    http::Endpoint out{.address = address.value_or(http::Address{}),
                       .port = static_cast<std::uint16_t>(endpoint.port.value),
                       .host = host_field(endpoint.host)};
    if (endpoint.tls_key.value) {
        const auto key = from_hex(*endpoint.tls_key.value);
        require(key.has_value(), "a stored key is hex");
        out.tls = true;
        out.key_sha256 = *key;
    }
    return out;
}

// Where the door is now; none when it was taken back, or is at a gate that is no address.
std::optional<http::Endpoint> moved_to_door(db::Transaction& tx, http::Endpoint endpoint,
                                            gates::DoorId id) {
    const auto door = gates::find_door(tx, id);
    const auto address = door ? http::parse_address(door->dial_host) : std::nullopt;
    if (!address) return std::nullopt;
    endpoint.address = *address;
    endpoint.port = static_cast<std::uint16_t>(door->port);
    endpoint.host = host_field(door->host);
    return endpoint;
}

constexpr std::string_view served_columns[] = {"renter_id", "state", "template_kind", "endpoints",
                                               "endpoint_key"};

}  // namespace

std::vector<db::Watched> watched_of_serving_jobs() {
    std::vector<db::Watched> all = gates::watched_of_doors();
    all.push_back({"jobs", served_columns});
    return all;
}

const StoredEndpoint* find_model_endpoint(std::optional<TemplateKind> kind,
                                          const std::vector<StoredEndpoint>& endpoints) {
    const auto find = [&](const auto& fits) -> const StoredEndpoint* {
        const auto found = std::find_if(endpoints.begin(), endpoints.end(), fits);
        return found == endpoints.end() ? nullptr : &*found;
    };
    const StoredEndpoint* const named = find([](const StoredEndpoint& each) {
        return each.kind == EndpointKind::http && each.name == "openai";
    });
    if (named != nullptr || kind != TemplateKind::model) return named;
    return find([](const StoredEndpoint& each) { return each.kind == EndpointKind::http; });
}

// What was read of a row.
struct ServingJobs::Read {
    std::optional<TemplateKind> template_kind;
    std::optional<std::string> endpoints;
    std::string endpoint_key;

    std::optional<http::Endpoint> endpoint;
    std::optional<gates::DoorId> door_id;
    std::string key;

    bool is_of(const ServiceRow& row) const {
        return template_kind == row.template_kind && endpoints == row.endpoints &&
               endpoint_key == row.endpoint_key;
    }
};

ServingJob ServingJobs::Kept::job() const {
    return {renter_id, JobState::RUNNING,         since,
            endpoint,  endpoint ? read->key : "", read->door_id.has_value()};
}

std::optional<ServingJob> ServingJobs::find(db::Transaction& tx, JobId id, Time now) {
    const auto row = find_service(tx, id);
    if (!row) return std::nullopt;
    const Time since = row->meter_started_at.value_or(row->created_at);
    if (row->state != JobState::RUNNING) {
        const std::lock_guard lock(mutex_);
        kept_.erase(id);
        return ServingJob{row->renter_id, row->state, since};
    }
    Kept kept{read(id, *row), {}, row->renter_id, since, {tx.changes(), now}};
    kept.endpoint = kept.read->endpoint;
    if (kept.endpoint && kept.read->door_id)
        kept.endpoint = moved_to_door(tx, std::move(*kept.endpoint), *kept.read->door_id);
    const std::lock_guard lock(mutex_);
    if (kept_.size() >= kept_max && !kept_.contains(id)) kept_.clear();
    kept_[id] = kept;
    return kept.job();
}

std::optional<ServingJob> ServingJobs::recall(JobId id, std::uint64_t changes, Time now) {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(id);
    if (found == kept_.end() || !found->second.reading.is_good(changes, now)) return std::nullopt;
    return found->second.job();
}

std::shared_ptr<const ServingJobs::Read> ServingJobs::read(JobId id, const ServiceRow& row) {
    {
        const std::lock_guard lock(mutex_);
        const auto found = kept_.find(id);
        if (found != kept_.end() && found->second.read->is_of(row)) return found->second.read;
    }
    const auto fresh = std::make_shared<Read>();
    fresh->template_kind = row.template_kind;
    fresh->endpoints = row.endpoints;
    fresh->endpoint_key = row.endpoint_key;
    const auto endpoints = endpoints_of(row.endpoints);
    const StoredEndpoint* const model = find_model_endpoint(row.template_kind, endpoints);
    if (model != nullptr) {
        fresh->endpoint = dialled(*model);
        fresh->door_id = model->door_id;
    }
    if (fresh->endpoint) fresh->key = open_endpoint_key(sealer_, id, row.endpoint_key);
    return fresh;
}

std::vector<JobId> find_ended(db::Transaction& tx, const std::vector<JobId>& jobs) {
    const auto running = find_running(tx, jobs);
    std::vector<JobId> ended;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        if (!running[i]) ended.push_back(jobs[i]);
    return ended;
}

}  // namespace berth::rentals
