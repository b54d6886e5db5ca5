// Liveness, readiness, the public status and the specification: routes without credentials.
#pragma once

#include <boost/describe.hpp>
#include <memory>
#include <string>
#include <vector>

#include "api/router.hpp"
#include "server/pages.hpp"

namespace berth::server {

struct Health {
    wire::Text<1, 20> status;
};
BOOST_DESCRIBE_STRUCT(Health, (), (status))
constexpr auto wire_docs(const Health*) {
    return std::to_array<wire::Doc>({
        {"status", "Always ok: a process that is not alive does not answer.", "ok"},
    });
}

enum class CheckState { ok, failed, off };
BOOST_DESCRIBE_ENUM(CheckState, ok, failed, off)

struct Checks {
    CheckState db = CheckState::off;
    CheckState worker = CheckState::off;
    CheckState chain = CheckState::off;
    CheckState mail = CheckState::off;
    CheckState settler = CheckState::off;
    CheckState locations = CheckState::off;
    CheckState liabilities = CheckState::off;
    CheckState requests = CheckState::off;
};
BOOST_DESCRIBE_STRUCT(Checks, (),
                      (db, worker, chain, mail, settler, locations, liabilities, requests))
constexpr auto wire_docs(const Checks*) {
    return std::to_array<wire::Doc>({
        {"db", "The database; failed also while nothing can be written to it."},
        {"worker", "Background work."},
        {"chain", "The blockchain nodes; off where none is configured."},
        {"mail", "Outgoing mail."},
        {"settler", "Withdrawals and payouts; failed while they fail or are on hold."},
        {"locations",
         "The table of countries; off where there is none, and then continents are "
         "unknown."},
        {"liabilities", "Failed while the treasury has less than is owed; off without a chain."},
        {"requests", "Failed while requests are refused for want of memory to hold them."},
    });
}

enum class Readiness { ready, unready };
BOOST_DESCRIBE_ENUM(Readiness, ready, unready)

struct Ready {
    Readiness status = Readiness::ready;
    Checks checks;
};
BOOST_DESCRIBE_STRUCT(Ready, (), (status, checks))

enum class ServiceState { operational, degraded, down };
BOOST_DESCRIBE_ENUM(ServiceState, operational, degraded, down)

struct Component {
    wire::Text<1, 40> name;
    ServiceState status = ServiceState::operational;
};
BOOST_DESCRIBE_STRUCT(Component, (), (name, status))
constexpr auto wire_docs(const Component*) {
    return std::to_array<wire::Doc>({
        {"name", "", "records"},
    });
}

struct PublicStatus {
    ServiceState status = ServiceState::operational;
    std::vector<Component> components;
    bool admission_paused = false;
    wire::Text<1, 20> contract_version;
    wire::Text<1, 20> version;
    Time updated_at;
    std::optional<wire::Text<1, 64>> console;
    std::optional<bool> simulated;
};
BOOST_DESCRIBE_STRUCT(PublicStatus, (),
                      (status, components, admission_paused, contract_version, version, updated_at,
                       console, simulated))
constexpr auto wire_docs(const PublicStatus*) {
    return std::to_array<wire::Doc>({
        {"components",
         "The parts of the service; one that this server does not have is not there."},
        {"admission_paused", "Whether new rentals are refused at the moment.", "false"},
        {"contract_version", "The version of this API.", "3.0.0"},
        {"version", "The version of the server's program, for people.", "0.1.0"},
        {"console", "The build of the web console; a tab with another one is out of date.",
         "4be2dc8e0f5b6b1d9a7c3e5f1a2b3c4d"},
        {"simulated", "True where all money is play money; left out elsewhere.", "true"},
    });
}

// How the parts of the service are doing, as the routes ask it.
class Vitals {
public:
    virtual ~Vitals() = default;
    virtual Checks checks() const = 0;
    virtual bool leaving() const = 0;  // about to stop: nothing new should be sent here
};

// `vitals` and `reference` may be null when the routes are only described.
void add_status_routes(api::Router& router, const Vitals* vitals,
                       std::shared_ptr<Reference> reference);

}  // namespace berth::server
