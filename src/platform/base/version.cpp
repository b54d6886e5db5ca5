#include "base/version.hpp"

#include <fmt/format.h>

namespace berth {

const std::string_view project_version = BERTH_VERSION;

std::string name_and_version(std::string_view program) {
    return fmt::format("{} {}", program, project_version);
}

std::string user_agent(std::string_view program) {
    return fmt::format("{}/{}", program, project_version);
}

}  // namespace berth
