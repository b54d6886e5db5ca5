// When an action of an operator waits for a second one.
#pragma once

#include "ledger/ledger.hpp"
#include "settings/registry.hpp"

namespace berth::four_eyes {

enum class Mode { automatic, on, off };
Mode mode_of(const std::string& text);  // "auto", "on" or "off"; throws BadValue
std::string name_of(Mode mode);

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Parsed<Mode> four_eyes{
        "auto",
        mode_of,
        {.label = "Four eyes",
         .help = "Whether what gives power or moves much money waits for a second admin: on, off, "
                 "or auto, which is on while there are two admins and for 72 hours after one of "
                 "the last two ceased to be one.",
         .pinned = settings::root_of_trust}};
    settings::Amount four_eyes_limit_micro{
        Micro{1'000'000'000},
        {0, ledger::amount_max.value},
        {.label = "Limit of one admin alone",
         .help = "What one operator may decide alone within 24 hours, taken together; more waits "
                 "for a second admin.",
         .unit = "micro-units"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (four_eyes, four_eyes_limit_micro))

}  // namespace berth::four_eyes
