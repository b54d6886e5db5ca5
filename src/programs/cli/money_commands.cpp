// Money: what is there, how it comes in and how it leaves.
#include "api/page.hpp"
#include "billing/types.hpp"
#include "cli/special.hpp"
#include "funding/types.hpp"
#include "liabilities/types.hpp"
#include "transfers/types.hpp"

namespace berth::cli {
namespace {

constexpr std::string_view transfer_columns =
    "ID=id STATE=state AMOUNT=amount_micro TO=address CREATED=created_at TX=tx_hash";

constexpr auto file_flags = std::to_array<OwnFlag>({
    {"keys", "FILE", "what the service publishes at /.well-known/berth-keys.json"},
});

constexpr Command table[] = {
    {.words = "balance", .method = "GET", .path = "/api/v1/billing",
     .query = &wire::type_of<funding::AssetQuery>, .help = "What is in the account."},
    {.words = "entries list", .method = "GET", .path = "/api/v1/billing/entries",
     .query = &wire::type_of<billing::EntriesQuery>,
     .columns = "ENTRY=entry_id AT=at KIND=kind SIDE=direction AMOUNT=amount_micro POCKET=pocket "
                "RENTAL=job_id",
     .help = "Every movement of the account."},
    {.words = "funding create", .method = "POST", .path = "/api/v1/funding-intents",
     .query = &wire::type_of<funding::AssetQuery>, .body = &wire::type_of<funding::NewIntent>,
     .help = "Announces a transfer from a linked wallet."},
    {.words = "funding list", .method = "GET", .path = "/api/v1/funding-intents",
     .query = &wire::type_of<api::PageQuery>,
     .columns = "INTENT=intent_id STATE=state AMOUNT=amount_micro EXPIRES=expires_at "
                "TO=treasury_address",
     .help = "Announced transfers."},
    {.words = "funding show", .method = "GET", .path = "/api/v1/funding-intents/{id}",
     .help = "One announced transfer."},
    {.words = "funding claim", .method = "POST", .path = "/api/v1/funding-intents/{id}/claim",
     .body = &wire::type_of<funding::ClaimTransfer>, .help = "Says which transfer it was."},
    {.words = "funding cancel", .method = "POST", .path = "/api/v1/funding-intents/{id}/cancel",
     .help = "Takes an announcement back."},
    {.words = "withdrawals create", .method = "POST", .path = "/api/v1/withdrawals",
     .body = &wire::type_of<transfers::TransferRequest>,
     .help = "Sends money from the account to an address."},
    {.words = "withdrawals list", .method = "GET", .path = "/api/v1/withdrawals",
     .query = &wire::type_of<api::PageQuery>, .columns = transfer_columns,
     .help = "What was sent."},
    {.words = "withdrawals cancel", .method = "POST", .path = "/api/v1/withdrawals/{id}/cancel",
     .help = "Takes a withdrawal back that was not sent yet."},
    {.words = "withdrawals code", .method = "POST", .path = "/api/v1/withdrawals/code",
     .body = &wire::type_of<transfers::AskCode>, .help = "Mails the code of one withdrawal.",
     .access = Access::session},
    {.words = "withdrawals challenge", .method = "POST", .path = "/api/v1/withdrawals/challenge",
     .body = &wire::type_of<transfers::AskCode>,
     .help = "The text that a wallet signs for one withdrawal."},
    {.words = "payouts create", .method = "POST", .path = "/api/v1/hosts/payouts",
     .body = &wire::type_of<transfers::TransferRequest>,
     .help = "Sends a host's earnings to an address."},
    {.words = "payouts list", .method = "GET", .path = "/api/v1/hosts/payouts",
     .query = &wire::type_of<api::PageQuery>, .columns = transfer_columns,
     .help = "Earnings that were sent."},
    {.words = "payouts cancel", .method = "POST", .path = "/api/v1/hosts/payouts/{id}/cancel",
     .help = "Takes a payout back that was not sent yet."},
    {.words = "addresses list", .method = "GET", .path = "/api/v1/withdrawal-addresses",
     .columns = "ID=address_id STATE=state ADDRESS=address LABEL=label USED=last_used_at",
     .help = "Where money may go."},
    {.words = "addresses add", .method = "POST", .path = "/api/v1/withdrawal-addresses",
     .body = &wire::type_of<transfers::NewAddress>, .help = "Saves an address for withdrawals.",
     .access = Access::session},
    {.words = "addresses remove", .method = "DELETE", .path = "/api/v1/withdrawal-addresses/{id}",
     .help = "Forgets an address.", .access = Access::session, .step_up = "account-sensitive"},
    {.words = "confirmations confirm", .method = "POST",
     .path = "/api/v1/confirmations/{confirmation_id}",
     .body = &wire::type_of<transfers::ConfirmationToken>,
     .help = "Uses the token of a mailed link.", .access = Access::anyone},
    {.words = "liabilities show", .method = "GET", .path = "/api/v1/proof-of-liabilities",
     .columns = "ASSET=asset NO=number AS-OF=as_of OWED=total_micro TREASURY=treasury_micro",
     .help = "All that is owed, and what the treasury has.", .access = Access::anyone},
    {.words = "liabilities proof", .method = "GET", .path = "/api/v1/billing/proof",
     .query = &wire::type_of<liabilities::ProofQuery>,
     .help = "That the account's own balance is among it; --output json for `berth verify`."},
    {.words = "keys published", .method = "GET", .path = "/.well-known/berth-keys.json",
     .help = "What the service signs with.", .access = Access::anyone},
    {.words = "verify receipt", .help = "Checks a signed receipt without asking anybody.",
     .run = verify_receipt, .flags = file_flags, .operands = "FILE"},
    {.words = "verify liabilities",
     .help = "Checks the proof of an account's balance without asking anybody.",
     .run = verify_liabilities, .operands = "FILE"},
};

}  // namespace

std::span<const Command> money_commands() { return table; }

}  // namespace berth::cli
