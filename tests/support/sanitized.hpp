// Whether this build runs under a sanitizer, where everything takes several times as long. Tests
// that gain nothing from it but time do less then.
#pragma once

namespace berth::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // GCC
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace berth::test
