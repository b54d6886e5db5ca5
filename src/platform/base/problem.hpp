// A Problem ends a request: it is thrown where the request is found to be over and caught once, in
// the router, which turns it into the error envelope. Code paths that go on return values instead.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace berth {

enum class Code {
    unauthenticated,
    forbidden,
    not_found,
    invalid_input,
    admission_paused,
    authorization_invalid,
    idempotency_conflict,
    conflict,
    version_conflict,
    stale_version,
    stale_fence,
    quote_expired,
    insufficient_funds,
    stop_irreversible,
    unavailable,
    budget_version_older,
    budget_funding_mismatch,
    lease_seq_replay,
    command_expired,
    unsupported_protocol_version,
    unknown_command_kind,
    events_expired,
    no_gate,
};

inline constexpr int code_count = static_cast<int>(Code::no_gate) + 1;

// The name on the wire, such as "VERSION_CONFLICT", and the HTTP status that goes with it.
std::string_view code_name(Code code);
int code_status(Code code);

class Problem : public std::exception {
public:
    Problem(Code code, std::string message);

    // A limit was hit: 429 with code UNAVAILABLE. There is never a Retry-After.
    static Problem rate_limited();
    // The body is larger than the route takes: 413 with code INVALID_INPUT.
    static Problem too_large(std::string message);

    // Adds a member beside `error` in the body; `json` is the member's value, already encoded.
    Problem with_sibling(std::string_view name, std::string_view json) &&;

    const char* what() const noexcept override { return message.c_str(); }

    Code code;
    int status;
    bool retryable;
    std::string message;
    std::string siblings;  // encoded members, each with its leading comma; usually empty
};

}  // namespace berth
