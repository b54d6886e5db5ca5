// What is signed of the proof of liabilities, as anybody can compute it again: texts with their
// length (8 bytes, big-endian) before them, numbers as 8 bytes, big-endian.
#pragma once

#include "liabilities/store.hpp"

namespace berth::liabilities {

//     record = sha256(text previous_hash ‖ text asset ‖ number ‖ as_of in microseconds ‖ text root
//     ‖
//              total ‖ count ‖ block_number or -1 ‖ treasury or -1 ‖ audit_events ‖ text
//              audit_head)
//
// Records from before the audit record was noted end with the treasury.
Bytes hash_of(const RecordRow& record);

//     absence = sha256(text "berth liabilities absence" ‖ text asset ‖ account id (16) ‖ number ‖
//               text record_hash)
Bytes absence_hash(ledger::Asset asset, AccountId account, std::int64_t number,
                   const Bytes& record_hash);

}  // namespace berth::liabilities
