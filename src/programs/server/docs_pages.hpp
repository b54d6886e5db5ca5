// The docs, as people read them in a browser: the pages of docs/, which are in the program, and a
// search over all of them and the API.
#pragma once

#include <memory>

#include "api/router.hpp"
#include "server/pages.hpp"

namespace berth::server {

// `reference` may be null when the routes are only described.
void add_docs_routes(api::Router& router, std::shared_ptr<Reference> reference);

}  // namespace berth::server
