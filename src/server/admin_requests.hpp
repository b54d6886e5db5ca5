// How `berthd admin create` works beside a server that holds a SQLite file: it leaves a request in
// the folder of --secrets, which only the server's own user can write, and wakes the server with
// SIGUSR1. There is no network way to become the first admin.
#pragma once

#include <functional>
#include <string>

#include "base/ids.hpp"

namespace berth::server {

// Leaves the request, wakes the process and waits for the answer: the account's id. Throws
// std::runtime_error with one sentence when none comes, or it is a refusal.
std::string ask_server_for_admin(const std::string& secrets_folder, int process,
                                 const std::string& email, Random& random);

// Answers every request that waits.
void carry_out_admin_requests(const std::string& secrets_folder,
                              const std::function<AccountId(const std::string& email)>& make_admin);

}  // namespace berth::server
