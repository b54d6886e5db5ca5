// What a process is started with, and the registry of every setting of the program.
#pragma once

#include "base/log.hpp"
#include "settings/registry.hpp"

namespace berth::server {

using settings::BadSettings;

inline constexpr std::string_view sqlite_scheme = "sqlite:";

struct Endpoint {
    std::string address;
    std::uint16_t port = 0;
};

Endpoint parse_endpoint(const std::string& text);
std::optional<Endpoint> parse_optional_endpoint(const std::string& text);
std::string parse_base_url(const std::string& text);
std::string parse_database(const std::string& text);
Level parse_level(const std::string& text);
std::optional<Duration> parse_drain(const std::string& text);

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Parsed<Endpoint> listen{"127.0.0.1:8080",
                                      parse_endpoint,
                                      {.label = "Address",
                                       .help = "Address and port to serve on.",
                                       .pinned = settings::read_at_start}};
    settings::Text base_url{"",
                            parse_base_url,
                            {.label = "Base address",
                             .help = "Address under which clients reach the service; empty: that "
                                     "of --listen.",
                             .pinned = settings::root_of_trust}};
    settings::Text db{"sqlite:data/berth.db",
                      parse_database,
                      {.label = "Database",
                       .help = "sqlite:PATH or postgres://…; of a cluster every host: "
                               "postgres://ONE,TWO/NAME.",
                       .pinned = settings::read_at_start,
                       .secret = true}};
    settings::Text secrets{"data/secrets",
                           settings::some_text,
                           {.label = "Secrets",
                            .help = "Folder of the keys the service signs and encrypts with.",
                            .pinned = settings::root_of_trust}};
    settings::Text country_table{"data/country.mmdb",
                                 settings::any_text,
                                 {.label = "Table of countries",
                                  .help = "File that tells on which continent an address is; "
                                          "without it continents are unknown.",
                                  .pinned = settings::read_at_start}};
    settings::Flag allow_private_endpoints{
        false,
        {.label = "Private endpoints",
         .help = "Rentals may announce private addresses (development).",
         .pinned = settings::root_of_trust}};
    settings::Flag allow_plain_engines{
        false,
        {.label = "Engines without TLS",
         .help = "Rentals may announce http endpoints that speak no TLS (development).",
         .pinned = settings::root_of_trust}};
    settings::Flag simulated{
        false,
        {.label = "Simulated",
         .help = "Play money: a simulated chain inside this process and a clock that can be "
                 "moved, for a database made so (development).",
         .pinned = settings::root_of_trust}};
    settings::Parsed<std::optional<Endpoint>> metrics_listen{
        "",
        parse_optional_endpoint,
        {.label = "Metrics",
         .help = "Address and port of /metrics; empty: none.",
         .pinned = settings::read_at_start}};
    settings::Text tls_certificate{"",
                                   settings::any_text,
                                   {.label = "Certificate",
                                    .help = "PEM file; read again on SIGHUP.",
                                    .pinned = settings::read_at_start}};
    settings::Text tls_key{"",
                           settings::any_text,
                           {.label = "Certificate's key",
                            .help = "PEM file; read again on SIGHUP.",
                            .pinned = settings::read_at_start}};
    settings::List trusted_proxies{
        "",
        settings::comma_list,
        {.label = "Trusted proxies",
         .help = "Addresses or blocks whose X-Forwarded-For is believed.",
         .pinned = settings::root_of_trust}};
    settings::Parsed<Level> log_level{
        "info",
        parse_level,
        {.label = "Log", .help = "debug, info, warn or error.", .pinned = settings::read_at_start}};
    settings::Parsed<std::optional<Duration>> drain_s{
        "",
        parse_drain,
        {.label = "Drain",
         .help = "Seconds between SIGTERM, when /readyz turns 503, and the end of "
                 "listening; empty: 3, and none on a loopback address.",
         .unit = "s",
         .pinned = settings::read_at_start}};
    settings::Whole io_threads{
        0,
        {0, 64},
        {.label = "I/O threads",
         .help = "Threads that read and write sockets; 0: half of the cores, "
                 "at most 4.",
         .pinned = settings::read_at_start}};
    settings::Whole connections_per_address{
        512,
        {1, 1'000'000},
        {.label = "Connections of an address",
         .help = "Connections that one address may have; trusted proxies may "
                 "have any.",
         .pinned = settings::read_at_start}};
    settings::Whole threads{64,
                            {1, 1024},
                            {.label = "Threads",
                             .help = "Threads that carry out requests.",
                             .pinned = settings::read_at_start}};
    settings::Whole db_connections{16,
                                   {1, 1024},
                                   {.label = "Database connections",
                                    .help = "PostgreSQL connections, or SQLite readers.",
                                    .pinned = settings::read_at_start}};
    settings::Whole worker_threads{4,
                                   {0, 256},
                                   {.label = "Worker threads",
                                    .help = "Background threads for mail, one more each for the "
                                            "rest; 0 leaves it all to berthd worker.",
                                    .pinned = settings::read_at_start}};
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (listen, base_url, db, secrets, country_table, allow_private_endpoints,
                       allow_plain_engines, simulated, metrics_listen, tls_certificate, tls_key,
                       trusted_proxies, log_level, drain_s, io_threads, connections_per_address,
                       threads, db_connections, worker_threads))

// Every setting of the program: a new section is named here.
const settings::Registry& registry();

// The values a process was started with. Throws BadSettings for those that are not good, alone or
// together.
settings::Given load_settings(const settings::Sources& sources);

// Those of the process itself, which are all pinned.
Settings start_settings(const settings::Given& given);

// The base address, also when it follows from --listen.
std::string base_url_of(const Settings& settings);

}  // namespace berth::server
