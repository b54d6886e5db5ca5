// The specification is made from the declarations: what it says of them.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/openapi.hpp"
#include "support/harness.hpp"

namespace berth::test {
namespace {

namespace json = boost::json;

class OpenApi : public ::testing::Test {
protected:
    const json::object& operation(const char* path, const char* method) const {
        return document.at("paths").at(path).at(method).as_object();
    }

    Harness harness;
    json::value document = json::parse(api::openapi(harness.app->router()));
};

TEST_F(OpenApi, HasEveryRouteWithAllItsParts) {
    for (const auto& entry : harness.app->router().entries()) {
        std::string method = entry->route.method;
        for (char& c : method) c = static_cast<char>(std::tolower(c));
        const auto& found = operation(entry->route.path.c_str(), method.c_str());
        EXPECT_EQ(found.at("operationId").as_string(), entry->route.name);
        EXPECT_TRUE(found.contains("security"));
        EXPECT_TRUE(
            found.at("responses").as_object().contains(std::to_string(entry->route.status)));
    }
}

TEST_F(OpenApi, AMutationNamesItsKeyBodyErrorsAndExamples) {
    const auto& transfer = operation("/test/transfers", "post");
    EXPECT_EQ(transfer.at("parameters").at(0).at("$ref").as_string(),
              "#/components/parameters/IdempotencyKey");
    const auto& content = transfer.at("requestBody").at("content").at("application/json");
    EXPECT_EQ(content.at("schema").at("$ref").as_string(), "#/components/schemas/NewTransfer");
    EXPECT_TRUE(content.as_object().contains("example"));
    const auto& responses = transfer.at("responses").as_object();
    for (const char* status : {"202", "401", "403", "409", "413", "422", "503"})
        EXPECT_TRUE(responses.contains(status)) << status;
    EXPECT_EQ(responses.at("409").at("description").as_string(),
              "CONFLICT: a transfer goes to oneself. "
              "IDEMPOTENCY_CONFLICT: the Idempotency-Key was used for another request. "
              "INSUFFICIENT_FUNDS: the balance is too small.");
}

TEST_F(OpenApi, WhoeverMayBeRefusedReadsWhyAlsoWhereARouteHasAReasonOfItsOwn) {
    int own = 0;
    for (const auto& entry : harness.app->router().entries()) {
        if (entry->route.access == api::Access::anyone) continue;
        std::string method = entry->route.method;
        for (char& c : method) c = static_cast<char>(std::tolower(c));
        const std::string text(operation(entry->route.path.c_str(), method.c_str())
                                   .at("responses")
                                   .at("403")
                                   .at("description")
                                   .as_string());
        EXPECT_NE(text.find("the scope, role, step-up or destination is missing"), text.npos)
            << entry->route.name << ": " << text;
        own += text.find(", or the scope, role") != text.npos ? 1 : 0;
    }
    EXPECT_GT(own, 0);
}

TEST_F(OpenApi, AnErrorShowsWhatItMayCarryBesideTheEnvelope) {
    const auto& schema = operation("/test/plan", "patch")
                             .at("responses")
                             .at("409")
                             .at("content")
                             .at("application/json")
                             .at("schema");
    EXPECT_EQ(schema.at("properties").at("current").at("$ref").as_string(),
              "#/components/schemas/Plan");
    EXPECT_EQ(schema.at("properties").at("error").at("$ref").as_string(),
              "#/components/schemas/ErrorDetail");
    EXPECT_FALSE(schema.at("additionalProperties").as_bool());
    EXPECT_TRUE(document.at("components").at("schemas").as_object().contains("Plan"));
    const auto& shown = operation("/test/plan", "patch")
                            .at("responses")
                            .at("409")
                            .at("content")
                            .at("application/json")
                            .at("examples");
    EXPECT_EQ(shown.at("VERSION_CONFLICT").at("value").at("error").at("code").as_string(),
              "VERSION_CONFLICT");
    EXPECT_TRUE(
        shown.at("VERSION_CONFLICT").at("value").at("current").as_object().contains("version"));
    EXPECT_TRUE(shown.at("IDEMPOTENCY_CONFLICT").as_object().contains("$ref"));
}

// A client that holds answers to the description must take an engine's own.
TEST_F(OpenApi, WhatSomebodyElseRefusesIsDescribedBesideOurOwn) {
    const auto& responses =
        operation("/api/v1/jobs/{id}/openai/v1/chat/completions", "post").at("responses");
    const auto schema = [&](const char* status) -> const json::object& {
        return responses.at(status).at("content").at("application/json").at("schema").as_object();
    };
    EXPECT_EQ(schema("4XX").at("type").as_string(), "object");
    for (const char* status : {"401", "404", "409", "422", "429"}) {
        const json::array& either = schema(status).at("anyOf").as_array();
        ASSERT_EQ(either.size(), 2U) << status;
        EXPECT_EQ(either[0].at("$ref").as_string(), "#/components/schemas/ErrorEnvelope");
        EXPECT_EQ(either[1], json::value(schema("4XX")));
    }
    EXPECT_TRUE(schema("503").contains("$ref")) << "the service's own alone";
}

TEST_F(OpenApi, AChoiceNamesItsDiscriminatorAndARenderedAnswerItsSchema) {
    const auto& body = operation("/test/accounts/{id}/actions", "post")
                           .at("requestBody")
                           .at("content")
                           .at("application/json")
                           .at("schema");
    EXPECT_EQ(body.at("discriminator").at("propertyName").as_string(), "action");
    const auto& plans = operation("/test/plans", "get")
                            .at("responses")
                            .at("200")
                            .at("content")
                            .at("application/json")
                            .at("schema");
    EXPECT_EQ(plans.at("$ref").as_string(), "#/components/schemas/PlanPage");
}

TEST_F(OpenApi, ParametersSayWhereTheyAreAndWhetherTheyAreNeeded) {
    const auto& limit = operation("/test/entries", "get").at("parameters").at(1);
    EXPECT_EQ(limit.at("name").as_string(), "limit");
    EXPECT_EQ(limit.at("in").as_string(), "query");
    EXPECT_FALSE(limit.at("required").as_bool());
    EXPECT_EQ(limit.at("schema").at("maximum").as_int64(), 100);
    const auto& id = operation("/test/accounts/{id}", "get").at("parameters").at(0);
    EXPECT_EQ(id.at("description").as_string(), "Which of the accounts, by its id.");
    EXPECT_TRUE(id.at("required").as_bool());
    EXPECT_EQ(id.at("schema").at("format").as_string(), "uuid");
}

TEST_F(OpenApi, EveryReferenceHasItsTarget) {
    const std::string text = api::openapi(harness.app->router());
    constexpr std::string_view mark = "\"$ref\": \"#/components/";
    std::size_t seen = 0;
    for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1), ++seen) {
        const std::size_t begin = at + mark.size();
        const std::string rest = text.substr(begin, text.find('"', begin) - begin);
        const std::size_t slash = rest.find('/');
        const auto& kind = document.at("components").at(rest.substr(0, slash)).as_object();
        EXPECT_TRUE(kind.contains(rest.substr(slash + 1))) << rest;
    }
    EXPECT_GT(seen, 10U);
}

TEST_F(OpenApi, IsServedAsItIsPrinted) {
    EXPECT_EQ(*harness.ask({.target = "/openapi.json"}).shared_body,
              api::openapi(harness.app->router()));
}

}  // namespace
}  // namespace berth::test
