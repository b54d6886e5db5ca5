#include "base/bytes.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/json_text.hpp"

namespace berth {
namespace {

std::string random_bytes(std::mt19937_64& random, std::size_t size) {
    std::string out(size, '\0');
    for (char& c : out) c = static_cast<char>(random() & 0xFF);
    return out;
}

TEST(Hex, WritesLowerCaseAndReadsEitherCase) {
    EXPECT_EQ(to_hex(std::string("\x00\x0f\xff", 3)), "000fff");
    EXPECT_EQ(from_hex("000FfF"), std::string("\x00\x0f\xff", 3));
    EXPECT_EQ(from_hex(""), "");
}

TEST(Hex, RefusesWhatIsNotHex) {
    for (const std::string text : {"0", "000", "0g", "g0", " 0", "0x", "-1", "\xc3\xa9"})
        EXPECT_EQ(from_hex(text), std::nullopt) << text;
}

TEST(Base64Url, WritesTheVectorsOfRfc4648WithoutPadding) {
    const std::vector<std::pair<std::string, std::string>> vectors{
        {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
        {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff", "-_8"}};
    for (const auto& [bytes, text] : vectors) {
        EXPECT_EQ(to_base64url(bytes), text);
        EXPECT_EQ(from_base64url(text), bytes);
    }
}

TEST(Base64Url, GivesEveryValueOneSpellingOnly) {
    for (const std::string text : {"Zg==", "Zg=", "Z", "Zm9vY", "Zh", "Zm9", "Z g", "Zm+v", "Zm/v",
                                   "Zm9v\n", " Zm9v", "Z\xc3\xa9\x00g"})
        EXPECT_EQ(from_base64url(text), std::nullopt) << text;
}

TEST(Base64, IsReadWithItsPaddingAndNoOther) {
    for (const std::string bytes : {"", "f", "fo", "foo", "foob", "\xfb\xff"})
        EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    for (const std::string text :
         {"Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "Zm9v\n", "-_8=", "Zg==Zg==", " Zg=", "="})
        EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

TEST(Bytes, SurviveTheirTextForms) {
    std::mt19937_64 random(7);
    for (std::size_t size = 0; size < 200; ++size) {
        const std::string bytes = random_bytes(random, size);
        EXPECT_EQ(from_hex(to_hex(bytes)), bytes);
        EXPECT_EQ(from_base64url(to_base64url(bytes)), bytes);
    }
}

TEST(Utf8, CountsCodePoints) {
    EXPECT_EQ(utf8_length(""), 0U);
    EXPECT_EQ(utf8_length("aé€😀"), 4U);
    EXPECT_EQ(utf8_length("\xf4\x8f\xbf\xbf"), 1U);
    EXPECT_EQ(utf8_length(std::string(1, '\0')), 1U);
}

TEST(Utf8, RefusesWhatTheStandardForbids) {
    for (const std::string text :
         {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3(", "\xe0\x80\x80", "\xe0\x9f\xbf",
          "\xed\xa0\x80", "\xed\xbf\xbf", "\xe2\x82", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf",
          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf0\x9f\x98", "\xff", "ab\xfe"})
        EXPECT_EQ(utf8_length(text), std::nullopt) << to_hex(text);
}

TEST(Utf8, AcceptsEveryCodePointThatIsNoSurrogate) {
    for (std::uint32_t point = 0; point <= 0x10FFFF; point += point < 0x10000 ? 1 : 251) {
        std::string text;
        if (point < 0x80) {
            text = {static_cast<char>(point)};
        } else if (point < 0x800) {
            text = {static_cast<char>(0xC0 | point >> 6), static_cast<char>(0x80 | (point & 63))};
        } else if (point < 0x10000) {
            text = {static_cast<char>(0xE0 | point >> 12),
                    static_cast<char>(0x80 | (point >> 6 & 63)),
                    static_cast<char>(0x80 | (point & 63))};
        } else {
            text = {static_cast<char>(0xF0 | point >> 18),
                    static_cast<char>(0x80 | (point >> 12 & 63)),
                    static_cast<char>(0x80 | (point >> 6 & 63)),
                    static_cast<char>(0x80 | (point & 63))};
        }
        const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
        ASSERT_EQ(utf8_sequence_length(text), surrogate ? 0 : text.size()) << point;
    }
}

TEST(BigEndian, IsItsOwnInverse) {
    for (const std::uint64_t value : {0ULL, 1ULL, 0x0102030405060708ULL, ~0ULL}) {
        Bytes bytes;
        append_big_endian(bytes, value);
        ASSERT_EQ(bytes.size(), 8U);
        EXPECT_EQ(load_big_endian(bytes.data()), value);
    }
    Bytes bytes;
    append_big_endian(bytes, 0x0102030405060708ULL);
    EXPECT_EQ(to_hex(bytes), "0102030405060708");
}

TEST(JsonText, EscapesWhatMustBeAndReplacesWhatIsNotUtf8) {
    const std::vector<std::pair<std::string, std::string>> rows{
        {"", R"("")"},
        {"plain é€😀", "\"plain é€😀\""},
        {"\"\\/", R"("\"\\/")"},
        {"\b\f\n\r\t", R"("\b\f\n\r\t")"},
        {std::string("\0\x01\x1f\x7f", 4), "\"\\u0000\\u0001\\u001f\x7f\""},
        {"a\xff\xc3z", "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\""},
        {"\xe2\x82", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""}};
    for (const auto& [text, json] : rows) {
        std::string out = ">";
        append_json_string(out, text);
        EXPECT_EQ(out, ">" + json);
    }
}

}  // namespace
}  // namespace berth
