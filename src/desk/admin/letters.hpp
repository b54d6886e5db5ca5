// What both sides of a job read, by mail and as events, when operators put something right about
// it: a refund, a dispute that was opened or decided. It leaves with the act itself, in its
// transaction; agents have no mailbox. Reasons and evidence are for the record, and stay there.
#pragma once

#include "admin/adjustments.hpp"

namespace berth::admin::letters {

struct Refund {
    ledger::RefundId id;
    const ledger::Job& job;
    Micro amount;     // what the renter gets
    Micro credit;     // of that: what goes back to a promotional credit
    Micro host_part;  // what of it is the host's to give
    const Burden& burden;
};
void tell_refund(api::Call& call, const mail::Outbox& outbox, const Refund& refund);

void tell_opened(api::Call& call, const mail::Outbox& outbox, const ledger::Job& job,
                 const DisputeRow& dispute);
// `released` is what had been held and is free again. A refund has a mail of its own.
void tell_closed(api::Call& call, const mail::Outbox& outbox, const ledger::Job& job,
                 const DisputeRow& dispute, Micro released);

}  // namespace berth::admin::letters
