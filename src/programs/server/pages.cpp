#include "server/pages.hpp"

#include "api/openapi.hpp"
#include "api/reference.hpp"

namespace berth::server {
std::shared_ptr<const std::string> Reference::specification() {
    std::call_once(specified_, [this] {
        specification_ = std::make_shared<const std::string>(api::openapi(router_));
    });
    return specification_;
}

std::shared_ptr<const std::string> Reference::page() {
    std::call_once(shown_, [this] {
        page_ = std::make_shared<const std::string>(api::reference_page(*specification()));
    });
    return page_;
}

}  // namespace berth::server
