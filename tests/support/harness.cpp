#include "support/harness.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "api/envelope.hpp"
#include "api/openapi.hpp"
#include "catalog/catalog.hpp"
#include "server/schema.hpp"
#include "settings/changes.hpp"
#include "support/fake_transport.hpp"

namespace berth::test {
namespace {

using Members = std::map<std::string, wire::Json>;

// The envelope, whatever stands beside `error`.
std::optional<api::ErrorDetail> error_of(const http::Response& response) {
    try {
        const auto members = wire::decode<Members>(response.body, "response");
        return wire::decode<api::ErrorDetail>(members.at("error").text, "response.error");
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

void expect_declared_siblings(const api::Entry& entry, const http::Response& response,
                              const std::string& code) {
    for (const auto& [name, value] : wire::decode<Members>(response.body, "response")) {
        if (name == "error") continue;
        const auto is_it = [&, &key = name](const api::DeclaredSibling& sibling) {
            return sibling.name == key && code_name(sibling.code) == code;
        };
        const auto& siblings = entry.route.siblings;
        const auto found = std::find_if(siblings.begin(), siblings.end(), is_it);
        ASSERT_TRUE(found != siblings.end()) << name << " is not declared: " << response.body;
        wire::Errors errors;
        found->check(value.text, errors);
        EXPECT_NO_THROW(errors.raise()) << response.body;
    }
}

void expect_success_body(const api::Entry& entry, const http::Response& response) {
    if (response.status == http::not_modified_status) {
        EXPECT_EQ(response.shared_body, nullptr);
        EXPECT_EQ(response.body, "");
        return;
    }
    if (entry.html) {
        EXPECT_TRUE(response.content_type.starts_with("text/html"));
        return;
    }
    if (entry.file) {
        EXPECT_NE(response.content_type, "application/json");
        EXPECT_NE(response.shared_body, nullptr);
        return;
    }
    if (entry.result == nullptr) {
        EXPECT_EQ(response.source != nullptr, entry.streamed);
        EXPECT_EQ(response.body, "");
        return;
    }
    if (response.content_type.starts_with("text/csv")) {
        EXPECT_FALSE(entry.route.csv.empty()) << "no table is declared";
        return;
    }
    wire::Errors errors;
    entry.check_answer(response.shared_body ? *response.shared_body : response.body, errors);
    EXPECT_NO_THROW(errors.raise()) << response.body;
}

const char* cache_control(api::Cache cache, bool good) {
    switch (cache) {
        case api::Cache::personal: return "private, no-store";
        case api::Cache::open: return "no-store";
        case api::Cache::checked: return good ? "no-cache" : "no-store";
        case api::Cache::forever: return good ? "public, max-age=31536000, immutable" : "no-store";
    }
    return "";
}

}  // namespace

http::Request make_request(const Ask& ask) {
    http::Request request;
    request.method = ask.method;
    request.target = ask.target;
    request.body = ask.body;
    request.client_address = ask.from;
    if (!ask.as.empty()) request.headers.add("Authorization", "Bearer " + ask.as);
    if (!ask.key.empty()) request.headers.add("Idempotency-Key", ask.key);
    if (!ask.body.empty()) request.headers.add("Content-Type", "application/json");
    for (const auto& field : ask.headers) request.headers.add(field.name, field.value);
    return request;
}

void expect_declared(const api::Router& router, const http::Request& request,
                     const http::Response& response) {
    SCOPED_TRACE(request.method + " " + request.target + " -> " + std::to_string(response.status));
    EXPECT_EQ(response.headers.count("Retry-After"), 0U);
    const auto id = response.headers.find("X-Request-Id");
    ASSERT_TRUE(id && parse_uuid(*id));
    const auto match = router.find(request.method, request.path());
    const auto cache = match.entry ? match.entry->route.cache : api::Cache::personal;
    EXPECT_EQ(response.headers.find("Cache-Control"), cache_control(cache, response.status < 400));

    const bool later = match.entry && match.entry->route.deferral.check != nullptr &&
                       response.status == api::Deferred::status &&
                       response.body.find("\"pending_action_id\"") != std::string::npos;
    if (later) {
        wire::Errors errors;
        match.entry->route.deferral.check(response.body, errors);
        EXPECT_NO_THROW(errors.raise()) << response.body;
        return;
    }
    if (match.entry && (response.status == match.entry->route.status ||
                        response.status == match.entry->route.second_status)) {
        expect_success_body(*match.entry, response);
        return;
    }
    const auto error = error_of(response);
    ASSERT_TRUE(error) << response.body;
    EXPECT_EQ(to_string(error->request_id), *id);
    if (!match.entry) {
        const bool limited = response.status == 429;
        EXPECT_EQ(response.status, limited ? 429 : 404);
        EXPECT_EQ(error->code.value, limited ? "UNAVAILABLE" : "NOT_FOUND");
        return;
    }
    const auto declared = api::route_errors(*match.entry);
    const api::ErrorRow row{response.status, error->code.value};
    EXPECT_TRUE(std::binary_search(declared.begin(), declared.end(), row)) << response.body;
    expect_declared_siblings(*match.entry, response, error->code.value);
}

std::string error_code(const http::Response& response) {
    const auto error = error_of(response);
    return error ? error->code.value : "";
}

std::string error_message(const http::Response& response) {
    const auto error = error_of(response);
    return error ? error->message.value : "";
}

void write_secret(const std::string& folder, const std::string& name, const std::string& hex) {
    std::filesystem::create_directories(folder);
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::ofstream(path) << hex << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
}

const DatabaseTemplate& migrated_database() {
    static const DatabaseTemplate original(
        [](db::Database& database) { db::migrate(database, server::schema()); });
    return original;
}

Harness::Harness() : Harness(Options{}) {}

Harness::Harness(Options options) {
    const std::string secrets = folder.path() + "/secrets";
    settings::Sources sources{.flags = std::move(options.flags)};
    sources.flags.insert({{"listen", "127.0.0.1:0"},
                          {"metrics-listen", "127.0.0.1:0"},
                          {"allow-plain-engines", "true"},
                          {"transfer-min-micro", "1"},
                          {"funded-time-min-s", "0"},
                          {"starts-open-max", "0"},
                          {"unbilled-starts-per-hour", "0"},
                          {"retrieval-min-s", "900"},
                          {"payout-delay-hours", "0"},
                          {"allow-unproven-cards", "true"},
                          {"rate-account-per-minute", "1000000000"},
                          {"rate-invalid-credentials-per-minute", "1000000000"},
                          {"db", options.db.empty() ? database.url() : options.db},
                          {"secrets", secrets}});
    if (!options.treasury_key.empty()) write_secret(secrets, "treasury.key", options.treasury_key);
    server::Overrides overrides = std::move(options.overrides);
    if (!options.real_accounts) {
        overrides.authenticators.accounts = &callers_;
        if (!overrides.authenticators.machines) overrides.authenticators.machines = &callers_;
        overrides.migrations.push_back(bank_migration());
        overrides.routes = [this, more = overrides.routes](api::Router& router) {
            add_bank_routes(router, controls);
            if (more) more(router);
        };
    }
    if (!overrides.transport) overrides.transport = std::make_unique<FakeTransport>();
    // But where it is what is tested.
    sources.flags.try_emplace("four-eyes", "off");
    sources.flags.try_emplace("address-cooling-hours", "0");
    given = server::load_settings(sources);
    app = std::make_unique<server::App>(given, clock, random, std::move(overrides));
    app->catalog().refresh(app->database(), clock.now());
}

void Harness::set(const std::string& key, const std::string& value) {
    app->database().write([&](db::Transaction& tx) {
        settings::change(server::registry(), {tx, random, clock.now()},
                         {.key = key,
                          .value = value,
                          .actor = audit::Actor::local_operator(),
                          .reason = "a test"});
    });
    app->settings().refresh(app->database());
}

http::Response Harness::ask(const Ask& request) {
    const http::Request sent = make_request(request);
    http::Response response = app->service().answer(sent);
    expect_declared(app->router(), sent, response);
    if (response.shared_body) response.body = *response.shared_body;  // as its reader sees it
    return response;
}

}  // namespace berth::test
