#include "agent_protocol/structured.hpp"

#include <gtest/gtest.h>

namespace berth::agent_protocol {
namespace {

TEST(StructuredFields, AreReadAndWrittenBack) {
    for (const std::string text :
         {"a=1", "a=-15", "a=0", "a=999999999999999", "a=\"b c\"", R"(a="q\"b\\")", "a=tok/en:1",
          "a=*t", "a=?1", "a=?0", "a=::", "a=:AQI=:", "a=()", "a=(\"x\")",
          "a=(\"x\" \"y\";k=1);p=\"v\";q=?0", "*a.b-c_1=1;d=2, e=(1 2)"}) {
        const auto dictionary = parse_dictionary(text);
        ASSERT_TRUE(dictionary) << text;
        EXPECT_EQ(write(*dictionary), text);
    }
}

TEST(StructuredFields, HaveOneSpelling) {
    for (const std::string text : {"",
                                   "a",
                                   "a=",
                                   "A=1",
                                   "1=1",
                                   "a=1,",
                                   "a=1,b=2",
                                   "a=1,  b=2",
                                   "a=1 , b=2",
                                   " a=1",
                                   "a=1 ",
                                   "a=01",
                                   "a=-0",
                                   "a=1.5",
                                   "a=1.",
                                   "a=-",
                                   "a=1000000000000000",
                                   "a=\"b",
                                   "a=\"\x7f\"",
                                   "a=\"\xc3\xa9\"",
                                   R"(a="\x")",
                                   "a=?2",
                                   "a=?",
                                   "a=:AQI:",
                                   "a=:AQJ=:",
                                   "a=:AQ-_:",
                                   "a=:A",
                                   "a=( \"x\")",
                                   "a=(\"x\" )",
                                   "a=(\"x\"\"y\")",
                                   "a=(\"x\"",
                                   "a=((1))",
                                   "a=1;",
                                   "a=1;b",
                                   "a=1; b=2",
                                   "a=1;b=1;b=1",
                                   "a=1, a=1",
                                   "a=@1",
                                   "a=1\n",
                                   "a=1\tb=2"})
        EXPECT_FALSE(parse_dictionary(text)) << text;
}

TEST(StructuredFields, AreBounded) {
    const auto many = [](std::size_t count, std::string_view glue, std::string_view part) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i) {
            if (i > 0) text += glue;
            text += 'a' + std::to_string(i);
            text += part;
        }
        return text;
    };
    EXPECT_TRUE(parse_dictionary(many(field_parts_max, ", ", "=1")));
    EXPECT_FALSE(parse_dictionary(many(field_parts_max + 1, ", ", "=1")));
    EXPECT_TRUE(parse_dictionary("a=1;" + many(field_parts_max, ";", "=1")));
    EXPECT_FALSE(parse_dictionary("a=1;" + many(field_parts_max + 1, ";", "=1")));
    EXPECT_TRUE(parse_dictionary("a=(" + many(field_parts_max, " ", "") + ")"));
    EXPECT_FALSE(parse_dictionary("a=(" + many(field_parts_max + 1, " ", "") + ")"));
    EXPECT_TRUE(parse_dictionary("a=\"" + std::string(field_bytes_max - 4, 'x') + "\""));
    EXPECT_FALSE(parse_dictionary("a=\"" + std::string(field_bytes_max - 3, 'x') + "\""));
}

TEST(Base64, HasOneSpelling) {
    EXPECT_EQ(from_base64(""), "");
    EXPECT_EQ(from_base64("+/8="), "\xfb\xff");
    for (const std::string text :
         {"A", "AA", "AAA", "AA=A", "A===", "AB==", "-_8=", "AA==AA==", "====", "AAAA ", "AAA\n"})
        EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace berth::agent_protocol
