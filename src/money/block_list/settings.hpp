// Where the operator's own list of addresses is.
#pragma once

#include "settings/registry.hpp"

namespace berth::block_list {

struct Settings {
    static constexpr auto category = settings::Category::money;

    settings::Text blocked_addresses_file{
        "",
        settings::any_text,
        {.label = "Blocked addresses",
         .help = "File of addresses that pay nothing in and are paid nothing, one on a line; a "
                 "worker reads it again every minute. Empty: none.",
         .pinned = settings::read_at_start}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (blocked_addresses_file))

}  // namespace berth::block_list
