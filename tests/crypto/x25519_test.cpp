#include "crypto/x25519.hpp"

#include <gtest/gtest.h>

namespace berth::crypto {
namespace {

// RFC 7748 section 6.1: Bob's key, and what he and Alice come to.
TEST(X25519, AgreesWithTheRfc) {
    const X25519Key bob(
        Secret(*from_hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")));
    EXPECT_EQ(to_hex(bob.public_key()),
              "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    const auto alice = from_hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
    EXPECT_EQ(to_hex(bob.shared_with(*alice).value()),
              "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
}

TEST(X25519, TakesNoKeyThatLeadsToNoSecret) {
    const X25519Key key(Secret(Bytes(32, 'k')));
    EXPECT_FALSE(key.shared_with(Bytes(32, '\0')));  // a point of small order
    EXPECT_FALSE(key.shared_with(Bytes(31, 'x')));
    EXPECT_FALSE(key.shared_with(""));
}

}  // namespace
}  // namespace berth::crypto
