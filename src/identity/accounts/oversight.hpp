// Operators look at what is somebody else's, and it is kept that they did: who, at what, and whose
// it is, before anything is shown. What a renter says to a machine and gets from it is asked for
// with a fresh proof as well.
#pragma once

#include "api/call.hpp"
#include "audit/audit.hpp"

namespace berth::accounts {

struct Look {
    AccountId owner;
    std::string action;  // as the audit record has it: "read_job_logs"
    audit::Target target;
};

// Nothing where the owner looks; for a handler that only reads.
void note_look(api::Call& call, const Look& look);
// The same, and the operator has stepped up.
void note_close_look(api::Call& call, const Look& look);

}  // namespace berth::accounts
