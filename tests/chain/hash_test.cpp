#include <gtest/gtest.h>

#include "chain/chain.hpp"

namespace berth::chain {
namespace {

TEST(Hash, HasOneSpellingAndIsReadInEitherCase) {
    const std::string lower = "0x" + std::string(31, 'a') + std::string(33, '7');
    std::string upper = lower;
    for (char& letter : upper) letter = letter == 'a' ? 'A' : letter;
    ASSERT_TRUE(parse_hash(lower));
    EXPECT_EQ(to_string(*parse_hash(lower)), lower);
    EXPECT_EQ(parse_hash(upper), parse_hash(lower));
    for (const std::string& bad : {std::string(), lower.substr(2), lower + "0", lower.substr(0, 65),
                                   "0X" + lower.substr(2), "0x" + std::string(64, 'g')})
        EXPECT_FALSE(parse_hash(bad)) << bad;
}

}  // namespace
}  // namespace berth::chain
