#include "base/problem.hpp"

#include <array>

#include "base/json_text.hpp"

namespace berth {
namespace {

struct CodeRow {
    Code code;
    std::string_view name;
    int status;
};

constexpr std::array<CodeRow, code_count> code_table{{
    {Code::unauthenticated, "UNAUTHENTICATED", 401},
    {Code::forbidden, "FORBIDDEN", 403},
    {Code::not_found, "NOT_FOUND", 404},
    {Code::invalid_input, "INVALID_INPUT", 422},
    {Code::admission_paused, "ADMISSION_PAUSED", 403},
    {Code::authorization_invalid, "AUTHORIZATION_INVALID", 403},
    {Code::idempotency_conflict, "IDEMPOTENCY_CONFLICT", 409},
    {Code::conflict, "CONFLICT", 409},
    {Code::version_conflict, "VERSION_CONFLICT", 409},
    {Code::stale_version, "STALE_VERSION", 409},
    {Code::stale_fence, "STALE_FENCE", 409},
    {Code::quote_expired, "QUOTE_EXPIRED", 409},
    {Code::insufficient_funds, "INSUFFICIENT_FUNDS", 409},
    {Code::stop_irreversible, "STOP_IRREVERSIBLE", 409},
    {Code::unavailable, "UNAVAILABLE", 503},
    {Code::budget_version_older, "BUDGET_VERSION_OLDER", 409},
    {Code::budget_funding_mismatch, "BUDGET_FUNDING_MISMATCH", 409},
    {Code::lease_seq_replay, "LEASE_SEQ_REPLAY", 409},
    {Code::command_expired, "COMMAND_EXPIRED", 409},
    {Code::unsupported_protocol_version, "UNSUPPORTED_PROTOCOL_VERSION", 422},
    {Code::unknown_command_kind, "UNKNOWN_COMMAND_KIND", 422},
    {Code::events_expired, "EVENTS_EXPIRED", 409},
    {Code::no_gate, "NO_GATE", 409},
}};

constexpr bool table_follows_enum() {
    for (std::size_t i = 0; i < code_table.size(); ++i)
        if (static_cast<std::size_t>(code_table[i].code) != i) return false;
    return true;
}
static_assert(table_follows_enum());

const CodeRow& row(Code code) { return code_table[static_cast<std::size_t>(code)]; }

}  // namespace

std::string_view code_name(Code code) { return row(code).name; }
int code_status(Code code) { return row(code).status; }

Problem::Problem(Code code_, std::string message_)
    : code(code_),
      status(code_status(code_)),
      retryable(code_ == Code::unavailable),
      message(std::move(message_)) {}

Problem Problem::rate_limited() {
    Problem problem(Code::unavailable, "too many requests; wait and try again");
    problem.status = 429;
    return problem;
}

Problem Problem::too_large(std::string message) {
    Problem problem(Code::invalid_input, std::move(message));
    problem.status = 413;
    return problem;
}

Problem Problem::with_sibling(std::string_view name, std::string_view json) && {
    siblings += ',';
    append_json_string(siblings, name);
    siblings += ':';
    siblings += json;
    return std::move(*this);
}

}  // namespace berth
