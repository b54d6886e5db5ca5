#include "liabilities/statement_hash.hpp"

#include "crypto/hash_input.hpp"

namespace berth::liabilities {

Bytes hash_of(const RecordRow& record) {
    crypto::HashInput input(256);
    input.text(record.previous_hash)
        .text(ledger::name(record.asset))
        .number(record.number)
        .number(record.as_of.micros)
        .text(record.root)
        .number(record.total.value)
        .number(record.leaves)
        .number(record.block_number.value_or(-1))
        .number(record.treasury.value_or(Micro{-1}).value);
    if (record.audit_events && record.audit_head)
        input.number(*record.audit_events).text(*record.audit_head);
    return input.sha256();
}

Bytes absence_hash(ledger::Asset asset, AccountId account, std::int64_t number,
                   const Bytes& record_hash) {
    crypto::HashInput input(128);
    input.text("berth liabilities absence")
        .text(ledger::name(asset))
        .id(account)
        .number(number)
        .text(record_hash);
    return input.sha256();
}

}  // namespace berth::liabilities
