#include "rentals/event_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/enum_names.hpp"
#include "base/letters.hpp"
#include "base/log.hpp"

namespace berth::rentals::event_evidence {

namespace {

using agent_protocol::given;

// One line, as every other text of a host without what looks like a secret.
std::string presentable(std::string text) {
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    };
    std::replace_if(text.begin(), text.end(), is_control, ' ');
    return redact(text);
}

Failure told(const EndEvidence& end, const std::string& otherwise) {
    const bool oom = given(end.oom).value_or(false);
    const FailureCode code = failure_code(
        text_of(end.code), oom ? FailureCode::OUT_OF_MEMORY : FailureCode::ENGINE_EXITED);
    const auto exit = given(end.exit_code);
    std::string message = oom ? "The workload needed more memory than there was." : otherwise;
    if (exit) message += fmt::format(" Its exit code was {}.", exit->value);
    const auto words = given(end.message);
    if (words && !words->value.empty())
        message += fmt::format(" The host says: {}", presentable(words->value));
    return {code, std::move(message)};
}

}  // namespace

std::optional<std::string> text_of(const agent_protocol::Maybe<agent_protocol::Name>& member) {
    const auto name = given(member);
    return name ? std::optional(name->value) : std::nullopt;
}

bool is_host(std::string_view text) {
    const auto is_plain = [](char c) {
        return is_alphanumeric(c) || c == '.' || c == '-' || c == ':';
    };
    if (text.size() > 2 && text.starts_with('[') && text.ends_with(']'))
        text = text.substr(1, text.size() - 2);
    return !text.starts_with('-') && std::all_of(text.begin(), text.end(), is_plain);
}

// All of a GPU's memory cannot be had while a driver is there; what was wiped must read as wiped. A
// GPU that is not told of was not wiped, and nothing of nothing is no wipe. What was rented had a
// GPU, whatever its manifest says by now.
bool is_wiped(const CleanedEvidence& cleaned, std::int64_t gpus) {
    if (!cleaned.volume_recreated) return false;
    const auto told = static_cast<std::int64_t>(cleaned.gpus.value.size());
    if (told < std::max<std::int64_t>(gpus, 1)) return false;
    return std::all_of(cleaned.gpus.value.begin(), cleaned.gpus.value.end(), [](const auto& wiped) {
        const Micro enough = scale_floor(Micro{wiped.total_bytes.value}, {90, 100});
        return !given(wiped.error) && wiped.total_bytes.value > 0 &&
               wiped.wiped_bytes.value >= enough.value &&
               wiped.verified_bytes.value >= wiped.wiped_bytes.value;
    });
}

FailureCode failure_code(const std::optional<std::string>& code, FailureCode otherwise) {
    return code ? parse_enum<FailureCode>(*code).value_or(otherwise) : otherwise;
}

bool is_own_stop(const EndEvidence& end) {
    const auto reason = given(end.reason);
    return reason && reason->value == "funded_through";
}

Failure failure_of(const EndEvidence& end) {
    return told(end, "The workload ended before it was ready.");
}

// An agent that gives a reason has ended the workload itself; how that exits is no fault.
std::optional<Failure> fault_of(const EndEvidence& end) {
    if (given(end.reason)) return std::nullopt;
    const auto exit = given(end.exit_code);
    if (!given(end.oom).value_or(false) && !given(end.code) && (!exit || exit->value == 0))
        return std::nullopt;
    return told(end, "The workload ended with a fault.");
}

}  // namespace berth::rentals::event_evidence
