// The error envelope of every route.
#pragma once

#include <boost/describe.hpp>
#include <string>

#include "base/ids.hpp"
#include "base/problem.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::api {

struct ErrorDetail {
    wire::Text<1, 100> code;
    wire::Text<1, 4000> message;
    bool retryable = false;
    RequestId request_id;
};
BOOST_DESCRIBE_STRUCT(ErrorDetail, (), (code, message, retryable, request_id))
constexpr auto wire_docs(const ErrorDetail*) {
    return std::to_array<wire::Doc>({
        {"code",
         "Which kind of error it is. New codes may appear: treat an "
         "unknown one by the HTTP status.",
         "INVALID_INPUT"},
        {"message",
         "What was wrong, for people; faults of the input name each "
         "member.",
         "body.amount_micro: must be at least 1"},
        {"retryable",
         "Whether the identical request may succeed later: back off, then "
         "retry with the same Idempotency-Key.",
         "false"},
    });
}

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
