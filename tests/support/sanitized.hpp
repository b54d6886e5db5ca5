// Whether this build runs under a sanitizer, where everything takes several times as long. Tests
// that gain nothing from it but time do less then.
#pragma once

namespace berth::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace berth::test
