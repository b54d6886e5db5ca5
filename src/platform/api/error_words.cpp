#include "api/error_words.hpp"

#include <array>

namespace berth::api {
namespace {

struct Row {
    Code code;
    ErrorWords words;
};

// In the order of the codes.
constexpr std::array<Row, code_count> rows{{
    {Code::unauthenticated,
     {"there is no credential, or it is unknown or has ended",
      "a session or an API key is required"}},
    {Code::forbidden,
     {"the scope, role, step-up or destination is missing", "this needs a key of scope host"}},
    {Code::not_found, {"there is no such thing, or it is not the caller's", "no such job"}},
    {Code::invalid_input,
     {"the request breaks a rule; the message names each member",
      "body.budget_micro: must be at least 1; body.image: must be left out"}},
    {Code::admission_paused,
     {"new work is not taken on at the moment", "new rentals are paused; running ones go on"}},
    {Code::authorization_invalid,
     {"a proof is wrong, expired, used, or bound to something else",
      "the code is wrong or was used already"}},
    {Code::idempotency_conflict,
     {"the Idempotency-Key was used for another request",
      "this Idempotency-Key was used for another request"}},
    {Code::conflict,
     {"the state of things does not allow it", "the job is not RUNNING, or serves no model"}},
    {Code::version_conflict,
     {"it has been changed since the version named", "the offer has version 4 by now"}},
    {Code::stale_version,
     {"it has been changed since the version named", "the account has version 4 by now"}},
    {Code::stale_fence,
     {"the machine has been given to another job since", "the fence is 8 by now"}},
    {Code::quote_expired,
     {"the quote is too old, or was used", "the quote has expired; ask for another"}},
    {Code::insufficient_funds,
     {"the balance is too small", "the balance does not cover this amount"}},
    {Code::stop_irreversible,
     {"the job is stopping, which cannot be undone", "the job is stopping already"}},
    {Code::unavailable,
     {"something the service needs is away; try again later",
      "the database is away; try again later"}},
    {Code::budget_version_older, {"a newer budget is known", "the budget has version 3 by now"}},
    {Code::budget_funding_mismatch,
     {"the budget does not agree with what is funded", "the funded budget is 2000000"}},
    {Code::lease_seq_replay, {"a later lease is known", "lease_seq 12 is known already"}},
    {Code::command_expired, {"the command is too old", "the command expired a minute ago"}},
    {Code::unsupported_protocol_version,
     {"the protocol version is not spoken here", "protocol versions 1 to 2 are spoken here"}},
    {Code::unknown_command_kind,
     {"the kind of command is not known here", "no command of the kind DANCE is known"}},
    {Code::events_expired,
     {"events after that number are no longer kept, or not there yet",
      "events are kept from 18230 on"}},
    {Code::no_gate,
     {"no gate lives that could carry a door; try again later", "no gate lives at the moment"}},
}};

constexpr bool rows_follow_codes() {
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (static_cast<std::size_t>(rows[i].code) != i) return false;
    return true;
}
static_assert(rows_follow_codes());

}  // namespace

const ErrorWords& error_words(Code code) { return rows[static_cast<std::size_t>(code)].words; }

}  // namespace berth::api
