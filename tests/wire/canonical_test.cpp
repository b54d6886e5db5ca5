// RFC 8785, with the examples of its sections 3.2.2 and 3.2.3 and the numbers of its appendix B.
#include <bit>

#include "wire/complaint.hpp"
#include "wire/number.hpp"

namespace berth {
namespace {

TEST(WireCanonical, SerializesTheSampleOfTheStandard) {
    EXPECT_EQ(wire::canonical(R"({
  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
})"),
              R"({"literals":[null,true,false],)"
              R"("numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],)"
              R"("string":"€$\u000f\nA'B\"\\\\\"/"})");
}

TEST(WireCanonical, SortsMembersByTheirUtf16CodeUnits) {
    EXPECT_EQ(wire::canonical(R"({
  "\u20ac": "Euro Sign",
  "\r": "Carriage Return",
  "\ufb33": "Hebrew Letter Dalet With Dagesh",
  "1": "One",
  "\ud83d\ude00": "Emoji: Grinning Face",
  "\u0080": "Control",
  "\u00f6": "Latin Small Letter O With Diaeresis"
})"),
              "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\","
              "\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\","
              "\"😀\":\"Emoji: Grinning Face\","
              "\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}");
    EXPECT_EQ(wire::canonical(R"({"aa":1,"a":2,"":3,"b":{"z":1,"y":2}})"),
              R"({"":3,"a":2,"aa":1,"b":{"y":2,"z":1}})");
    EXPECT_EQ(wire::canonical(R"({"\uffff":1,"\ue000":2,"\ud800\udc00":3,"\ud7ff":4,"x\ue000":5})"),
              "{\"x\xee\x80\x80\":5,\"\xed\x9f\xbf\":4,\"\xf0\x90\x80\x80\":3,"
              "\"\xee\x80\x80\":2,\"\xef\xbf\xbf\":1}");
}

TEST(WireCanonical, WritesNumbersAsEcmaScriptDoes) {
    const std::vector<std::pair<std::uint64_t, std::string>> appendix_b{
        {0x0000000000000000, "0"},
        {0x8000000000000000, "0"},
        {0x0000000000000001, "5e-324"},
        {0x8000000000000001, "-5e-324"},
        {0x7fefffffffffffff, "1.7976931348623157e+308"},
        {0xffefffffffffffff, "-1.7976931348623157e+308"},
        {0x4340000000000000, "9007199254740992"},
        {0xc340000000000000, "-9007199254740992"},
        {0x4430000000000000, "295147905179352830000"},
        {0x44b52d02c7e14af5, "9.999999999999997e+22"},
        {0x44b52d02c7e14af6, "1e+23"},
        {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
        {0x444b1ae4d6e2ef4e, "999999999999999700000"},
        {0x444b1ae4d6e2ef4f, "999999999999999900000"},
        {0x444b1ae4d6e2ef50, "1e+21"},
        {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
        {0x3eb0c6f7a0b5ed8d, "0.000001"},
        {0x41b3de4355555553, "333333333.3333332"},
        {0x41b3de4355555554, "333333333.33333325"},
        {0x41b3de4355555555, "333333333.3333333"},
        {0x41b3de4355555556, "333333333.3333334"},
        {0x41b3de4355555557, "333333333.33333343"},
        {0xbecbf647612f3696, "-0.0000033333333333333333"},
        {0x43143ff3c1cb0959, "1424953923781206.2"},
    };
    for (const auto& [bits, text] : appendix_b) {
        std::string out;
        wire::append_number(out, std::bit_cast<double>(bits));
        EXPECT_EQ(out, text);
        EXPECT_EQ(wire::canonical(text), text);
    }
}

TEST(WireCanonical, GivesEqualNumbersOneSpelling) {
    const std::vector<std::pair<std::string, std::string>> rows{
        {"1.0", "1"},
        {"1e3", "1000"},
        {"-0", "0"},
        {"-0.0", "0"},
        {"10E-1", "1"},
        {"0.10", "0.1"},
        {"1e21", "1e+21"},
        {"1e20", "100000000000000000000"},
        {"123456789", "123456789"},
        {"-1.5e-10", "-1.5e-10"},
        {"9007199254740993", "9007199254740992"},
        {"12345678901234567890", "12345678901234567000"}};
    for (const auto& [given, expected] : rows) EXPECT_EQ(wire::canonical(given), expected);
}

TEST(WireCanonical, EscapesAsLittleAsItMust) {
    EXPECT_EQ(wire::canonical(R"("\u0001\u001f\b\t\n\f\r\"\\\/\u007f\u00e9\u2028\ud83d\ude00")"),
              "\"\\u0001\\u001f\\b\\t\\n\\f\\r\\\"\\\\/\x7f\u00e9\u2028\U0001F600\"");
}

TEST(WireCanonical, GivesNothingForWhatIsNotOneDocument) {
    for (const std::string json :
         {"", " ", "{", "[1,]", "{} {}", R"({"a":1,"a":2})", R"([{"a":1,"\u0061":1}])", "nul",
          "1e400", "-1e400", R"("\ud800")", "\"\xff\"", "NaN", R"("\u0000")", "01"})
        EXPECT_EQ(wire::canonical(json), std::nullopt) << json;
    EXPECT_EQ(wire::canonical(std::string(33, '[') + std::string(33, ']')), std::nullopt);
}

}  // namespace
}  // namespace berth
