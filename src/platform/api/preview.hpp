// What a command of an operator would do, found by carrying it out in a transaction that is undone.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/problem.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::api {

inline constexpr std::size_t effect_ids_max = 10;

struct ActionEffect {
    std::string what;
    wire::Count count;
    std::optional<Micro> amount_micro;
    std::vector<std::string> ids;
};
BOOST_DESCRIBE_STRUCT(ActionEffect, (), (what, count, amount_micro, ids))
constexpr auto wire_docs(const ActionEffect*) {
    return std::to_array<wire::Doc>({
        {"what",
         "sessions_ended, keys_refused, keys_working, authenticator_removed, rentals_going_on, "
         "machines_hidden, machines_shown, transfers_waiting, rentals_stopped, "
         "commands_taken_back.",
         "rentals_stopped"},
        {"count", "How many; no more than 1,000 are counted.", "1"},
        {"amount_micro", "What they are about, in both assets together, where that is money.",
         "1500000"},
        {"ids", "The first ten of them.", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"},
    });
}

struct ActionRefusal {
    std::string code;
    std::string message;
};
BOOST_DESCRIBE_STRUCT(ActionRefusal, (), (code, message))
constexpr auto wire_docs(const ActionRefusal*) {
    return std::to_array<wire::Doc>({
        {"code", "As the command itself would answer.", "CONFLICT"},
        {"message", "Why, in a sentence.", "this is the last admin: make another one first"},
    });
}

struct ActionPreview {
    bool allowed = false;
    std::vector<ActionEffect> effects;
    std::optional<ActionRefusal> refusal;
    bool needs_second_admin = false;
    std::optional<std::string> consequence;
};
BOOST_DESCRIBE_STRUCT(ActionPreview, (),
                      (allowed, effects, refusal, needs_second_admin, consequence))
constexpr auto wire_docs(const ActionPreview*) {
    return std::to_array<wire::Doc>({
        {"allowed", "Whether it would be done, or wait for a second admin.", "true"},
        {"effects", "What it would come to; empty when it would be refused."},
        {"refusal", "Why it would be refused; left out when it would not."},
        {"needs_second_admin", "Whether it would wait until another admin confirms it.", "false"},
        {"consequence", "What follows, in a sentence; left out when it would be refused.",
         "Every session has ended; API keys stay good."},
    });
}

// Runs `work`, which fills the preview in. What refuses the command is told in it; whatever else
// goes wrong ends the request.
template <class Work>
ActionPreview preview_of(const Work& work) {
    ActionPreview preview;
    try {
        work(preview);
        preview.allowed = true;
    } catch (const Problem& problem) {
        const bool refuses = problem.code == Code::conflict || problem.code == Code::forbidden ||
                             problem.code == Code::stale_version;
        if (!refuses) throw;
        preview = {};
        preview.refusal = ActionRefusal{std::string(code_name(problem.code)), problem.message};
    }
    return preview;
}

// An effect on some things, unless there are none.
inline void add_effect(ActionPreview& preview, std::string what, std::vector<std::string> ids,
                       const std::optional<Micro>& amount = {}) {
    if (ids.empty()) return;
    ActionEffect effect{std::move(what), {static_cast<std::int64_t>(ids.size())}, amount, {}};
    ids.resize(std::min(ids.size(), effect_ids_max));
    effect.ids = std::move(ids);
    preview.effects.push_back(std::move(effect));
}

}  // namespace berth::api
