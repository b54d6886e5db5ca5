#include "api/call.hpp"

namespace berth::api {

void Call::require_step_up() {
    require(step_up_ != StepUp::none, "a route declares the step-up its handler asks for");
    step_up_checked_ = true;
    require_step_up(step_up_);
}

void Call::require_step_up(StepUp purpose) const {
    if (caller.step_up_until[static_cast<std::size_t>(purpose)] <= now)
        throw Problem(Code::forbidden, "a fresh step-up of this purpose is required");
}

void Call::wait_for(const WakeKey& key, Duration at_most) const {
    if (waited_ && *waited_ < at_most) throw NothingYet{key, at_most};
}

}  // namespace berth::api
