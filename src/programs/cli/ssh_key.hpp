// SSH keys: the public half goes with a rental that has a shell, the private half never leaves this
// machine, whichever flag, file or body names it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace berth::cli {

// "ssh-ed25519 AAAA…" of a line of OpenSSH, without its comment; empty for anything else. The
// base64 must be a public key of that very kind, with nothing behind it.
std::optional<std::string> parse_public_key(std::string_view line);

// Whether a private key stands in the text: one of OpenSSH, PEM or PuTTY, or a wallet's keystore.
bool holds_private_key(std::string_view text);

// The public key that --ssh-key names by its file ("-" is standard input) or gives itself. Throws a
// Failure for anything else; for a private key one that names the .pub beside it.
std::string read_public_key(const std::string& given);

// The key that `ssh` offers by itself: the first one of the SSH agent, else of ~/.ssh/id_*.pub.
struct OwnPublicKey {
    std::string key;
    std::string where;  // for people
};
std::optional<OwnPublicKey> find_public_key();

// Throws a Failure when the body of a request is no JSON, holds a private key, or gives as an SSH
// key what is no public one. What is said to a model is free to quote a key: `is_prompt`.
void check_body(std::string_view body, bool is_prompt);

// Standard base64, with or without its padding.
std::optional<Bytes> from_base64(std::string text);

}  // namespace berth::cli
