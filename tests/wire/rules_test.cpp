// Every rule with tables of what it takes and what it refuses, as JSON and as a query parameter.
#include "wire/complaint.hpp"
#include "wire/sample.hpp"

namespace berth {
namespace {

using namespace wire;

struct Bad {
    std::vector<std::string> values;
    std::string rule;
};

template <class T>
void expect_good(const std::vector<std::string>& values) {
    for (const std::string& json : values) EXPECT_EQ(complaint<T>(json), "") << json;
}

template <class T>
void expect_bad(const Bad& bad) {
    for (const std::string& json : bad.values)
        EXPECT_EQ(complaint<T>(json), "body: " + bad.rule) << json;
}

std::string quote(std::string_view text) { return '"' + std::string(text) + '"'; }
std::string repeat(std::string_view text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
}

TEST(WireRules, BooleanTakesTrueAndFalseOnly) {
    expect_good<bool>({"true", "false", " true "});
    expect_bad<bool>({{"0", "1", "\"true\"", "null", "[]", "{}"}, "must be true or false"});
}

TEST(WireRules, NumberTakesEveryFiniteNumber) {
    expect_good<double>({"0", "-0", "1.5", "1e3", "-1E-7", "9007199254740993", "5e-324"});
    expect_bad<double>({{"\"1\"", "null", "true", "[]", "{}"}, "must be a finite number"});
    EXPECT_EQ(wire::decode<double>("0.1"), 0.1);
    EXPECT_EQ(wire::decode<double>("1.7976931348623157e308"), 1.7976931348623157e308);
    EXPECT_NE(complaint<double>("1e309"), "");
    EXPECT_NE(complaint<double>("1e-400"), "");
    EXPECT_NE(complaint<double>("1e99999999999"), "");
}

TEST(WireRules, StringTakesEveryUtf8TextWithoutNul) {
    expect_good<std::string>(
        {"\"\"", "\"a\"", "\"\\u00e9\\ud83d\\ude00\\n\"", "\"😀\"", "\"\\u007f\""});
    expect_bad<std::string>({{"1", "null", "true", "[]", "{}"}, "must be a string"});
    EXPECT_EQ(wire::decode<std::string>(R"("a\u0062\"\\\/\b\f\n\r\t€")"), "ab\"\\/\b\f\n\r\t€");
}

TEST(WireRules, TextCountsCodePointsAndNotBytes) {
    expect_good<Text<2, 5>>(
        {"\"ab\"", "\"abcde\"", "\"ééééé\"", "\"😀😀😀😀😀\"", "\"\\u0001\\u0002\""});
    expect_bad<Text<2, 5>>(
        {{"\"\"", "\"a\"", "\"😀\"", "\"abcdef\"", "\"éééééé\""}, "must have 2 to 5 characters"});
    expect_bad<Text<2, 5>>({{"12", "null", "[]", "{}", "true"}, "must be a string"});
    expect_bad<Text<0, 1>>({{"\"ab\""}, "must have at most 1 characters"});
    expect_bad<Text<3, 3>>({{"\"ab\"", "\"abcd\""}, "must have 3 characters"});
}

TEST(WireRules, IntegerTakesWholeNumbersInRangeSpelledPlainly) {
    expect_good<Integer<-10, 1000>>({"-10", "0", "1000", "-1"});
    expect_bad<Integer<-10, 1000>>(
        {{"-11", "1001", "1.0", "1e2", "1E2", "10.5", "-0", "\"1\"", "null", "true", "[]", "{}",
          "9223372036854775808", "18446744073709551616", "99999999999999999999999999"},
         "must be an integer from -10 to 1000"});
    expect_good<Integer<INT64_MIN, INT64_MAX>>({"9223372036854775807", "-9223372036854775808"});
    expect_bad<Integer<INT64_MIN, INT64_MAX>>(
        {{"9223372036854775808", "-9223372036854775809", "9007199254740993.0"},
         "must be an integer from -9223372036854775808 to 9223372036854775807"});
    EXPECT_EQ((wire::decode<Integer<INT64_MIN, INT64_MAX>>("9007199254740993").value),
              9007199254740993);
}

TEST(WireRules, ConstantTakesItsOneValue) {
    expect_good<Constant<8453>>({"8453"});
    expect_bad<Constant<8453>>({{"1", "8453.0", "\"8453\"", "null", "{}"}, "must be 8453"});
}

const std::vector<std::string> no_decimals{
    R"("")",   R"("00")", R"("01")",  R"("+1")",  R"("-1")",    R"("-0")", R"("1.0")", R"("1e3")",
    R"(" 1")", R"("1 ")", R"("0x1")", R"("1_0")", R"("1,000")", R"("١")",  R"("abc")", R"("1\n")",
    "5",       "0",       "null",     "true",     "[]",         "{}"};

TEST(WireRules, DecimalTakesBaseTenStringsOnly) {
    expect_good<Decimal>({"\"0\"", "\"7\"", "\"5000000\"", "\"9223372036854775807\""});
    expect_bad<Decimal>({no_decimals, "must be a base-10 integer string"});
    expect_bad<Decimal>({{"\"9223372036854775808\"", "\"99999999999999999999999999999\""},
                         "must be at most 9223372036854775807"});
}

TEST(WireRules, MicroIsADecimalAndNeverNegative) {
    expect_good<Micro>({"\"0\"", "\"9223372036854775807\""});
    expect_bad<Micro>({no_decimals, "must be a base-10 integer string"});
    EXPECT_EQ(wire::decode<Micro>("\"12\""), Micro{12});
}

TEST(WireRules, AmountHasBounds) {
    using Price = Amount<1, 500>;
    expect_good<Price>({"\"1\"", "\"500\""});
    expect_bad<Price>({no_decimals, "must be a base-10 integer string"});
    expect_bad<Price>({{"\"0\""}, "must be at least 1"});
    expect_bad<Price>({{"\"501\"", "\"99999999999999999999999999999\""}, "must be at most 500"});
    EXPECT_EQ(Micro(wire::decode<Price>("\"12\"")), Micro{12});
    expect_bad<PositiveMicro>({{"\"0\""}, "must be at least 1"});
    expect_bad<PositiveMicro>({{"\"9223372036854775808\""}, "must be at most 9223372036854775807"});
}

TEST(WireRules, SetRefusesAnItemGivenTwice) {
    using Categories = Set<sample::Category, 1, 3>;
    expect_good<Categories>({R"(["default"])", R"(["default","branding"])"});
    expect_bad<Categories>({{R"(["default","branding","default"])"}, "has default twice"});
    expect_bad<Categories>({{"[]"}, "must have 1 to 3 items"});
}

TEST(WireRules, LiteralTakesItsOneValue) {
    expect_good<Literal<"set_role">>({R"("set_role")", R"("set\u005frole")"});
    expect_bad<Literal<"set_role">>(
        {{R"("set_Role")", R"("")", "1", "null", "{}"}, "must be set_role"});
}

TEST(WireRules, SignedMicroMayBeNegative) {
    expect_good<SignedMicro>({"\"0\"", "\"-1\"", "\"-9223372036854775808\""});
    expect_bad<SignedMicro>(
        {{"\"-0\"", "\"--1\"", "\"-\"", "\"\"", "\"-01\"", "\"+1\"", "\"1.0\"", "-1", "null",
          "\"-9223372036854775809\"", "\"9223372036854775808\""},
         "must be a base-10 integer string of 64 bits, with a minus sign if it is negative"});
    EXPECT_EQ(wire::decode<SignedMicro>("\"-12\"").value, Micro{-12});
}

TEST(WireRules, TimeIsStrictRfc3339InUtc) {
    expect_good<Time>({"\"2026-11-15T03:06:41Z\"", "\"2026-11-15T03:06:41.5Z\"",
                       "\"2024-02-29T00:00:00.123456789Z\""});
    expect_bad<Time>(
        {{"\"2026-11-15T03:06:41\"", "\"2026-11-15T03:06:41+00:00\"", "\"2026-11-15t03:06:41z\"",
          "\"2026-11-15 03:06:41Z\"", "\"2025-02-29T00:00:00Z\"", "\"2026-11-15T24:00:00Z\"",
          "\"2026-11-15T23:59:60Z\"", "\"1969-12-31T23:59:59Z\"", "\"2026-11-15T03:06:41.Z\"",
          "\"2026-11-15\"", "\"\"", "1", "null", "[]"},
         "must be an RFC 3339 time in UTC that ends in Z"});
}

TEST(WireRules, UuidHasItsDashesInPlace) {
    const std::string id = "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57";
    expect_good<Uuid>({quote(id), "\"01941F29-7C00-7A3E-9B1D-2F4C6A8E0B57\""});
    expect_good<sample::ThingId>({quote(id)});
    const Bad bad{
        {"\"\"", quote(id + "0"), quote(id.substr(1)), quote("{" + id + "}"),
         "\"01941f297c007a3e9b1d2f4c6a8e0b57\"", "\"01941f29-7c00-7a3e-9b1d-2f4c6a8e0b5g\"",
         "\"01941f297-c00-7a3e-9b1d-2f4c6a8e0b57\"", "1", "null", "[]"},
        "must be a UUID"};
    expect_bad<Uuid>(bad);
    expect_bad<sample::ThingId>(bad);
}

TEST(WireRules, EvmAddressIsFortyHexDigits) {
    const std::string digits = repeat("aB", 20);
    expect_good<EvmAddress>({quote("0x" + digits)});
    expect_bad<EvmAddress>({{quote(digits), quote("0X" + digits), quote("0x" + digits + "0"),
                             quote("0x" + digits.substr(1)), quote("0x" + digits.substr(1) + "g"),
                             quote(" 0x" + digits), "\"\"", "\"0x\"", "1", "null"},
                            "must be 0x and 40 hexadecimal digits"});
}

TEST(WireRules, TransactionHashIsSixtyFourHexDigits) {
    const std::string digits = repeat("aB", 32);
    expect_good<TransactionHash>({quote("0x" + digits)});
    expect_bad<TransactionHash>(
        {{quote(digits), quote("0x" + digits + "0"), quote("0x" + digits.substr(1)),
          quote("0x" + digits.substr(1) + "-"), "\"\"", "1", "null"},
         "must be 0x and 64 hexadecimal digits"});
}

TEST(WireRules, Sha256HashIsLowerCase) {
    const std::string digits = repeat("a0", 32);
    expect_good<Sha256Hash>({quote("sha256:" + digits)});
    expect_bad<Sha256Hash>({{quote(digits), quote("sha256:" + repeat("A0", 32)),
                             quote("SHA256:" + digits), quote("sha256:" + digits + "a"),
                             quote("sha256:" + digits.substr(1)), "\"sha256:\"", "null", "5"},
                            "must be sha256: and 64 lower-case hexadecimal digits"});
}

TEST(WireRules, ImageDigestNamesARepositoryWithoutWhiteSpaceOrAt) {
    const std::string hash = "sha256:" + repeat("a0", 32);
    expect_good<ImageDigest>(
        {quote("busybox@" + hash), quote("registry.example:5000/team/image@" + hash)});
    expect_bad<ImageDigest>(
        {{quote(hash), quote("@" + hash), quote("a b@" + hash), quote("a@b@" + hash),
          quote("a\\t@" + hash), quote("a\\u00a0@" + hash), quote("a\\u007f@" + hash),
          quote("a@" + hash + "0"), quote("a:latest"), quote("a@sha512:" + hash.substr(7)), "\"\"",
          "null"},
         "must be repository@sha256: and 64 lower-case hexadecimal digits"});
}

TEST(WireRules, SixDigitsAreExactlySix) {
    expect_good<SixDigits>({"\"000000\"", "\"123456\""});
    expect_bad<SixDigits>(
        {{"\"12345\"", "\"1234567\"", "\"12345a\"", "\" 12345\"", "\"-12345\"", "123456", "null"},
         "must be six digits"});
}

TEST(WireRules, SecretIsAStringOrNull) {
    expect_good<Secret>({"\"\"", "\"ark_x\"", "null"});
    expect_bad<Secret>({{"1", "true", "[]"}, "must be a string"});
}

TEST(WireRules, JsonKeepsTheSpellingOfNumbersAndTheOrderOfMembers) {
    EXPECT_EQ(wire::decode<Json>(" { \"b\" : [ 1.0 , 1e3, -0, 12345678901234567890123 ] ,\n"
                                 "\"a\": {\"\\u0061\\/\":null}, \"c\" : true } ")
                  .text,
              R"({"b":[1.0,1e3,-0,12345678901234567890123],"a":{"a/":null},"c":true})");
    expect_good<Json>({"null", "1", "\"x\"", "[]", "{}"});
    expect_bad<Json>({{R"({"a":1,"a":1})", R"([{"a":1,"\u0061":2}])"}, "has the member a twice"});
}

TEST(WireRules, ObjectTakesAnObjectOnly) {
    EXPECT_EQ(wire::decode<Object>("{\"a\" : []}").text, "{\"a\":[]}");
    expect_bad<Object>({{"null", "1", "\"x\"", "[]", "[{}]"}, "must be an object"});
}

TEST(WireRules, EnumerationTakesItsNamesOnly) {
    using sample::Category;
    EXPECT_EQ(wire::decode<Category>("\"auth-providers\""), Category::auth_providers);
    EXPECT_EQ(wire::decode<Category>("\"default\""), Category::default_);
    expect_good<Category>({"\"branding\"", "\"MIXED_case\""});
    expect_bad<Category>({{"\"auth_providers\"", "\"default_\"", "\"Branding\"", "\"\"", "0",
                           "null", "\"branding \""},
                          "must be one of branding, auth-providers, default, MIXED_case"});
}

TEST(WireRules, NullableTakesNull) {
    EXPECT_FALSE(wire::decode<Nullable<Micro>>("null").value.has_value());
    EXPECT_EQ(wire::decode<Nullable<Micro>>("\"3\"").value, Micro{3});
    expect_bad<Nullable<Micro>>({{"3", "[]"}, "must be a base-10 integer string"});
}

TEST(WireRules, ListsHaveBounds) {
    expect_good<List<Decimal, 1, 3>>({R"(["1"])", R"(["1","2","3"])"});
    expect_bad<List<Decimal, 1, 3>>({{"[]", R"(["1","2","3","4"])"}, "must have 1 to 3 items"});
    expect_bad<List<Decimal, 1, 3>>({{"null", "{}", "1", "\"1\""}, "must be an array"});
    expect_good<std::vector<Decimal>>({"[]", R"(["1"])"});
    EXPECT_EQ(complaint<std::vector<Decimal>>(R"(["1",2,"x"])"),
              "body[1]: must be a base-10 integer string; "
              "body[2]: must be a base-10 integer string");
}

TEST(WireRules, MapsTakeAnyKeyOnce) {
    const auto map = wire::decode<std::map<std::string, Micro>>(R"({"b":"2","a":"1","":"0"})");
    EXPECT_EQ(map.size(), 3U);
    EXPECT_EQ(map.at("b"), Micro{2});
    using Map = std::map<std::string, Micro>;
    expect_bad<Map>({{R"({"a":"1","a":"1"})"}, "has the member a twice"});
    expect_bad<Map>({{"[]", "null"}, "must be an object"});
    EXPECT_EQ(complaint<Map>(R"({"x":1})"), "body.x: must be a base-10 integer string");
}

TEST(WireRules, EmptyStructTakesAnEmptyObject) {
    expect_good<sample::Nothing>({"{}", " { } "});
    EXPECT_EQ(complaint<sample::Nothing>(R"({"a":1})"), "body.a: is not a member of this request");
}

using sample::Query;

const std::pair<std::string, std::string> good_id{"id", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"};

TEST(WireFields, ReadsLeafsFromText) {
    Query query;
    EXPECT_EQ(fields_complaint<Query>({good_id,
                                       {"limit", "20"},
                                       {"all", "false"},
                                       {"ratio", "1e-1"},
                                       {"category", "default"},
                                       {"q", "żółw"},
                                       {"chain_id", "8453"},
                                       {"max_micro", "5"},
                                       {"since", "2026-01-01T00:00:00Z"},
                                       {"unknown", "ignored"}},
                                      &query),
              "");
    EXPECT_EQ(query.limit->value, 20);
    EXPECT_FALSE(*query.all);
    EXPECT_EQ(*query.ratio, 0.1);
    EXPECT_EQ(query.category, sample::Category::default_);
    EXPECT_EQ(query.q->value, "żółw");
    EXPECT_EQ(query.max_micro, Micro{5});
    EXPECT_EQ(to_string(query.id), good_id.second);
}

TEST(WireFields, AnswersAllErrorsAtOnce) {
    EXPECT_EQ(fields_complaint<Query>({{"limit", "101"}, {"all", "yes"}, {"q", ""}}),
              "query.limit: must be an integer from 1 to 100; query.all: must be true or false; "
              "query.q: must have 1 to 4 characters; query.id: is required");
}

TEST(WireFields, RefusesBadText) {
    const std::vector<std::pair<std::string, std::string>> bad{{"limit", ""},
                                                               {"limit", "01"},
                                                               {"limit", "1.0"},
                                                               {"limit", "+1"},
                                                               {"limit", " 1"},
                                                               {"limit", "-0"},
                                                               {"limit", "1e1"},
                                                               {"limit", "0"},
                                                               {"all", "True"},
                                                               {"all", "1"},
                                                               {"all", ""},
                                                               {"ratio", "inf"},
                                                               {"ratio", "nan"},
                                                               {"ratio", "0x10"},
                                                               {"ratio", "1."},
                                                               {"ratio", ".5"},
                                                               {"ratio", "01"},
                                                               {"ratio", "1e999"},
                                                               {"ratio", "+1"},
                                                               {"ratio", ""},
                                                               {"category", "0"},
                                                               {"category", ""},
                                                               {"q", "12345"},
                                                               {"q", "\xff"},
                                                               {"q", std::string(1, '\0')},
                                                               {"q", "\xed\xa0\x80"},
                                                               {"chain_id", "1"},
                                                               {"max_micro", "-1"},
                                                               {"since", "yesterday"}};
    for (const auto& field : bad) {
        const std::string message = fields_complaint<Query>({good_id, field});
        EXPECT_EQ(message.rfind("query." + field.first + ": must ", 0), 0U)
            << field.first << '=' << field.second << " gave: " << message;
    }
}

TEST(WireFields, RefusesANameGivenTwice) {
    EXPECT_EQ(fields_complaint<Query>({good_id, {"q", "a"}, {"q", "a"}}),
              "query.q: is given twice");
    EXPECT_EQ(fields_complaint<Query>({good_id, good_id}), "query.id: is given twice");
}

}  // namespace
}  // namespace berth
