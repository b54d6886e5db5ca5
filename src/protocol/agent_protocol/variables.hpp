// Which variables of a workload's environment would act on the host's own programs.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace berth::agent_protocol {

// These name a library that the dynamic linker loads into whatever is started: START may not have
// them, nor may a template. LD_LIBRARY_PATH may be there: images are built with it.
constexpr bool is_loader_variable(std::string_view name) {
    return name == "LD_PRELOAD" || name == "LD_AUDIT";
}

// All that the dynamic linker, the C library or a shell of the host obeys before a program's first
// line: nothing that the server sends of these reaches a program of the host.
constexpr bool steers_programs(std::string_view name) {
    constexpr auto others = std::to_array<std::string_view>(
        {"BASH_ENV", "ENV", "GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "IFS",
         "LOCALDOMAIN", "LOCPATH", "MALLOC_CHECK_", "MALLOC_TRACE", "NIS_PATH", "NLSPATH", "PATH",
         "RESOLV_HOST_CONF", "RES_OPTIONS", "SHELLOPTS", "TZDIR"});
    return name.starts_with("LD_") || std::find(others.begin(), others.end(), name) != others.end();
}

}  // namespace berth::agent_protocol
