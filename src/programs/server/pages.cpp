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

constexpr std::string_view start = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Berth</title>
<h1>Berth</h1>
<p>A marketplace where GPUs are rented by the millisecond. This is its API.</p>
<ul>
<li><a href="/docs">Reference</a>: every route, with its fields, errors and a curl command.</li>
<li><a href="/openapi.json">openapi.json</a>: the same for programs (OpenAPI 3.1).</li>
<li><a href="/api/v1/status">Status</a>: how the service is.</li>
<li><a href="/terms">Terms of service</a>.</li>
</ul>
</html>
)";

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
    router.add({.method = "GET",
                .path = "/",
                .name = "start_page",
                .group = "pages",
                .summary = "Where to begin.",
                .access = Access::anyone,
                .work = Work::memory,
                .cache = Cache::open},
               [page = std::make_shared<const std::string>(start)](Call& call) {
                   call.add_header("Content-Security-Policy",
                                   "default-src 'none'; frame-ancestors 'none'");
                   return api::Html(page);
               });

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
