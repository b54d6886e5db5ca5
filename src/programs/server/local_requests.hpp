// What whoever operates the server's own machine may do to the database without signing in: there
// is no network way to become the first admin. A command does it itself where it can open the
// database. Beside a server that holds a SQLite file it leaves a request in a folder next to that
// file, which only the server's own user can write, and wakes the server with SIGUSR1.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "db/db.hpp"

namespace berth::server {

// The name of what is to be done, then its arguments.
using Words = std::vector<std::string>;
inline constexpr std::string_view make_admin_word = "make-admin";        // email
inline constexpr std::string_view set_setting_word = "set-setting";      // key, value, reason
inline constexpr std::string_view reset_setting_word = "reset-setting";  // key, reason
inline constexpr std::string_view four_eyes_off_word =
    "four-eyes-off";                                       // reason, --secrets, --from
inline constexpr std::string_view reseal_word = "reseal";  // folder of --secrets

// Does it, and says in a sentence what was done. Everything is audited.
std::string carry_out(const Words& request, db::Database& database, const Clock& clock,
                      Random& random);

// Leaves the request, wakes the process and waits for its sentence. Throws std::runtime_error with
// one sentence when none comes, or it is a refusal.
std::string ask_server(const std::string& database_url, int process, const Words& request,
                       Random& random);

// Answers every request that waits.
void answer_requests(const std::string& database_url,
                     const std::function<std::string(const Words&)>& carry_out);

}  // namespace berth::server
