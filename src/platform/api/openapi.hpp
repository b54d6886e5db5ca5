// The OpenAPI 3.1 description of every declared route. Nothing in it is written twice: paths,
// parameters, schemas, examples, security and errors come from the declarations and their structs.
#pragma once

#include <string>
#include <vector>

#include "api/router.hpp"

namespace berth::api {

inline constexpr std::string_view contract_version = "3.0.0";

// The errors a route may answer with: those it names, and those that follow from its declaration.
struct ErrorRow {
    int status;
    std::string_view code;
    friend auto operator<=>(const ErrorRow&, const ErrorRow&) = default;
};
std::vector<ErrorRow> route_errors(const Entry& entry);  // sorted

// The document as indented JSON with a line end.
std::string openapi(const Router& router);

}  // namespace berth::api
