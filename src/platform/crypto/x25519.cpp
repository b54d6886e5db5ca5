#include "crypto/x25519.hpp"

#include <openssl/evp.h>

#include <memory>

#include "base/check.hpp"
#include "crypto/raw.hpp"

namespace berth::crypto {
namespace {

constexpr std::size_t x25519_bytes = 32;

struct FreeExchange {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(EVP_PKEY_CTX* exchange) const { EVP_PKEY_CTX_free(exchange); }
};
using ExchangeKey = std::unique_ptr<EVP_PKEY, FreeExchange>;
using Exchange = std::unique_ptr<EVP_PKEY_CTX, FreeExchange>;

ExchangeKey exchange_key(const Secret& bytes) {
    ExchangeKey key(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, raw(bytes.view()),
                                                 bytes.view().size()));
    check(key != nullptr, "OpenSSL takes every 32 bytes as a key");
    return key;
}

}  // namespace

Bytes X25519Key::public_key() const {
    Bytes bytes(x25519_bytes, '\0');
    std::size_t length = bytes.size();
    check(EVP_PKEY_get_raw_public_key(exchange_key(bytes_).get(), raw(bytes), &length) == 1,
          "a private key has a public one");
    return bytes;
}

std::optional<Bytes> X25519Key::shared_with(std::string_view public_key) const {
    if (public_key.size() != x25519_bytes) return std::nullopt;
    const ExchangeKey own = exchange_key(bytes_);
    const ExchangeKey theirs(
        EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, raw(public_key), public_key.size()));
    const Exchange exchange(EVP_PKEY_CTX_new(own.get(), nullptr));
    check(theirs != nullptr && exchange != nullptr, "OpenSSL has X25519");
    check(EVP_PKEY_derive_init(exchange.get()) == 1, "OpenSSL has X25519");
    Bytes shared(x25519_bytes, '\0');
    std::size_t length = shared.size();
    // A point of small order leads to zeros, which OpenSSL refuses.
    if (EVP_PKEY_derive_set_peer(exchange.get(), theirs.get()) != 1 ||
        EVP_PKEY_derive(exchange.get(), raw(shared), &length) != 1)
        return std::nullopt;
    return shared;
}

}  // namespace berth::crypto
