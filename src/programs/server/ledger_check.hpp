// `berthd check ledger`: the proof that the books are right, also beside a running server.
#pragma once

#include "chain/chain.hpp"
#include "ledger/report.hpp"
#include "ledger/treasury.hpp"
#include "server/settings.hpp"

namespace berth::server {

struct LedgerCheck {
    // What was verified is read from this file, and written there when it is sound. Without it
    // every run begins at the beginning.
    std::string verified_file;
    bool chain = false;  // also what the treasuries hold
    bool full = false;   // from the beginning all the same
    bool count = false;  // what was verified before is counted and added up, too
    int threads = 4;     // on PostgreSQL
};

// Every feature that has money moved.
ledger::Witnesses witnesses();

// What the treasuries and cold storage hold at a final block, against what the books say they hold
// and what is owed. A shortfall is a fault unless it is on its way out; more than the books know is
// told.
// Writes a file whole or not at all, for its owner alone.
void replace_file(const std::string& path, const std::string& text);

void check_holdings(db::Database& database, const ledger::Treasury& ours, chain::Chain& chain,
                    ledger::Report& report);

// 0 when the books are right, 1 when they are not.
int check_ledger(const settings::Given& given, const LedgerCheck& wanted);

}  // namespace berth::server
