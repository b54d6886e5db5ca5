// What the payloads of commands say, as far as an agent reads them.
#pragma once

#include <boost/describe.hpp>

#include "host_agent/core/runtime.hpp"
#include "wire/open.hpp"

namespace berth::host_agent {

struct StartTemplate {
    std::string template_id;
    JobKind kind = JobKind::model;
    std::string engine;
};
BOOST_DESCRIBE_STRUCT(StartTemplate, (), (template_id, kind, engine))

struct Exposed {
    std::string name;
    wire::Integer<1, 65535> port;
    std::string protocol;
};
BOOST_DESCRIBE_STRUCT(Exposed, (), (name, port, protocol))

struct StartOrder {
    JobId job_id;
    wire::Decimal budget_version;
    Micro budget_micro;
    std::string image_digest;
    wire::Nullable<wire::Object> template_;  // StartTemplate
    std::map<std::string, std::string> env;
    std::vector<Exposed> exposes;
    wire::Nullable<std::string> readiness_path;
    wire::Nullable<std::string> ssh_public_key;
    std::string endpoint_api_key;
    wire::Nullable<std::string> hub_token;
    wire::Count included_disk_gib;
    wire::Count included_egress_gib;
    wire::Count start_deadline_s;
};
BOOST_DESCRIBE_STRUCT(StartOrder, (),
                      (job_id, budget_version, budget_micro, image_digest, template_, env, exposes,
                       readiness_path, ssh_public_key, endpoint_api_key, hub_token,
                       included_disk_gib, included_egress_gib, start_deadline_s))

struct StopOrder {
    std::string reason;
    wire::Count grace_s;
};
BOOST_DESCRIBE_STRUCT(StopOrder, (), (reason, grace_s))

}  // namespace berth::host_agent
