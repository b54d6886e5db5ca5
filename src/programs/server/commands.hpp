// The subcommands of berthd, each a function from the values it was started with to an exit status.
#pragma once

#include "server/local_requests.hpp"
#include "server/settings.hpp"

namespace berth::server {

int serve(const settings::Given& given);  // until SIGINT or SIGTERM; SIGHUP reloads certificates
int run_worker(const settings::Given& given);  // likewise, background tasks alone
int migrate(const settings::Given& given);
int print_openapi();
int print_agent_messages();
int print_events_page();
// Checks an account's proof of liabilities without asking anybody.
int verify_liabilities(const std::string& file);
// `keys` may be empty.
int verify_receipt(const std::string& file, const std::string& keys);
int check_setup(const settings::Given& given);
// Proves that no audit event was altered, likewise, and that every one is there that a signed
// record of what is owed, or the file, names. `verified_file` may be empty.
int check_audit(const settings::Given& given, const std::string& verified_file);
// Every setting with its value and where that comes from, as a table or as JSON.
int print_settings(const settings::Given& given, bool json);
int print_settings_page();  // docs/settings.md
// Lets one admin act alone again before 72 hours are over; every admin of these hours is told.
int turn_four_eyes_off(const settings::Given& given, const std::string& reason);
// Does what only this machine may ask for; works beside a running server.
int run_on_this_machine(const settings::Given& given, const Words& request);

}  // namespace berth::server
