#include <boost/json/serialize.hpp>

#include "wire/complaint.hpp"
#include "wire/sample.hpp"

namespace berth {
namespace {

using namespace wire;

namespace json = boost::json;

template <class T>
std::string schema_of(Use use = Use::request) {
    return json::serialize(Schemas().of(type_of<T>(), use));
}

template <class T>
std::string component_of(const char* name, Use use) {
    Schemas schemas;
    schemas.of(type_of<T>(), use);
    return json::serialize(schemas.components().at(name));
}

TEST(WireSchema, DescribesEachRule) {
    EXPECT_EQ(schema_of<bool>(), R"({"type":"boolean"})");
    EXPECT_EQ(schema_of<double>(), R"({"type":"number"})");
    EXPECT_EQ((schema_of<Text<1, 60>>()), R"({"type":"string","minLength":1,"maxLength":60})");
    EXPECT_EQ((schema_of<Integer<0, 100>>()), R"({"type":"integer","minimum":0,"maximum":100})");
    EXPECT_EQ((schema_of<Integer<0, INT64_MAX>>()), R"({"type":"integer","minimum":0})");
    EXPECT_EQ(schema_of<Constant<8453>>(), R"({"type":"integer","const":8453})");
    EXPECT_EQ(schema_of<Micro>(), R"({"type":"string","pattern":"^(0|[1-9][0-9]{0,18})$"})");
    EXPECT_EQ(schema_of<Uuid>(), R"({"type":"string","format":"uuid"})");
    EXPECT_EQ(schema_of<Time>(), R"({"type":"string","format":"date-time","pattern":"Z$"})");
    EXPECT_EQ(schema_of<Secret>(), R"({"type":["string","null"]})");
    EXPECT_EQ(schema_of<Json>(), "{}");
    EXPECT_EQ(schema_of<Object>(), R"({"type":"object"})");
    EXPECT_EQ(schema_of<sample::Category>(),
              R"({"type":"string","enum":["branding","auth-providers","default","MIXED_case"]})");
}

TEST(WireSchema, AddsNullToWhatMayBeNull) {
    EXPECT_EQ(schema_of<Nullable<Uuid>>(), R"({"type":["string","null"],"format":"uuid"})");
    EXPECT_EQ(schema_of<Nullable<Constant<1>>>(),
              R"({"anyOf":[{"type":"integer","const":1},{"type":"null"}]})");
    EXPECT_EQ(schema_of<Nullable<sample::Inner>>(),
              R"({"anyOf":[{"$ref":"#/components/schemas/Inner"},{"type":"null"}]})");
    EXPECT_EQ(schema_of<Nullable<Secret>>(), R"({"type":["string","null"]})");
}

TEST(WireSchema, DescribesContainers) {
    EXPECT_EQ(schema_of<std::vector<Uuid>>(),
              R"({"type":"array","items":{"type":"string","format":"uuid"}})");
    EXPECT_EQ((schema_of<List<Uuid, 1, 3>>()),
              R"({"type":"array","items":{"type":"string","format":"uuid"},"minItems":1,)"
              R"("maxItems":3})");
    EXPECT_EQ((schema_of<std::map<std::string, bool>>()),
              R"({"type":"object","additionalProperties":{"type":"boolean"}})");
}

TEST(WireSchema, PutsStructsIntoComponentsOnce) {
    Schemas schemas;
    EXPECT_EQ(json::serialize(schemas.of(type_of<std::vector<sample::Inner>>(), Use::request)),
              R"({"type":"array","items":{"$ref":"#/components/schemas/Inner"}})");
    EXPECT_EQ(json::serialize(schemas.of(type_of<sample::Inner>(), Use::request)),
              R"({"$ref":"#/components/schemas/Inner"})");
    ASSERT_EQ(schemas.components().size(), 1U);
    EXPECT_EQ(json::serialize(schemas.components().at("Inner")),
              R"({"type":"object","properties":{"name":{"type":"string","minLength":1,)"
              R"("maxLength":100,"description":"What people call it."},)"
              R"("notice_s":{"type":"integer","minimum":0,"maximum":3600}},)"
              R"("required":["name"],"additionalProperties":false})")
        << "a member of which its struct says nothing means what its name means everywhere";
}

TEST(WireSchema, ClosesWhatIsReadAndWhatIsMarked) {
    const auto closed = [](const std::string& schema) {
        return schema.find(R"("additionalProperties":false)") != std::string::npos;
    };
    EXPECT_FALSE(closed(component_of<sample::Inner>("Inner", Use::response)));
    EXPECT_TRUE(closed(component_of<sample::Inner>("Inner", Use::request)));
    EXPECT_TRUE(closed(component_of<sample::Closed>("Closed", Use::response)));
    Schemas both;
    both.of(type_of<sample::Page<sample::Inner>>(), Use::response);
    both.of(type_of<sample::Page<sample::Inner>>(), Use::request);
    EXPECT_TRUE(closed(json::serialize(both.components().at("Inner"))));
}

TEST(WireSchema, SaysWhatIsSaidOfAMember) {
    EXPECT_EQ(component_of<sample::Documented>("Documented", Use::response),
              R"({"type":"object","properties":{"limit":{"type":"integer","minimum":1,)"
              R"("maximum":100,"description":"How many at most.","default":20},"category":)"
              R"({"anyOf":[{"type":"string","enum":["branding","auth-providers","default",)"
              R"("MIXED_case"]},{"type":"null"}],"description":"None for most."},"links":)"
              R"({"type":"array","items":{"type":"string","minLength":1,"maxLength":20},)"
              R"("description":"Where to look."}},"required":["category","links"]})");
    EXPECT_EQ(sample::example_text(type_of<sample::Documented>()),
              R"({"limit":50,"category":null,"links":["https://a.example"]})");
}

TEST(WireSchema, DescribesAmountsSetsAndWhatIsRendered) {
    EXPECT_EQ(schema_of<PositiveMicro>(),
              R"({"type":"string","pattern":"^[1-9][0-9]{0,18}$","x-minimum":"1"})");
    EXPECT_EQ((schema_of<Amount<0, 500>>()),
              R"({"type":"string","pattern":"^(0|[1-9][0-9]{0,18})$","maxLength":3,)"
              R"("x-maximum":"500"})");
    EXPECT_EQ((schema_of<Set<sample::Category, 1, 2>>()),
              R"({"type":"array","items":)" + schema_of<sample::Category>() +
                  R"(,"minItems":1,"maxItems":2,"uniqueItems":true})");
    EXPECT_EQ(schema_of<Rendered<sample::Inner>>(), schema_of<sample::Inner>());
    EXPECT_EQ(schema_of<sample::Page<Rendered<sample::Inner>>>(),
              schema_of<sample::Page<sample::Inner>>());
}

TEST(WireSchema, DescribesAChoiceByItsLiteralOrByWhatIsThere) {
    EXPECT_EQ(schema_of<sample::Command>(),
              R"({"oneOf":[{"$ref":"#/components/schemas/SetRole"},)"
              R"({"$ref":"#/components/schemas/ResetMfa"}],"discriminator":{"propertyName":)"
              R"("action","mapping":{"set_role":"#/components/schemas/SetRole",)"
              R"("reset_mfa":"#/components/schemas/ResetMfa"}}})");
    EXPECT_EQ(schema_of<sample::Proof>(), R"({"oneOf":[{"$ref":"#/components/schemas/ByCode"},)"
                                          R"({"$ref":"#/components/schemas/ByLink"}]})");
    EXPECT_NE(component_of<sample::Command>("SetRole", Use::request)
                  .find(R"("action":{"type":"string","const":"set_role",)"),
              std::string::npos);
}

TEST(WireSchema, FollowsEverythingAStructHolds) {
    Schemas schemas;
    schemas.of(type_of<sample::Everything>(), Use::response);
    std::vector<std::string> names;
    for (const auto& [name, schema] : schemas.components()) names.emplace_back(name);
    EXPECT_EQ(names,
              (std::vector<std::string>{"ByCode", "ByLink", "Everything", "Inner", "InnerPage",
                                        "Nothing", "ResetMfa", "SetRole", "Tree"}));
    EXPECT_EQ(
        json::serialize(schemas.components().at("Everything").at("properties").at("operator")),
        R"({"type":"boolean"})");
}

TEST(WireSchema, IndentsItsText) {
    const json::value value{{"a", json::array{1, json::object{}}}, {"b", "x\"y"}, {"c", nullptr}};
    EXPECT_EQ(indented(value),
              "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x\\\"y\",\n  \"c\": null\n}\n");
}

TEST(WireSchema, NamesTemplatesAfterTheirArguments) {
    EXPECT_EQ(schema_of<sample::Page<sample::Page<sample::Inner>>>(),
              R"({"$ref":"#/components/schemas/InnerPagePage"})");
    EXPECT_EQ((schema_of<sample::Page<Text<1, 2>>>()).find('<'), std::string::npos);
}

TEST(WireExample, DecodesForEveryType) {
    EXPECT_EQ(complaint<sample::Everything>(sample::example_text(type_of<sample::Everything>())),
              "");
    EXPECT_EQ(complaint<sample::Tree>(sample::example_text(type_of<sample::Tree>())), "");
    EXPECT_EQ(complaint<sample::Page<sample::Inner>>(
                  sample::example_text(type_of<sample::Page<sample::Inner>>())),
              "");
    EXPECT_EQ((complaint<Text<0, 0>>(sample::example_text(type_of<Text<0, 0>>()))), "");
    EXPECT_EQ((complaint<Text<3, 3>>(sample::example_text(type_of<Text<3, 3>>()))), "");
    EXPECT_EQ((complaint<Text<40, 50>>(sample::example_text(type_of<Text<40, 50>>()))), "");
    EXPECT_EQ((complaint<Integer<-9, -3>>(sample::example_text(type_of<Integer<-9, -3>>()))), "");
    EXPECT_EQ((complaint<Integer<5, 9>>(sample::example_text(type_of<Integer<5, 9>>()))), "");
    EXPECT_EQ((complaint<List<Uuid, 4, 5>>(sample::example_text(type_of<List<Uuid, 4, 5>>()))), "");
    EXPECT_EQ((complaint<List<Uuid, 0, 0>>(sample::example_text(type_of<List<Uuid, 0, 0>>()))), "");
}

}  // namespace

// The same name in another namespace: a mistake the schema must not paper over.
namespace other {
struct Inner {
    bool different = false;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (different))
}  // namespace other

namespace {

TEST(WireSchemaDeathTest, RefusesTwoStructsOfOneName) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            Schemas schemas;
            schemas.of(type_of<sample::Inner>(), Use::request);
            schemas.of(type_of<other::Inner>(), Use::request);
        },
        "share one name");
}

}  // namespace
}  // namespace berth
