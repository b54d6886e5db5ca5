#include "crypto/token.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/check.hpp"
#include "base/log.hpp"
#include "support/fakes.hpp"

namespace berth::crypto {
namespace {

// Gives one byte for ever, to see the ends of the range.
class ConstantRandom final : public Random {
public:
    explicit ConstantRandom(char byte) : byte_(byte) {}
    void fill(std::span<char> out) override { std::fill(out.begin(), out.end(), byte_); }

private:
    char byte_;
};

TEST(Token, HasAFixedShape) {
    test::SeededRandom random;
    std::set<std::string> seen;
    for (const std::string_view prefix : issued::prefixes)
        for (int i = 0; i < 200; ++i) {
            const std::string token = make_token(prefix, random);
            EXPECT_EQ(token.size(), prefix.size() + 49);
            EXPECT_TRUE(looks_like_token(prefix, token)) << token;
            EXPECT_TRUE(seen.insert(token).second);
            EXPECT_EQ(redact(token), std::string(prefix) + "…");
        }
}

TEST(Token, WritesTheWholeRangeInBase62) {
    ConstantRandom zeros('\0');
    ConstantRandom ones('\xff');
    const std::string least = make_token("ark_", zeros);
    const std::string most = make_token("ark_", ones);
    EXPECT_EQ(least.substr(0, 47), "ark_" + std::string(43, '0'));
    // 2^256 - 1 in base 62.
    EXPECT_EQ(most.substr(0, 47), "ark_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1");
    EXPECT_TRUE(looks_like_token("ark_", least));
    EXPECT_TRUE(looks_like_token("ark_", most));
}

TEST(Token, RefusesEveryWrongLetter) {
    test::SeededRandom random;
    const std::string token = make_token("ark_", random);
    for (std::size_t i = 0; i < token.size(); ++i)
        for (const char c : {'0', 'A', 'z', '_', '-', ' ', '\0', '\xff'}) {
            if (token[i] == c) continue;
            std::string wrong = token;
            wrong[i] = c;
            EXPECT_FALSE(looks_like_token("ark_", wrong)) << wrong;
        }
}

TEST(Token, RefusesOtherPrefixesAndLengths) {
    test::SeededRandom random;
    const std::string token = make_token("ark_", random);
    EXPECT_FALSE(looks_like_token("brs_", token));
    EXPECT_FALSE(looks_like_token("brs_", "brs_" + token.substr(4)));
    EXPECT_FALSE(looks_like_token("ark_", ""));
    EXPECT_FALSE(looks_like_token("ark_", "ark_"));
    EXPECT_FALSE(looks_like_token("ark_", token + "0"));
    EXPECT_FALSE(looks_like_token("ark_", " " + token.substr(0, 52)));
    for (std::size_t length = 0; length < token.size(); ++length)
        EXPECT_FALSE(looks_like_token("ark_", token.substr(0, length)));
}

TEST(Crc32, IsTheOneOfZlib) {
    EXPECT_EQ(crc32(""), 0U);
    EXPECT_EQ(crc32("123456789"), 0xCBF4'3926U);
    EXPECT_EQ(crc32("The quick brown fox jumps over the lazy dog"), 0x414F'A339U);
}

TEST(Token, IsMadeWithNoPrefixThatTheRedactionDoesNotKnow) {
    SystemRandom random;
    for (const std::string_view prefix : issued::prefixes) {
        const std::string token = make_token(prefix, random);
        EXPECT_EQ(redact("token " + token), "token " + std::string(prefix) + "…");
    }
    EXPECT_THROW(static_cast<void>(make_token("xyz_", random)), Bug);
}

}  // namespace
}  // namespace berth::crypto
