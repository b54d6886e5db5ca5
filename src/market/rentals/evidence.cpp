#include "rentals/evidence.hpp"

#include <fmt/format.h>

#include "agent_protocol/structured.hpp"
#include "base/check.hpp"
#include "base/json_text.hpp"
#include "crypto/hash.hpp"
#include "wire/open.hpp"
#include "wire/wire.hpp"

namespace berth::rentals {
namespace {

// A record without its hash: what the hash is of.
struct Unhashed {
    Decimal sequence;
    Time at;
    std::string kind;
    EvidenceSource source = EvidenceSource::machine;
    wire::Object payload;
    Nullable<SignedEvidence> signed_;
    Nullable<wire::Sha256Hash> previous_hash;
};
BOOST_DESCRIBE_STRUCT(Unhashed, (), (sequence, at, kind, source, payload, signed_, previous_hash))

// What the machine signed holds what it was evidence of.
struct SignedBody {
    wire::Object evidence;
};
BOOST_DESCRIBE_STRUCT(SignedBody, (), (evidence))

std::optional<std::string> payload_in(const std::optional<std::string>& body) {
    const auto bytes = body ? from_base64(*body) : std::nullopt;
    const auto said = bytes ? wire::read_known<SignedBody>(*bytes) : std::nullopt;
    return said ? wire::canonical(said->evidence.text) : std::nullopt;
}

struct Refusal {
    std::string why;
};
BOOST_DESCRIBE_STRUCT(Refusal, (), (why))

constexpr std::string_view refusal_kind = "READY_REFUSED";

constexpr std::string_view find_head_sql =
    "SELECT evidence_head FROM jobs WHERE job_id = $1 AND evidence_head IS NOT NULL";

}  // namespace

bool is_record_due(const JobLive& live, Time now, Duration every) {
    return !live.usage_kept_at || now - *live.usage_kept_at >= every;
}
bool is_usage_due(const JobLive& live, Time now) {
    return is_record_due(live, now, is_spent(live) ? usage_thinned_to : usage_kept_every);
}

SignedEvidence sealed_of(const machines::SignedMessage& message) {
    return {to_base64(message.body),
            message.signature_input,
            message.signature,
            message.authority,
            message.path,
            message.public_key};
}

std::optional<std::string> find_evidence_head(db::Transaction& tx, JobId job) {
    return tx.fetch_value<std::string>(find_head_sql, job);
}

std::string hash_of(const Evidence& evidence) {
    const Unhashed record{evidence.sequence,     evidence.at,      evidence.kind,
                          evidence.source,       evidence.payload, evidence.signed_,
                          evidence.previous_hash};
    const auto text = wire::canonical(wire::encode(record));
    require(text.has_value(), "a record of ours is JSON");
    return "sha256:" + to_hex(crypto::sha256(*text));
}

void keep(db::Transaction& tx, Time now, JobLive& live, NewEvidence evidence) {
    EvidenceRow row;
    row.job_id = live.job_id;
    row.sequence = live.evidence_count + 1;
    row.at = now;
    row.kind = std::move(evidence.kind);
    row.source = evidence.sealed ? EvidenceSource::machine : EvidenceSource::server;
    const auto payload = wire::canonical(evidence.payload);
    require(payload.has_value(), "evidence is JSON");
    row.payload = *payload;
    if (evidence.sealed) {
        row.body = std::move(evidence.sealed->body);
        row.signature_input = std::move(evidence.sealed->signature_input);
        row.signature = std::move(evidence.sealed->signature);
        row.authority = std::move(evidence.sealed->authority);
        row.path = std::move(evidence.sealed->path);
        row.public_key = std::move(evidence.sealed->public_key);
    }
    // Once is enough, and without the body there would be no signature.
    if (payload_in(row.body) == row.payload) row.payload.clear();
    row.lease_seq = evidence.lease_seq;
    row.content_hash = std::move(evidence.content_hash);
    row.answer = std::move(evidence.answer);
    row.previous_hash = live.evidence_head;
    row.hash = hash_of(shown(row));
    add_evidence(tx, row);
    live.evidence_count = row.sequence;
    live.evidence_head = row.hash;
    live.evidence_bytes +=
        static_cast<std::int64_t>(row.payload.size() + row.body.value_or("").size());
}

void keep_refusal(db::Transaction& tx, Time now, JobLive& live, NewEvidence ready,
                  const std::string& why) {
    std::string payload = R"({"why":)";
    append_json_string(payload, why);
    ready.payload = payload + "}";  // what it said is in what it signed
    ready.kind = refusal_kind;
    keep(tx, now, live, std::move(ready));
}

std::optional<std::string> find_refusal(db::Transaction& tx, JobId job) {
    const auto payload = find_last_evidence(tx, job, refusal_kind);
    if (!payload) return std::nullopt;
    return wire::decode_known<Refusal>(*payload, "payload").why;
}

Evidence shown(const EvidenceRow& row) {
    Evidence evidence;
    evidence.sequence = {row.sequence};
    evidence.at = row.at;
    evidence.kind = row.kind;
    evidence.source = row.source;
    evidence.payload = {row.payload.empty() ? payload_in(row.body).value_or("{}") : row.payload};
    if (row.body)
        evidence.signed_ = SignedEvidence{*row.body,
                                          row.signature_input.value_or(""),
                                          row.signature.value_or(""),
                                          row.authority.value_or(""),
                                          row.path.value_or(""),
                                          row.public_key.value_or("")};
    evidence.hash = {row.hash};
    if (row.previous_hash) evidence.previous_hash = wire::Sha256Hash{*row.previous_hash};
    return evidence;
}

std::optional<std::string> find_break(std::span<const Evidence> chain) {
    std::int64_t sequence = 0;
    std::optional<std::string> head;
    for (const Evidence& record : chain) {
        ++sequence;
        const std::string name = fmt::format("record {}", record.sequence.value);
        if (record.sequence.value != sequence) return name + ": the one before it is missing";
        const auto& previous = record.previous_hash.value;
        if (previous.has_value() != head.has_value() || (previous && previous->value != *head))
            return name + ": does not follow the one before it";
        if (record.hash.value != hash_of(record)) return name + ": is not what was written";
        head = record.hash.value;
    }
    return std::nullopt;
}

}  // namespace berth::rentals
