#include "server/app.hpp"

#include "api/idempotency.hpp"
#include "api/openapi.hpp"
#include "base/log.hpp"
#include "server/secrets.hpp"
#include "server/status.hpp"

namespace berth::server {
namespace {

constexpr std::size_t request_queue_max = 4096;

// Stands where the accounts feature will: nobody has a credential yet.
class Nobody final : public api::Authenticator {
public:
    api::Caller identify(const http::Request&, db::Transaction&, Time) override {
        throw Problem(Code::unauthenticated, "a valid credential is required");
    }
};

worker::Kind prune_idempotency(const Clock& clock) {
    return {.name = "prune_idempotency_keys",
            .run =
                [&clock](worker::Attempt& attempt) {
                    attempt.finish([&](db::Transaction& tx) {
                        api::prune_keys(tx, clock.now() - api::idempotency_kept);
                    });
                },
            .every = std::chrono::minutes(10)};
}

CheckState probe_database(db::Database& database) {
    try {
        database.read([](db::Transaction& tx) { tx.run("SELECT 1"); });
        return CheckState::ok;
    } catch (const std::exception&) {
        return CheckState::failed;
    }
}

api::RateRule per_minute(std::string_view name, std::int64_t requests, api::RateRule::By by) {
    return {name, requests, std::chrono::minutes(1), by};
}

// Every route of the program. What is given here is only called when a request comes.
void declare_all(api::Router& router, const Probes& probes, const api::RateRule& public_rate,
                 const std::shared_ptr<const std::string>& document) {
    add_status_routes(router, probes, public_rate, document);
}

}  // namespace

// The second listener, for the operator's collector only.
struct App::MetricsPage final : http::Handler {
    explicit MetricsPage(const api::Metrics& metrics_) : metrics(metrics_) {}

    void handle(http::Request request, http::Reply reply) override {
        http::Response response;
        if (request.method == "GET" && request.path() == "/metrics") {
            response.content_type = "text/plain; version=0.0.4";
            response.body = metrics.prometheus_text();
        } else {
            response.status = 404;
        }
        reply(std::move(response));
    }

    const api::Metrics& metrics;
};

std::vector<db::Migration> schema() {
    return {api::idempotency_migration, worker::tasks_migration};
}

std::string specification() {
    api::Router router;
    const auto rate = per_minute("public", 1, api::RateRule::By::address);
    declare_all(router, {}, rate, nullptr);
    return api::openapi(router);
}

App::App(const Settings& settings, const Clock& clock, Random& random, Overrides overrides)
    : settings_(settings),
      clock_(clock),
      random_(random),
      public_rate_(per_minute("public", settings.rate_public_per_minute,
                              api::RateRule::By::address)) {
    const Bytes cursor_secret = load_secret(settings_.secrets, "cursor.key", random_);
    db::Options db_options = overrides.db;
    db_options.connections_max = settings_.db_connections;
    database_ = db::open(settings_.db, db_options);
    auto migrations = schema();
    migrations.insert(migrations.end(), overrides.migrations.begin(), overrides.migrations.end());
    db::migrate(*database_, migrations);

    auto tasks = std::move(overrides.tasks);
    tasks.push_back(prune_idempotency(clock_));
    worker::Options worker_options;
    worker_options.threads = settings_.worker_threads;
    worker_ = std::make_unique<worker::Worker>(*database_, clock_, random_, std::move(tasks),
                                               worker_options);
    declare_routes(overrides);
    nobody_ = std::make_unique<Nobody>();
    pool_ = std::make_unique<http::Pool>(settings_.threads, request_queue_max);
    service_ = std::make_unique<api::Service>(
        api::Service::Parts{router_, *database_,
                            overrides.authenticator ? *overrides.authenticator : *nobody_, clock_,
                            random_, cursor_secret, metrics_},
        pool_.get());
}

App::~App() { stop(); }

void App::declare_routes(const Overrides& overrides) {
    const auto document = std::make_shared<std::string>();
    const Probes probes{
        .db = [this] { return probe_database(*database_); },
        .worker =
            [this] {
                if (!tasks_started_) return CheckState::off;
                return worker_->healthy() ? CheckState::ok : CheckState::failed;
            },
        .chain = [] { return CheckState::off; },
        .mail = [] { return CheckState::off; },
    };
    declare_all(router_, probes, public_rate_, document);
    if (overrides.routes) overrides.routes(router_);
    *document = api::openapi(router_);
}

void App::serve() {
    http::ServerOptions options;
    options.address = settings_.listen.address;
    options.port = settings_.listen.port;
    options.tls_certificate_file = settings_.tls_certificate;
    options.tls_key_file = settings_.tls_key;
    options.trusted_proxies = settings_.trusted_proxies;
    server_ = std::make_unique<http::Server>(options, *service_);
    metrics_.add_gauge("berth_connections", "Open client connections.",
                       [this] { return static_cast<double>(server_->connections()); });
    if (settings_.metrics_listen) {
        http::ServerOptions page;
        page.address = settings_.metrics_listen->address;
        page.port = settings_.metrics_listen->port;
        metrics_page_ = std::make_unique<MetricsPage>(metrics_);
        metrics_server_ = std::make_unique<http::Server>(page, *metrics_page_);
        metrics_server_->start();
    }
    if (settings_.worker_threads > 0) serve_tasks();
    server_->start();
}

void App::serve_tasks() {
    tasks_started_ = true;
    worker_->start();
}

void App::reload() {
    if (!server_ || settings_.tls_key.empty()) return;
    try {
        server_->reload_tls();
        log(Level::info, "certificate_reloaded");
    } catch (const std::exception& error) {
        log(Level::error, "certificate_not_reloaded", {{"why", error.what()}});
    }
}

// In the order of the flow: no new requests, requests in progress end, then the background.
void App::stop() {
    if (server_) server_->stop();
    if (metrics_server_) metrics_server_->stop();
    pool_.reset();
    worker_->stop();
}

}  // namespace berth::server
