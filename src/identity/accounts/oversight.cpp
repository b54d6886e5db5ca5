#include "accounts/oversight.hpp"

namespace berth::accounts {

void note_look(api::Call& call, const Look& look) {
    if (look.owner == call.caller.account) return;
    const audit::Event event{.actor = audit::Actor::of(call.caller.account),
                             .action = look.action,
                             .target = look.target,
                             .changes = {{"owner", to_string(look.owner), to_string(look.owner)}},
                             .request = call.request_id};
    call.keep_before_answer([event](db::Context context) { audit::record(context, event); });
}

void note_close_look(api::Call& call, const Look& look) {
    if (look.owner != call.caller.account) call.require_step_up(api::StepUp::admin_sensitive);
    note_look(call, look);
}

}  // namespace berth::accounts
