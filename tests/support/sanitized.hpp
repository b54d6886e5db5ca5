// Whether the product runs under a sanitizer in this build, where everything takes several times as
// long. Tests that gain nothing from it but time do less then. The build says so: the tests' own
// code need not be compiled as the product is.
#pragma once

namespace berth::test {

#ifdef BERTH_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace berth::test
