// The web console: one page, at every address of its own, and the files that the page loads. All of
// it is in the program (embedded.hpp), and it asks nothing but the public API.
#pragma once

#include <string>

#include "api/router.hpp"

namespace berth::server {

// Another one with every build: a tab that is open finds out by it that there is a newer one.
const std::string& console_version();

void add_console_routes(api::Router& router);

}  // namespace berth::server
