// What every command of an operator carries, described once so that all say the same of it: why it
// is given, for the audit record, and which version of a thing it is about.
#pragma once

#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::api {

using Reason = wire::Text<5, 2000>;

constexpr wire::Doc reason_doc(std::string_view example) {
    return {"reason", "Why, for the audit record.", example};
}
constexpr wire::Doc expected_version_doc(std::string_view example) {
    return {"expected_version", "The version that was looked at.", example};
}

}  // namespace berth::api
