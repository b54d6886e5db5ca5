// A good body for each route that wants one, and a good query, so that the authorisation matrix
// asks about the caller and not about the request.
#pragma once

#include <map>
#include <string>

namespace berth::test {

inline const std::string new_template =
    R"({"template_id":"mine","name":"Mine","kind":"classical","engine":"pytorch","vram_fit":{)"
    R"("min_vram_bytes":"8000000000","est_weights_bytes":"0","est_kv_bytes_per_1k_tokens":"0"},)"
    R"("required_runtime":"cuda"})";

inline const std::map<std::string, std::string> good_bodies{
    {"create_api_key", R"({"name":"k","scopes":["renter"]})"},
    {"link_wallet", R"({"chain_id":8453,"address":"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",)"
                    R"("siwe_message":"m","signature":"s"})"},
    {"put_integration", R"({"token":"hf_abc"})"},
    {"create_quote", R"({"offer_id":"0198c0de-0000-7000-8000-000000000001",)"
                     R"("template_id":"0198c0de-0000-7000-8000-000000000001",)"
                     R"("duration_limit_s":60,"budget_micro":"5"})"},
    {"ask_faucet", R"({"asset":"USDC","amount_micro":"5"})"},
    {"create_job", R"({"quote_id":"0198c0de-0000-7000-8000-000000000001"})"},
    {"stop_job", R"({"reason":"done"})"},
    {"relay_chat_completions", R"({"model":"m","messages":[]})"},
    {"relay_completions", R"({"model":"m","prompt":"p"})"},
    {"relay_embeddings", R"({"model":"m","input":"i"})"},
    {"raise_budget", R"({"add_micro":"5","expected_budget_version":"1"})"},
    {"create_funding_intent",
     R"({"wallet_binding_id":"0198c0de-0000-7000-8000-000000000001","amount_micro":"5"})"},
    {"claim_funding_intent",
     R"({"tx_hash":"0x00000000000000000000000000000000000000000000000000000000000000aa",)"
     R"("log_index":0})"},
    {"request_withdrawal", R"({"address":"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",)"
                           R"("amount_micro":"5"})"},
    {"request_payout", R"({"address":"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",)"
                       R"("amount_micro":"5"})"},
    {"send_withdrawal_code", R"({"kind":"withdrawal","amount_micro":"5",)"
                             R"("address":"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"})"},
    {"challenge_withdrawal", R"({"kind":"withdrawal","amount_micro":"5",)"
                             R"("address":"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"})"},
    {"add_withdrawal_address", R"({"address":"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"})"},
    {"confirm", R"({"token":"brc_unknown"})"},
    {"challenge_step_up", R"({"purpose":"account-sensitive"})"},
    {"create_ticket", R"({"category":"billing","text":"where is it?"})"},
    {"write_to_ticket", R"({"text":"there it is"})"},
    {"close_ticket", R"({"reason":"all is said"})"},
    {"create_webhook", R"({"url":"https://9.9.9.9/hook"})"},
    {"change_webhook", R"({"enabled":false})"},
    {"redeliver_event", R"({"sequence":"1"})"},
    {"choose_mail_notices", R"({"types":{"rental.failed":"off"}})"},
    {"ask_new_email", R"({"email":"elsewhere@example.net"})"},
    {"confirm_new_email", R"({"email":"elsewhere@example.net","code":"123456"})"},
    {"open_recovery", R"({"account_id":"0198c0de-0000-7000-8000-000000000002",)"
                      R"("email":"elsewhere@example.net","reason":"good reason",)"
                      R"("evidence":["ticket 7"]})"},
    {"complete_recovery", R"({"reason":"good reason"})"},
    {"cancel_recovery", R"({"reason":"good reason"})"},
    {"object_by_link", R"({"token":"bro_unknown"})"},
    {"add_guest", R"({"domain":"example.org","reason":"good reason"})"},
    {"redeem_code", R"({"campaign_code":"NO-SUCH-CODE"})"},
    {"begin_campaign",
     R"({"campaign_code":"LAUNCH","name":"Launch","total_micro":"50","credit_days":1,)"
     R"("per_account_micro":"5","redeem_until":"2099-01-01T00:00:00Z",)"
     R"("reason":"good reason"})"},
    {"close_campaign", R"({"reason":"good reason"})"},
    {"remove_guest", R"({"reason":"good reason"})"},
    {"act_on_user", R"({"action":"reset_mfa","reason":"good reason","expected_version":"1"})"},
    {"act_on_machine", R"({"action":"verify","reason":"good reason","expected_version":"1"})"},
    {"preview_user_action",
     R"({"action":"reset_mfa","reason":"good reason","expected_version":"1"})"},
    {"preview_machine_action",
     R"({"action":"verify","reason":"good reason","expected_version":"1"})"},
    {"close_account", "{}"},
    {"close_user", R"({"reason":"good reason","expected_version":"1"})"},
    {"reopen_user", R"({"reason":"good reason","expected_version":"1"})"},
    {"erase_user", R"({"reason":"good reason","expected_version":"1"})"},
    {"set_desk_role", R"({"desk_role":"support","reason":"good reason","expected_version":"1"})"},
    {"set_freeze", R"({"frozen":true,"reason":"good reason","expected_version":"1"})"},
    {"revoke_keys", R"({"reason":"good reason","expected_version":"1"})"},
    {"add_user_note", R"({"text":"called back on Friday"})"},
    {"cancel_any_transfer", R"({"reason":"good reason"})"},
    {"hold_transfer", R"({"reason":"good reason"})"},
    {"release_transfer", R"({"reason":"good reason"})"},
    {"confirm_pending_action", R"({"reason":"good reason"})"},
    {"refuse_pending_action", R"({"reason":"good reason"})"},
    {"refund", R"({"job_id":"0198c0de-0000-7000-8000-000000000002","amount_micro":"5",)"
               R"("reason":"r","evidence":[]})"},
    {"open_dispute", R"({"job_id":"0198c0de-0000-7000-8000-000000000002","amount_micro":"5",)"
                     R"("reason":"r","evidence":[]})"},
    {"close_dispute", R"({"outcome":"rejected","reason":"r"})"},
    {"preview_refund", R"({"job_id":"0198c0de-0000-7000-8000-000000000002","amount_micro":"5",)"
                       R"("reason":"r","evidence":[]})"},
    {"preview_dispute", R"({"job_id":"0198c0de-0000-7000-8000-000000000002","amount_micro":"5",)"
                        R"("reason":"r","evidence":[]})"},
    {"preview_close_dispute", R"({"outcome":"rejected","reason":"r"})"},
    {"put_setting", R"({"value":1,"expected_version":0,"reason":"for a good reason"})"},
    {"stop_any_job", R"({"reason":"for a good reason"})"},
    {"retry_task", R"({"reason":"for a good reason"})"},
    {"drop_task", R"({"reason":"for a good reason"})"},
    {"match_suspense", R"({"account_id":"0198c0de-0000-7000-8000-000000000002",)"
                       R"("reason":"for a good reason","evidence":[]})"},
    {"lift_payee", R"({"reason":"its issuer took it off"})"},
    {"block_address", R"({"address":"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",)"
                      R"("reason":"for a good reason"})"},
    {"cancel_suspense_return", R"({"reason":"its owner came"})"},
    {"return_suspense", R"({"address":"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",)"
                        R"("reason":"for a good reason"})"},
    {"book_treasury_movement", R"({"kind":"gas","asset":"USDC","amount_micro":"5","tx_hash":null,)"
                               R"("reason":"for a good reason"})"},
    {"edit_offer", R"({"expected_version":"0","rate_micro_per_hour":"1","included_disk_gib":0,)"
                   R"("included_egress_gib":0,"available_from":"2026-01-01T00:00:00Z",)"
                   R"("available_until":"2027-01-01T00:00:00Z"})"},
    {"set_custom_images", R"({"accept":false})"},
    {"edit_machine", R"({"label":"rack 1"})"},
    {"preempt_rental", R"({"reason":"I need it"})"},
    {"add_template", new_template},
    {"replace_template", new_template},
};

inline const std::map<std::string, std::string> good_queries{
    {"show_statement", "since=2026-01-01T00:00:00Z&until=2026-02-01T00:00:00Z"},
    {"show_user_statement", "since=2026-01-01T00:00:00Z&until=2026-02-01T00:00:00Z"},
    {"report_figures", "first_day=2026-01-01&last_day=2026-01-31"},
    {"report_host_earnings", "year=2026"},
    {"search", "q=nobody"},
    {"show_simulated_mail", "to=ada@example.org"},
    {"list_seen_transfers",
     "tx_hash=0x00000000000000000000000000000000000000000000000000000000000000aa"},
    {"unblock_address", "reason=for%20a%20good%20reason"},
    {"reset_setting", "expected_version=0&reason=for%20a%20good%20reason"},
};

}  // namespace berth::test
