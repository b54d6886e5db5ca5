// The chain as the settings name it, and what must be right about it and the database before money
// is trusted to them. Each check can be passed over by its name in --allow-unsafe.
#pragma once

#include <memory>

#include "chain/chain.hpp"
#include "chain/settings.hpp"
#include "db/db.hpp"
#include "http/client.hpp"
#include "ledger/treasury.hpp"
#include "server/settings.hpp"

namespace berth::server {

// Null without --chain-rpc. Throws BadSettings for providers that money cannot be trusted to: plain
// http to another machine, fewer than two hosts, one address twice, one contract for two tokens.
std::unique_ptr<chain::Chain> make_chain(http::Client& client, const chain::Settings& settings);

// The simulated one of --simulated, or that; null without either. `reads` opens a simulated chain
// beside the server that has it.
enum class ChainUse { whole, reads };
std::unique_ptr<chain::Chain> open_chain(http::Client& client, const settings::Snapshot& start,
                                         const Clock& clock, ChainUse use = ChainUse::whole);

// Which addresses on the chain are ours, with the treasury at `address`. Throws BadSettings when
// one would be two things at once: what is there would be counted twice.
ledger::Treasury treasury_of(const chain::Settings& settings,
                             const std::optional<crypto::Address>& address, bool pays);

// Throws BadSettings when a token does not count in millionths. A chain that cannot be asked now is
// asked by the settler before it signs.
void require_tokens(const chain::Settings& settings, chain::Chain& chain,
                    const ledger::Treasury& treasury);

// Throws BadSettings when PostgreSQL may forget what it has committed: a transfer would be signed
// twice.
void require_durable(const chain::Settings& settings, db::Database& database);

}  // namespace berth::server
