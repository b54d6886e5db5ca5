#include "crypto/evm.hpp"

#include <gtest/gtest.h>

#include <unordered_set>

#include "base/bytes.hpp"

namespace berth::crypto {
namespace {

// The examples of EIP-55: all upper, all lower, and mixed case.
const std::vector<std::string> examples{
    "0x52908400098527886E0F7030069857D2E4169EE7", "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77", "0x27b1fdb04752bbc536007a920d24acb045561c26",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"};

const std::string mixed = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

// Both leave the prefix as it is.
std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(c));
    return text;
}
std::string upper(std::string text) {
    for (char& c : text) c = c == 'x' ? c : static_cast<char>(std::toupper(c));
    return text;
}

TEST(Address, WritesTheChecksumOfEip55) {
    for (const std::string& text : examples) {
        const auto address = parse_address(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(checksummed(*address), text);
        EXPECT_EQ(to_string(*address), lower(text));
        EXPECT_TRUE(has_checksum(text));
        EXPECT_EQ(parse_checksummed(text), address);
    }
}

TEST(Address, TakesOneCaseAsNoChecksum) {
    const auto address = parse_address(mixed);
    ASSERT_TRUE(address);
    for (const std::string& text : {lower(mixed), upper(mixed)}) {
        EXPECT_EQ(parse_address(text), address);
        EXPECT_FALSE(has_checksum(text));
        EXPECT_FALSE(parse_checksummed(text));
    }
}

TEST(Address, RefusesAnyLetterInTheWrongCase) {
    for (const std::string& text : {examples[4], examples[5], examples[6], examples[7]})
        for (std::size_t i = 2; i < text.size(); ++i) {
            std::string wrong = text;
            if (std::isalpha(wrong[i]) == 0) continue;
            wrong[i] = static_cast<char>(wrong[i] ^ 0x20);
            EXPECT_FALSE(parse_address(wrong)) << wrong;
            EXPECT_FALSE(has_checksum(wrong)) << wrong;
        }
}

TEST(Address, RefusesEverythingButPrefixAndFortyDigits) {
    for (const std::string& text :
         {std::string(), std::string("0x"), mixed.substr(2), mixed.substr(0, 41), mixed + "0",
          "0X" + mixed.substr(2), "1x" + mixed.substr(2), " " + mixed, mixed + " ", mixed + "\n",
          mixed.substr(0, 41) + "g", mixed.substr(0, 41) + std::string(1, '\0'),
          "0x" + std::string(39, '0') + "\xc3"}) {
        EXPECT_FALSE(parse_address(text)) << text;
        EXPECT_FALSE(parse_checksummed(text)) << text;
        EXPECT_FALSE(has_checksum(text)) << text;
    }
}

TEST(Address, ComparesAndHashesByItsBytes) {
    const auto a = parse_address(examples[0]);
    const auto b = parse_address(examples[1]);
    ASSERT_TRUE(a && b);
    EXPECT_NE(a, b);
    EXPECT_EQ(*a < *b, a->view() < b->view());
    const std::unordered_set<Address> set{*a, *b, *parse_address(lower(mixed)),
                                          *parse_address(mixed)};
    EXPECT_EQ(set.size(), 3U);
    EXPECT_EQ(checksummed(Address{}), "0x0000000000000000000000000000000000000000");
}

}  // namespace
}  // namespace berth::crypto
