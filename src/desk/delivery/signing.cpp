#include "delivery/signing.hpp"

#include <fmt/format.h>

#include "base/issued.hpp"
#include "crypto/hash.hpp"

namespace berth::delivery {

std::string shown_secret(std::string_view secret) {
    return std::string(issued::webhook_secret) + to_base64(secret);
}

std::string timestamp_of(Time attempted_at) {
    return std::to_string(attempted_at.micros / 1'000'000);
}

std::string signatures(std::span<const Bytes> secrets, const Signed& message) {
    const std::string content =
        fmt::format("{}.{}.{}", message.id, timestamp_of(message.attempted_at), message.body);
    std::string all;
    for (const Bytes& secret : secrets) {
        if (!all.empty()) all += ' ';
        all += "v1," + to_base64(crypto::hmac_sha256(secret, content));
    }
    return all;
}

}  // namespace berth::delivery
