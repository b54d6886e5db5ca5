#include "server/app.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "accounts/settings.hpp"
#include "api/openapi.hpp"
#include "base/log.hpp"
#include "chain/settings.hpp"
#include "mail/settings.hpp"
#include "server/branding.hpp"
#include "server/census.hpp"
#include "server/chain_setup.hpp"
#include "server/console.hpp"
#include "server/docs_pages.hpp"
#include "server/features.hpp"
#include "server/local_requests.hpp"
#include "server/pages.hpp"
#include "server/play.hpp"
#include "server/schema.hpp"
#include "server/secrets.hpp"
#include "server/simulation.hpp"
#include "server/status.hpp"
#include "server/told.hpp"
#include "server/treasury_commands.hpp"

namespace berth::server {
namespace {

constexpr std::size_t request_queue_max = 4096;
constexpr std::chrono::seconds begin_again_after{1};
// Relayed streams get this long to end by themselves; then they are ended, with a last word, while
// the server still waits for its connections.
constexpr std::chrono::seconds streams_end_in{7};

// As many files as the system lets this process open.
std::size_t raise_file_limit() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

// What is left for clients when the database, the worker and outgoing connections have theirs.
std::size_t connections_max(std::size_t files, const Settings& settings) {
    constexpr std::size_t other_files = 512;
    constexpr std::size_t least = 64;
    constexpr std::size_t most = 1'000'000;
    const auto kept =
        other_files + static_cast<std::size_t>(4 * *settings.db_connections + *settings.threads);
    return std::clamp(files > kept ? files - kept : 0, least, most);
}

std::size_t io_threads(const Settings& settings) {
    if (*settings.io_threads > 0) return static_cast<std::size_t>(*settings.io_threads);
    return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, 4);
}

Duration usual_drain(const Settings& settings) {
    return std::chrono::seconds(is_loopback(settings.listen->address) ? 0 : 3);
}

}  // namespace

// The second listener, for the operator's collector only.
struct App::MetricsPage final : http::Handler {
    explicit MetricsPage(const api::Metrics& metrics_) : metrics(metrics_) {}

    std::size_t body_bytes_max(const http::Request&) override { return 0; }
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

std::string specification() {
    const Bytes no_secret(secret_bytes, '\0');
    const auto defaults = registry().snapshot({});
    Features features(*defaults, {no_secret, no_secret, no_secret, no_secret}, nullptr);
    api::Router router;
    add_status_routes(router, nullptr, nullptr);
    add_docs_routes(router, nullptr);
    add_console_routes(router);
    add_branding_routes(router);
    add_play_routes(router, {});
    features.add_routes(router);
    return api::openapi(router);
}

App::App(const settings::Given& given, const Clock& clock, Random& random, Overrides overrides)
    : live_(registry(), given),
      start_(live_.now()),
      settings_(start_->get<Settings>()),
      clock_(clock),
      random_(random),
      secrets_(load_all_secrets(settings_, random)),
      chain_(open_chain(client_, *start_, clock)),
      features_(std::make_unique<Features>(*start_, secrets_, chain_.get(), overrides.live_jobs,
                                           overrides.proof_rules, overrides.prober)),
      request_bytes_(std::make_shared<http::ByteBudget>(overrides.request_bytes)),
      pulse_(probes()) {
    db::Options db_options = overrides.db;
    db_options.connections_max = static_cast<std::size_t>(*settings_.db_connections);
    db_options.watched = watched();
    database_ = db::open(*settings_.db, db_options);
    migrations_ = schema();
    migrations_.insert(migrations_.end(), overrides.migrations.begin(), overrides.migrations.end());
    if (!overrides.may_start_without_database) prepare();

    transport_ = overrides.transport
                     ? std::move(overrides.transport)
                     : mail::make_transport(*start_->get<mail::Settings>().transport,
                                            {.ca_file = *start_->get<mail::Settings>().ca_file});
    if (*settings_.simulated) make_play();
    worker::Options worker_options;
    worker_options.threads =
        static_cast<std::size_t>(std::max(*settings_.worker_threads, std::int64_t{1}));
    worker_options.settings = &live_;
    worker_options.on_dead = [](const db::Context& context, const worker::Task& task) {
        events::tell_operators(context, operations_task_dead, task.id,
                               TaskDeadFacts{task.kind, {task.attempt}});
    };
    auto kinds = features_->tasks({*database_, clock_, random_, *transport_, live_});
    for (const worker::Kind& kind : kinds)
        if (kind.every) features_->recurring.push_back(kind.name);
    worker_ = std::make_unique<worker::Worker>(*database_, clock_, random_, std::move(kinds),
                                               worker_options);
    if (!features_->countries.loaded())
        log(Level::warn, "country_table_missing", {{"why", features_->countries.why()}});
    features_->host_agents.connect(*database_);
    features_->host_agents.set_refused([this] { return service_->refused_to_machines(); });
    features_->relay.connect(*database_, clock_);
    features_->delivery.connect(*database_, clock_, random_);
    declare_routes(overrides);
    std::vector<api::Topic> topics{machines::commands_topic(clock_),
                                   delivery::events_topic(*database_, clock_)};
    topics.insert(topics.end(), overrides.topics.begin(), overrides.topics.end());
    api::Authenticators callers = features_->authenticators();
    if (overrides.authenticators.accounts) callers.accounts = overrides.authenticators.accounts;
    if (overrides.authenticators.machines) callers.machines = overrides.authenticators.machines;
    if (overrides.authenticators.gates) callers.gates = overrides.authenticators.gates;
    service_ = std::make_unique<api::Service>(api::Service::Parts{
        router_, *database_, callers, clock_, random_, secrets_.cursor, metrics_, live_,
        std::move(topics), base_url_of(settings_).starts_with("https://"), secrets_.other_cursors});
    add_process_metrics();
    add_money_metrics();
    add_relay_metrics();
}

App::~App() { stop(); }

machines::HostAgents& App::host_agents() { return features_->host_agents; }
catalog::Catalog& App::catalog() { return features_->catalog; }
rentals::Rentals& App::rentals() { return features_->rentals; }
relay::Relay& App::relay() { return features_->relay; }
delivery::Delivery& App::delivery() { return features_->delivery; }

void App::make_play() {
    faucet_ = std::make_unique<Faucet>(Faucet::Parts{
        *database_, dynamic_cast<simulated::SimulatedChain&>(*chain_), features_->treasury});
    kept_mail_ = std::make_unique<KeptMail>();
    transport_ = keeping_transport(std::move(transport_), *kept_mail_, clock_);
}

void App::declare_routes(const Overrides& overrides) {
    const auto reference = std::make_shared<Reference>(router_);
    add_status_routes(router_, &pulse_, reference);
    add_docs_routes(router_, reference);
    add_console_routes(router_);
    add_branding_routes(router_);
    add_play_routes(router_, {faucet_.get(), kept_mail_.get()});
    features_->add_routes(router_);
    if (overrides.routes) overrides.routes(router_);
}

void App::serve() {
    if (chain_) require_tokens(start_->get<chain::Settings>(), *chain_, features_->treasury);
    http::ServerOptions options;
    options.address = settings_.listen->address;
    options.port = settings_.listen->port;
    options.tls_certificate_file = *settings_.tls_certificate;
    options.tls_key_file = *settings_.tls_key;
    options.trusted_proxies = *settings_.trusted_proxies;
    options.io_threads = io_threads(settings_);
    options.request_bytes = request_bytes_;
    options.connections_max = connections_max(raise_file_limit(), settings_);
    options.connections_per_address_max =
        static_cast<std::size_t>(*settings_.connections_per_address);
    pool_ = std::make_unique<http::Pool>(static_cast<std::size_t>(*settings_.threads),
                                         request_queue_max);
    service_->set_pool(pool_.get());
    server_ = std::make_unique<http::Server>(options, *service_);
    add_traffic_metrics();
    if (*settings_.worker_threads > 0) serve_tasks();
    if (!prepared_) service_->refuse_work("the service is starting; try again later");
    begin();
    pulse_.start();
    // Whoever finds the server ready finds its simulated chain and clock, too.
    if (*settings_.simulated)
        simulation_ = std::make_unique<Simulation>(Simulation::Parts{
            settings_, *database_, dynamic_cast<simulated::SimulatedChain&>(*chain_),
            features_->treasury, *faucet_, features_->host_agents, random_});
    server_->start();
    features_->own_listeners.add(settings_.listen->address, server_->port());
}

void App::serve_tasks() {
    if (chain_) require_tokens(start_->get<chain::Settings>(), *chain_, features_->treasury);
    tasks_started_ = true;
    if (!server_) begin();
}

// What needs the database before anything else does.
void App::prepare() {
    if (chain_ && features_->treasury_key)
        require_durable(start_->get<chain::Settings>(), *database_);
    db::migrate(*database_, migrations_);
    stamp_or_refuse(*database_, *start_);
    const int planted = database_->write(
        [&](db::Transaction& tx) { return offers::plant_starter_templates(tx, clock_.now()); });
    if (planted > 0) log(Level::info, "templates_planted", {{"count", planted}});
    check_fingerprints(*database_, secrets_, *settings_.secrets);
    rentals::note_start(*database_, clock_.now());
    database_->write(
        [&](db::Transaction& tx) { billing::note_keys(tx, features_->own_keys, clock_.now()); });
    live_.refresh(*database_);
    prepared_ = true;
}

// Background work begins when the database is there; a server that waits for it listens meanwhile.
// Metrics are told before, so that a collector sees what waits.
void App::begin() {
    if (const auto& where = *settings_.metrics_listen) {
        census_ = std::make_unique<Census>(*database_, clock_, metrics_);
        http::ServerOptions page;
        page.address = where->address;
        page.port = where->port;
        metrics_page_ = std::make_unique<MetricsPage>(metrics_);
        metrics_server_ = std::make_unique<http::Server>(page, *metrics_page_);
        metrics_server_->start();
        features_->own_listeners.add(where->address, metrics_server_->port());
    }
    if (try_to_begin()) return;
    starter_ = std::thread([this] {
        std::unique_lock lock(starter_mutex_);
        while (!starter_wake_.wait_for(lock, begin_again_after, [this] { return stopping_; })) {
            try {
                if (try_to_begin()) return;
            } catch (const std::exception& error) {
                log(Level::error, "cannot_begin", {{"why", error.what()}});
            }
        }
    });
}

bool App::try_to_begin() {
    try {
        if (!prepared_) prepare();
        if (server_) tell_four_eyes();
    } catch (const db::Unavailable& away) {
        if (const std::int64_t times = waiting_.note())
            log(Level::warn, "waiting_for_database", {{"why", away.what()}, {"times", times}});
        return false;
    }
    live_.watch(*database_);
    if (server_) features_->host_agents.start(clock_);
    if (server_) features_->catalog.follow(*database_, clock_);
    if (server_) features_->relay.start();
    if (server_) features_->delivery.hub().start();
    if (tasks_started_) worker_->start();
    if (tasks_started_) features_->delivery.couriers().start();
    service_->take_work();
    return true;
}

// What this server was started with decides when a second admin is asked.
void App::tell_four_eyes() {
    const auto& eyes = start_->get<four_eyes::Settings>();
    const std::string brand = *live_.now()->get<accounts::Branding>().name;
    const auto told = database_->write([&](db::Transaction& tx) {
        return four_eyes::note_start({tx, random_, clock_.now()}, features_->outbox, brand,
                                     {*eyes.four_eyes, *eyes.four_eyes_limit_micro});
    });
    if (!told.empty())
        log(Level::warn, "four_eyes_ask_for_less", {{"admins_told", std::ssize(told)}});
}

void App::reload() {
    if (!server_ || settings_.tls_key->empty()) return;
    try {
        server_->reload_tls();
        log(Level::info, "certificate_reloaded");
    } catch (const std::exception& error) {
        log(Level::error, "certificate_not_reloaded", {{"why", error.what()}});
    }
}

void App::answer_local_requests() {
    answer_requests(*settings_.db, [&](const Words& request) {
        const auto order = parse_order(request);
        const std::string sentence =
            order ? carry_out(*order, {*database_, features_->treasury, chain_.get(), clock_,
                                       random_, *live_.now()})
                  : carry_out(request, *database_, clock_, random_);
        log(Level::info, "local_request_done", {{"what", sentence}});
        live_.refresh(*database_);
        return sentence;
    });
}

// A balancer needs a moment to see that nothing should come here any more.
void App::leave() {
    pulse_.leave();
    if (server_) std::this_thread::sleep_for(settings_.drain_s->value_or(usual_drain(settings_)));
}

// In the order of the flow: no new requests, requests in progress end, then the background.
void App::stop() {
    {
        const std::lock_guard lock(starter_mutex_);
        stopping_ = true;
    }
    starter_wake_.notify_all();
    if (starter_.joinable()) starter_.join();
    simulation_.reset();
    service_->end_waiting();
    features_->relay.end_in(streams_end_in);
    features_->delivery.hub().end_all();
    if (server_) server_->stop();
    service_->refuse_work("the server is stopping; try again later");
    if (metrics_server_) metrics_server_->stop();
    pool_.reset();
    pulse_.stop();
    worker_->stop();
    features_->delivery.couriers().stop();
    features_->relay.stop();
    features_->delivery.hub().stop();
    features_->host_agents.stop();
    features_->catalog.stop();
    live_.stop();
}

}  // namespace berth::server
