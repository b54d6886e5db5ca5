#include "crypto/totp.hpp"

#include <gtest/gtest.h>

#include "support/fakes.hpp"

namespace berth::crypto {
namespace {

constexpr std::string_view secret = "12345678901234567890";

Time at(std::int64_t seconds) { return {seconds * 1'000'000}; }

TEST(Totp, MatchesTheTableOfRfc6238) {
    // The RFC prints eight digits; six are the last six of them.
    const std::vector<std::pair<std::int64_t, std::string>> rows{{59, "94287082"},
                                                                 {1'111'111'109, "07081804"},
                                                                 {1'111'111'111, "14050471"},
                                                                 {1'234'567'890, "89005924"},
                                                                 {2'000'000'000, "69279037"},
                                                                 {20'000'000'000, "65353130"}};
    for (const auto& [seconds, code] : rows)
        EXPECT_EQ(totp_code(secret, totp_step(at(seconds))), code.substr(2)) << seconds;
}

TEST(Totp, MatchesTheTableOfRfc4226) {
    const std::vector<std::string> codes{"755224", "287082", "359152", "969429", "338314",
                                         "254676", "287922", "162583", "399871", "520489"};
    for (std::size_t i = 0; i < codes.size(); ++i)
        EXPECT_EQ(totp_code(secret, static_cast<std::int64_t>(i)), codes[i]);
}

TEST(Totp, CountsStepsOfThirtySeconds) {
    EXPECT_EQ(totp_step(at(0)), 0);
    EXPECT_EQ(totp_step(at(29) + Duration{999'999}), 0);
    EXPECT_EQ(totp_step(at(30)), 1);
}

TEST(Totp, TakesTheCurrentStepAndTheOneBeforeIt) {
    const Time now = at(1'800'000'010);
    const std::int64_t step = totp_step(now);
    EXPECT_EQ(match_totp(secret, totp_code(secret, step), now), step);
    EXPECT_EQ(match_totp(secret, totp_code(secret, step - 1), now), step - 1);
    for (const std::int64_t other : {step - 3, step - 2, step + 1, step + 2})
        EXPECT_FALSE(match_totp(secret, totp_code(secret, other), now));
    EXPECT_FALSE(match_totp("12345678901234567891", totp_code(secret, step), now));
}

TEST(Totp, RefusesWhatIsNotSixDigits) {
    const Time now = at(59);
    ASSERT_EQ(match_totp(secret, "287082", now), 1);
    for (const std::string code : {"", "0", "28708", "2870820", "0287082", " 287082", "287082 ",
                                   "287 082", "28708a", "+287082", "94287082", "2870\n2", "٢٨٧"})
        EXPECT_FALSE(match_totp(secret, code, now)) << code;
    EXPECT_FALSE(match_totp(secret, std::string("28708\0", 6), now));
}

TEST(Base32, MatchesTheTestVectorsOfRfc4648) {
    const std::vector<std::pair<std::string, std::string>> rows{{"", ""},
                                                                {"f", "MY"},
                                                                {"fo", "MZXQ"},
                                                                {"foo", "MZXW6"},
                                                                {"foob", "MZXW6YQ"},
                                                                {"fooba", "MZXW6YTB"},
                                                                {"foobar", "MZXW6YTBOI"}};
    for (const auto& [bytes, text] : rows) {
        EXPECT_EQ(to_base32(bytes), text);
        EXPECT_EQ(from_base32(text), bytes);
    }
}

TEST(Base32, ReadsOnlyWhatItWrites) {
    for (const std::string text : {"M", "MZX", "MZXW6Y", "MZ", "MZXR", "MZXW7", "my",
                                   "MY======", "M Y", "M1", "M8", "MY\n", "M-", "\xc3\x84"})
        EXPECT_FALSE(from_base32(text)) << text;
    test::SeededRandom random(5);
    for (std::size_t length = 0; length < 100; ++length) {
        const Bytes bytes = random.bytes(length);
        EXPECT_EQ(from_base32(to_base32(bytes)), bytes);
    }
}

TEST(OtpauthUri, EncodesWhatPeopleNameThings) {
    EXPECT_EQ(otpauth_uri({.issuer = "Berth", .account = "ada@example.com", .secret = secret}),
              "otpauth://totp/Berth:ada%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
              "&issuer=Berth&algorithm=SHA1&digits=6&period=30");
    EXPECT_EQ(otpauth_uri({.issuer = "A&B: c/ü", .account = "x?y#z=1%", .secret = "f"}),
              "otpauth://totp/A%26B%3A%20c%2F%C3%BC:x%3Fy%23z%3D1%25?secret=MY"
              "&issuer=A%26B%3A%20c%2F%C3%BC&algorithm=SHA1&digits=6&period=30");
}

}  // namespace
}  // namespace berth::crypto
