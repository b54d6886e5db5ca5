#include "admin/letters.hpp"

#include <fmt/format.h>

#include "admin/told.hpp"
#include "ledger/amounts.hpp"

namespace berth::admin {
namespace {

std::string about_rental(const std::string& text, JobId job) {
    return fmt::format(
        "{}\n\nThe rental is {}. If you see it otherwise, open a ticket that names it.", text,
        to_string(job));
}

// A sentence of an amount, where there is one.
struct Sentence {
    std::string_view before;
    std::string_view after;
};
std::string of_amount(const wire::Nullable<Micro>& amount, ledger::Asset asset,
                      const Sentence& sentence) {
    if (!amount.value || *amount.value <= Micro{}) return {};
    return fmt::format("{}{}{}", sentence.before, ledger::amount_text(*amount.value, asset),
                       sentence.after);
}

// Where the renter finds it. A credit is no balance, and is not called one.
std::string found_in(const RefundFacts& facts) {
    const Micro credit = facts.credit_micro.value.value_or(Micro{});
    const Micro balance = facts.refund_micro - credit;
    if (credit == Micro{}) return "It is in your balance";
    if (balance == Micro{}) return "It is back in the promotional credit that had paid it";
    return fmt::format(
        "{} of it are in your balance and {} are back in the promotional credit that had paid them",
        ledger::amount_text(balance, facts.asset), ledger::amount_text(credit, facts.asset));
}

}  // namespace

events::Words refund_words(const RefundFacts& facts, std::string_view) {
    const ledger::Asset asset = facts.asset;
    const std::string refund = ledger::amount_text(facts.refund_micro, asset);
    if (facts.side == Side::renter)
        return {"a refund for a rental",
                about_rental(fmt::format("You got {} back for a rental. {}, and on the receipt.",
                                         refund, found_in(facts)),
                             facts.job_id)};
    std::string text = fmt::format(
        "A renter got {} back for a rental of your machine; {} of it were your "
        "earnings and are taken back.",
        refund, ledger::amount_text(facts.amount_micro, asset));
    text += of_amount(facts.from_available_micro, asset, {" Your balance paid ", " of that."});
    text += of_amount(facts.host_debt_micro, asset,
                      {" You owe ", " of it, which is taken from what you earn or get next."});
    text += of_amount(facts.from_platform_micro, asset, {" The service bears ", " of it."});
    return {"a rental was refunded", about_rental(text, facts.job_id)};
}

events::Words opened_words(const DisputeFacts& facts, std::string_view) {
    const std::string amount = ledger::amount_text(facts.amount_micro, facts.asset);
    const std::string text =
        facts.side == Side::renter
            ? fmt::format(
                  "Of the charge for a rental of yours, {} are disputed. You are told "
                  "when that is decided.",
                  amount)
            : fmt::format(
                  "Of the charge for a rental of your machine, {} are disputed. Until "
                  "that is decided {} of your earnings are held back.",
                  amount,
                  ledger::amount_text(facts.held_micro.value.value_or(Micro{}), facts.asset));
    return {"a charge is disputed", about_rental(text, facts.job_id)};
}

events::Words closed_words(const DisputeFacts& facts, std::string_view) {
    const bool upheld = facts.outcome.value == Outcome::upheld;
    const std::string amount = ledger::amount_text(facts.amount_micro, facts.asset);
    const std::string text =
        facts.side == Side::renter
            ? fmt::format("The dispute over {} of a rental's charge was decided {}.", amount,
                          upheld ? "for you: another mail says what you got back"
                                 : "for the host: the charge stays as it is")
            : fmt::format(
                  "The dispute over {} of a rental's charge was decided {}. What was held "
                  "back for it, {}, is released.",
                  amount,
                  upheld ? "for the renter: another mail says what is taken back" : "for you",
                  ledger::amount_text(facts.released_micro.value.value_or(Micro{}), facts.asset));
    return {"a dispute was decided", about_rental(text, facts.job_id)};
}

}  // namespace berth::admin

namespace berth::admin::letters {
namespace {

// Each side reads what concerns it.
void tell_sides(api::Call& call, const events::Kind<DisputeFacts>& kind, const ledger::Job& job,
                const DisputeRow& dispute, const std::optional<Micro>& released) {
    DisputeFacts facts{.job_id = job.job,
                       .side = Side::renter,
                       .asset = job.asset,
                       .amount_micro = dispute.amount,
                       .held_micro = std::nullopt,
                       .released_micro = std::nullopt,
                       .outcome = dispute.outcome};
    events::tell(call.context(), kind, job.renter, dispute.dispute_id, facts);
    facts.side = Side::host;
    facts.held_micro = dispute.held;
    facts.released_micro = released;
    events::tell(call.context(), kind, job.host, dispute.dispute_id, facts);
}

}  // namespace

void tell_refund(api::Call& call, const Refund& refund) {
    RefundFacts facts;
    facts.job_id = refund.job.job;
    facts.asset = refund.job.asset;
    facts.amount_micro = facts.refund_micro = refund.amount;
    facts.credit_micro = refund.credit;
    events::tell(call.context(), refund_posted, refund.job.renter, refund.id, facts);
    facts.side = Side::host;
    facts.amount_micro = refund.host_part;
    facts.credit_micro = std::nullopt;
    facts.from_available_micro = refund.burden.from_available_micro;
    facts.host_debt_micro = refund.burden.host_debt_micro;
    facts.from_platform_micro = refund.burden.from_platform_micro;
    events::tell(call.context(), refund_posted, refund.job.host, refund.id, facts);
}

void tell_opened(api::Call& call, const ledger::Job& job, const DisputeRow& dispute) {
    tell_sides(call, dispute_opened, job, dispute, std::nullopt);
}

void tell_closed(api::Call& call, const ledger::Job& job, const DisputeRow& dispute,
                 Micro released) {
    tell_sides(call, dispute_closed, job, dispute, released);
}

}  // namespace berth::admin::letters
