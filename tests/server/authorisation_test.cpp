// The authorisation matrix: every route of the server against every kind of caller. A route that
// has no row here fails the test.
#include <gtest/gtest.h>

#include "accounts/accounts.hpp"
#include "accounts/operators.hpp"
#include "server/good_bodies.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

// What each caller gets. Objects in paths belong to another person, so that an owner's route
// answers 404 to all who pass the door; bodies and queries are good ones where `good_bodies` and
// `good_queries` have one, else missing (422).
struct Row {
    int anonymous, renter_key, host_key, session, stepped_up, pending, suspended, admin_key, admin;
};

const std::map<std::string, Row> matrix{
    {"health", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"readiness", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"public_status", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"specification", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"sign_in_page", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"terms_page", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"start_page", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"docs_index", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"docs_page", {404, 404, 404, 404, 404, 404, 404, 404, 404}},
    {"reference_page", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"console_asset", {404, 404, 404, 404, 404, 404, 404, 404, 404}},
    {"show_branding", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"branding_style", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"branding_logo", {404, 404, 404, 404, 404, 404, 404, 404, 404}},
    // This server is not simulated.
    {"ask_faucet", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"show_simulated_mail", {404, 404, 404, 404, 404, 404, 404, 404, 404}},
    {"start_sign_in", {422, 422, 422, 422, 422, 422, 422, 422, 422}},
    {"verify_sign_in", {422, 422, 422, 422, 422, 422, 422, 422, 422}},
    {"challenge_agent", {422, 422, 422, 422, 422, 422, 422, 422, 422}},
    {"register_agent", {422, 422, 422, 422, 422, 422, 422, 422, 422}},
    {"give_second_factor", {401, 403, 403, 422, 422, 422, 401, 403, 422}},
    {"sign_out", {401, 403, 403, 204, 204, 204, 401, 403, 204}},
    {"show_session", {401, 200, 200, 200, 200, 200, 401, 200, 200}},
    {"begin_totp", {401, 403, 403, 403, 201, 403, 401, 403, 409}},
    {"confirm_totp", {401, 403, 403, 422, 422, 403, 401, 403, 422}},
    {"remove_totp", {401, 403, 403, 404, 404, 403, 401, 403, 204}},
    {"send_step_up_code", {401, 403, 403, 202, 202, 403, 401, 403, 409}},
    {"challenge_step_up", {401, 409, 201, 409, 409, 403, 401, 409, 409}},
    {"step_up", {401, 422, 422, 422, 422, 403, 401, 422, 422}},
    {"list_sessions", {401, 403, 403, 200, 200, 403, 401, 403, 200}},
    {"revoke_sessions", {401, 403, 403, 204, 204, 403, 401, 403, 204}},
    {"revoke_session", {401, 403, 403, 404, 404, 403, 401, 403, 404}},
    {"ask_new_email", {401, 403, 403, 403, 202, 403, 401, 403, 202}},
    {"confirm_new_email", {401, 403, 403, 403, 403, 403, 401, 403, 403}},
    {"list_own_recoveries", {401, 200, 200, 200, 200, 403, 401, 200, 200}},
    {"object_to_recovery", {401, 404, 404, 404, 404, 403, 401, 404, 404}},
    {"object_by_link", {403, 403, 403, 403, 403, 403, 403, 403, 403}},
    {"objection_page", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"list_guests", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"list_credits", {401, 200, 403, 200, 200, 403, 401, 200, 200}},
    // Operators and agents redeem nothing, nor does who never paid anything in.
    {"redeem_code", {401, 403, 403, 403, 403, 403, 401, 403, 403}},
    {"list_campaigns", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"begin_campaign", {401, 403, 403, 403, 403, 403, 401, 403, 403}},
    {"close_campaign", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"add_guest", {401, 403, 403, 403, 403, 403, 401, 403, 403}},
    {"remove_guest", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"list_recoveries", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"show_recovery", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"open_recovery", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"complete_recovery", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"cancel_recovery", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"create_api_key", {401, 403, 403, 403, 201, 403, 401, 403, 201}},
    {"list_api_keys", {401, 200, 200, 200, 200, 403, 401, 200, 200}},
    {"revoke_api_key", {401, 403, 404, 404, 404, 403, 401, 403, 404}},
    {"show_integration", {401, 200, 200, 200, 200, 403, 401, 200, 200}},
    {"put_integration", {401, 200, 403, 200, 200, 403, 401, 200, 200}},
    {"delete_integration", {401, 204, 403, 204, 204, 403, 401, 204, 204}},
    // The admin stepped up for its key a moment ago, for account-sensitive and nothing else.
    {"make_wallet_nonce", {401, 403, 403, 403, 201, 403, 401, 403, 403}},
    {"link_wallet", {401, 403, 403, 403, 403, 403, 401, 403, 403}},
    {"list_wallets", {401, 200, 200, 200, 200, 403, 401, 200, 200}},
    {"unlink_wallet", {401, 403, 403, 404, 404, 403, 401, 403, 404}},
    {"show_balances", {401, 200, 403, 200, 200, 403, 401, 200, 200}},
    {"list_entries", {401, 200, 403, 200, 200, 403, 401, 200, 200}},
    {"create_quote", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"create_job", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"list_jobs", {401, 200, 403, 200, 200, 403, 401, 200, 200}},
    {"show_job", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"show_job_access", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"show_job_logs", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"list_job_evidence", {401, 404, 404, 404, 404, 403, 401, 404, 404}},
    {"list_all_jobs", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"stop_any_job", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"stop_job", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"relay_models", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"relay_chat_completions", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"relay_completions", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"relay_embeddings", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"show_job_usage", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"raise_budget", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"show_receipt", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"list_signing_keys", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"show_earnings", {401, 403, 200, 403, 403, 403, 401, 403, 403}},
    {"list_machines", {401, 403, 200, 403, 403, 403, 401, 403, 200}},
    {"show_machine", {401, 403, 404, 403, 403, 403, 401, 403, 404}},
    {"retire_machine", {401, 403, 404, 403, 403, 403, 401, 403, 403}},
    {"edit_machine", {401, 403, 404, 403, 403, 403, 401, 403, 403}},
    {"preempt_rental", {401, 403, 404, 403, 403, 403, 401, 403, 403}},
    {"list_host_rentals", {401, 403, 200, 403, 403, 403, 401, 403, 403}},
    {"show_enrollment", {401, 403, 404, 403, 403, 403, 401, 403, 403}},
    {"show_qualification", {401, 403, 404, 403, 403, 403, 401, 403, 404}},
    {"retry_qualification", {401, 403, 404, 403, 403, 403, 401, 403, 403}},
    {"show_earnings_year", {401, 403, 200, 403, 403, 403, 401, 403, 403}},
    {"show_statement", {401, 200, 200, 200, 200, 403, 401, 200, 200}},
    {"show_machine_earnings", {401, 404, 404, 404, 404, 403, 401, 404, 404}},
    {"create_funding_intent", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"list_funding_intents", {401, 200, 403, 200, 200, 403, 401, 200, 200}},
    {"show_funding_intent", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"list_seen_transfers", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"claim_funding_intent", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"cancel_funding_intent", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"list_suspense", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    // A key reaches saved addresses alone, a session needs a code.
    {"request_withdrawal", {401, 403, 403, 403, 403, 403, 401, 403, 403}},
    {"list_withdrawals", {401, 200, 403, 200, 200, 403, 401, 200, 200}},
    {"request_payout", {401, 403, 403, 403, 403, 403, 401, 403, 403}},
    {"cancel_withdrawal", {401, 404, 403, 404, 404, 403, 401, 404, 404}},
    {"cancel_payout", {401, 403, 404, 403, 403, 403, 401, 403, 403}},
    {"list_payouts", {401, 403, 200, 403, 403, 403, 401, 403, 403}},
    {"send_withdrawal_code", {401, 403, 403, 202, 202, 403, 401, 403, 409}},
    {"challenge_withdrawal", {401, 409, 201, 409, 409, 403, 401, 409, 409}},
    {"add_withdrawal_address", {401, 403, 403, 202, 202, 403, 401, 403, 403}},
    {"list_withdrawal_addresses", {401, 200, 200, 200, 200, 403, 401, 200, 200}},
    {"remove_withdrawal_address", {401, 403, 403, 404, 404, 403, 401, 403, 404}},
    // Not with a body, which would make the session's account one that hosts.
    {"create_enrollment", {401, 403, 422, 422, 422, 403, 401, 403, 422}},
    {"rotate_machine_key", {401, 403, 404, 403, 403, 403, 401, 403, 404}},
    {"enroll_machine", {422, 422, 422, 422, 422, 422, 422, 422, 422}},
    {"send_heartbeat", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"wait_for_commands", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"acknowledge_command", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"report_job_event", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"send_manifest", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"report_test", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"begin_proof", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"commit_product", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"commit_lanes", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"show_blocks", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"report_health", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"want_doors", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"report_gate", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"list_gates", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"list_all_gates", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"show_standing", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"drain", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"leave", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"test_download", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"test_upload", {401, 401, 401, 401, 401, 401, 401, 401, 401}},
    {"confirm", {403, 403, 403, 403, 403, 403, 403, 403, 403}},
    {"edit_offer", {401, 403, 404, 403, 403, 403, 401, 403, 403}},
    {"list_offer_versions", {401, 403, 404, 403, 403, 403, 401, 403, 403}},
    {"list_machine", {401, 403, 404, 403, 403, 403, 401, 403, 403}},
    {"unlist_machine", {401, 403, 404, 403, 403, 403, 401, 403, 403}},
    {"drain_machine", {401, 403, 404, 403, 403, 403, 401, 403, 403}},
    {"set_custom_images", {401, 403, 404, 403, 403, 403, 401, 403, 403}},
    {"list_offers", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"browse_catalog", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"show_offer", {404, 404, 404, 404, 404, 404, 404, 404, 404}},
    {"explain_offers", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"list_templates", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"show_template", {404, 404, 404, 404, 404, 404, 404, 404, 404}},
    {"list_all_templates", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    // The admin has not stepped up for what is sensitive; a template that is unknown is told first.
    {"add_template", {401, 403, 403, 403, 403, 403, 401, 403, 403}},
    {"replace_template", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"publish_template", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"unpublish_template", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"create_ticket", {401, 201, 201, 201, 201, 403, 401, 201, 201}},
    {"list_tickets", {401, 200, 200, 200, 200, 403, 401, 200, 200}},
    {"show_ticket", {401, 404, 404, 404, 404, 403, 401, 404, 404}},
    {"write_to_ticket", {401, 404, 404, 404, 404, 403, 401, 404, 404}},
    {"close_ticket", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"show_liabilities", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    {"show_own_proof", {401, 404, 404, 404, 404, 403, 401, 404, 404}},
    {"show_own_absence", {401, 200, 200, 200, 200, 403, 401, 200, 200}},
    {"list_liabilities", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
    // Only an admin's session comes in; what changes something also wants a step-up.
    {"list_users", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"show_user", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"show_closing", {401, 403, 200, 200, 200, 403, 401, 403, 200}},
    {"close_account", {401, 403, 403, 403, 200, 403, 401, 403, 409}},
    {"export_account", {401, 403, 403, 403, 200, 403, 401, 403, 200}},
    {"show_user_closing", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"close_user", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"reopen_user", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"erase_user", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"export_user", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"report_figures", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"report_trial_balance", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"report_host_earnings", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"show_user_statement", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"preview_user_action", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"preview_machine_action", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"act_on_user", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"refund", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"act_on_machine", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"list_disputes", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"show_dispute", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"list_refunds", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"list_own_disputes", {401, 200, 403, 200, 200, 403, 401, 200, 200}},
    {"open_dispute", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"close_dispute", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"preview_refund", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"preview_dispute", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"preview_close_dispute", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"list_settings", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"put_setting", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"reset_setting", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"list_audit_events", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"list_events", {401, 200, 200, 200, 200, 403, 401, 200, 200}},
    {"stream_events", {401, 200, 200, 200, 200, 403, 401, 200, 200}},
    // A key needs no proof of presence; a session does.
    {"create_webhook", {401, 201, 201, 403, 201, 403, 401, 201, 201}},
    {"list_webhooks", {401, 200, 200, 200, 200, 403, 401, 200, 200}},
    {"show_webhook", {401, 404, 404, 404, 404, 403, 401, 404, 404}},
    {"change_webhook", {401, 404, 404, 404, 404, 403, 401, 404, 404}},
    {"delete_webhook", {401, 404, 404, 404, 404, 403, 401, 404, 404}},
    {"rotate_webhook_secret", {401, 404, 404, 404, 404, 403, 401, 404, 404}},
    {"test_webhook", {401, 404, 404, 404, 404, 403, 401, 404, 404}},
    {"redeliver_event", {401, 404, 404, 404, 404, 403, 401, 404, 404}},
    {"list_webhook_deliveries", {401, 404, 404, 404, 404, 403, 401, 404, 404}},
    {"show_mail_notices", {401, 200, 200, 200, 200, 403, 401, 200, 200}},
    {"choose_mail_notices", {401, 403, 403, 200, 200, 403, 401, 403, 200}},
    {"list_operator_events", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"stream_operator_events", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"list_tasks", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"retry_task", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"drop_task", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"match_suspense", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"return_suspense", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"cancel_suspense_return", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"list_refused_payees", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"lift_payee", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"list_blocked_addresses", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"block_address", {401, 403, 403, 403, 403, 403, 401, 403, 403}},
    {"unblock_address", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"book_treasury_movement", {401, 403, 403, 403, 403, 403, 401, 403, 403}},
    {"set_desk_role", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"list_all_transfers", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"cancel_any_transfer", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"hold_transfer", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"release_transfer", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"list_all_intents", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"list_all_claims", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"list_all_deposits", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"list_all_machines", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"list_all_keys", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"list_debts", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"list_stuck", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"show_overview", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"show_treasury", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"search", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"set_freeze", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"revoke_keys", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"add_user_note", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"list_pending_actions", {401, 403, 403, 403, 403, 403, 401, 403, 200}},
    {"show_pending_action", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"confirm_pending_action", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"refuse_pending_action", {401, 403, 403, 403, 403, 403, 401, 403, 404}},
    {"confirm_page", {200, 200, 200, 200, 200, 200, 200, 200, 200}},
};

// Which operators who are no admins come in where; every other route of operators refuses them.
struct Desks {
    bool support;
    bool finance;
};
const std::map<std::string, Desks> desks{
    {"list_users", {true, true}},
    {"show_user", {true, true}},
    {"show_user_closing", {true, true}},
    {"report_figures", {false, true}},
    {"report_trial_balance", {false, true}},
    {"report_host_earnings", {false, true}},
    {"show_user_statement", {false, true}},
    {"list_disputes", {true, true}},
    {"show_dispute", {true, true}},
    {"list_refunds", {true, true}},
    {"list_audit_events", {true, true}},
    {"list_operator_events", {true, true}},
    {"stream_operator_events", {true, true}},
    {"list_tasks", {true, true}},
    {"list_suspense", {true, true}},
    {"list_refused_payees", {true, true}},
    {"lift_payee", {false, true}},
    {"list_all_transfers", {true, true}},
    {"cancel_any_transfer", {false, true}},
    {"hold_transfer", {false, true}},
    {"release_transfer", {false, true}},
    {"list_all_intents", {true, true}},
    {"list_all_claims", {true, true}},
    {"list_all_deposits", {true, true}},
    {"list_all_machines", {true, true}},
    {"list_all_gates", {true, true}},
    {"list_all_keys", {true, true}},
    {"list_debts", {true, true}},
    {"list_stuck", {true, true}},
    {"show_overview", {true, true}},
    {"show_treasury", {true, true}},
    {"search", {true, true}},
    {"set_freeze", {false, true}},
    {"add_user_note", {true, true}},
    {"list_blocked_addresses", {true, true}},
    {"block_address", {false, true}},
    {"list_pending_actions", {true, true}},
    {"show_pending_action", {true, true}},
    {"list_recoveries", {true, true}},
    {"list_guests", {true, true}},
    {"list_campaigns", {true, true}},
    {"begin_campaign", {false, true}},
    {"close_campaign", {false, true}},
    {"add_guest", {true, false}},
    {"remove_guest", {true, false}},
    {"show_recovery", {true, true}},
    {"close_ticket", {true, false}},
    {"refund", {false, true}},
    {"preview_refund", {false, true}},
    {"preview_dispute", {false, true}},
    {"preview_close_dispute", {false, true}},
    {"open_dispute", {false, true}},
    {"close_dispute", {false, true}},
    {"match_suspense", {false, true}},
    {"return_suspense", {false, true}},
    {"cancel_suspense_return", {false, true}},
    {"book_treasury_movement", {false, true}},
    {"refuse_pending_action", {false, true}},
};

// One caller of each kind, with names that nobody had before.
struct People {
    explicit People(Town& town)
        : at("@" + std::to_string(town.harness.clock.now().micros) + ".example"),
          ada(town.person("ada" + at)),
          renter_key(town.key_of(ada)),
          host_key(
              member(town.enlist(crypto::SigningKey::make(town.harness.random), R"(["host"])").body,
                     "api_key.secret")),
          dan(town.person("dan" + at)),
          stepped(town.person("bob" + at)),
          eve(town.person("eve" + at)),
          suspended_key(town.key_of(eve)),
          mia(town.person("mia" + at)),
          pending(town),
          root(admin(town)),
          admin_key(town.key_of(root)) {
        stepped.step_up("wallet");
        stepped.step_up("account-sensitive");
        town.suspend(member(eve.send("GET", "/api/v1/auth/session").body, "account_id"));
        mia.enroll();
        pending.origin = mia.origin;
        pending.sign_in("mia" + at);
        root.enroll();
    }
    Browser admin(Town& town) {
        town.harness.app->database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, town.harness.random, town.harness.clock.now()}, "root" + at);
        });
        return town.person("root" + at);
    }

    std::string at;
    Browser ada;
    std::string renter_key;
    std::string host_key;
    Browser dan;
    Browser stepped;
    Browser eve;
    std::string suspended_key;
    Browser mia;
    Browser pending;
    Browser root;
    std::string admin_key;
};

class Authorisation : public ::testing::Test {
protected:
    // Somebody whose key and wallet are in the paths.
    void SetUp() override {
        Browser owner = town.person("owner@example.org");
        town.key_of(owner);
        objects["{id}"] =
            member(owner.send("GET", "/api/v1/account/api-keys").body, "items.0.key_id");
        const auto wallet = crypto::SigningKey::make(town.harness.random);
        const std::string key = member(town.enlist(wallet).body, "api_key.secret");
        objects["{binding_id}"] =
            member(town.with_key(key, "GET", "/api/v1/wallets").body, "items.0.binding_id");
    }
    std::string target(const api::Route& route) {
        std::string path = route.path;
        for (const auto& [name, value] : objects)
            if (const auto at = path.find(name); at != path.npos)
                path.replace(at, name.size(), value);
        const auto query = good_queries.find(route.name);
        return query == good_queries.end() ? path : path + "?" + query->second;
    }
    std::string body(const api::Route& route) {
        const auto found = good_bodies.find(route.name);
        return found == good_bodies.end() ? "" : found->second;
    }
    int by_browser(Browser browser, const api::Route& route) {
        return browser
            .send(route.method, target(route), body(route),
                  route.idempotent ? town.harness.new_id() : "")
            .status;
    }
    int by_key(const std::string& key, const api::Route& route) {
        return town.harness
            .ask({.method = route.method,
                  .target = target(route),
                  .as = key,
                  .key = route.idempotent ? town.harness.new_id() : "",
                  .body = body(route)})
            .status;
    }

    Town town;
    std::map<std::string, std::string> objects{
        {"{provider}", "huggingface"},
        {"{payee_id}", "0198c0de-0000-7000-8000-000000000005"},
        {"{key}", "no.such"},
        {"{year}", "2026"},
        {"{address}", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"},
        {"{deposit_id}", "0198c0de-0000-8000-8000-000000000004"},
        {"{job}", "0198c0de-0000-7000-8000-000000000002"},
        {"{confirmation_id}", "0198c0de-0000-7000-8000-000000000003"}};
};

TEST_F(Authorisation, EveryRouteAnswersEveryCallerAsTheMatrixSays) {
    std::optional<People> people;
    for (const auto& entry : town.harness.app->router().entries()) {
        const api::Route& route = entry->route;
        const auto found = matrix.find(route.name);
        ASSERT_NE(found, matrix.end()) << route.name << " has no row in the matrix";
        const Row& row = found->second;
        SCOPED_TRACE(route.name);

        if (!people) people.emplace(town);
        town.harness.clock.advance(std::chrono::seconds(1));
        EXPECT_EQ(by_key("", route), row.anonymous) << "anonymous";
        EXPECT_EQ(by_key(people->renter_key, route), row.renter_key) << "renter key";
        EXPECT_EQ(by_key(people->host_key, route), row.host_key) << "host key";
        EXPECT_EQ(by_browser(people->dan, route), row.session) << "session";
        EXPECT_EQ(by_browser(people->stepped, route), row.stepped_up) << "session with step-up";
        EXPECT_EQ(by_browser(people->pending, route), row.pending) << "pending session";
        EXPECT_EQ(by_browser(people->eve, route), row.suspended) << "suspended";
        EXPECT_EQ(by_key(people->suspended_key, route), row.suspended) << "suspended key";
        EXPECT_EQ(by_key(people->admin_key, route), row.admin_key) << "admin key";
        EXPECT_EQ(by_browser(people->root, route), row.admin) << "admin session";
        if (route.method != "GET") people.reset();  // some routes end sessions
    }
}

TEST_F(Authorisation, OperatorsForSupportAndFinanceReachTheirOwnRoutesAndNoOther) {
    const auto make = [&](const std::string& email, accounts::DeskRole role) {
        Browser browser = town.person(email);
        const AccountId id{
            parse_uuid(member(browser.send("GET", "/api/v1/auth/session").body, "account_id"))
                .value()};
        browser.enroll();
        town.harness.app->database().write([&](db::Transaction& tx) {
            const auto record = accounts::find_record(tx, id);
            ASSERT_TRUE(accounts::put_desk_role(tx, {id, record->version}, role));
        });
        browser.sign_in(email);
        return browser;
    };
    Browser support = make("sue@example.org", accounts::DeskRole::support);
    Browser finance = make("fin@example.org", accounts::DeskRole::finance);
    const auto comes_in = [&](Browser& browser, const api::Route& route) {
        const auto answer = browser.send(route.method, target(route), body(route),
                                         route.idempotent ? town.harness.new_id() : "");
        return answer.status != 403 ||
               error_message(answer).find("an operator's session") == std::string::npos;
    };
    std::size_t opened = 0;
    for (const auto& entry : town.harness.app->router().entries()) {
        const api::Route& route = entry->route;
        const bool of_operators =
            route.access == api::Access::admin || route.access == api::Access::finance ||
            route.access == api::Access::support || route.access == api::Access::operator_;
        if (!of_operators) continue;
        SCOPED_TRACE(route.name);
        town.harness.clock.advance(std::chrono::seconds(1));
        const auto found = desks.find(route.name);
        const Desks expected = found == desks.end() ? Desks{false, false} : found->second;
        if (found != desks.end()) ++opened;
        EXPECT_EQ(comes_in(support, route), expected.support) << "support";
        EXPECT_EQ(comes_in(finance, route), expected.finance) << "finance";
    }
    EXPECT_EQ(opened, desks.size()) << "a row is of a route that is not there";
    // Neither is an admin elsewhere.
    const std::string job = "/api/v1/jobs/0198c0de-0000-7000-8000-000000000002";
    for (Browser* each : {&support, &finance})
        for (const char* what : {"", "/access", "/logs"})
            EXPECT_EQ(each->send("GET", job + what).status, 404);
}

// A key that is good and not good enough; nothing for routes that take every key, or none.
std::string lacking(api::Access access, const People& people) {
    switch (access) {
        case api::Access::renter: return people.host_key;
        case api::Access::host:
        case api::Access::host_or_admin:
        case api::Access::host_to_be:
        case api::Access::any_session:
        case api::Access::session:
        case api::Access::self:
        case api::Access::admin:
        case api::Access::finance:
        case api::Access::support:
        case api::Access::operator_: return people.renter_key;
        case api::Access::anyone:
        case api::Access::signed_in:
        case api::Access::participant:
        case api::Access::machine:
        case api::Access::gate: break;
    }
    return "";
}

// Nothing of the request is looked at for a key that may not make it: neither its Idempotency-Key
// nor its path, its query or its body.
TEST_F(Authorisation, AKeyOfAnotherScopeIsRefusedBeforeAnythingOfTheRequestIsRead) {
    const People people(town);
    int asked = 0;
    for (const auto& entry : town.harness.app->router().entries()) {
        const api::Route& route = entry->route;
        const std::string key = lacking(route.access, people);
        if (key.empty()) continue;
        SCOPED_TRACE(route.name);
        town.harness.clock.advance(std::chrono::seconds(1));
        std::string path = route.path;
        for (auto open = path.find('{'); open != path.npos; open = path.find('{'))
            path.replace(open, path.find('}') - open + 1, "none");
        const auto answer = town.harness.ask({.method = route.method,
                                              .target = path + "?limit=0&wait_s=x",
                                              .as = key,
                                              .key = route.idempotent ? "none" : "",
                                              .body = R"({"member":)"});
        EXPECT_EQ(answer.status, 403) << answer.body;
        EXPECT_EQ(error_code(answer), "FORBIDDEN");
        ++asked;
    }
    EXPECT_GT(asked, 60);
}

TEST_F(Authorisation, TheMatrixNamesNoRouteThatIsGone) {
    std::set<std::string> names;
    for (const auto& entry : town.harness.app->router().entries()) names.insert(entry->route.name);
    for (const auto& [name, row] : matrix) EXPECT_TRUE(names.contains(name)) << name;
}

}  // namespace
}  // namespace berth::test
