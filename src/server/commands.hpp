// The subcommands of berthd, each a function from settings to an exit status.
#pragma once

#include "server/settings.hpp"

namespace berth::server {

int serve(const Settings& settings);       // until SIGINT or SIGTERM; SIGHUP reloads certificates
int run_worker(const Settings& settings);  // likewise, background tasks alone
int migrate(const Settings& settings);
int print_openapi();
int check_setup(const Settings& settings);
// Proves that no audit event was altered, likewise.
int check_audit(const Settings& settings);
// Makes the account of this address an admin; works beside a running server.
int create_admin(const Settings& settings, const std::string& email);

}  // namespace berth::server
