// The specification as a page for people: every route by group with its fields, errors and a curl
// command, and every shape. Made once from the specification itself, so that the two never differ.
#pragma once

#include <string>
#include <string_view>

namespace berth::api {

// The style of the page; a Content-Security-Policy names its hash.
extern const std::string_view reference_style;

std::string html_escaped(std::string_view text);

// `specification` is what openapi() gives.
std::string reference_page(std::string_view specification);

}  // namespace berth::api
