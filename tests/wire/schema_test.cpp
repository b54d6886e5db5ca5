#include "wire/complaint.hpp"
#include "wire/sample.hpp"

namespace berth {
namespace {

using namespace wire;

template <class T>
std::string schema_of() {
    Components components;
    return schema(type_of<T>(), components);
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
    Components components;
    EXPECT_EQ(schema(type_of<std::vector<sample::Inner>>(), components),
              R"({"type":"array","items":{"$ref":"#/components/schemas/Inner"}})");
    EXPECT_EQ(schema(type_of<sample::Inner>(), components),
              R"({"$ref":"#/components/schemas/Inner"})");
    ASSERT_EQ(components.size(), 1U);
    EXPECT_EQ(components.at("Inner"),
              R"({"type":"object","properties":{"name":{"type":"string","minLength":1,)"
              R"("maxLength":100},"notice_s":{"type":"integer","minimum":0,"maximum":3600}},)"
              R"("required":["name"],"additionalProperties":false})");
}

TEST(WireSchema, FollowsEverythingAStructHolds) {
    Components components;
    schema(type_of<sample::Everything>(), components);
    std::vector<std::string> names;
    for (const auto& [name, text] : components) {
        names.push_back(name);
        EXPECT_TRUE(canonical(text).has_value()) << text;
    }
    EXPECT_EQ(names, (std::vector<std::string>{"Everything", "Inner", "InnerPage", "Nothing",
                                               "Tree"}));
    EXPECT_NE(components.at("Everything").find(R"("operator":{"type":"boolean"})"),
              std::string::npos);
}

TEST(WireSchema, NamesTemplatesAfterTheirArguments) {
    EXPECT_EQ(schema_of<sample::Page<sample::Page<sample::Inner>>>(),
              R"({"$ref":"#/components/schemas/InnerPagePage"})");
    EXPECT_EQ((schema_of<sample::Page<Text<1, 2>>>()).find('<'), std::string::npos);
}

TEST(WireExample, DecodesForEveryType) {
    EXPECT_EQ(complaint<sample::Everything>(example(type_of<sample::Everything>())), "");
    EXPECT_EQ(complaint<sample::Tree>(example(type_of<sample::Tree>())), "");
    EXPECT_EQ(complaint<sample::Page<sample::Inner>>(
                  example(type_of<sample::Page<sample::Inner>>())),
              "");
    EXPECT_EQ((complaint<Text<0, 0>>(example(type_of<Text<0, 0>>()))), "");
    EXPECT_EQ((complaint<Text<3, 3>>(example(type_of<Text<3, 3>>()))), "");
    EXPECT_EQ((complaint<Text<40, 50>>(example(type_of<Text<40, 50>>()))), "");
    EXPECT_EQ((complaint<Integer<-9, -3>>(example(type_of<Integer<-9, -3>>()))), "");
    EXPECT_EQ((complaint<Integer<5, 9>>(example(type_of<Integer<5, 9>>()))), "");
    EXPECT_EQ((complaint<List<Uuid, 4, 5>>(example(type_of<List<Uuid, 4, 5>>()))), "");
    EXPECT_EQ((complaint<List<Uuid, 0, 0>>(example(type_of<List<Uuid, 0, 0>>()))), "");
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
            Components components;
            schema(type_of<sample::Inner>(), components);
            schema(type_of<other::Inner>(), components);
        },
        "share one name");
}

}  // namespace
}  // namespace berth
