// The specification is the whole truth, told to people: every member explained, every example good,
// and a page that shows it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "server/app.hpp"
#include "support/harness.hpp"
#include "wire/schema.hpp"

namespace berth::test {
namespace {

namespace json = wire::json;

class Reference : public ::testing::Test {
protected:
    static std::string text(const json::value& value) { return value.as_string().c_str(); }

    json::value document = json::parse(server::specification());
    const json::object& schemas = document.at("components").at("schemas").as_object();
};

TEST_F(Reference, EveryMemberIsExplained) {
    for (const auto& [schema, shape] : schemas)
        for (const auto& [name, property] : shape.at("properties").as_object())
            EXPECT_TRUE(property.as_object().contains("description")) << schema << "." << name;
    for (const auto& [path, methods] : document.at("paths").as_object())
        for (const auto& [method, operation] : methods.as_object()) {
            const json::value* parameters = operation.as_object().if_contains("parameters");
            if (parameters == nullptr) continue;
            for (const json::value& each : parameters->as_array())
                EXPECT_TRUE(each.as_object().contains("$ref") ||
                            !text(each.at("description")).empty())
                    << path << " " << each.at("name");
        }
}

wire::TextFields example_fields(const wire::Type* type) {
    wire::TextFields fields;
    if (type == nullptr) return fields;
    for (const wire::Member& member : type->members) {
        const json::value value = wire::example(member.type(), wire::doc_of(*type, member.name));
        fields.emplace_back(std::string(member.name), value.is_string()
                                                          ? std::string(value.as_string())
                                                          : json::serialize(value));
    }
    return fields;
}

TEST_F(Reference, EveryExampleKeepsTheRules) {
    Harness harness({.real_accounts = true});
    for (const auto& entry : harness.app->router().entries()) {
        SCOPED_TRACE(entry->route.name);
        wire::Errors errors;
        api::Input input{example_fields(entry->path), example_fields(entry->query), ""};
        const std::string body =
            entry->body != nullptr ? json::serialize(wire::example(*entry->body)) : "";
        input.body = body;
        entry->decode(input, errors);
        if (entry->result != nullptr)
            entry->check_answer(json::serialize(wire::example(*entry->result)), errors);
        EXPECT_NO_THROW(errors.raise());
    }
}

TEST_F(Reference, ExamplesDoNotMislead) {
    const auto& intent = document.at("paths")
                             .at("/api/v1/funding-intents")
                             .at("post")
                             .at("responses")
                             .at("201")
                             .at("content")
                             .at("application/json")
                             .at("example");
    EXPECT_NE(intent.at("treasury_address"), intent.at("token"));
    const auto& entry = document.at("paths")
                            .at("/api/v1/billing/entries")
                            .at("get")
                            .at("responses")
                            .at("200")
                            .at("content")
                            .at("application/json")
                            .at("example")
                            .at("items")
                            .at(0);
    EXPECT_EQ(text(entry.at("kind")), "deposit");
    EXPECT_EQ(text(entry.at("direction")), "credit");
    EXPECT_TRUE(entry.at("job_id").is_null());
}

TEST_F(Reference, SchemasRefuseWhatTheServerRefuses) {
    const auto property = [&](const char* schema, const char* name) -> const json::object& {
        return schemas.at(schema).at("properties").at(name).as_object();
    };
    EXPECT_EQ(text(property("NewIntent", "amount_micro").at("pattern")), "^[1-9][0-9]{0,18}$");
    EXPECT_EQ(text(property("StartSignIn", "email").at("format")), "email");
    EXPECT_TRUE(property("NewKey", "scopes").at("uniqueItems").as_bool());
    const auto& list = document.at("paths").at("/api/v1/withdrawals").at("get").at("parameters");
    EXPECT_EQ(list.at(1).at("schema").at("default").as_int64(), 20);
    const auto& hub = document.at("paths").at("/api/v1/account/integrations/{provider}").at("get");
    EXPECT_EQ(text(hub.at("parameters").at(0).at("schema").at("const")), "huggingface");
}

TEST_F(Reference, OnlyWhatIsReadAndTheEnvelopeAreClosedAndArraysOfRequestsAreBounded) {
    EXPECT_FALSE(schemas.at("Intent").as_object().contains("additionalProperties"));
    EXPECT_TRUE(schemas.at("NewIntent").as_object().contains("additionalProperties"));
    EXPECT_TRUE(schemas.at("ErrorEnvelope").as_object().contains("additionalProperties"));
    for (const auto& [name, shape] : schemas) {
        const json::value* open = shape.as_object().if_contains("additionalProperties");
        if (open == nullptr || *open == json::value(true)) continue;
        for (const auto& [member, property] : shape.at("properties").as_object())
            EXPECT_TRUE(!property.as_object().contains("items") ||
                        property.as_object().contains("maxItems"))
                << name << "." << member;
    }
}

TEST_F(Reference, ThePageShowsEveryRouteAndNeedsNothingFromElsewhere) {
    Harness harness({.real_accounts = true});
    const auto page = harness.ask({.target = "/docs/api"});
    EXPECT_EQ(page.status, 200);
    for (const auto& entry : harness.app->router().entries())
        EXPECT_NE(page.body.find("<section id=\"" + entry->route.name + "\">"), std::string::npos)
            << entry->route.name;
    for (const auto& [name, shape] : schemas)
        EXPECT_NE(page.body.find("<section id=\"" + std::string(name) + "\">"), std::string::npos)
            << name;
    for (const char* foreign : {"<script", "src=", "<link", "@import"})
        EXPECT_EQ(page.body.find(foreign), std::string::npos) << foreign;
}

// What sign-in and money refuse is told with its reason, not only by its code.
TEST_F(Reference, EveryRefusalOfSignInAndMoneySaysWhen) {
    const Harness harness({.real_accounts = true});
    constexpr std::array places{"/api/v1/auth/",           "/api/v1/account/",
                                "/api/v1/agents/",         "/api/v1/wallets",
                                "/api/v1/funding-intents", "/api/v1/withdrawal",
                                "/api/v1/confirmations",   "/api/v1/billing",
                                "/api/v1/hosts/payouts",   "/api/v1/hosts/earnings"};
    int looked_at = 0;
    for (const auto& entry : harness.app->router().entries()) {
        const std::string& path = entry->route.path;
        if (std::none_of(places.begin(), places.end(),
                         [&](const char* place) { return path.starts_with(place); }))
            continue;
        for (const api::DeclaredError& error : entry->route.errors) {
            ++looked_at;
            EXPECT_FALSE(error.when.empty()) << entry->route.name << ' ' << code_name(error.code);
        }
    }
    EXPECT_GT(looked_at, 40);
}

// Whoever came by https once never comes by http again.
TEST_F(Reference, ClientsOfAnHttpsServiceAreToldToStayWithIt) {
    Harness::Options options;
    options.flags["base-url"] = "https://berth.example";
    Harness safe(std::move(options));
    EXPECT_EQ(safe.ask({.target = "/healthz"}).headers.find("Strict-Transport-Security"),
              "max-age=31536000");
    EXPECT_EQ(safe.ask({.target = "/nowhere"}).headers.find("Strict-Transport-Security"),
              "max-age=31536000");
    Harness plain;
    EXPECT_FALSE(plain.ask({.target = "/healthz"}).headers.find("Strict-Transport-Security"));
}

}  // namespace
}  // namespace berth::test
