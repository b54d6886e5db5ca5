// The readers of base: no input harms them, and what they read is written back the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/ids.hpp"
#include "base/json_text.hpp"
#include "base/log.hpp"
#include "base/money.hpp"
#include "base/time.hpp"

using namespace berth;

namespace {

void read_and_write(std::string_view text) {
    if (const auto time = parse_rfc3339(text))
        check(parse_rfc3339(to_rfc3339(*time)) == time, "a time survives its text");
    if (const auto uuid = parse_uuid(text))
        check(parse_uuid(to_string(*uuid)) == uuid, "a UUID survives its text");
    if (const auto number = parse_decimal(text))
        check(std::to_string(*number) == text, "a number has one spelling");
    if (const auto bytes = from_base64url(text))
        check(to_base64url(*bytes) == text, "base64url has one spelling");
    if (const auto bytes = from_hex(text))
        check(from_hex(to_hex(*bytes)) == bytes, "bytes survive hex");
    check(from_hex(to_hex(text)) == text, "every text survives hex");
    check(from_base64url(to_base64url(text)) == text, "every text survives base64url");
}

void escape_and_redact(std::string_view text) {
    std::string json;
    append_json_string(json, text);
    check(utf8_length(json).has_value(), "escaped text is UTF-8");
    const std::string once = redact(text);
    check(redact(once) == once, "nothing is left to redact");
    if (utf8_length(text)) check(utf8_length(once).has_value(), "redaction keeps UTF-8 whole");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read_and_write(text);
    escape_and_redact(text);
    return 0;
}
