#include "rentals/event_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "agent_protocol/payloads.hpp"
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

// What has to be wiped of so much.
std::int64_t most_of(std::int64_t bytes) { return scale_floor(Micro{bytes}, {90, 100}).value; }

// The largest that was wiped against the largest that there is, and so on: which of them is which
// is the host's word.
bool covers(const CleanedEvidence& cleaned, std::vector<wire::Decimal> there) {
    std::vector<wire::Decimal> wiped;
    for (const auto& gpu : cleaned.gpus.value) wiped.push_back(gpu.wiped_bytes);
    std::sort(wiped.begin(), wiped.end(), std::greater<>());
    std::sort(there.begin(), there.end(), std::greater<>());
    there.resize(std::min(there.size(), wiped.size()));
    return std::equal(there.begin(), there.end(), wiped.begin(),
                      wiped.begin() + static_cast<std::ptrdiff_t>(there.size()),
                      [](wire::Decimal has, wire::Decimal was_wiped) {
                          return was_wiped.value >= most_of(has.value);
                      });
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

Wipeable wipeable(db::Transaction& tx, const machines::Machine* machine) {
    if (machine == nullptr) return {};
    const auto measured =
        machines::find_measured(tx, machine->machine_id).value_or(machines::Measured{});
    return {.gpus = machine->gpu_count.value_or(0),
            .vram_bytes = measured.vram_bytes,
            .gpus_bytes = wire::decode<std::vector<wire::Decimal>>(measured.gpus_bytes, "stored"),
            .simulated = machine->runtime_kind == machines::RuntimeKind::simulated ||
                         machine->driver_version == "simulated"};
}

// All of a GPU's memory cannot be had while a driver is there; what was wiped must read as wiped. A
// GPU that is not told of was not wiped, and nothing of nothing is no wipe. What was rented had a
// GPU, whatever its manifest says by now.
// What the test measured is the measure, not what the host says the card has now.
bool is_wiped(const CleanedEvidence& cleaned, const Wipeable& machine) {
    if (!cleaned.volume_recreated) return false;
    const auto told = static_cast<std::int64_t>(cleaned.gpus.value.size());
    if (told < std::max<std::int64_t>(machine.gpus, 1)) return false;
    if (!machine.simulated && !covers(cleaned, machine.gpus_bytes)) return false;
    std::set<std::string> devices;
    return std::all_of(
        cleaned.gpus.value.begin(), cleaned.gpus.value.end(), [&](const auto& wiped) {
            // One card told of twice is not two that were wiped.
            if (const auto device = given(wiped.pci_address);
                device && !devices.insert(device->value).second)
                return false;
            const bool is_buffer = given(wiped.simulated).value_or(false);
            if (is_buffer && !machine.simulated) return false;
            const std::int64_t has =
                is_buffer ? wiped.total_bytes.value
                          : std::max(wiped.total_bytes.value, machine.vram_bytes.value_or(0));
            return !given(wiped.error) && wiped.total_bytes.value > 0 &&
                   wiped.wiped_bytes.value >= most_of(has) &&
                   wiped.verified_bytes.value >= wiped.wiped_bytes.value;
        });
}

std::string wipe_trouble(const CleanedEvidence& cleaned) {
    const auto has_words = [](const std::optional<agent_protocol::HostText>& words) {
        return words && !words->value.empty();
    };
    if (const auto words = given(cleaned.error); has_words(words)) return presentable(words->value);
    for (const auto& gpu : cleaned.gpus.value)
        if (const auto words = given(gpu.error); has_words(words)) return presentable(words->value);
    return "Not all of the memory of its GPUs was shown to be wiped.";
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

Failure failure_of(const agent_protocol::Ack& refused) {
    const auto code = refused.code ? std::optional(refused.code->value) : std::nullopt;
    Failure failure{failure_code(code, FailureCode::HOST_REJECTED),
                    "The host refused to start the job."};
    if (!refused.detail) return failure;
    const auto detail =
        wire::decode_known<agent_protocol::RefusalDetail>(refused.detail->text, "body.detail");
    if (const auto words = given(detail.message); words && !words->value.empty())
        failure.message += fmt::format(" The host says: {}", presentable(words->value));
    return failure;
}

bool is_by_policy(const agent_protocol::Ack& refused) {
    if (!refused.detail || !refused.code || refused.code->value != "HOST_REJECTED") return false;
    const auto detail =
        wire::decode_known<agent_protocol::RefusalDetail>(refused.detail->text, "body.detail");
    return given(detail.by_policy).value_or(false);
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
