// The composition root: every part of the server is made here, in order, and handed its
// dependencies. Tests make an App too, with their own clock, randomness, callers and routes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "api/service.hpp"
#include "base/log_limiter.hpp"
#include "http/client.hpp"
#include "http/server.hpp"
#include "machines/proof.hpp"
#include "mail/transport.hpp"
#include "server/pulse.hpp"
#include "server/secrets.hpp"
#include "server/settings.hpp"
#include "worker/worker.hpp"

namespace berth {
namespace catalog {
class Catalog;
}
namespace chain {
class Chain;
}
namespace delivery {
class Delivery;
}
namespace machines {
class HostAgents;
}
namespace offers {
class LiveJobs;
}
namespace relay {
class Relay;
}
namespace rentals {
class EndpointProber;
class Rentals;
}  // namespace rentals
}  // namespace berth

namespace berth::server {

class Census;
class Faucet;
struct Features;
class KeptMail;
class Simulation;

constexpr std::size_t mebibyte = std::size_t{1024} * 1024;

// The memory for requests that are not answered yet. Machines send little, and must be heard.
inline constexpr http::BudgetLimits usual_request_bytes{.bytes_max = 256 * mebibyte,
                                                        .small_reserve = 32 * mebibyte,
                                                        .first_reserve = 16 * mebibyte,
                                                        .per_address_max = 32 * mebibyte};

// What a test adds to, or puts in the place of, the real parts.
struct Overrides {
    api::Authenticators authenticators;  // those that are set
    std::unique_ptr<mail::Transport> transport;
    std::function<void(api::Router&)> routes;
    std::vector<api::Topic> topics;
    std::vector<db::Migration> migrations;  // of features that only the test has
    const offers::LiveJobs* live_jobs = nullptr;
    std::optional<machines::ProofRules> proof_rules;
    const rentals::EndpointProber* prober = nullptr;
    db::Options db;
    http::BudgetLimits request_bytes = usual_request_bytes;
    // A database that is away when the App is made is waited for after serve().
    bool may_start_without_database = false;
};

// The specification of the real routes, as `berthd openapi` prints it.
std::string specification();

class App {
public:
    // Opens and migrates the database. Throws std::exception with one sentence on failure, except
    // for a database that is away when that may be.
    App(const settings::Given& given, const Clock& clock, Random& random, Overrides overrides = {});
    ~App();

    api::Service& service() { return *service_; }
    const api::Router& router() const { return router_; }
    db::Database& database() { return *database_; }
    worker::Worker& worker() { return *worker_; }
    settings::Live& settings() { return live_; }
    const api::Metrics& metrics() const { return metrics_; }
    machines::HostAgents& host_agents();
    catalog::Catalog& catalog();
    rentals::Rentals& rentals();
    relay::Relay& relay();
    delivery::Delivery& delivery();

    void serve();        // listens and starts the background threads
    void serve_tasks();  // the background threads alone
    std::uint16_t port() const { return server_->port(); }
    void reload();  // certificates, on SIGHUP
    // Commands on this machine that could not open the database themselves, on SIGUSR1.
    void answer_local_requests();
    void leave();  // before stop(): not ready from now on, and still serving for --drain-s
    void stop();

private:
    struct MetricsPage;

    Probes probes();
    void add_traffic_metrics();
    void add_process_metrics();
    void add_money_metrics();
    void add_relay_metrics();
    void add_webhook_metrics();
    void make_play();
    void declare_routes(const Overrides& overrides);
    void prepare();
    void begin();
    bool try_to_begin();
    void tell_four_eyes();

    settings::Live live_;
    const std::shared_ptr<const settings::Snapshot> start_;  // before the database was asked
    const Settings& settings_;                               // of start_: all of them are pinned
    const Clock& clock_;
    Random& random_;
    Secrets secrets_;
    http::CurlClient client_;
    std::unique_ptr<chain::Chain> chain_;  // null without --chain-rpc or --simulated
    std::unique_ptr<Features> features_;   // apart, so that its users need not see every feature
    std::unique_ptr<db::Database> database_;
    std::unique_ptr<Faucet> faucet_;       // null without --simulated
    std::unique_ptr<KeptMail> kept_mail_;  // likewise
    std::unique_ptr<mail::Transport> transport_;
    api::Metrics metrics_;
    api::Router router_;
    std::unique_ptr<worker::Worker> worker_;
    std::shared_ptr<http::ByteBudget> request_bytes_;  // of all requests that are open
    Pulse pulse_;
    std::unique_ptr<http::Pool> pool_;
    std::unique_ptr<api::Service> service_;
    std::unique_ptr<Census> census_;
    std::unique_ptr<MetricsPage> metrics_page_;
    std::unique_ptr<http::Server> metrics_server_;
    std::unique_ptr<http::Server> server_;
    std::unique_ptr<Simulation> simulation_;  // null without --simulated
    std::atomic<bool> tasks_started_ = false;

    std::vector<db::Migration> migrations_;
    std::atomic<bool> prepared_ = false;
    std::mutex starter_mutex_;
    std::condition_variable starter_wake_;
    bool stopping_ = false;
    LogLimiter waiting_{std::chrono::seconds(10)};
    std::thread starter_;
};

}  // namespace berth::server
