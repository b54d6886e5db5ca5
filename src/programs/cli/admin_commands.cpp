// What operators do. All of it needs a session (`berth login --admin`) and, where something is
// changed, a code of the authenticator.
#include "admin/adjustments.hpp"
#include "admin/block_desk.hpp"
#include "admin/campaigns.hpp"
#include "admin/case_types.hpp"
#include "admin/lists.hpp"
#include "admin/records.hpp"
#include "admin/search.hpp"
#include "admin/settings_desk.hpp"
#include "admin/treasury_desk.hpp"
#include "admin/types.hpp"
#include "cli/special.hpp"
#include "closing/types.hpp"
#include "four_eyes/types.hpp"
#include "funding/operator_types.hpp"
#include "guests/types.hpp"
#include "hosts/action_types.hpp"
#include "hosts/all_machines.hpp"
#include "offers/template_types.hpp"
#include "recovery/types.hpp"
#include "rentals/operators.hpp"
#include "reports/types.hpp"
#include "tickets/types.hpp"
#include "transfers/operator_types.hpp"
#include "transfers/types.hpp"

namespace berth::cli {
namespace {

constexpr Command reading(std::string_view words, std::string_view path, TypeOf query,
                          std::string_view columns, std::string_view help) {
    return {.words = words,
            .method = "GET",
            .path = path,
            .query = query,
            .columns = columns,
            .help = help,
            .access = Access::session};
}

constexpr Command reporting(std::string_view words, std::string_view path, TypeOf query,
                            std::string_view columns, std::string_view help,
                            std::string_view rows = "rows") {
    Command command = reading(words, path, query, columns, help);
    command.rows = rows;
    return command;
}

constexpr Command changing(std::string_view words, std::string_view method, std::string_view path,
                           TypeOf body, std::string_view help, Lookup lookup = {},
                           TypeOf query = nullptr) {
    return {.words = words,
            .method = method,
            .path = path,
            .query = query,
            .body = body,
            .help = help,
            .access = Access::session,
            .step_up = "admin-sensitive",
            .lookup = lookup};
}

// Computed by the action itself and undone: it changes nothing and asks for no code.
constexpr Command previewing(std::string_view words, std::string_view path, TypeOf body,
                             std::string_view help,
                             TypeOf query = &wire::type_of<admin::BearerQuery>) {
    return {.words = words,
            .method = "POST",
            .path = path,
            .query = query,
            .body = body,
            .help = help,
            .access = Access::session};
}

constexpr Command previewing_at_version(std::string_view words, std::string_view path, TypeOf body,
                                        std::string_view help, Lookup lookup) {
    Command command = previewing(words, path, body, help, nullptr);
    command.lookup = lookup;
    return command;
}

constexpr Lookup setting_version{.member = "expected_version",
                                 .path = "/api/v1/admin/settings",
                                 .field = "version",
                                 .item_member = "key"};

constexpr Command reset_setting{.words = "admin settings reset",
                                .method = "DELETE",
                                .path = "/api/v1/admin/settings/{key}",
                                .query = &wire::type_of<admin::ResetSetting>,
                                .help = "Back to what the server was started with.",
                                .access = Access::session,
                                .step_up = "admin-sensitive",
                                .lookup = setting_version};

constexpr Command export_user{.words = "admin users export",
                              .method = "GET",
                              .path = "/api/v1/admin/users/{id}/export",
                              .help = "Everything about one account, as JSON.",
                              .access = Access::session,
                              .step_up = "admin-sensitive"};

constexpr Command unblock_address{.words = "admin blocked remove",
                                  .method = "DELETE",
                                  .path = "/api/v1/admin/blocked-addresses/{address}",
                                  .query = &wire::type_of<admin::UnblockQuery>,
                                  .help = "Takes an address off the block list.",
                                  .access = Access::session,
                                  .step_up = "admin-sensitive"};

constexpr Command admin_table[] = {
    reading("admin users list", "/api/v1/admin/users", &wire::type_of<admin::UsersQuery>,
            "USER=user_id EMAIL=email KIND=account_kind ROLE=role HOST=host_capability "
            "SUSPENDED=suspended FROZEN=frozen CREATED=created_at",
            "Accounts."),
    reading("admin search", "/api/v1/admin/search", &wire::type_of<admin::SearchQuery>,
            "KIND=kind ID=id ACCOUNT=account_id LABEL=label",
            "Finds a mail address, id, wallet, address, transaction, key or name."),
    reading("admin overview", "/api/v1/admin/overview", nullptr, "",
            "What waits for operators: how much, and since when."),
    reading("admin stuck", "/api/v1/admin/stuck", &wire::type_of<admin::StuckQuery>,
            "KIND=kind ID=id STATE=state SINCE=since UNTIL=until WHY=why HELP=help",
            "What waits for too long, and why."),
    reading("admin debts", "/api/v1/admin/debts", &wire::type_of<admin::DebtsQuery>,
            "ACCOUNT=account_id EMAIL=email ASSET=asset OWES=debt_micro DISPUTED=escrow_micro "
            "PAID=paid_micro FROZEN=frozen",
            "Accounts that owe."),
    reading("admin keys list", "/api/v1/admin/keys", &wire::type_of<admin::AdminKeysQuery>,
            "KEY=key_id PREFIX=prefix ACCOUNT=account_id NAME=name USED=last_used_at "
            "EXPIRES=expires_at REVOKED=revoked_at",
            "Everybody's API keys."),
    reading("admin transfers list", "/api/v1/admin/transfers",
            &wire::type_of<transfers::AdminTransfersQuery>,
            "TRANSFER=transfer_id KIND=kind STATE=state ACCOUNT=account_id AMOUNT=amount_micro "
            "ASSET=asset WAITS_FOR=waits_for UNTIL=waits_until HELD=held_why ASKED=created_at",
            "Everybody's withdrawals and payouts."),
    changing("admin transfers cancel", "POST", "/api/v1/admin/transfers/{id}/cancel",
             &wire::type_of<transfers::TransferDecision>,
             "Calls a transfer off that was not signed yet."),
    changing("admin transfers hold", "POST", "/api/v1/admin/transfers/{id}/hold",
             &wire::type_of<transfers::TransferDecision>, "Keeps a transfer from being signed."),
    changing("admin transfers release", "POST", "/api/v1/admin/transfers/{id}/release",
             &wire::type_of<transfers::TransferDecision>, "Lets a held transfer go."),
    reading("admin intents list", "/api/v1/admin/funding-intents",
            &wire::type_of<funding::AdminIntentsQuery>,
            "INTENT=intent_id STATE=state ACCOUNT=account_id AMOUNT=amount_micro ASSET=asset "
            "EXCEPTION=exception MADE=created_at",
            "Everybody's funding intents."),
    reading("admin claims list", "/api/v1/admin/claims", &wire::type_of<funding::AdminClaimsQuery>,
            "INTENT=intent_id ACCOUNT=account_id AMOUNT=amount_micro TRANSACTION=tx_hash "
            "CLAIMED=claimed_at NEXT=next_look_at UNTIL=until",
            "Claims that wait for the chain."),
    reading("admin deposits list", "/api/v1/admin/deposits",
            &wire::type_of<funding::AdminDepositsQuery>,
            "DEPOSIT=deposit_id STATE=state AMOUNT=amount_micro ASSET=asset FROM=from "
            "ACCOUNT=account_id SEEN=seen_at",
            "Transfers to the treasury, whoever got them."),
    reading("admin users show", "/api/v1/admin/users/{id}", nullptr, "",
            "One account, with all that belongs to it."),
    changing("admin users freeze", "PUT", "/api/v1/admin/users/{id}/freeze",
             &wire::type_of<admin::SetFreeze>,
             "Stops all that leaves an account and new rentals, or lets it go on.",
             {"expected_version", "/api/v1/admin/users/{id}", "version"}),
    changing("admin users revoke-keys", "POST", "/api/v1/admin/users/{id}/revoke-keys",
             &wire::type_of<admin::RevokeKeys>, "Ends its API keys, or one of them.",
             {"expected_version", "/api/v1/admin/users/{id}", "version"}),
    changing("admin users note", "POST", "/api/v1/admin/users/{id}/notes",
             &wire::type_of<admin::NewNote>, "Writes down what other operators should know."),
    changing("admin users act", "POST", "/api/v1/admin/users/{id}/actions",
             &wire::type_of<admin::UserAction>, "Changes an account.",
             {"expected_version", "/api/v1/admin/users/{id}", "version"}),
    previewing_at_version("admin users preview-act", "/api/v1/admin/users/{id}/actions/preview",
                          &wire::type_of<admin::UserAction>, "What that would end and stop.",
                          {"expected_version", "/api/v1/admin/users/{id}", "version"}),
    changing("admin users desk", "PUT", "/api/v1/admin/users/{id}/desk-role",
             &wire::type_of<admin::SetDeskRole>,
             "Makes an account an operator for support or finance, or ends that.",
             {"expected_version", "/api/v1/admin/users/{id}", "version"}),
    reading("admin users closing", "/api/v1/admin/users/{id}/closing", nullptr, "",
            "Whether an account is closed, and what stands in the way of it."),
    changing("admin users close", "POST", "/api/v1/admin/users/{id}/close",
             &wire::type_of<closing::CloseUser>, "Closes an account that is empty.",
             {"expected_version", "/api/v1/admin/users/{id}", "version"}),
    changing("admin users reopen", "POST", "/api/v1/admin/users/{id}/reopen",
             &wire::type_of<closing::ClosingDecision>, "Opens a closed account again.",
             {"expected_version", "/api/v1/admin/users/{id}", "version"}),
    changing("admin users erase", "POST", "/api/v1/admin/users/{id}/erase",
             &wire::type_of<closing::ClosingDecision>,
             "Forgets the owner of a closed account, for good.",
             {"expected_version", "/api/v1/admin/users/{id}", "version"}),
    export_user,
    reporting("admin users statement", "/api/v1/admin/users/{id}/statement",
              &wire::type_of<reports::StatementQuery>, "", "The statement of one account.",
              "entries"),
    reporting("admin reports figures", "/api/v1/admin/reports/figures",
              &wire::type_of<reports::FiguresQuery>,
              "PERIOD=period ASSET=asset CHARGED=charged_micro FEES=fees_micro "
              "RECEIVED=received_micro WITHDRAWN=withdrawn_micro PAID_OUT=paid_out_micro "
              "GAS=gas_micro",
              "Volume, fees, payouts and gas, by day or month."),
    reporting("admin reports trial-balance", "/api/v1/admin/reports/trial",
              &wire::type_of<reports::TrialQuery>,
              "ASSET=asset POCKET=pocket DEBIT=debit_micro CREDIT=credit_micro "
              "BALANCE=balance_micro",
              "Debits and credits of every pocket of the books."),
    reporting("admin reports hosts", "/api/v1/admin/reports/host-earnings",
              &wire::type_of<reports::HostsQuery>,
              "HOST=account_id EMAIL=email GROSS=gross_micro FEE=fee_micro EARNED=earned_micro "
              "PAID=paid_micro",
              "What each host earned in a year.", "items"),
    {.words = "admin events",
     .help = "What operators should know of; what happens now with --follow.",
     .access = Access::session,
     .run = show_operator_events,
     .flags = event_flags,
     .uses = "GET /api/v1/admin/events"},
    reading("admin pending list", "/api/v1/admin/pending-actions",
            &wire::type_of<four_eyes::PendingQuery>,
            "PENDING=pending_action_id STATE=state ACTION=action TARGET=target.id "
            "AMOUNT=amount_micro ASKED_BY=asked_by UNTIL=expires_at",
            "What waits for a second admin."),
    reading("admin pending show", "/api/v1/admin/pending-actions/{id}", nullptr, "",
            "One such action, with what it would do."),
    changing("admin pending confirm", "POST", "/api/v1/admin/pending-actions/{id}/confirm",
             &wire::type_of<four_eyes::Decision>, "Carries out what another operator asked for."),
    changing("admin pending refuse", "POST", "/api/v1/admin/pending-actions/{id}/refuse",
             &wire::type_of<four_eyes::Decision>, "Ends it; nothing is done."),
    reading("admin allow-list list", "/api/v1/admin/allow-list",
            &wire::type_of<guests::GuestsQuery>,
            "ENTRY=guest_id KIND=kind VALUE=value INVITED=invited_at USED=used_at UNTIL=expires_at",
            "Who may open an account while the market is closed."),
    changing("admin allow-list add", "POST", "/api/v1/admin/allow-list",
             &wire::type_of<guests::NewGuest>,
             "Lets an address, a domain or a wallet in; --invite mails an invitation."),
    changing("admin allow-list remove", "POST", "/api/v1/admin/allow-list/{id}/remove",
             &wire::type_of<guests::RemoveGuest>, "Takes an entry off the list."),
    reading("admin recoveries list", "/api/v1/admin/recoveries",
            &wire::type_of<recovery::RecoveriesQuery>,
            "RECOVERY=recovery_id ACCOUNT=account_id LOST=kind STATE=state TOLD=addresses_told "
            "READY=ready_at UNTIL=expires_at",
            "Recoveries of accounts that lost their mailbox or wallet."),
    reading("admin recoveries show", "/api/v1/admin/recoveries/{id}", nullptr, "",
            "One recovery, with its evidence."),
    changing("admin recoveries open", "POST", "/api/v1/admin/recoveries",
             &wire::type_of<recovery::NewRecovery>,
             "Asks every known address whether another mailbox or wallet may take over."),
    changing("admin recoveries complete", "POST", "/api/v1/admin/recoveries/{id}/complete",
             &wire::type_of<recovery::RecoveryDecision>,
             "Puts it in place, once the time to object is over."),
    changing("admin recoveries cancel", "POST", "/api/v1/admin/recoveries/{id}/cancel",
             &wire::type_of<recovery::RecoveryDecision>, "Ends it; nothing changes."),
    reading("admin rentals list", "/api/v1/admin/jobs", &wire::type_of<rentals::AdminJobsQuery>,
            "RENTAL=job_id STATE=state RENTER=renter_id MACHINE=machine_id "
            "CHARGED=cumulative_charge_micro SINCE=created_at",
            "Everybody's rentals."),
    changing("admin rentals stop", "POST", "/api/v1/admin/jobs/{id}/stop",
             &wire::type_of<rentals::OperatorStop>, "Ends a rental."),
    reading("admin refunds list", "/api/v1/admin/refunds", &wire::type_of<admin::RefundsQuery>,
            "REFUND=refund_id RENTAL=job_id RENTER=renter_id AMOUNT=amount_micro ASSET=asset "
            "DISPUTE=dispute_id BY=refunded_by AT=created_at",
            "Refunds."),
    changing("admin refunds create", "POST", "/api/v1/admin/refunds",
             &wire::type_of<admin::NewRefund>, "Gives back a part of a charge.", {},
             &wire::type_of<admin::BearerQuery>),
    previewing("admin refunds preview", "/api/v1/admin/refunds/preview",
               &wire::type_of<admin::NewRefund>, "What a refund would do, and who would pay it."),
    reading("admin disputes list", "/api/v1/admin/disputes", &wire::type_of<admin::DisputesQuery>,
            "DISPUTE=dispute_id STATE=state RENTAL=job_id AMOUNT=amount_micro CREATED=created_at",
            "Disputes."),
    reading("admin disputes show", "/api/v1/admin/disputes/{id}", nullptr, "",
            "One dispute, with both sides."),
    changing("admin disputes open", "POST", "/api/v1/admin/disputes",
             &wire::type_of<admin::NewDispute>, "Holds a part of a charge back."),
    previewing("admin disputes preview", "/api/v1/admin/disputes/preview",
               &wire::type_of<admin::NewDispute>, "How much of it could be held.", nullptr),
    changing("admin disputes close", "POST", "/api/v1/admin/disputes/{id}/close",
             &wire::type_of<admin::CloseDispute>, "Ends a dispute.", {},
             &wire::type_of<admin::BearerQuery>),
    previewing("admin disputes preview-close", "/api/v1/admin/disputes/{id}/close/preview",
               &wire::type_of<admin::CloseDispute>, "What that would do, and who would pay it."),
    reading("admin campaigns list", "/api/v1/admin/campaigns", &wire::type_of<api::PageQuery>,
            "CAMPAIGN=campaign_id CODE=campaign_code NAME=name STATE=state TOTAL=total_micro "
            "REDEEMED=redeemed_micro UNTIL=redeem_until",
            "Campaigns of promotional credits."),
    changing("admin campaigns begin", "POST", "/api/v1/admin/campaigns",
             &wire::type_of<admin::NewCampaign>,
             "Sets capital aside for credits that users redeem with a code."),
    changing("admin campaigns close", "POST", "/api/v1/admin/campaigns/{id}/close",
             &wire::type_of<admin::CloseCampaign>, "Ends it; the rest goes back to capital."),
    reading("admin settings list", "/api/v1/admin/settings", nullptr,
            "SETTING=key VALUE=value FROM=source SECRET=secret EDITABLE=editable VARIABLE=env "
            "VERSION=version HELP=help",
            "Every setting: its value where that is public, and where it comes from."),
    changing("admin settings set", "PUT", "/api/v1/admin/settings/{key}",
             &wire::type_of<admin::PutSetting>, "Changes a setting while the service runs.",
             setting_version),
    reset_setting,
    reading("admin audit", "/api/v1/admin/audit", &wire::type_of<admin::AuditQuery>,
            "EVENT=audit_event_id AT=at WHO=actor.account_id DID=action TO=target.id REASON=reason",
            "Who did what."),
    reading("admin tasks list", "/api/v1/admin/tasks", &wire::type_of<admin::TasksQuery>,
            "TASK=task_id KIND=kind STATE=state ATTEMPTS=attempts DUE=run_at ERROR=last_error",
            "Background tasks."),
    changing("admin tasks retry", "POST", "/api/v1/admin/tasks/{id}/retry",
             &wire::type_of<admin::TaskDecision>, "Tries a dead task again."),
    changing("admin tasks drop", "POST", "/api/v1/admin/tasks/{id}/drop",
             &wire::type_of<admin::TaskDecision>, "Gives a dead task up."),
    reading("admin suspense list", "/api/v1/admin/suspense", &wire::type_of<api::PageQuery>,
            "DEPOSIT=deposit_id AMOUNT=amount_micro FROM=from BLOCK=block_number",
            "Transfers that nobody has claimed."),
    changing("admin suspense match", "POST", "/api/v1/admin/suspense/{deposit_id}/match",
             &wire::type_of<admin::MatchDeposit>, "Credits such a transfer to an account."),
    changing("admin suspense return", "POST", "/api/v1/admin/suspense/{deposit_id}/return",
             &wire::type_of<admin::ReturnDeposit>, "Sends it back, or books that it went."),
    changing("admin suspense keep", "POST", "/api/v1/admin/suspense/{deposit_id}/return/cancel",
             &wire::type_of<admin::KeepDeposit>, "Calls a return off that was not signed yet."),
    reading("admin payees list", "/api/v1/admin/payees", &wire::type_of<api::PageQuery>,
            "PAYEE=payee_id ASSET=asset ADDRESS=address REFUSALS=refusals LAST=refused_at "
            "BARRED=barred_at",
            "Addresses that their token would not pay."),
    changing("admin payees lift", "POST", "/api/v1/admin/payees/{payee_id}/lift",
             &wire::type_of<transfers::LiftPayee>, "Lets such an address be paid again."),
    reading("admin treasury show", "/api/v1/admin/treasury", nullptr, "",
            "Addresses, what books and chain say, and what moved."),
    changing("admin treasury book", "POST", "/api/v1/admin/treasury/movements",
             &wire::type_of<admin::NewMovement>, "Books a movement of the operator's own money."),
    reading("admin blocked list", "/api/v1/admin/blocked-addresses",
            &wire::type_of<admin::BlockedQuery>,
            "ADDRESS=address SOURCE=source REASON=reason BY=blocked_by SINCE=blocked_at",
            "Addresses that pay nothing in and are paid nothing."),
    changing("admin blocked add", "POST", "/api/v1/admin/blocked-addresses",
             &wire::type_of<admin::BlockAddress>, "Blocks an address."),
    unblock_address,
    reading("admin templates list", "/api/v1/admin/templates",
            &wire::type_of<offers::TemplateQuery>,
            "TEMPLATE=template_id KIND=kind NAME=name PUBLISHED=published_at ID=id",
            "Templates, published or not."),
    changing("admin templates add", "POST", "/api/v1/admin/templates",
             &wire::type_of<offers::TemplateDraft>, "A new template; --from FILE is the easy way."),
    changing("admin templates replace", "PUT", "/api/v1/admin/templates/{id}",
             &wire::type_of<offers::TemplateDraft>, "Changes a template."),
    changing("admin templates publish", "POST", "/api/v1/admin/templates/{id}/publish", nullptr,
             "Shows a template to everybody."),
    changing("admin templates unpublish", "POST", "/api/v1/admin/templates/{id}/unpublish", nullptr,
             "Takes a template away."),
    reading("admin machines list", "/api/v1/admin/machines",
            &wire::type_of<hosts::AdminMachinesQuery>,
            "MACHINE=machine_id STATE=state OWNER=owner GPU=gpu_model OFFER=offer TEST=test "
            "REACHED=reach PUT_ASIDE=quarantined_by HEARD=last_healthy_at",
            "Everybody's machines."),
    reading("admin gates list", "/api/v1/admin/gates", nullptr,
            "GATE=gate_id HOST=host LIVE=live DRAINING=draining SILENT=silent_s DOORS=doors "
            "PORTS_USED_%=ports_used_percent STREAMS=streams WHERE=continent",
            "Gates with their load."),
    changing("admin machines act", "POST", "/api/v1/admin/machines/{id}/actions",
             &wire::type_of<hosts::MachineActionWish>, "Quarantines, releases or vouches.",
             {"expected_version", "/api/v1/hosts/machines/{id}", "version"}),
    previewing_at_version("admin machines preview-act",
                          "/api/v1/admin/machines/{id}/actions/preview",
                          &wire::type_of<hosts::MachineActionWish>, "What that would end and stop.",
                          {"expected_version", "/api/v1/hosts/machines/{id}", "version"}),
    changing("admin tickets close", "POST", "/api/v1/admin/tickets/{id}/close",
             &wire::type_of<tickets::CloseTicket>, "Ends a conversation."),
};

}  // namespace

std::span<const Command> admin_commands() { return admin_table; }

}  // namespace berth::cli
