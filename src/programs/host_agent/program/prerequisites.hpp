// What a host may have in the way of renting it out, beside what its runtime asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::host_agent {

// Whether the bus has a graphics card of NVIDIA's, driver or not.
bool has_card_of_nvidia();
// What its driver is called here, as packages; `system` is what /etc/os-release says.
std::vector<std::string> driver_packages(const std::string& system);

struct Firewall {
    std::string what;  // a sentence
    std::string mend;  // the command that opens the ports; empty: they are open, as far as is seen
};
Firewall find_firewall(std::int64_t port_first, std::int64_t port_last);

}  // namespace berth::host_agent
