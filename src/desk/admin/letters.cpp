#include "admin/letters.hpp"

#include <fmt/format.h>

#include "accounts/notices.hpp"
#include "accounts/settings.hpp"
#include "admin/told.hpp"
#include "ledger/amounts.hpp"

namespace berth::admin::letters {
namespace {

struct Letter {
    AccountId to;
    std::string subject;  // goes on from the name of the service
    std::string text;
};

void send_letter(api::Call& call, const mail::Outbox& outbox, const ledger::Job& job,
                 const Letter& letter) {
    const auto account = accounts::find_account(call.tx(), letter.to);
    if (!account || !account->email) return;
    outbox.send(call.context(),
                {.to = *account->email,
                 .subject = fmt::format("{}: {}", accounts::brand(call), letter.subject),
                 .text = fmt::format("{}\n\nThe rental is {}. If you see it otherwise, open a "
                                     "ticket that names it.\n",
                                     letter.text, to_string(job.job))});
}

// Where the renter finds it. A credit is no balance, and is not called one.
std::string place_of(const Refund& refund) {
    const Micro balance = refund.amount - refund.credit;
    if (refund.credit == Micro{}) return "It is in your balance";
    if (balance == Micro{}) return "It is back in the promotional credit that had paid it";
    return fmt::format(
        "{} of it are in your balance and {} are back in the promotional credit that had paid them",
        ledger::amount_text(balance, refund.job.asset),
        ledger::amount_text(refund.credit, refund.job.asset));
}

}  // namespace

void tell_refund(api::Call& call, const mail::Outbox& outbox, const Refund& refund) {
    const ledger::Asset asset = refund.job.asset;
    send_letter(call, outbox, refund.job,
                {refund.job.renter, "a refund for a rental",
                 fmt::format("You got {} back for a rental. {}, and on the receipt.",
                             ledger::amount_text(refund.amount, asset), place_of(refund))});
    std::string text = fmt::format(
        "A renter got {} back for a rental of your machine; {} of it "
        "were your earnings and are taken back.",
        ledger::amount_text(refund.amount, asset), ledger::amount_text(refund.host_part, asset));
    if (refund.burden.from_available_micro > Micro{})
        text += fmt::format(" Your balance paid {} of that.",
                            ledger::amount_text(refund.burden.from_available_micro, asset));
    if (refund.burden.host_debt_micro > Micro{})
        text += fmt::format(" You owe {} of it, which is taken from what you earn or get next.",
                            ledger::amount_text(refund.burden.host_debt_micro, asset));
    if (refund.burden.from_platform_micro > Micro{})
        text += fmt::format(" The service bears {} of it.",
                            ledger::amount_text(refund.burden.from_platform_micro, asset));
    send_letter(call, outbox, refund.job, {refund.job.host, "a rental was refunded", text});
    const auto tell = [&](AccountId account, Side side, Micro amount) {
        events::tell(call.context(), refund_posted, account, refund.id,
                     RefundFacts{refund.job.job, side, asset, amount});
    };
    tell(refund.job.renter, Side::renter, refund.amount);
    tell(refund.job.host, Side::host, refund.host_part);
}

namespace {

// Each side reads what concerns it.
void tell_sides(api::Call& call, const events::Kind<DisputeFacts>& kind, const ledger::Job& job,
                const DisputeRow& dispute) {
    DisputeFacts facts{.job_id = job.job,
                       .side = Side::renter,
                       .asset = job.asset,
                       .amount_micro = dispute.amount,
                       .held_micro = std::nullopt,
                       .outcome = dispute.outcome};
    events::tell(call.context(), kind, job.renter, dispute.dispute_id, facts);
    facts.side = Side::host;
    facts.held_micro = dispute.held;
    events::tell(call.context(), kind, job.host, dispute.dispute_id, facts);
}

}  // namespace

void tell_opened(api::Call& call, const mail::Outbox& outbox, const ledger::Job& job,
                 const DisputeRow& dispute) {
    const std::string amount = ledger::amount_text(dispute.amount, job.asset);
    send_letter(call, outbox, job,
                {job.renter, "a charge is disputed",
                 fmt::format("Of the charge for a rental of yours, {} are disputed. You are told "
                             "when that is decided.",
                             amount)});
    send_letter(call, outbox, job,
                {job.host, "a charge is disputed",
                 fmt::format("Of the charge for a rental of your machine, {} are disputed. Until "
                             "that is decided {} of your earnings are held back.",
                             amount, ledger::amount_text(dispute.held, job.asset))});
    tell_sides(call, dispute_opened, job, dispute);
}

void tell_closed(api::Call& call, const mail::Outbox& outbox, const ledger::Job& job,
                 const DisputeRow& dispute, Micro released) {
    const bool upheld = dispute.outcome == Outcome::upheld;
    const std::string amount = ledger::amount_text(dispute.amount, job.asset);
    send_letter(call, outbox, job,
                {job.renter, "a dispute was decided",
                 fmt::format("The dispute over {} of a rental's charge was decided {}.", amount,
                             upheld ? "for you: another mail says what you got back"
                                    : "for the host: the charge stays as it is")});
    send_letter(
        call, outbox, job,
        {job.host, "a dispute was decided",
         fmt::format("The dispute over {} of a rental's charge was decided {}. What was "
                     "held back for it, {}, is released.",
                     amount,
                     upheld ? "for the renter: another mail says what is taken back" : "for you",
                     ledger::amount_text(released, job.asset))});
    tell_sides(call, dispute_closed, job, dispute);
}

}  // namespace berth::admin::letters
