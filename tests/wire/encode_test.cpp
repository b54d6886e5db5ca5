#include <limits>

#include "base/check.hpp"
#include "wire/complaint.hpp"
#include "wire/sample.hpp"

namespace berth {
namespace {

using sample::Everything;
using sample::Inner;

TEST(WireEncode, WritesMembersInTheOrderTheyAreDescribed) {
    EXPECT_EQ(wire::encode(Inner{{"a\"\n"}, {{5}}}), R"({"name":"a\"\n","notice_s":5})");
}

TEST(WireEncode, LeavesOutAnOptionalWithoutAValue) {
    EXPECT_EQ(wire::encode(Inner{{"a"}, {}}), R"({"name":"a"})");
    EXPECT_EQ(wire::encode(sample::Nothing{}), "{}");
}

TEST(WireEncode, WritesEachLeafAsTheContractSpellsIt) {
    EXPECT_EQ(wire::encode(true), "true");
    EXPECT_EQ(wire::encode(0.1), "0.1");
    EXPECT_EQ(wire::encode(Micro{5'000'000}), "\"5000000\"");
    EXPECT_EQ(wire::encode(wire::SignedMicro{{-1}}), "\"-1\"");
    EXPECT_EQ(wire::encode(wire::Decimal{INT64_MAX}), "\"9223372036854775807\"");
    EXPECT_EQ(wire::encode(wire::Integer<0, 9>{3}), "3");
    EXPECT_EQ(wire::encode(wire::Constant<8453>{}), "8453");
    EXPECT_EQ(wire::encode(Time{1'500'000}), "\"1970-01-01T00:00:01.500Z\"");
    EXPECT_EQ(wire::encode(Uuid{}), "\"00000000-0000-0000-0000-000000000000\"");
    EXPECT_EQ(wire::encode(sample::Category::auth_providers), "\"auth-providers\"");
    EXPECT_EQ(wire::encode(wire::Nullable<Micro>{}), "null");
    EXPECT_EQ(wire::encode(wire::Json{}), "null");
    EXPECT_EQ(wire::encode(wire::Object{R"({"a":1})"}), R"({"a":1})");
    EXPECT_EQ(wire::encode(std::map<std::string, Micro>{{"a\"", {1}}, {"b", {2}}}),
              R"({"a\"":"1","b":"2"})");
    EXPECT_EQ(wire::encode(std::vector<std::string>{"a", "b"}), R"(["a","b"])");
    EXPECT_EQ(wire::encode(std::vector<std::string>{}), "[]");
}

TEST(WireEncode, IsTheInverseOfDecode) {
    const std::string body = sample::example_text(wire::type_of<Everything>());
    const std::string again = wire::encode(wire::decode<Everything>(body));
    EXPECT_EQ(wire::canonical(again), wire::canonical(body));
    EXPECT_EQ(wire::encode(wire::decode<Everything>(again)), again);
}

TEST(WireEncode, ShowsOrHidesSecrets) {
    struct Row {
        wire::Secret secret;
        wire::Secrets secrets;
        std::string json;
    };
    const std::vector<Row> rows{{{"ark_x"}, wire::Secrets::show, "\"ark_x\""},
                                {{"ark_x"}, wire::Secrets::hide, "null"},
                                {{""}, wire::Secrets::show, "null"}};
    for (const Row& row : rows) EXPECT_EQ(wire::encode(row.secret, row.secrets), row.json);
    // Wherever it stands: in members, arrays and optional values.
    auto value = wire::decode<Everything>(sample::example_text(wire::type_of<Everything>()));
    value.secret = {"ark_hidden"};
    EXPECT_EQ(wire::encode(value, wire::Secrets::hide).find("ark_"), std::string::npos);
    EXPECT_EQ(wire::encode(std::vector<wire::Secret>{{"ark_hidden"}}, wire::Secrets::hide),
              "[null]");
    EXPECT_EQ(wire::encode(wire::Nullable<wire::Secret>{{"ark_hidden"}}, wire::Secrets::hide),
              "null");
}

TEST(WireEncode, WritesInvalidUtf8AsReplacementCharacters) {
    EXPECT_EQ(wire::encode(std::string("a\xff")), "\"a\xEF\xBF\xBD\"");
}

TEST(WireEncode, ANumberThatIsNotFiniteIsABug) {
    EXPECT_THROW(wire::encode(std::numeric_limits<double>::infinity()), Bug);
    EXPECT_THROW(wire::encode(std::numeric_limits<double>::quiet_NaN()), Bug);
}

}  // namespace
}  // namespace berth
