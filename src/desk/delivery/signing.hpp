// How deliveries are signed: Standard Webhooks, version 1
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
// Receivers check with any library that knows it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/random.hpp"
#include "base/time.hpp"

namespace berth::delivery {

inline constexpr std::size_t secret_bytes = 32;

// As it is shown: "whsec_" and the bytes in base64.
std::string shown_secret(std::string_view secret);

struct Signed {
    std::string_view id;
    Time attempted_at;
    std::string_view body;
};
// The header webhook-timestamp: seconds.
std::string timestamp_of(Time attempted_at);
// The header webhook-signature: "v1,…" by each of the secrets, separated by spaces.
std::string signatures(std::span<const Bytes> secrets, const Signed& message);

}  // namespace berth::delivery
