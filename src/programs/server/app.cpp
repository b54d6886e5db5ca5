#include "server/app.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "api/openapi.hpp"
#include "base/log.hpp"
#include "chain/settings.hpp"
#include "funding/watcher.hpp"
#include "mail/settings.hpp"
#include "server/census.hpp"
#include "server/chain_setup.hpp"
#include "server/features.hpp"
#include "server/local_requests.hpp"
#include "server/pages.hpp"
#include "server/schema.hpp"
#include "server/secrets.hpp"
#include "server/simulation.hpp"
#include "server/status.hpp"
#include "server/treasury_commands.hpp"
#include "wallets/types.hpp"
#include "worker/tasks.hpp"

namespace berth::server {
namespace {

constexpr std::size_t request_queue_max = 4096;
constexpr std::chrono::seconds begin_again_after{1};
// Work that comes again every second or so and was not taken up for this long has no worker.
constexpr std::chrono::minutes work_late_max{1};
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
    const std::string& address = settings.listen->address;
    const bool is_loopback = address.starts_with("127.") || address == "::1";
    return std::chrono::seconds(is_loopback ? 0 : 3);
}

CheckState probe_liabilities(db::Database& database) {
    try {
        return database.read(liabilities::is_uncovered) ? CheckState::failed : CheckState::ok;
    } catch (const std::exception&) {
        return CheckState::off;  // that the database is away is told by its own probe
    }
}

CheckState probe_database(db::Database& database) {
    try {
        database.read([](db::Transaction& tx) { tx.run("SELECT 1"); });
        return CheckState::ok;
    } catch (const std::exception&) {
        return CheckState::failed;
    }
}

// A mail server that is away delays mail; here it shows when mail has waited for long.
CheckState probe_mail(db::Database& database, Time now) {
    try {
        const bool behind =
            database.read([&](db::Transaction& tx) { return mail::is_behind(tx, now); });
        return behind ? CheckState::failed : CheckState::ok;
    } catch (const std::exception&) {
        return CheckState::failed;
    }
}

// The watcher knows how the chain is, also when it runs in another process.
CheckState probe_chain(db::Database& database) {
    try {
        const bool failing = database.read([](db::Transaction& tx) {
            return worker::is_failing(tx, funding::watch_chain_kind_name);
        });
        return failing ? CheckState::failed : CheckState::ok;
    } catch (const std::exception&) {
        return CheckState::failed;
    }
}

// Payments that fail, or that a person must look at first, are told wherever the settler runs.
CheckState probe_settler(db::Database& database, const std::optional<Time>& late_since) {
    try {
        const bool stalled = database.read([&](db::Transaction& tx) {
            constexpr std::string_view kind = transfers::settle_transfers_kind_name;
            return worker::is_failing(tx, kind) || transfers::find_hold(tx) ||
                   (late_since && worker::is_overdue(tx, kind, *late_since));
        });
        return stalled ? CheckState::failed : CheckState::ok;
    } catch (const std::exception&) {
        return CheckState::failed;
    }
}

// The database tells whether anyone works, here or in another process.
CheckState probe_work(db::Database& database, const std::vector<std::string>& kinds,
                      Time due_since) {
    try {
        const auto neglected = database.read(
            [&](db::Transaction& tx) { return worker::neglected(tx, kinds, due_since); });
        return neglected.empty() ? CheckState::ok : CheckState::failed;
    } catch (const std::exception&) {
        return CheckState::failed;
    }
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
    add_page_routes(router, nullptr);
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
      features_(std::make_unique<Features>(*start_, secrets_, chain_.get(), overrides.live_jobs)),
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
    worker::Options worker_options;
    worker_options.threads =
        static_cast<std::size_t>(std::max(*settings_.worker_threads, std::int64_t{1}));
    worker_options.settings = &live_;
    worker_options.wake = [this](const WakeKey& key) { service_->notifier().wake(key); };
    auto kinds = features_->tasks({*database_, clock_, random_, *transport_, live_});
    for (const worker::Kind& kind : kinds)
        if (kind.every) features_->recurring.push_back(kind.name);
    worker_ = std::make_unique<worker::Worker>(*database_, clock_, random_, std::move(kinds),
                                               worker_options);
    if (!features_->countries.loaded())
        log(Level::warn, "country_table_missing", {{"why", features_->countries.why()}});
    features_->host_agents.connect(*database_);
    features_->relay.connect(*database_);
    declare_routes(overrides);
    std::vector<api::Topic> topics{machines::commands_topic(clock_)};
    topics.insert(topics.end(), overrides.topics.begin(), overrides.topics.end());
    api::Authenticators callers = features_->authenticators();
    if (overrides.authenticators.accounts) callers.accounts = overrides.authenticators.accounts;
    if (overrides.authenticators.machines) callers.machines = overrides.authenticators.machines;
    service_ = std::make_unique<api::Service>(api::Service::Parts{
        router_, *database_, callers, clock_, random_, secrets_.cursor, metrics_, live_,
        std::move(topics), base_url_of(settings_).starts_with("https://"), secrets_.other_cursors});
    add_money_metrics();
    add_relay_metrics();
}

App::~App() { stop(); }

machines::HostAgents& App::host_agents() { return features_->host_agents; }
catalog::Catalog& App::catalog() { return features_->catalog; }
rentals::Rentals& App::rentals() { return features_->rentals; }
relay::Relay& App::relay() { return features_->relay; }

Probes App::probes() {
    // What was due before is late. A process that has just begun has given nobody the time.
    const auto late_since = [this, begun_at = clock_.now()] {
        const Time since = clock_.now() - work_late_max;
        return since < begun_at ? std::nullopt : std::optional(since);
    };
    return {
        .db = [this] { return prepared_ ? probe_database(*database_) : CheckState::failed; },
        .worker =
            [this, late_since] {
                if (tasks_started_ && !worker_->healthy()) return CheckState::failed;
                const auto since = late_since();
                return since ? probe_work(*database_, features_->recurring, *since)
                             : CheckState::ok;
            },
        .chain = [this] { return chain_ ? probe_chain(*database_) : CheckState::off; },
        .mail = [this] { return probe_mail(*database_, clock_.now()); },
        .settler =
            [this, late_since] {
                return chain_ ? probe_settler(*database_, late_since()) : CheckState::off;
            },
        .locations =
            [this] { return features_->countries.loaded() ? CheckState::ok : CheckState::off; },
        .liabilities = [this] { return chain_ ? probe_liabilities(*database_) : CheckState::off; },
    };
}

void App::declare_routes(const Overrides& overrides) {
    const auto reference = std::make_shared<Reference>(router_);
    add_status_routes(router_, &pulse_, reference);
    add_page_routes(router_, reference);
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
    options.connections_max = connections_max(raise_file_limit(), settings_);
    options.connections_per_address_max =
        static_cast<std::size_t>(*settings_.connections_per_address);
    pool_ = std::make_unique<http::Pool>(static_cast<std::size_t>(*settings_.threads),
                                         request_queue_max);
    service_->set_pool(pool_.get());
    server_ = std::make_unique<http::Server>(options, *service_);
    metrics_.add_counter("berth_connections_accepted_total", "Client connections since the start.",
                         [this] { return static_cast<double>(server_->accepted()); });
    metrics_.add_counter("berth_connections_refused_total",
                         "Connections over a limit, since the start.",
                         [this] { return static_cast<double>(server_->refused()); });
    metrics_.add_counter("berth_connections_evicted_total", "Idle connections closed to make room.",
                         [this] { return static_cast<double>(server_->evicted()); });
    metrics_.add_counter("berth_requests_not_understood_total",
                         "Requests refused without an envelope, since the start.",
                         [this] { return static_cast<double>(server_->not_understood()); });
    metrics_.add_counter("berth_requests_refused_for_queue_total",
                         "Requests that a full queue refused, since the start.",
                         [this] { return static_cast<double>(service_->refused_for_queue()); });
    metrics_.add_gauge("berth_connections", "Open client connections.",
                       [this] { return static_cast<double>(server_->connections()); });
    metrics_.add_gauge("berth_requests_waiting", "Requests that wait for news.",
                       [this] { return static_cast<double>(service_->notifier().waiting()); });
    metrics_.add_gauge("berth_catalog_age_seconds", "Since the catalog was last known current.",
                       [this] { return features_->catalog.age_seconds(); });
    if (*settings_.worker_threads > 0) serve_tasks();
    if (!prepared_) service_->refuse_work("the service is starting; try again later");
    begin();
    pulse_.start();
    server_->start();
    if (*settings_.simulated)
        simulation_ = std::make_unique<Simulation>(Simulation::Parts{
            settings_, *database_, dynamic_cast<simulated::SimulatedChain&>(*chain_),
            features_->treasury, features_->host_agents, random_});
}

// Known where the chain is watched and the settler runs; elsewhere they stay at nothing.
void App::add_money_metrics() {
    const auto watched = features_->watcher_vitals;
    metrics_.add_gauge("berth_suspense_usdc_micro", "USDC that came in and nobody has claimed.",
                       [watched] { return static_cast<double>(watched->suspense_micro[0]); });
    metrics_.add_gauge("berth_suspense_usdt_micro", "USDT that came in and nobody has claimed.",
                       [watched] { return static_cast<double>(watched->suspense_micro[1]); });
    // Without a chain there is nothing to look at, and no figure.
    const auto of_chain = [this](auto read) -> api::Metrics::ReadSamples {
        if (!chain_) return [] { return std::vector<api::Metrics::Sample>{}; };
        return [read] {
            return std::vector<api::Metrics::Sample>{
                {std::to_string(wallets::base_chain_id), static_cast<double>(read())}};
        };
    };
    metrics_.add_gauges("berth_chain_lag_blocks", "Final blocks that the watcher has yet to read.",
                        "chain", of_chain([watched] { return watched->lag_blocks.load(); }));
    metrics_.add_gauges("berth_chain_look_age_seconds",
                        "Since this process last saw all of the chain that it watches.", "chain",
                        of_chain([this, watched, start = clock_.now()] {
                            const Time seen{std::max(start.micros, watched->looked_at.load())};
                            return (clock_.now() - seen) / std::chrono::seconds(1);
                        }));
    const auto vitals = features_->settler_vitals;
    metrics_.add_gauge("berth_transfer_oldest_seconds", "Age of the oldest open transfer.",
                       [vitals] { return static_cast<double>(vitals->oldest_open_seconds); });
    metrics_.add_counter("berth_transfer_sends_refused_total", "Sends that every provider refused.",
                         [vitals] { return static_cast<double>(vitals->sends_refused); });
    metrics_.add_gauge("berth_treasury_gas_gwei", "What the treasury has to pay for gas.",
                       [vitals] { return static_cast<double>(vitals->gas_gwei); });
    metrics_.add_gauge("berth_treasury_usdc_micro", "USDC that the treasury holds.",
                       [vitals] { return static_cast<double>(vitals->holdings_micro[0]); });
    metrics_.add_gauge("berth_treasury_usdt_micro", "USDT that the treasury holds.",
                       [vitals] { return static_cast<double>(vitals->holdings_micro[1]); });
}

void App::add_relay_metrics() {
    const relay::Relay& relay = features_->relay;
    metrics_.add_gauge("berth_relay_open", "Relayed requests that are open.",
                       [&relay] { return static_cast<double>(relay.open()); });
    metrics_.add_counter("berth_relay_remembered_total",
                         "Requests to the relay that took no look at the database.",
                         [&relay] { return static_cast<double>(relay.remembered()); });
    const relay::Counters::Totals& totals = relay.totals();
    metrics_.add_counter("berth_relay_requests_total", "Relayed requests that are over.",
                         [&totals] { return static_cast<double>(totals.requests); });
    metrics_.add_counter("berth_relay_errors_total",
                         "Relayed requests that engines failed or refused.",
                         [&totals] { return static_cast<double>(totals.errors); });
    metrics_.add_counter("berth_relay_bytes_in_total", "Bytes of bodies that went to engines.",
                         [&totals] { return static_cast<double>(totals.bytes_in); });
    metrics_.add_counter("berth_relay_bytes_out_total", "Bytes of bodies that engines answered.",
                         [&totals] { return static_cast<double>(totals.bytes_out); });
    metrics_.add_counter("berth_relay_completion_tokens_total",
                         "Tokens that engines say they made.",
                         [&totals] { return static_cast<double>(totals.completion_tokens); });
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
    } catch (const db::Unavailable& away) {
        if (const std::int64_t times = waiting_.note())
            log(Level::warn, "waiting_for_database", {{"why", away.what()}, {"times", times}});
        return false;
    }
    live_.watch(*database_);
    if (server_) features_->host_agents.start(clock_);
    if (server_) features_->catalog.follow(*database_, clock_);
    if (server_) features_->relay.start();
    if (tasks_started_) worker_->start();
    service_->take_work();
    return true;
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
        const std::string sentence = order ? carry_out(*order, {*database_, features_->treasury,
                                                                chain_.get(), clock_, random_})
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
    if (server_) server_->stop();
    service_->refuse_work("the server is stopping; try again later");
    if (metrics_server_) metrics_server_->stop();
    pool_.reset();
    pulse_.stop();
    worker_->stop();
    features_->relay.stop();
    features_->host_agents.stop();
    features_->catalog.stop();
    live_.stop();
}

}  // namespace berth::server
