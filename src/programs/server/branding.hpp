// What the operator's name, colour and logo look like to a browser: all of it is public.
#pragma once

#include <boost/describe.hpp>

#include "api/router.hpp"
#include "wire/rules.hpp"

namespace berth::server {

struct BrandingShown {
    wire::Text<1, 60> name;
    wire::Integer<0, 359> hue;
    bool has_logo = false;
};
BOOST_DESCRIBE_STRUCT(BrandingShown, (), (name, hue, has_logo))
constexpr auto wire_docs(const BrandingShown*) {
    return std::to_array<wire::Doc>({
        {"name", "The name of the service.", "Berth"},
        {"hue", "Of the colour of the console, in degrees; /branding.css has it as a style.",
         "218"},
        {"has_logo", "Whether there is a picture at /branding/logo.", "false"},
    });
}

void add_branding_routes(api::Router& router);

}  // namespace berth::server
