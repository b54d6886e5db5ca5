// The terms of service, with the prices that are in force.
#pragma once

#include "api/router.hpp"

namespace berth::billing {

api::Html terms_page(api::Call& call);

}  // namespace berth::billing
