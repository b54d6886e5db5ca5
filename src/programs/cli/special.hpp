// Commands that are more than one request.
#pragma once

#include <array>

#include "cli/command.hpp"
#include "cli/context.hpp"

namespace berth::cli {

int create_rental(Context& context);
int wait_for_rental(Context& context);
int show_logs(Context& context);
int show_top(Context& context);
// What of the last lines is new.
std::string_view added_to_log(std::string_view before, std::string_view now);
int chat(Context& context);
int open_shell(Context& context);
int copy_files(Context& context);
int forward_ports(Context& context);
int open_endpoint(Context& context);  // in a browser
int list_machines(Context& context);
int edit_offers(Context& context);
int inspect_machine(Context& context);
int preempt_machine(Context& context);

int register_agent(Context& context);
int link_wallet(Context& context);
int log_in(Context& context);
int log_out(Context& context);
int revoke_key(Context& context);
int add_authenticator(Context& context);
int print_code(Context& context);  // berth authenticator code
int step_up(Context& context);

int show_events(Context& context);
int show_operator_events(Context& context);
// Of both.
inline constexpr auto event_flags = std::to_array<OwnFlag>({
    {"follow", "", "go on with what happens, until it is ended"},
    {"types", "TYPE,…", "only these, such as rental.running or rental.*"},
    {"subject", "ID", "only what is about this rental, machine, withdrawal"},
    {"after", "NUMBER", "what follows this number",
     "the latest, with --types or --subject all that is kept; with --follow, from now on"},
    {"limit", "NUMBER", "how many at most, without --follow", "20"},
});

int show_status(Context& context);
int check_everything(Context& context);  // berth doctor
int call_api(Context& context);
int verify_receipt(Context& context);
int verify_liabilities(Context& context);

int list_profiles(Context& context);
int choose_profile(Context& context);
int remove_profile(Context& context);
int add_profile(Context& context);

int print_everything(Context& context);  // berth agents ctx
int print_completion(Context& context);
int complete_words(Context& context);
int print_version(Context& context);

int run_demo(Context& context);
int open_faucet(Context& context);

}  // namespace berth::cli
