#include "crypto/seal.hpp"

#include <gtest/gtest.h>

#include "support/fakes.hpp"

namespace berth::crypto {
namespace {

constexpr std::string_view context = "integrations/7";
constexpr std::string_view token = "hf_not_a_real_token";

class SealerTest : public testing::Test {
protected:
    test::SeededRandom random;
    const Sealer sealer{Secret::make(random)};
};

TEST_F(SealerTest, OpensWhatItSealed) {
    for (const std::size_t length : {0U, 1U, 15U, 16U, 17U, 1'000U, 1U << 20}) {
        const Bytes plain = random.bytes(length);
        for (const std::string_view place : {std::string_view(), context}) {
            const Bytes sealed = sealer.seal({plain, place}, random);
            EXPECT_EQ(sealed.size(), length + 29);
            EXPECT_EQ(sealer.open({sealed, place}), plain);
        }
    }
}

TEST_F(SealerTest, HidesTheValueAndNeverRepeatsItself) {
    const Bytes one = sealer.seal({token, context}, random);
    const Bytes two = sealer.seal({token, context}, random);
    EXPECT_NE(one, two);
    EXPECT_EQ(one.find(token), Bytes::npos);
    EXPECT_EQ(one.find(token.substr(0, 4)), Bytes::npos);
}

TEST_F(SealerTest, RefusesAnAlteredBitAnywhere) {
    const Bytes sealed = sealer.seal({token, context}, random);
    for (std::size_t i = 0; i < sealed.size(); ++i)
        for (int bit = 0; bit < 8; ++bit) {
            Bytes altered = sealed;
            altered[i] = static_cast<char>(altered[i] ^ (1 << bit));
            EXPECT_FALSE(sealer.open({altered, context})) << i << " " << bit;
        }
}

TEST_F(SealerTest, RefusesEveryOtherLength) {
    const Bytes sealed = sealer.seal({token, context}, random);
    for (std::size_t length = 0; length < sealed.size(); ++length)
        EXPECT_FALSE(sealer.open({std::string_view(sealed).substr(0, length), context})) << length;
    EXPECT_FALSE(sealer.open({sealed + '\0', context}));
    EXPECT_FALSE(sealer.open({'\1' + Bytes(2 << 20, '\0'), context}));
}

TEST_F(SealerTest, RefusesAnotherPlaceOrKey) {
    const Bytes sealed = sealer.seal({token, context}, random);
    for (const std::string_view place : {"", "integrations/8", "integrations/77", "integrations/"})
        EXPECT_FALSE(sealer.open({sealed, place})) << place;
    EXPECT_FALSE(Sealer(Secret::make(random)).open({sealed, context}));
}

// Made with Node's crypto: what is in a database must open for ever.
TEST(Sealer, OpensAValueThatAnotherLibrarySealed) {
    Bytes key;
    for (char c = 0; c < 32; ++c) key += c;
    const Sealer sealer{Secret(key)};
    const auto sealed = from_hex(
        "016465666768696a6b6c6d6e6f207d8108169d09ff61103a89b63a1e9229a768a4100d3645fc7816bed41e9e61"
        "3dbe1f");
    ASSERT_TRUE(sealed);
    EXPECT_EQ(sealer.open({*sealed, context}), token);
}

TEST(Secret, LeavesNothingBehindWhenMoved) {
    Secret from(Bytes(32, 'x'));
    const Secret to = std::move(from);
    EXPECT_EQ(to.view(), Bytes(32, 'x'));
    EXPECT_EQ(from.view(), Bytes(32, '\0'));
}

}  // namespace
}  // namespace berth::crypto
