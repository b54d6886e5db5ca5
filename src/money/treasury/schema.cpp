#include "treasury/treasury.hpp"

namespace berth::treasury {
namespace {

constexpr db::Migration history[] = {
    // What left a treasury and is no customer's transfer; append-only. The key is the transfer's
    // name on chain.
    {.feature = "treasury",
     .number = 1,
     .sql = "CREATE TABLE treasury_payments ("
            "  tx_hash @text NOT NULL,"
            "  ordinal @int NOT NULL,"
            "  movement @text NOT NULL CHECK (movement IN ('gas', 'fee_take_out', 'to_cold',"
            "    'suspense_return')),"
            "  asset @text NOT NULL,"
            "  amount @int NOT NULL CHECK (amount > 0),"
            "  treasury @text NOT NULL,"
            "  recipient @text NOT NULL,"
            "  reference @text NOT NULL UNIQUE,"  // of the ledger's transaction
            "  booked_at @int NOT NULL,"
            "  PRIMARY KEY (tx_hash, ordinal)"
            ") @strict;"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

}  // namespace berth::treasury
