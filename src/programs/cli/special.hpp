// Commands that are more than one request.
#pragma once

#include "cli/context.hpp"

namespace berth::cli {

int create_rental(Context& context);
int wait_for_rental(Context& context);
int chat(Context& context);
int open_shell(Context& context);
int open_endpoint(Context& context);  // in a browser
int inspect_machine(Context& context);
int preempt_machine(Context& context);

int register_agent(Context& context);
int link_wallet(Context& context);
int log_in(Context& context);
int log_out(Context& context);
int revoke_key(Context& context);
int print_code(Context& context);  // berth authenticator code

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
