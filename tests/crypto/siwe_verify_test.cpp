// Whether a signed EIP-4361 text proves what the service expects of it.
#include <gtest/gtest.h>

#include <set>

#include "crypto/secp256k1.hpp"
#include "crypto/siwe.hpp"
#include "support/fakes.hpp"

namespace berth::crypto {
namespace {

using namespace std::chrono_literals;

class SiweVerify : public testing::Test {
protected:
    SiweMessage message() const {
        SiweMessage made;
        made.domain = "berth.example";
        made.address = key.address();
        made.statement = "Register an agent with Berth. I accept the terms, version 2.";
        made.uri = "https://berth.example/api/v1/agents/accounts";
        made.chain_id = 8453;
        made.nonce = "q8Zx0Lm2Vb7R";
        made.issued_at = SiweTime::of(issued);
        made.expiration_time = SiweTime::of(issued + 5min);
        return made;
    }
    std::string signed_by(const SigningKey& signer, std::string_view text) const {
        return "0x" + to_hex(signer.sign(personal_message_hash(text)).bytes());
    }
    // The fault of the message as changed, signed by the right key.
    std::optional<SiweFault> fault_of(const SiweMessage& made) const {
        const auto text = write_siwe(made);
        EXPECT_TRUE(text);
        return verify_siwe({*text, signed_by(key, *text)}, expected);
    }

    test::SeededRandom random{7};
    const SigningKey key = SigningKey::make(random);
    const SigningKey other = SigningKey::make(random);
    const Time issued{1'800'000'000'000'000};
    SiweExpected expected{.domain = "berth.example",
                          .uri = "https://berth.example/api/v1/agents/accounts",
                          .chain_id = 8453,
                          .nonce = "q8Zx0Lm2Vb7R",
                          .address = key.address(),
                          .now = issued + 20s};
};

TEST_F(SiweVerify, AcceptsWhatWasAskedFor) {
    EXPECT_EQ(fault_of(message()), std::nullopt);
    SiweMessage plain = message();
    plain.statement.reset();
    plain.expiration_time.reset();
    EXPECT_EQ(fault_of(plain), std::nullopt);
}

TEST_F(SiweVerify, RefusesAnotherDomainUriChainNonceOrAddress) {
    struct Row {
        void (*change)(SiweMessage&);
        SiweFault fault;
    };
    const std::vector<Row> rows{
        {[](SiweMessage& m) { m.domain = "evil.example"; }, SiweFault::domain},
        {[](SiweMessage& m) { m.domain = "berth.example:443"; }, SiweFault::domain},
        {[](SiweMessage& m) { m.domain = "user@berth.example"; }, SiweFault::domain},
        {[](SiweMessage& m) { m.domain = "berth.example.evil.example"; }, SiweFault::domain},
        {[](SiweMessage& m) { m.scheme = "http"; }, SiweFault::domain},
        {[](SiweMessage& m) { m.uri = "https://berth.example"; }, SiweFault::uri},
        {[](SiweMessage& m) { m.uri += "/"; }, SiweFault::uri},
        {[](SiweMessage& m) { m.chain_id = 1; }, SiweFault::chain_id},
        {[](SiweMessage& m) { m.nonce = "q8Zx0Lm2Vb7S"; }, SiweFault::nonce},
        {[](SiweMessage& m) { m.nonce += "0"; }, SiweFault::nonce},
        {[](SiweMessage& m) { m.address.bytes[0] ^= 1; }, SiweFault::address}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        SiweMessage changed = message();
        rows[i].change(changed);
        EXPECT_EQ(fault_of(changed), rows[i].fault) << i;
    }
    SiweMessage with_scheme = message();
    with_scheme.scheme = "https";
    EXPECT_EQ(fault_of(with_scheme), std::nullopt);
}

TEST_F(SiweVerify, HoldsTheTimesToTheMicrosecond) {
    SiweMessage made = message();
    made.not_before = SiweTime::of(issued + 10s);
    const std::vector<std::pair<Time, std::optional<SiweFault>>> rows{
        {issued - Duration{1}, SiweFault::issued_later},
        {issued, SiweFault::not_yet_valid},
        {issued + 10s - Duration{1}, SiweFault::not_yet_valid},
        {issued + 10s, std::nullopt},
        {issued + 5min - Duration{1}, std::nullopt},
        {issued + 5min, SiweFault::expired},
        {issued + 24h, SiweFault::expired}};
    for (const auto& [now, fault] : rows) {
        expected.now = now;
        EXPECT_EQ(fault_of(made), fault) << to_rfc3339(now);
    }
}

TEST_F(SiweVerify, ForgivesAClockThatRunsAheadOnlyAsFarAsAsked) {
    expected.issued_ahead_max = 30s;
    expected.now = issued - 30s;
    EXPECT_EQ(fault_of(message()), std::nullopt);
    expected.now = issued - 30s - Duration{1};
    EXPECT_EQ(fault_of(message()), SiweFault::issued_later);
}

TEST_F(SiweVerify, RefusesATextThatWasAlteredAfterSigning) {
    const std::string text = write_siwe(message()).value();
    const std::string signature = signed_by(key, text);
    ASSERT_EQ(verify_siwe({text, signature}, expected), std::nullopt);
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string altered = text;
        altered[i] = static_cast<char>(altered[i] ^ 1);
        EXPECT_TRUE(verify_siwe({altered, signature}, expected)) << altered;
    }
    SiweMessage other_terms = message();
    other_terms.statement = "Register an agent with Berth. I accept the terms, version 3.";
    EXPECT_EQ(verify_siwe({write_siwe(other_terms).value(), signature}, expected),
              SiweFault::signature);
    EXPECT_EQ(verify_siwe({text + "\n", signature}, expected), SiweFault::malformed);
    EXPECT_EQ(verify_siwe({"", signature}, expected), SiweFault::malformed);
}

TEST_F(SiweVerify, RefusesSignaturesThatAreNotTheAddresss) {
    const std::string text = write_siwe(message()).value();
    const std::string good = signed_by(key, text);
    const std::string plain_hash =
        "0x" + to_hex(key.sign(personal_message_hash(text + " ")).bytes());
    std::string mark;
    for (int i = 0; i < 16; ++i) mark += "6492";
    std::string zero_r = good;
    zero_r.replace(2, 64, 64, '0');
    std::string bad_v = good;
    bad_v.replace(130, 2, "1d");
    const std::vector<std::pair<std::string, SiweFault>> rows{
        {signed_by(other, text), SiweFault::signature},
        {plain_hash, SiweFault::signature},
        {zero_r, SiweFault::signature},
        {bad_v, SiweFault::signature},
        {"", SiweFault::signature_malformed},
        {"0x", SiweFault::signature_malformed},
        {good.substr(0, 131), SiweFault::signature_malformed},
        {good.substr(0, 130), SiweFault::signature_malformed},
        {good + "00", SiweFault::smart_wallet},
        {good.substr(2), SiweFault::signature_malformed},
        {"0x" + std::string(1 << 20, 'f'), SiweFault::smart_wallet},
        {good + mark, SiweFault::smart_wallet}};
    for (const auto& [signature, fault] : rows)
        EXPECT_EQ(verify_siwe({text, signature}, expected), fault) << signature.substr(0, 200);
    std::string short_v = good;
    short_v.replace(130, 2, good.ends_with("1b") ? "00" : "01");
    EXPECT_EQ(verify_siwe({text, short_v}, expected), std::nullopt);
}

TEST(SiweFaults, AreAllDescribedInTheirOwnWords) {
    std::set<std::string_view> seen;
    for (int i = 0; i <= static_cast<int>(SiweFault::signature); ++i)
        EXPECT_TRUE(seen.insert(describe(static_cast<SiweFault>(i))).second);
    EXPECT_NE(describe(SiweFault::smart_wallet).find("ERC-6492"), std::string_view::npos);
}

}  // namespace
}  // namespace berth::crypto
