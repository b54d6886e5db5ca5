// Accounts: signing in, keys, wallets, tickets.
#include "accounts/types.hpp"
#include "api/page.hpp"
#include "cli/special.hpp"
#include "tickets/types.hpp"
#include "wallets/types.hpp"

namespace berth::cli {
namespace {

constexpr auto register_flags = std::to_array<OwnFlag>({
    {"name", "TEXT", "what the agent is called", "", true},
    {"vendor", "TEXT", "who made it", "", true},
    {"model", "TEXT", "the model behind it"},
    {"operator-contact", "TEXT", "how to reach whoever runs it"},
    {"homepage", "TEXT", "where to read about it"},
    {"scopes", "renter|host,…", "what the key may do", "renter"},
    {"policy", "JSON|@FILE", "what the key may spend"},
    {"revoke-previous", "", "end the keys of earlier registrations"},
    {"keystore", "FILE", "the wallet, an encrypted V3 keystore; made where there is none",
     "a new one beside the profile"},
    {"key-file", "FILE", "a private key in hex, in the place of a keystore; - is standard input"},
    {"passphrase-file", "FILE", "the passphrase of the keystore; asked for otherwise"},
});
constexpr auto wallet_flags = std::to_array<OwnFlag>({
    {"keystore", "FILE", "the wallet, an encrypted V3 keystore", "the profile's"},
    {"key-file", "FILE", "a private key in hex, in the place of a keystore; - is standard input"},
    {"passphrase-file", "FILE", "the passphrase of the keystore; asked for otherwise"},
});
constexpr auto code_flags = std::to_array<OwnFlag>({
    {"secret-file", "FILE", "what `berth authenticator add` showed; - is standard input", "", true},
});
constexpr auto login_flags = std::to_array<OwnFlag>({
    {"email", "ADDRESS", "where the code is mailed to; asked for otherwise"},
    {"code-file", "FILE", "the mailed code; asked for otherwise"},
    {"scopes", "renter|host,…", "what the key may do", "renter"},
    {"expires-in", "DURATION", "how long the key works", "30d"},
    {"key-name", "TEXT", "what the key is called", "berth on this machine"},
    {"session", "", "keep the session instead of making a key: for `berth admin` and wallets"},
});

constexpr Command table[] = {
    {.words = "login", .help = "Signs in by mail, makes a key that expires, and signs out.",
     .access = Access::anyone, .run = log_in, .flags = login_flags,
     .uses = "POST /api/v1/auth/email/start, POST /api/v1/auth/email/verify, "
             "POST /api/v1/auth/mfa, POST /api/v1/auth/sign-out, POST /api/v1/account/api-keys, "
             "POST /api/v1/account/step-up, POST /api/v1/account/step-up/code, "
             "GET /api/v1/auth/session"},
    {.words = "logout", .help = "Ends the kept session and forgets the key of the profile.",
     .run = log_out, .uses = "POST /api/v1/auth/sign-out"},
    {.words = "whoami", .method = "GET", .path = "/api/v1/auth/session",
     .help = "Whose key it is, and what it may do."},
    {.words = "agents register", .help = "Opens an account with a wallet's signature.",
     .access = Access::anyone, .run = register_agent, .flags = register_flags,
     .uses = "POST /api/v1/agents/accounts/challenge, POST /api/v1/agents/accounts"},
    {.words = "agents ctx", .help = "Every command, flag, default and exit code, as JSON.",
     .run = print_everything},
    {.words = "keys list", .method = "GET", .path = "/api/v1/account/api-keys",
     .query = &wire::type_of<api::PageQuery>,
     .columns = "KEY=key_id NAME=name PREFIX=prefix CREATED=created_at EXPIRES=expires_at "
                "USED=last_used_at",
     .help = "The keys of the account."},
    {.words = "keys create", .method = "POST", .path = "/api/v1/account/api-keys",
     .body = &wire::type_of<accounts::NewKey>, .help = "Another key; its secret is shown once.",
     .step_up = "account-sensitive"},
    {.words = "keys revoke", .method = "DELETE", .path = "/api/v1/account/api-keys/{id}",
     .help = "Ends a key.", .step_up = "account-sensitive"},
    {.words = "wallets list", .method = "GET", .path = "/api/v1/wallets",
     .columns = "WALLET=binding_id ADDRESS=address LINKED=linked_at UNLINKED=unlinked_at",
     .help = "Linked wallets."},
    {.words = "wallets link", .help = "Links a wallet, by its signature.",
     .access = Access::session, .step_up = "wallet", .run = link_wallet, .flags = wallet_flags,
     .uses = "POST /api/v1/wallets/nonce, POST /api/v1/wallets/link, "
             "POST /api/v1/account/step-up/challenge"},
    {.words = "wallets unlink", .method = "DELETE", .path = "/api/v1/wallets/{binding_id}",
     .help = "Unlinks a wallet.", .access = Access::session, .step_up = "wallet"},
    {.words = "sessions list", .method = "GET", .path = "/api/v1/account/sessions",
     .query = &wire::type_of<api::PageQuery>, .help = "Open sessions.",
     .access = Access::session},
    {.words = "sessions revoke", .method = "POST", .path = "/api/v1/account/sessions/revoke",
     .help = "Ends every session, this one too.", .access = Access::session},
    {.words = "authenticator add", .method = "POST", .path = "/api/v1/account/mfa/totp",
     .help = "The secret for an authenticator; `berth authenticator confirm` follows.",
     .access = Access::session, .step_up = "account-sensitive"},
    {.words = "authenticator confirm", .method = "POST",
     .path = "/api/v1/account/mfa/totp/confirm", .body = &wire::type_of<accounts::ConfirmTotp>,
     .help = "Shows that the authenticator works.", .access = Access::session,
     .step_up = "account-sensitive"},
    {.words = "authenticator code",
     .help = "The present code of a secret that is kept in a file; each works once.",
     .run = print_code, .flags = code_flags},
    {.words = "authenticator remove", .method = "DELETE", .path = "/api/v1/account/mfa/totp",
     .help = "Takes the authenticator away.", .access = Access::session,
     .step_up = "account-sensitive"},
    {.words = "integrations show", .method = "GET",
     .path = "/api/v1/account/integrations/{provider}",
     .help = "Whether a token of the model hub is saved."},
    {.words = "integrations set", .method = "PUT",
     .path = "/api/v1/account/integrations/{provider}", .body = &wire::type_of<accounts::HubToken>,
     .help = "Saves a token of the model hub."},
    {.words = "integrations remove", .method = "DELETE",
     .path = "/api/v1/account/integrations/{provider}", .help = "Forgets it."},
    {.words = "tickets create", .method = "POST", .path = "/api/v1/tickets",
     .body = &wire::type_of<tickets::NewTicket>, .help = "Writes to support."},
    {.words = "tickets list", .method = "GET", .path = "/api/v1/tickets",
     .query = &wire::type_of<tickets::TicketsQuery>,
     .columns = "TICKET=ticket_id STATE=state CATEGORY=category UPDATED=updated_at TEXT=text",
     .help = "What was written."},
    {.words = "tickets show", .method = "GET", .path = "/api/v1/tickets/{id}",
     .help = "One conversation."},
    {.words = "tickets reply", .method = "POST", .path = "/api/v1/tickets/{id}/messages",
     .body = &wire::type_of<tickets::NewMessage>, .help = "Writes more."},
};

}  // namespace

std::span<const Command> account_commands() { return table; }

}  // namespace berth::cli
