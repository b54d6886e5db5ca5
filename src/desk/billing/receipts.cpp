#include "billing/receipts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent_protocol/hashes.hpp"
#include "agent_protocol/structured.hpp"
#include "base/check.hpp"
#include "wire/open.hpp"
#include "wire/wire.hpp"

namespace berth::billing {
namespace {

using Members = std::map<std::string, wire::Json>;

// Whether a published key may have signed at this time.
bool is_published(const PublishedKeys& published, const ReceiptSignature& signature, Time as_of) {
    return std::any_of(published.keys.begin(), published.keys.end(), [&](const auto& key) {
        const bool is_for_receipts =
            std::find(key.use.begin(), key.use.end(), KeyUse::receipts) != key.use.end();
        return is_for_receipts && key.key_id == signature.key_id &&
               key.public_key == signature.public_key && key.from <= as_of &&
               (!key.until.value || as_of <= *key.until.value);
    });
}

}  // namespace

void sign(Receipt& receipt, const crypto::Ed25519Key& key) {
    receipt.signature.reset();
    const auto text = wire::canonical(wire::encode(receipt));
    require(text.has_value(), "a receipt is JSON");
    const crypto::Ed25519PublicKey half = key.public_key();
    receipt.signature =
        ReceiptSignature{KeyAlgorithm::ed25519, agent_protocol::key_id(half),
                         to_base64(key.sign(*text)), agent_protocol::key_text(half)};
}

// Members that a later version of the service adds are signed like the others, so the text itself
// is looked at and not what this version knows of it.
Verdict verify_receipt(const std::string& json, const std::optional<std::string>& keys_json) {
    auto members = wire::decode<Members>(json, "receipt");
    const auto found = members.find("signature");
    if (found == members.end() || !members.contains("as_of") || !members.contains("job_id"))
        throw Problem(Code::invalid_input,
                      "this is no signed receipt: ask for it with ?signed=true");
    const auto signature =
        wire::decode_known<ReceiptSignature>(found->second.text, "receipt.signature");
    const auto as_of = wire::decode<Time>(members.at("as_of").text, "receipt.as_of");
    const auto job = wire::decode<JobId>(members.at("job_id").text, "receipt.job_id");
    members.erase(found);
    const auto text = wire::canonical(wire::encode(members));
    const auto key = agent_protocol::parse_key(signature.public_key);
    const auto bytes = from_base64(signature.value);
    if (!text || !key || !bytes || agent_protocol::key_id(*key) != signature.key_id ||
        !key->verify(*text, *bytes))
        return {false, "NOT GOOD: the receipt is not what was signed"};
    if (!keys_json)
        return {true, fmt::format("unaltered: receipt of job {}, signed as of {} by the key {}; "
                                  "not checked: whose key that is, which --keys with a copy of "
                                  "/.well-known/berth-keys.json tells",
                                  to_string(job), to_rfc3339(as_of), signature.key_id)};
    if (!is_published(wire::decode<PublishedKeys>(*keys_json, "keys"), signature, as_of))
        return {false, fmt::format("NOT GOOD: the key {} is none that the service published for "
                                   "receipts of that time",
                                   signature.key_id)};
    return {true, fmt::format("good: receipt of job {}, signed as of {} by the published key {}",
                              to_string(job), to_rfc3339(as_of), signature.key_id)};
}

}  // namespace berth::billing
