#include "crypto/passphrase.hpp"

#include <openssl/evp.h>

#include <memory>

#include "base/check.hpp"
#include "crypto/raw.hpp"

namespace berth::crypto {
namespace {

constexpr std::size_t key_bytes = 32;

}  // namespace

std::optional<Bytes> scrypt(std::string_view passphrase, std::string_view salt,
                            const ScryptCost& cost) {
    constexpr std::uint64_t memory_bytes_max = 512 << 20;
    constexpr std::uint64_t block_max = 64;
    if (cost.r > block_max || cost.p > block_max) return std::nullopt;
    Bytes key(key_bytes, '\0');
    const int done = EVP_PBE_scrypt(passphrase.data(), passphrase.size(), raw(salt), salt.size(),
                                    cost.n, cost.r, cost.p, memory_bytes_max, raw(key), key.size());
    if (done != 1) return std::nullopt;
    return key;
}

std::optional<Bytes> pbkdf2_sha256(std::string_view passphrase, std::string_view salt,
                                   std::uint64_t rounds) {
    constexpr std::uint64_t rounds_max = 10'000'000;
    if (rounds == 0 || rounds > rounds_max) return std::nullopt;
    Bytes key(key_bytes, '\0');
    const int done =
        PKCS5_PBKDF2_HMAC(passphrase.data(), static_cast<int>(passphrase.size()), raw(salt),
                          static_cast<int>(salt.size()), static_cast<int>(rounds), EVP_sha256(),
                          static_cast<int>(key.size()), raw(key));
    if (done != 1) return std::nullopt;
    return key;
}

Bytes aes_128_ctr(std::string_view key, std::string_view start, std::string_view data) {
    require(key.size() == 16 && start.size() == 16, "a key and a start of 16 bytes");
    const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(
        EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
    Bytes out(data.size(), '\0');
    int written = 0;
    const bool is_done =
        context != nullptr &&
        EVP_EncryptInit_ex(context.get(), EVP_aes_128_ctr(), nullptr, raw(key), raw(start)) == 1 &&
        EVP_EncryptUpdate(context.get(), raw(out), &written, raw(data),
                          static_cast<int>(data.size())) == 1;
    require(is_done && static_cast<std::size_t>(written) == data.size(), "AES encrypts");
    return out;
}

}  // namespace berth::crypto
