#include "api/call.hpp"

namespace berth::api {

void Call::require_step_up() {
    require(step_up_ != StepUp::none, "a route declares the step-up its handler asks for");
    step_up_checked_ = true;
    if (caller.step_up_until[static_cast<std::size_t>(step_up_)] <= now)
        throw Problem(Code::forbidden, "a fresh step-up of this purpose is required");
}

void Call::wait_for(const WakeKey& key, Duration at_most) const {
    if (waited_ && *waited_ < at_most) throw NothingYet{key, at_most};
}

}  // namespace berth::api
