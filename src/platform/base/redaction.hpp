// Takes secrets out of what people write: they paste what they have on their screen, and what is
// kept in a ticket, a dispute or the audit record is read by others and mailed around.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace berth {

// Whether a transaction hash (0x and 64 small hex digits) is one that the records know. Any other
// value of 64 hex digits may be a private key.
using IsKnownTransaction = std::function<bool(const std::string& hash)>;

inline constexpr int known_transactions_max = 20;  // that are asked for; what follows is taken out

// The text without: PEM blocks and the like; seed phrases; cookies and credentials in header lines
// and of curl; what follows the name of a secret ("password: …"); API keys of ours and of others,
// bearer tokens, JSON web tokens; private keys in hex, base58, base64 or as a list of bytes;
// passwords in addresses. It takes time in proportion to the length of the text.
std::string without_secrets(std::string_view text, const IsKnownTransaction& is_known);

// The same for texts of operators and for values of records: what a word before it calls a
// transaction, a hash or a digest stays as well.
std::string without_unnamed_secrets(std::string_view text, const IsKnownTransaction& is_known = {});

extern const std::string_view seed_words;  // each with a space after it

}  // namespace berth
