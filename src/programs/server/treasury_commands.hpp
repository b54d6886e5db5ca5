// `berthd treasury …`: the operator's own money, on the server's own machine. Beside a server that
// holds a SQLite file the order is left with it (see local_requests.hpp).
#pragma once

#include "chain/chain.hpp"
#include "db/db.hpp"
#include "ledger/treasury.hpp"
#include "server/local_requests.hpp"
#include "server/settings.hpp"
#include "treasury/treasury.hpp"

namespace berth::server {

struct TreasuryOrder {
    // gas, fee-take-out, to-cold, match, top-up, from-cold, return or cancel-return
    std::string verb = {};
    std::string deposit = {};  // HASH:ORDINAL of a transfer in suspense
    std::string payment = {};  // HASH or HASH:ORDINAL of a transfer out of the treasury
    std::string account = {};  // that is credited by a match
    std::string address = {};  // that a return goes to; empty: to the sender
    std::string reason = {};
    std::vector<std::string> evidence = {};
};

// As a request to the server that holds the database, and back; empty when it is another request.
Words to_words(const TreasuryOrder& order);
std::optional<TreasuryOrder> parse_order(const Words& words);

// An order, with what left the treasury where it names that.
struct SeenOrder {
    TreasuryOrder order;
    std::optional<treasury::Payment> payment = {};
};
// Books it, on whose word is said. Throws a Problem with a sentence.
audit::AuditEventId book_order(ledger::Context context, const ledger::Treasury& ours,
                               const SeenOrder& seen, const treasury::Authority& authority);

struct TreasuryParts {
    db::Database& database;
    const ledger::Treasury& treasury;
    chain::Chain* chain;  // may be null where nothing left the treasury
    const Clock& clock;
    Random& random;
    const settings::Snapshot& settings;
};
// Verifies and books it, and says so in a sentence. Throws a Problem with one. Where four eyes are
// on, what gives an unclaimed transfer to somebody who did not send it waits for an admin.
std::string carry_out(const TreasuryOrder& order, const TreasuryParts& parts);

int order_treasury(const settings::Given& given, const TreasuryOrder& order);
int list_suspense(const settings::Given& given);

}  // namespace berth::server
