// What names mean that stand in many structs and mean the same in each.
#include <algorithm>

#include "wire/schema.hpp"

namespace berth::wire {
namespace {

struct Meaning {
    std::string_view name;
    std::string_view text;
};

// By name, in the order of the alphabet.
constexpr Meaning meanings[] = {
    {"account_id", "The account."},
    {"account_kind", "A person, or an agent that came by its wallet."},
    {"action", "What is done, or was."},
    {"actor", "Who did it."},
    {"address", "On the chain; checksummed, or in letters of one case."},
    {"address_id", "The saved address."},
    {"amount_micro", "In millionths of the asset."},
    {"api_key", "The key, as it was made."},
    {"as_of", "The moment that it is true of."},
    {"asset", "The stablecoin that it is in."},
    {"at", "When it happened."},
    {"attempts", "How often it was tried."},
    {"audit_event_id", "Its entry in the audit record."},
    {"binding_id", "The wallet, as it is bound to the account."},
    {"block", "The number of the block."},
    {"campaign_id", "The campaign."},
    {"category", "What it is about."},
    {"chain_id", "The chain, by its EIP-155 number; Base has 8453."},
    {"checks", "What was looked at, and what was found."},
    {"confirmation_id", "What the link in the mail confirms."},
    {"confirmed_at", "When it was confirmed."},
    {"created_at", "When it was made."},
    {"credit_id", "The credit."},
    {"cursor", "Where to go on: next_cursor of the page before. Left out for the first page."},
    {"delivery_id", "The delivery."},
    {"deposit_id", "The deposit."},
    {"dispute_id", "The dispute."},
    {"email", "The address that mail goes to."},
    {"enabled", "Whether it is in force."},
    {"endpoint_id", "The endpoint."},
    {"enrollment_id", "The enrollment."},
    {"entry_id", "The entry in the ledger."},
    {"error", "What went wrong."},
    {"evidence", "What it rests on, in words or by reference."},
    {"expires_at", "When it ends by itself."},
    {"field", "The member that was changed."},
    {"from", "Where it comes from or begins."},
    {"grant_id", "The proof that was given."},
    {"guest_id", "The guest."},
    {"hash", "SHA-256, in hex."},
    {"homepage", "The address of a page about it."},
    {"id", "Its id."},
    {"intent_id", "The funding intent."},
    {"items", "The rows of this page, in the order of the list."},
    {"job", "The rental."},
    {"job_id", "The rental."},
    {"key", "The name that it is known by."},
    {"key_id", "The key; its secret is another matter."},
    {"kind", "Which kind it is of."},
    {"label", "The name that its owner gave it."},
    {"last_used_at", "When it was last used."},
    {"linked_at", "When it was bound to the account."},
    {"machine_id", "The machine."},
    {"message_id", "The message."},
    {"name", "What people call it."},
    {"network", "The chain, by name."},
    {"offer_id", "The offer, as in the catalog."},
    {"payout_id", "The payout."},
    {"provider", "Whose service it is."},
    {"quote_id", "The quote."},
    {"reason", "Why, in the words of who decided it."},
    {"recovery_id", "The recovery."},
    {"refund_id", "The refund."},
    {"rental_count", "How many rentals it is made of."},
    {"request_id", "The request, as in X-Request-Id and the log."},
    {"role", "What the account may do beyond what every account may."},
    {"run_id", "The run of the machine's test."},
    {"seen_at", "When it was seen."},
    {"state", "Where it stands."},
    {"status", "How it is."},
    {"sum_micro", "The sum, in millionths of the asset."},
    {"support_email", "Where the operator reads what users write."},
    {"suspended", "Whether the account is kept from everything for now."},
    {"task_id", "The task."},
    {"ticket_id", "The ticket."},
    {"to", "Where it goes or ends."},
    {"transaction_id", "The transaction in the ledger."},
    {"tx_hash", "The transaction on the chain."},
    {"updated_at", "When it was last changed."},
    {"user_id", "The account."},
    {"value", "What it is set to."},
    {"webhook_id", "The webhook."},
    {"withdrawal_id", "The withdrawal."},
};
static_assert(std::ranges::is_sorted(meanings, {}, &Meaning::name));

}  // namespace

std::string_view usual_meaning(std::string_view name) {
    const auto found = std::ranges::lower_bound(meanings, name, {}, &Meaning::name);
    return found != std::end(meanings) && found->name == name ? found->text : "";
}

}  // namespace berth::wire
