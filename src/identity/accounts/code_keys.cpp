#include "accounts/code_keys.hpp"

#include "crypto/hash.hpp"

namespace berth::accounts {

Bytes CodeKeys::hash(std::string_view text) const { return crypto::hmac_sha256(key_, text); }

bool CodeKeys::matches(std::string_view hash, std::string_view text) const {
    bool found = crypto::equal_in_constant_time(hash, crypto::hmac_sha256(key_, text));
    for (const Bytes& other : others_)
        found |= crypto::equal_in_constant_time(hash, crypto::hmac_sha256(other, text));
    return found;
}

}  // namespace berth::accounts
