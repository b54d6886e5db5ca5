// The pages that a person finds without knowing the API: where to begin, and the reference.
#pragma once

#include <memory>
#include <string>

#include "api/router.hpp"

namespace berth::server {

// `reference` is filled after all routes are declared, since it describes them.
void add_page_routes(api::Router& router, std::shared_ptr<const std::string> reference);

}  // namespace berth::server
