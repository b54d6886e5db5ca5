// `berthd check ledger`: the proof that the books are right, also beside a running server.
#pragma once

#include "ledger/report.hpp"
#include "server/settings.hpp"

namespace berth::server {

struct LedgerCheck {
    // What was verified is read from this file, and written there when it is sound. Without it
    // every run begins at the beginning.
    std::string verified_file;
    bool full = false;  // from the beginning all the same
    int threads = 4;    // on PostgreSQL
};

// Every feature that has money moved.
ledger::Witnesses witnesses();

// 0 when the books are right, 1 when they are not.
int check_ledger(const settings::Given& given, const LedgerCheck& wanted);

}  // namespace berth::server
