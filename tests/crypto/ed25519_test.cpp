#include "crypto/ed25519.hpp"

#include <gtest/gtest.h>

#include "support/fakes.hpp"

namespace berth::crypto {
namespace {

struct Row {
    std::string seed, public_key, data, signature;
};

// RFC 8032 section 7.1, all in hex.
const std::vector<Row> rows{
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9"
     "b46bd25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f1"
     "1d8c387b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984d"
     "c6594a7c15e9716ed28dc027beceea1ec40a"},
    {"833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
     "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
     "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3fe"
     "ebbd454d4423643ce80e2a9ac94fa54ca49f",
     "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431"
     "e0303dca179c138ac17ad9bef1177331a704"}};

TEST(Ed25519, MatchesTheTestVectorsOfRfc8032) {
    for (const Row& row : rows) {
        const Ed25519Key key{Secret(*from_hex(row.seed))};
        const Bytes data = *from_hex(row.data);
        EXPECT_EQ(to_hex(key.public_key().view()), row.public_key);
        EXPECT_EQ(to_hex(key.sign(data)), row.signature);
        EXPECT_TRUE(key.public_key().verify(data, *from_hex(row.signature)));
    }
}

TEST(Ed25519, RefusesAlteredDataSignaturesAndKeys) {
    test::SeededRandom random;
    const Ed25519Key key{Secret::make(random)};
    const Ed25519PublicKey public_key = key.public_key();
    const std::string data = "job 7 may run until noon";
    const Bytes signature = key.sign(data);
    ASSERT_TRUE(public_key.verify(data, signature));
    EXPECT_FALSE(public_key.verify(data + " ", signature));
    EXPECT_FALSE(public_key.verify("", signature));
    for (std::size_t i = 0; i < signature.size(); ++i) {
        Bytes altered = signature;
        altered[i] = static_cast<char>(altered[i] ^ 1);
        EXPECT_FALSE(public_key.verify(data, altered)) << i;
    }
    for (std::size_t length = 0; length < signature.size(); ++length)
        EXPECT_FALSE(public_key.verify(data, signature.substr(0, length)));
    EXPECT_FALSE(public_key.verify(data, signature + '\0'));
    EXPECT_FALSE(Ed25519Key{Secret::make(random)}.public_key().verify(data, signature));
    for (std::size_t i = 0; i < public_key.bytes.size(); ++i) {
        Ed25519PublicKey other = public_key;
        other.bytes[i] = static_cast<char>(other.bytes[i] ^ 1);
        EXPECT_FALSE(other.verify(data, signature)) << i;
    }
}

// The order of the group added to s gives the same equation; only the smaller s is valid.
TEST(Ed25519, RefusesTheSecondFormOfASignature) {
    const Ed25519Key key{Secret(*from_hex(rows[1].seed))};
    Bytes signature = *from_hex(rows[1].signature);
    const Bytes order =
        *from_hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    int carry = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        carry += static_cast<unsigned char>(signature[32 + i]);
        carry += static_cast<unsigned char>(order[i]);
        signature[32 + i] = static_cast<char>(carry & 0xFF);
        carry >>= 8;
    }
    EXPECT_FALSE(key.public_key().verify(*from_hex(rows[1].data), signature));
}

TEST(Ed25519, TakesPublicKeysOfThirtyTwoBytesOnly) {
    EXPECT_FALSE(Ed25519PublicKey::from_bytes(""));
    EXPECT_FALSE(Ed25519PublicKey::from_bytes(Bytes(31, 'x')));
    EXPECT_FALSE(Ed25519PublicKey::from_bytes(Bytes(33, 'x')));
    const auto no_point = Ed25519PublicKey::from_bytes(Bytes(32, '\xff'));
    ASSERT_TRUE(no_point);
    EXPECT_FALSE(no_point->verify("", Bytes(64, '\0')));
}

}  // namespace
}  // namespace berth::crypto
