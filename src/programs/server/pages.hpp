// The reference: the description of the API, for programs and for people.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "api/router.hpp"

namespace berth::server {

// The specification of all routes, and the page made from it. Few ask for them, and they take more
// time and memory than the rest of a start: each is written when it is first asked for.
class Reference {
public:
    explicit Reference(const api::Router& router) : router_(router) {}

    std::shared_ptr<const std::string> specification();
    std::shared_ptr<const std::string> page();

private:
    const api::Router& router_;  // whose routes are all declared by then
    std::once_flag specified_;
    std::once_flag shown_;
    std::shared_ptr<const std::string> specification_;
    std::shared_ptr<const std::string> page_;
};

}  // namespace berth::server
