// What a benchmark tells the service that it starts in its own process: everything of it lies in a
// folder of the benchmark's.
#pragma once

#include <map>
#include <string>

#include "bench/measure.hpp"
#include "settings/registry.hpp"

namespace berth::bench {

inline settings::Sources service_sources(const Folder& folder,
                                         std::map<std::string, std::string> more = {}) {
    settings::Sources sources;
    sources.flags = std::move(more);
    sources.flags.insert({{"listen", "127.0.0.1:0"},
                          {"payout-delay-hours", "0"},
                          {"db", "sqlite:" + folder.path + "/berth.db"},
                          {"secrets", folder.path + "/secrets"},
                          {"mail", "file:" + folder.path + "/mail"},
                          {"four-eyes", "off"},
                          {"address-cooling-hours", "0"},
                          {"log-level", "error"}});
    return sources;
}

}  // namespace berth::bench
