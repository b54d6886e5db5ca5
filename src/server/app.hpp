// The composition root: every part of the server is made here, in order, and handed its
// dependencies. Tests make an App too, with their own clock, randomness, caller and routes.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "api/service.hpp"
#include "http/server.hpp"
#include "server/settings.hpp"
#include "worker/worker.hpp"

namespace berth::server {

// What a test adds to, or puts in the place of, the real parts.
struct Overrides {
    api::Authenticator* authenticator = nullptr;
    std::function<void(api::Router&)> routes;
    std::vector<db::Migration> migrations;  // numbered on from the last one of schema()
    std::vector<worker::Kind> tasks;
    db::Options db;
};

// Every migration of the program, in order.
std::vector<db::Migration> schema();

// The specification of the real routes, as `berthd openapi` prints it.
std::string specification();

class App {
public:
    // Opens and migrates the database. Throws std::exception with one sentence on failure.
    App(const Settings& settings, const Clock& clock, Random& random, Overrides overrides = {});
    ~App();

    api::Service& service() { return *service_; }
    const api::Router& router() const { return router_; }
    db::Database& database() { return *database_; }
    worker::Worker& worker() { return *worker_; }

    void serve();       // listens and starts the background threads
    void serve_tasks(); // the background threads alone
    std::uint16_t port() const { return server_->port(); }
    std::uint16_t metrics_port() const { return metrics_server_->port(); }
    void reload();      // certificates, on SIGHUP
    void stop();

private:
    struct MetricsPage;

    void declare_routes(const Overrides& overrides);

    Settings settings_;
    const Clock& clock_;
    Random& random_;
    api::RateRule public_rate_;
    std::unique_ptr<db::Database> database_;
    std::unique_ptr<api::Authenticator> nobody_;
    api::Metrics metrics_;
    api::Router router_;
    std::unique_ptr<worker::Worker> worker_;
    std::unique_ptr<http::Pool> pool_;
    std::unique_ptr<api::Service> service_;
    std::unique_ptr<MetricsPage> metrics_page_;
    std::unique_ptr<http::Server> metrics_server_;
    std::unique_ptr<http::Server> server_;
    bool tasks_started_ = false;
};

}  // namespace berth::server
