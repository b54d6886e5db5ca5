#include "server/branding.hpp"

#include <fmt/format.h>

#include "accounts/settings.hpp"
#include "base/bytes.hpp"
#include "crypto/hash.hpp"

namespace berth::server {
namespace {

using accounts::Branding;
using api::Access;
using api::Cache;
using api::Call;
using api::Work;

constexpr std::size_t logo_version_bytes = 16;

BrandingShown show_branding(Call& call) {
    const auto& branding = call.settings<Branding>();
    return {{*branding.name}, {*branding.hue}, branding.logo->bytes != nullptr};
}

api::File branding_style(Call& call) {
    const std::int64_t hue = *call.settings<Branding>().hue;
    call.note_version(std::to_string(hue));
    return {"text/css; charset=utf-8",
            std::make_shared<const std::string>(fmt::format(":root{{--brand-hue:{}}}\n", hue))};
}

api::File branding_logo(Call& call) {
    const accounts::Logo& logo = *call.settings<Branding>().logo;
    if (!logo.bytes) throw Problem(Code::not_found, "there is no logo");
    call.note_version(to_hex(crypto::sha256(*logo.bytes).substr(0, logo_version_bytes)));
    return {logo.type, logo.bytes};
}

}  // namespace

void add_branding_routes(api::Router& router) {
    router.add({.method = "GET",
                .path = "/api/v1/branding",
                .name = "show_branding",
                .group = "status",
                .summary = "The name and the looks that the operator gave the service.",
                .access = Access::anyone,
                .work = Work::memory,
                .cache = Cache::open},
               show_branding);
    router.add({.method = "GET",
                .path = "/branding.css",
                .name = "branding_style",
                .group = "pages",
                .summary = "The operator's colour, as a style sheet.",
                .access = Access::anyone,
                .work = Work::memory,
                .media = {{"text/css", "A style sheet of a few custom properties."}},
                .second_status = http::not_modified_status,
                .rate = &api::unlimited,
                .cache = Cache::checked},
               branding_style);
    router.add({.method = "GET",
                .path = "/branding/logo",
                .name = "branding_logo",
                .group = "pages",
                .summary = "The operator's logo, a PNG or WebP picture.",
                .access = Access::anyone,
                .work = Work::memory,
                .media = {{"image/*", "The picture, as the operator gave it."}},
                .second_status = http::not_modified_status,
                .errors = {{Code::not_found, "the operator has given none"}},
                .rate = &api::unlimited,
                .cache = Cache::checked},
               branding_logo);
}

}  // namespace berth::server
