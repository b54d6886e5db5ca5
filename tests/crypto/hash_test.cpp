// SHA-256 by the examples of FIPS 180, HMAC by the test cases of RFC 4231.
#include "crypto/hash.hpp"

#include <gtest/gtest.h>

namespace berth::crypto {
namespace {

TEST(Sha256, MatchesTheExamplesOfFips180) {
    const std::vector<std::pair<std::string, std::string>> vectors{
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
         "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {std::string(1'000'000, 'a'),
         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}};
    for (const auto& [data, digest] : vectors) EXPECT_EQ(to_hex(sha256(data)), digest);
}

TEST(HmacSha256, MatchesTheTestCasesOfRfc4231) {
    struct Row {
        std::string key, data, digest;
    };
    std::string counting;
    for (char c = 1; c <= 25; ++c) counting += c;
    const std::vector<Row> rows{
        {std::string(20, '\x0b'), "Hi There",
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {"Jefe", "what do ya want for nothing?",
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {std::string(20, '\xaa'), std::string(50, '\xdd'),
         "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {counting, std::string(50, '\xcd'),
         "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
        {std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First",
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {std::string(131, '\xaa'),
         "This is a test using a larger than block-size key and a larger than block-size data. "
         "The key needs to be hashed before being used by the HMAC algorithm.",
         "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"}};
    for (const Row& row : rows) EXPECT_EQ(to_hex(hmac_sha256(row.key, row.data)), row.digest);
    EXPECT_EQ(to_hex(hmac_sha256(std::string(20, '\x0c'), "Test With Truncation").substr(0, 16)),
              "a3b6167473100ee06e0c796c2955552b");
}

TEST(HmacSha256, TakesAnEmptyKeyAndEmptyData) {
    EXPECT_EQ(to_hex(hmac_sha256({}, {})),
              "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(ConstantTime, ComparesLikeEquals) {
    EXPECT_TRUE(equal_in_constant_time("", ""));
    EXPECT_TRUE(equal_in_constant_time("\xff\x01", "\xff\x01"));
    EXPECT_FALSE(equal_in_constant_time("a", ""));
    EXPECT_FALSE(equal_in_constant_time("ab", "aa"));
    EXPECT_FALSE(equal_in_constant_time("\x80", std::string(1, '\0')));
}

}  // namespace
}  // namespace berth::crypto
