#include "server/pages.hpp"

#include <fmt/format.h>

#include "api/openapi.hpp"
#include "api/reference.hpp"
#include "base/bytes.hpp"
#include "crypto/hash.hpp"

namespace berth::server {
namespace {

using api::Access;
using api::Cache;
using api::Call;
using api::Work;

}  // namespace

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

void add_page_routes(api::Router& router, std::shared_ptr<Reference> reference) {
    const std::string policy =
        fmt::format("default-src 'none'; style-src 'sha256-{}'; frame-ancestors 'none'",
                    to_base64(crypto::sha256(api::reference_style)));
    router.add({.method = "GET",
                .path = "/docs",
                .name = "reference_page",
                .group = "pages",
                .summary = "This description, for people.",
                .access = Access::anyone,
                .work = Work::memory,
                .cache = Cache::open},
               [reference, policy](Call& call) {
                   call.add_header("Content-Security-Policy", policy);
                   return api::Html(reference->page());
               });
}

}  // namespace berth::server
