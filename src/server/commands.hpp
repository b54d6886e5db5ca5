// The subcommands of berthd, each a function from settings to an exit status.
#pragma once

#include "server/settings.hpp"

namespace berth::server {

int serve(const Settings& settings);       // until SIGINT or SIGTERM; SIGHUP reloads certificates
int run_worker(const Settings& settings);  // likewise, background tasks alone
int migrate(const Settings& settings);
int print_openapi();
int check_setup(const Settings& settings);

}  // namespace berth::server
