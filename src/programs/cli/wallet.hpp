// Wallets of this machine: encrypted V3 keystores (Web3 Secret Storage), or a key in hex.
#pragma once

#include <string>
#include <string_view>

#include "cli/context.hpp"
#include "crypto/secp256k1.hpp"

namespace berth::cli {

enum class Cost { usual, light };  // of guessing the passphrase; light is for tests

// The JSON of a keystore; scrypt and AES-128-CTR.
std::string make_keystore(const crypto::Secret& key, std::string_view passphrase, Random& random,
                          Cost cost = Cost::usual);
// Throws a Failure when it is none, or the passphrase is another.
crypto::Secret read_keystore(const std::string& json, std::string_view passphrase);

// The wallet that --keystore, --key-file or the profile name.
crypto::SigningKey open_wallet(Context& context);
// Whether open_or_make_wallet() would open one, and make none.
bool has_wallet(Context& context);
// The wallet of --keystore, --key-file or the profile; makes a keystore where there is none. `file`
// is where it is, empty for a bare key.
crypto::SigningKey open_or_make_wallet(Context& context, std::string& file);

// Signs an EIP-4361 text (personal_sign), if it is one for this server and this wallet.
std::string sign_message(Context& context, const crypto::SigningKey& wallet,
                         const std::string& message);

}  // namespace berth::cli
