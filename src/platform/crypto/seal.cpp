#include "crypto/seal.hpp"

#include <openssl/evp.h>

#include <memory>

#include "base/check.hpp"
#include "crypto/raw.hpp"

namespace berth::crypto {
namespace {

constexpr char version = 1;
constexpr std::size_t nonce_bytes = 12;
constexpr std::size_t tag_bytes = 16;
constexpr std::size_t overhead_bytes = 1 + nonce_bytes + tag_bytes;

struct FreeCipher {
    void operator()(EVP_CIPHER_CTX* cipher) const { EVP_CIPHER_CTX_free(cipher); }
};

enum class Direction { open = 0, seal = 1 };

// AES-256-GCM in one go. The version byte is authenticated with the context.
class Cipher {
public:
    Cipher(Direction direction, std::string_view key, std::string_view nonce) {
        check(cipher_ && EVP_CipherInit_ex(cipher_.get(), EVP_aes_256_gcm(), nullptr, raw(key),
                                           raw(nonce), static_cast<int>(direction)) == 1,
              "OpenSSL has AES-256-GCM");
    }

    void authenticate(std::string_view data) {
        int length = 0;
        check(EVP_CipherUpdate(cipher_.get(), nullptr, &length, raw(data),
                               static_cast<int>(data.size())) == 1,
              "AES-GCM takes associated data");
    }

    Bytes transform(std::string_view in) {
        Bytes out(in.size(), '\0');
        int length = 0;
        check(EVP_CipherUpdate(cipher_.get(), raw(out), &length, raw(in),
                               static_cast<int>(in.size())) == 1 &&
                  static_cast<std::size_t>(length) == in.size(),
              "AES-GCM gives a byte for a byte");
        return out;
    }

    // When opening, false if anything was altered.
    bool finish() {
        unsigned char nothing[1];
        int length = 0;
        return EVP_CipherFinal_ex(cipher_.get(), nothing, &length) == 1;
    }

    Bytes tag() {
        Bytes out(tag_bytes, '\0');
        control(EVP_CTRL_AEAD_GET_TAG, out);
        return out;
    }
    void expect_tag(Bytes tag) { control(EVP_CTRL_AEAD_SET_TAG, tag); }

private:
    void control(int what, Bytes& tag) {
        check(EVP_CIPHER_CTX_ctrl(cipher_.get(), what, tag_bytes, tag.data()) == 1,
              "AES-GCM has a tag of 16 bytes");
    }

    std::unique_ptr<EVP_CIPHER_CTX, FreeCipher> cipher_{EVP_CIPHER_CTX_new()};
};

std::optional<Bytes> open_with(const Secret& key, const Sealer::Value& sealed) {
    std::string_view rest = sealed.bytes;
    require(sealed.context.size() <= seal_bytes_max, "a context is small");
    if (rest.size() < overhead_bytes || rest.size() > seal_bytes_max + overhead_bytes ||
        rest[0] != version)
        return std::nullopt;
    rest.remove_prefix(1);
    Cipher cipher(Direction::open, key.view(), rest.substr(0, nonce_bytes));
    rest.remove_prefix(nonce_bytes);
    cipher.authenticate({&version, 1});
    cipher.authenticate(sealed.context);
    Bytes plain = cipher.transform(rest.substr(0, rest.size() - tag_bytes));
    cipher.expect_tag(Bytes(rest.substr(rest.size() - tag_bytes)));
    if (!cipher.finish()) return std::nullopt;
    return plain;
}

}  // namespace

Bytes Sealer::seal(const Value& plain, Random& random) const {
    require(plain.bytes.size() <= seal_bytes_max, "a sealed value is small");
    require(plain.context.size() <= seal_bytes_max, "a context is small");
    const Bytes nonce = random.bytes(nonce_bytes);
    Cipher cipher(Direction::seal, key_.view(), nonce);
    cipher.authenticate({&version, 1});
    cipher.authenticate(plain.context);
    const Bytes hidden = cipher.transform(plain.bytes);
    check(cipher.finish(), "AES-GCM ends");
    return version + nonce + hidden + cipher.tag();
}

std::optional<Bytes> Sealer::open(const Value& sealed) const {
    auto plain = open_with(key_, sealed);
    for (std::size_t i = 0; !plain && i < others_.size(); ++i)
        plain = open_with(others_[i], sealed);
    return plain;
}

bool Sealer::is_current(const Value& sealed) const { return open_with(key_, sealed).has_value(); }

std::optional<Bytes> Resealing::renew(const Sealer::Value& sealed) {
    if (sealer_.is_current(sealed)) return std::nullopt;
    const auto plain = sealer_.open(sealed);
    ++(plain ? renewed : lost);
    return plain ? std::optional(sealer_.seal({*plain, sealed.context}, random_)) : std::nullopt;
}

}  // namespace berth::crypto
