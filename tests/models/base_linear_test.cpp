// Readers of text take time in proportion to it, whatever it holds.
#include <gtest/gtest-spi.h>

#include "base/bytes.hpp"
#include "base/json_text.hpp"
#include "base/log.hpp"
#include "support/linear.hpp"

namespace berth::test {
namespace {

constexpr std::size_t text_bytes_max = 64 << 10;

// What somebody writes who asks of each letter whether it came before.
std::size_t count_repeated(const std::string& text) {
    std::size_t count = 0;
    for (std::size_t i = 1; i < text.size(); ++i)
        if (text.find(text[i], 0) < i) ++count;
    return count;
}

TEST(Linear, WorkThatIsNotIsFound) {
    if (sanitized) GTEST_SKIP() << "a sanitizer's own time is not judged";
    const auto late = [](std::size_t bytes) {
        return repeated("a", bytes - bytes / 2) + repeated("b", bytes / 2);
    };
    EXPECT_NONFATAL_FAILURE(
        expect_linear("each letter among all", text_bytes_max, late, count_repeated), "sixteenth");
}

TEST(Linear, Redaction) {
    for (const char* unit : {"://", "a://", "://a:", ":", "@", "://@", "ark_", "ark_1234567 ",
                             "ark_12345678", "password=", "password= ", "sslpassword=,", "bearer ",
                             "bearer x ", "://u:p@ ", "\"://", "x"})
        expect_linear(
            unit, text_bytes_max, [&](std::size_t bytes) { return repeated(unit, bytes); },
            [](const std::string& text) { return redact(text); });
    expect_linear(
        "one password at the end", text_bytes_max,
        [](std::size_t bytes) { return repeated("://", bytes) + "@"; },
        [](const std::string& text) { return redact(text); });
}

TEST(Linear, JsonStringsAndBytes) {
    for (const char* unit : {"\x01", "\"", "\xff", "\xf0\x9f\x98", "é", "a"}) {
        const auto make = [&](std::size_t bytes) { return repeated(unit, bytes); };
        expect_linear("json string", text_bytes_max, make, [](const std::string& text) {
            std::string out;
            append_json_string(out, text);
            return out;
        });
        expect_linear("utf8", text_bytes_max, make,
                      [](const std::string& text) { return utf8_length(text); });
    }
    const auto letters = [](std::size_t bytes) { return repeated("abcd", bytes); };
    expect_linear("hex", text_bytes_max, letters,
                  [](const std::string& text) { return from_hex(text); });
    expect_linear("base64url", text_bytes_max, letters,
                  [](const std::string& text) { return from_base64url(text); });
}

}  // namespace
}  // namespace berth::test
