#include "liabilities/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/page.hpp"
#include "crypto/ed25519.hpp"
#include "liabilities/statement_hash.hpp"
#include "liabilities/types.hpp"
#include "wire/wire.hpp"

namespace berth::liabilities {
namespace {

Bytes bytes_of(const wire::Sha256Hash& hash) {
    return from_hex(std::string_view(hash.value).substr(7)).value();
}

// Base64 with its padding, and no other spelling of the same bytes.
std::optional<Bytes> bytes_of(const std::string& base64) {
    std::string text = base64;
    while (text.ends_with('=')) text.pop_back();
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    auto bytes = from_base64url(text);
    return bytes && to_base64(*bytes) == base64 ? bytes : std::nullopt;
}

bool is_signed(const Bytes& hash, const std::string& signature, const std::string& public_key) {
    const auto key = bytes_of(public_key);
    const auto made = bytes_of(signature);
    if (!key || !made) return false;
    const auto known = crypto::Ed25519PublicKey::from_bytes(*key);
    return known && known->verify(hash, *made);
}

Verdict verify_proof(const Proof& proof) {
    Micro sum;
    for (const ProvedPart& part : proof.parts) {
        const auto salt = from_hex(part.salt);
        if (!salt || salt->size() != salt_bytes)
            throw Problem(Code::invalid_input, "proof.parts.salt: must be 32 bytes in hex");
        std::vector<Step> path;
        for (const PathStep& step : part.path)
            path.push_back({step.side, {bytes_of(step.hash), step.sum_micro}});
        const Node root = climb(node_of({proof.account_id, *salt, part.amount_micro}), path);
        if (root.hash != bytes_of(proof.root))
            return {false, "NOT GOOD: a path does not lead to the root"};
        if (root.sum != proof.total_micro)
            return {false, "NOT GOOD: a path does not add up to the total"};
        sum += part.amount_micro;
    }
    for (std::size_t i = 0; i < proof.parts.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (proof.parts[i].salt == proof.parts[j].salt)
                return {false, "NOT GOOD: a leaf is shown twice"};
    if (proof.parts.empty() || sum != proof.balance_micro)
        return {false, "NOT GOOD: the parts do not add up to the balance"};
    return {true, "good: " + to_string(proof.balance_micro) + " micro-" +
                      std::string(ledger::name(proof.asset)) + " of account " +
                      to_string(proof.account_id) + " are in the total of " +
                      to_string(proof.total_micro) + " under root " + proof.root.value +
                      "; compare both with what everybody is shown"};
}

Verdict verify_absence(const Absence& absence) {
    const Bytes hash = absence_hash(absence.asset, absence.account_id, absence.number.value,
                                    bytes_of(absence.record_hash));
    if (hash != bytes_of(absence.hash)) return {false, "NOT GOOD: the hash is another"};
    if (!is_signed(hash, absence.signature, absence.public_key))
        return {false, "NOT GOOD: the signature is not by the key"};
    return {true, fmt::format("good: it is signed by {} that record {} of {} has nothing of "
                              "account {}; compare record_hash and the key with what everybody is "
                              "shown",
                              absence.public_key, absence.number.value, ledger::name(absence.asset),
                              to_string(absence.account_id))};
}

RecordRow row_of(const PublishedRecord& record) {
    RecordRow row;
    row.asset = record.asset;
    row.number = record.number.value;
    row.as_of = record.as_of;
    row.root = bytes_of(record.root);
    row.total = record.total_micro;
    row.leaves = record.count.value;
    if (record.block_number.value) row.block_number = record.block_number.value->value;
    if (record.treasury_micro.value) row.treasury = *record.treasury_micro.value;
    if (record.audit_events.value) row.audit_events = record.audit_events.value->value;
    if (record.audit_head.value) row.audit_head = bytes_of(*record.audit_head.value);
    row.previous_hash = bytes_of(record.previous_hash);
    return row;
}

// What a verdict on records has to be held against: whoever makes up a whole chain signs it with
// some key, too.
struct Chains {
    std::map<ledger::Asset, const PublishedRecord*> newest;
    std::map<ledger::Asset, const PublishedRecord*> oldest_seen;
    std::vector<std::string> key_changes;
};

std::string to_compare(const Chains& chains) {
    std::string text;
    for (const auto& [asset, record] : chains.newest)
        text += fmt::format("; the newest of {} is record {}, hash {}, key {}", ledger::name(asset),
                            record->number.value, record->hash.value, record->public_key);
    for (const std::string& change : chains.key_changes) text += "; " + change;
    return text +
           "; compare hash and key with what everybody is shown and with "
           "/.well-known/berth-keys.json";
}

// Newest first, as the route lists them. A record is followed by the newer one of its asset.
Verdict verify_records(const std::vector<PublishedRecord>& records) {
    if (records.empty()) return {false, "NOT GOOD: there are no records"};
    Chains chains;
    for (const PublishedRecord& record : records) {
        const auto bad = [&](std::string_view why) {
            return Verdict{false, fmt::format("NOT GOOD: record {} of {}: {}", record.number.value,
                                              ledger::name(record.asset), why)};
        };
        if (hash_of(row_of(record)) != bytes_of(record.hash)) return bad("its hash is another");
        if (!is_signed(bytes_of(record.hash), record.signature, record.public_key))
            return bad("its signature is not by its key");
        const PublishedRecord*& newer = chains.oldest_seen[record.asset];
        if (newer == nullptr) {
            chains.newest[record.asset] = &record;
        } else if (newer->number.value != record.number.value + 1 ||
                   newer->previous_hash.value != record.hash.value) {
            return bad("the one after it does not follow it");
        } else if (newer->public_key != record.public_key) {
            chains.key_changes.push_back(
                fmt::format("THE KEY CHANGED between records {} and {} of {}, from {} to {}",
                            record.number.value, newer->number.value, ledger::name(record.asset),
                            record.public_key, newer->public_key));
        }
        newer = &record;
    }
    return {true,
            fmt::format("good: {} records, from {} to {}, are signed and each follows the one "
                        "before it{}",
                        records.size(), records.back().number.value, records.front().number.value,
                        to_compare(chains))};
}

std::vector<PublishedRecord> records_in(const std::string& json) {
    if (json.find("\"next_cursor\"") != json.npos)
        return wire::decode<api::Page<PublishedRecord>>(json, "records").items;
    return wire::decode<PublishedRecords>(json, "records").items;
}

}  // namespace

Verdict verify(const std::string& json) {
    if (json.find("\"record_hash\"") != json.npos)
        return verify_absence(wire::decode<Absence>(json, "absence"));
    if (json.find("\"items\"") != json.npos) return verify_records(records_in(json));
    return verify_proof(wire::decode<Proof>(json, "proof"));
}

std::int64_t count_audited(const std::string& json) {
    const std::vector<PublishedRecord> records = records_in(json);
    const Verdict verdict = verify_records(records);
    if (!verdict.good) throw Problem(Code::invalid_input, verdict.sentence);
    std::int64_t audited = 0;
    for (const PublishedRecord& record : records)
        if (record.audit_events.value)
            audited = std::max<std::int64_t>(audited, record.audit_events.value->value);
    return audited;
}

}  // namespace berth::liabilities
