// The reader of EIP-4361 texts: no input harms it, and what it reads is written back the same.
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "crypto/siwe.hpp"
#include "crypto/uri.hpp"

using namespace berth;
using namespace berth::crypto;

namespace {

void read_and_write(std::string_view text) {
    const auto message = parse_siwe(text);
    if (!message) return;
    check(write_siwe(*message) == text, "a message is written as it was read");
    check(text.find('\r') == std::string_view::npos, "no carriage return is in a message");
    check(is_uri(message->uri) && is_authority(message->domain), "URI and domain are such");
    const SiweExpected expected{.domain = message->domain,
                                .uri = message->uri,
                                .chain_id = message->chain_id,
                                .nonce = message->nonce,
                                .address = message->address,
                                .now = message->issued_at.time};
    check(verify_siwe({text, "0x"}, expected).has_value(), "no message proves itself");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read_and_write(text);
    if (const auto time = SiweTime::parse(text)) check(time->text == text, "a time keeps its text");
    is_uri(text);
    is_authority(text);
    return 0;
}
