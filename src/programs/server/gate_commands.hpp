// `berthd gates …`: which gates there are, said on the server's own machine. Beside a server that
// holds a SQLite file the order is left with it (see local_requests.hpp).
#pragma once

#include "db/db.hpp"
#include "server/local_requests.hpp"
#include "server/settings.hpp"

namespace berth::server {

struct GateOrder {
    std::string verb = {};  // add, drain or remove
    std::string id = {};    // of add it may be empty: a new one
    std::string host = {};
    std::string dial_host = {};  // empty: the address of the host
    std::string link_port = {};
    std::string call_port = {};
    std::string ports = "20000-32767";
    std::string continent = {};  // empty: not known
    std::string public_key = {};
    std::string tls_key_sha256 = {};
    bool force = false;  // of remove
};

// As a request to the server that holds the database, and back; empty when it is another request.
Words to_words(const GateOrder& order);
std::optional<GateOrder> parse_gate_order(const Words& words);

// Does it, and says so in a sentence. Throws a Problem with one.
std::string carry_out(const GateOrder& order, db::Database& database, const Clock& clock,
                      Random& random);

int order_gate(const settings::Given& given, const GateOrder& order);
int list_gates(const settings::Given& given);

}  // namespace berth::server
