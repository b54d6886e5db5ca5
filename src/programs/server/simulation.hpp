// What only a simulated server has (--simulated): a chain inside the process, a clock that can be
// moved, a faucet, and a socket for its owner to ask for these. Play money must never meet real
// money: a database is stamped when it is made, and stamp and flag are needed together.
#pragma once

#include <memory>

#include "accounts/accounts.hpp"
#include "base/line_socket.hpp"
#include "base/shared_clock.hpp"
#include "chain/settings.hpp"
#include "db/migrate.hpp"
#include "ledger/treasury.hpp"
#include "machines/host_agents.hpp"
#include "server/faucet.hpp"
#include "server/secrets.hpp"
#include "server/settings.hpp"
#include "simulated/simulated_chain.hpp"

namespace berth::server {

// All of it lies beside the SQLite file.
struct SimulatedFiles {
    std::string chain;
    std::string clock;
    std::string socket;
};
SimulatedFiles simulated_files(const Settings& settings);

// Throws BadSettings for --simulated beside a real chain, PostgreSQL, or a listener that other
// machines can reach.
void check_simulated(const Settings& settings, const chain::Settings& chain);

// Whether only this machine reaches the address.
bool is_loopback(std::string_view address);
// Whether a Host field names this machine to itself, by its name or by an address, with any port.
// The name of another site does not, although it may lead here.
bool is_own_host(std::string_view host);

// The system's, or the one that a simulated server and its agents share.
std::unique_ptr<Clock> make_clock(const Settings& settings);

// A simulated treasury signs with a key that follows from another: a real one could be made to pay
// by what it signed here. Throws BadSettings when there is one.
Secrets load_all_secrets(const Settings& settings, Random& random);

// Keeps: a database has either seen play money or may see real money, never both. One that no
// server has used yet is stamped when the server is simulated. Throws BadSettings when stamp and
// settings do not go together.
void stamp_or_refuse(db::Database& database, const settings::Snapshot& start);
// Likewise for a command, which never stamps.
void require_stamp_fits(db::Database& database, const settings::Snapshot& start);

// Answers on the socket, one line each:
//     clock                               the offset in seconds
//     advance SECONDS                     at most 60; every machine is heard again before it ends
//     mint ADDRESS MICRO [ASSET]          HASH LOG_INDEX
//     transfer FROM TO MICRO [ASSET]      HASH LOG_INDEX
//     faucet ACCOUNT_ID MICRO [ASSET]     credits the account, and says so
class Simulation {
public:
    struct Parts {
        const Settings& settings;
        db::Database& database;
        simulated::SimulatedChain& chain;
        const ledger::Treasury& treasury;
        Faucet& faucet;
        machines::HostAgents& host_agents;
        Random& random;
    };
    explicit Simulation(const Parts& parts);

private:
    std::string answer(const std::string& line);
    std::string advance(Duration span);
    std::string fund(AccountId account, ledger::Asset asset, Micro amount);

    Parts parts_;
    SharedClock clock_;
    LineServer door_;  // last: it asks the others
};

extern const std::span<const db::Migration> simulation_migrations;

}  // namespace berth::server
