// The error envelope of every route.
#pragma once

#include <boost/describe.hpp>
#include <string>

#include "base/ids.hpp"
#include "base/problem.hpp"
#include "wire/rules.hpp"

namespace berth::api {

struct ErrorDetail {
    wire::Text<1, 100> code;
    wire::Text<1, 4000> message;
    bool retryable = false;
    RequestId request_id;
};
BOOST_DESCRIBE_STRUCT(ErrorDetail, (), (code, message, retryable, request_id))

struct ErrorEnvelope {
    ErrorDetail error;
};
BOOST_DESCRIBE_STRUCT(ErrorEnvelope, (), (error))

constexpr bool wire_closed(const ErrorDetail*) { return true; }
constexpr bool wire_closed(const ErrorEnvelope*) { return true; }

std::string error_body(const Problem& problem, RequestId request);

// For a fault of ours that no table foresees; it says nothing about the inside.
std::string internal_error(RequestId request);

}  // namespace berth::api
