// Receipts that prove themselves: what the service signs, and how anybody checks it without asking
// the service.
#pragma once

#include "billing/published_keys.hpp"
#include "billing/types.hpp"

namespace berth::billing {

// Signs the canonical JSON of the receipt as it stands, without its signature.
void sign(Receipt& receipt, const crypto::Ed25519Key& key);

struct Verdict {
    bool good = false;
    std::string sentence;
};
// A signed receipt as the route answers it. With the keys that the service has published, the key
// must be one of them and in use at the time; without them the receipt names its key itself. Throws
// a Problem INVALID_INPUT when the text is no signed receipt.
Verdict verify_receipt(const std::string& json, const std::optional<std::string>& keys_json);

}  // namespace berth::billing
