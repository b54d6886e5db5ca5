// Readers of signed texts take time in proportion to them, whatever they hold.
#include "crypto/siwe.hpp"
#include "crypto/uri.hpp"
#include "support/linear.hpp"

namespace berth::test {
namespace {

constexpr std::size_t message_bytes_max = 8 << 10;

TEST(Linear, SignedTexts) {
    const std::string head =
        "example.com wants you to sign in with your Ethereum account:\n"
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\n\n\nURI: https://example.com\nVersion: 1\n"
        "Chain ID: 8453\nNonce: 12345678\nIssued At: 2026-01-15T12:00:00Z\nResources:";
    const auto read = [](const std::string& text) { return crypto::parse_siwe(text); };
    for (const std::string unit : {"\n- a:b", "\n", "\n- ", "://", "\n- a:%41"})
        expect_linear(
            unit, message_bytes_max,
            [&](std::size_t bytes) { return head + repeated(unit, bytes - head.size()); }, read);
    for (const std::string unit : {"\n", "://", "@", "a", " wants you to sign in"})
        expect_linear(
            unit, message_bytes_max, [&](std::size_t bytes) { return repeated(unit, bytes); },
            read);
}

TEST(Linear, Addresses) {
    for (const std::string unit : {":", "/", "?", "#", "%41", "[", "]", "@", "a.", "v1.", "0"})
        expect_linear(
            unit, message_bytes_max,
            [&](std::size_t bytes) { return "https://" + repeated(unit, bytes); },
            [](const std::string& text) { return crypto::is_uri(text); });
}

}  // namespace
}  // namespace berth::test
