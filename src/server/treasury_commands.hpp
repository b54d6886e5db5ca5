// `berthd treasury …`: the operator's own money, on the server's own machine. Beside a server that
// holds a SQLite file the order is left with it (see local_requests.hpp).
#pragma once

#include "chain/chain.hpp"
#include "db/db.hpp"
#include "server/local_requests.hpp"
#include "server/settings.hpp"

namespace berth::server {

struct TreasuryOrder {
    std::string verb = {};     // gas, fee-take-out, to-cold, match, top-up, from-cold or return
    std::string deposit = {};  // HASH:ORDINAL of a transfer in suspense
    std::string payment = {};  // HASH or HASH:ORDINAL of a transfer out of the treasury
    std::string account = {};  // that is credited by a match
    std::string reason = {};
    std::vector<std::string> evidence = {};
};

// As a request to the server that holds the database, and back; empty when it is another request.
Words to_words(const TreasuryOrder& order);
std::optional<TreasuryOrder> parse_order(const Words& words);

// Verifies and books it, and says so in a sentence. Throws a Problem with one. `chain` may be null
// where nothing left the treasury.
std::string carry_out(const TreasuryOrder& order, db::Database& database, chain::Chain* chain,
               const Clock& clock, Random& random);

int order_treasury(const settings::Given& given, const TreasuryOrder& order);
int list_suspense(const settings::Given& given);

}  // namespace berth::server
