// The version of everything that is built here: programs, packages, and what they call themselves
// to others. It is written once, in project() of CMakeLists.txt.
#pragma once

#include <string>
#include <string_view>

namespace berth {

extern const std::string_view project_version;  // such as "0.1.0"

// How a program names itself: "berthd 0.1.0".
std::string name_and_version(std::string_view program);

// The same as other servers see it, in User-Agent: "berthd/0.1.0".
std::string user_agent(std::string_view program);

}  // namespace berth
