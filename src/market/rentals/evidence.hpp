// What is kept of a job so that a dispute is settled by records: what the machine said, signed as
// it came, and what the service did. The records of a job are chained by their hashes, so that
// anybody who has them can check the chain, and each signature, without the service.
#pragma once

#include "machines/job_side.hpp"
#include "rentals/store.hpp"

namespace berth::rentals {

inline constexpr Duration evidence_kept = std::chrono::hours(24 * 400);
inline constexpr Duration usage_kept_every = std::chrono::minutes(1);
// No machine fills our disk: with so many records, what can be told without end is on record once a
// minute, and with so many bytes usage and progress are once an hour. Everything else always is.
inline constexpr std::int64_t records_in_plenty = 1000;
inline constexpr std::int64_t evidence_bytes_of_job_max = 4 * 1024 * 1024;
inline constexpr Duration usage_thinned_to = std::chrono::hours(1);
inline bool is_spent(const JobLive& live) {
    return live.evidence_bytes >= evidence_bytes_of_job_max;
}

// Of refused READYs, which are told again and again; and of usage and progress, likewise.
bool is_record_due(const JobLive& live, Time now, Duration every = usage_kept_every);
bool is_usage_due(const JobLive& live, Time now);

// As the machine signed it.
SignedEvidence sealed_of(const machines::SignedMessage& message);

struct NewEvidence {
    std::string kind;
    std::string payload;                        // a JSON object
    std::optional<SignedEvidence> sealed = {};  // the machine's signature; none: our own word
    std::optional<std::int64_t> lease_seq = {};
    std::optional<std::string> content_hash = {};
    std::optional<std::string> answer = {};
};
// Adds the next record of a locked job; the caller saves `live`.
void keep(db::Transaction& tx, Time now, JobLive& live, NewEvidence evidence);

// READY that was not believed, on record as what the machine said and why it was refused.
void keep_refusal(db::Transaction& tx, Time now, JobLive& live, NewEvidence ready,
                  const std::string& why);
// Why READY was refused last; none when it never was.
std::optional<std::string> find_refusal(db::Transaction& tx, JobId job);

Evidence shown(const EvidenceRow& row);

// The hash of a job's newest record, which stands for the whole chain; none without records.
std::optional<std::string> find_evidence_head(db::Transaction& tx, JobId job);

// "sha256:…" of the canonical JSON of the record without its hash.
std::string hash_of(const Evidence& evidence);

// What is wrong with a chain that begins at its first record; empty when it is sound. Signatures
// are checked by whoever knows the protocol.
std::optional<std::string> find_break(std::span<const Evidence> chain);

}  // namespace berth::rentals
