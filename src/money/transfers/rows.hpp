// A transfer as a row of its table, for the files that read it.
#pragma once

#include "transfers/store.hpp"

namespace berth::transfers {

BOOST_DESCRIBE_STRUCT(TransferRow, (),
                      (transfer_id, kind, account_id, asset, amount, address, address_id, state,
                       tx_hash, created_at, updated_at, reason, deposit_tx, deposit_ordinal,
                       short_of, held_why))

}  // namespace berth::transfers
