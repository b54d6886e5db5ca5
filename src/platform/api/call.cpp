#include "api/call.hpp"

#include <algorithm>

#include "http/text.hpp"

namespace berth::api {
namespace {

// Whether If-None-Match names the tag, or any. Which encoding it came in makes no difference.
bool has_version(const http::Request& request, std::string_view tag) {
    for (const auto& field : request.headers) {
        if (!http::equal_without_case(field.name, "If-None-Match")) continue;
        for (std::string_view rest = field.value; !rest.empty();) {
            const std::size_t end = std::min(rest.find(','), rest.size());
            std::string_view item = http::trim(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
            if (item.starts_with("W/")) item.remove_prefix(2);
            if (item == "*" || item == tag) return true;
        }
    }
    return false;
}

}  // namespace

void Call::require_step_up() {
    require(step_up_ != StepUp::none, "a route declares the step-up its handler asks for");
    step_up_checked_ = true;
    require_step_up(step_up_);
}

void Call::require_step_up(StepUp purpose) const {
    if (caller.step_up_until[static_cast<std::size_t>(purpose)] <= now)
        throw StepUpMissing(purpose);
}

void Call::note_version(std::string_view version) {
    const std::string tag = '"' + std::string(version) + '"';
    add_header("ETag", "W/" + tag);
    if (has_version(request, tag)) answer_with(http::not_modified_status);
}

void Call::wait_for(const WakeKey& key, Duration at_most) const {
    if (waited_ && *waited_ < at_most) throw NothingYet{key, at_most};
}

}  // namespace berth::api
