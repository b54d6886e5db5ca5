// What both sides of a job are told when operators put something right about it: a refund, a
// dispute that was opened or decided. It is told with the act itself, in its transaction, and the
// words of the mails about it are here. Reasons and evidence are for the record, and stay there.
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
void tell_refund(api::Call& call, const Refund& refund);

void tell_opened(api::Call& call, const ledger::Job& job, const DisputeRow& dispute);
// `released` is what had been held and is free again. A refund is told by itself.
void tell_closed(api::Call& call, const ledger::Job& job, const DisputeRow& dispute,
                 Micro released);

}  // namespace berth::admin::letters
