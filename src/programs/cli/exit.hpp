// How a command ends. The numbers are a promise to scripts; `berth agents ctx` prints them.
#pragma once

#include <array>
#include <exception>
#include <string>
#include <string_view>

namespace berth::cli {

enum class Exit {
    ok = 0,
    unexpected = 1,
    usage = 2,
    refused = 3,
    not_found = 4,
    conflict = 5,
    invalid = 6,
    retryable = 7,
    network = 8,
    rental_failed = 9,
    timed_out = 124,
};

struct ExitMeaning {
    Exit exit;
    std::string_view code;  // in the error line of --output json, where the API gave none
    std::string_view meaning;
};

inline constexpr auto exit_meanings = std::to_array<ExitMeaning>({
    {Exit::ok, "OK", "done"},
    {Exit::unexpected, "UNEXPECTED", "something that should not happen"},
    {Exit::usage, "USAGE", "the command line cannot be read"},
    {Exit::refused, "NOT_SIGNED_IN", "not signed in, or not allowed"},
    {Exit::not_found, "NOT_FOUND", "no such thing"},
    {Exit::conflict, "CONFLICT", "the state of things does not allow it"},
    {Exit::invalid, "INVALID_INPUT", "the server refuses the input"},
    {Exit::retryable, "UNAVAILABLE", "try again later, with the same idempotency key"},
    {Exit::network, "NETWORK", "the server cannot be reached"},
    {Exit::rental_failed, "RENTAL_FAILED", "the rental ended in failure"},
    {Exit::timed_out, "TIMED_OUT", "the wait was over first"},
});

// Ends the command. `body` is the API's own error, where it was the API that refused.
class Failure : public std::exception {
public:
    Failure(Exit exit_, std::string message_, std::string body_ = {})
        : exit(exit_), message(std::move(message_)), body(std::move(body_)) {}
    const char* what() const noexcept override { return message.c_str(); }

    Exit exit;
    std::string message;
    std::string body;
};

// What an HTTP status means to a script; unknown codes of the API go by this, too.
constexpr Exit exit_of_status(int status) {
    switch (status) {
        case 401:
        case 403: return Exit::refused;
        case 404: return Exit::not_found;
        case 408:
        case 429:
        case 503: return Exit::retryable;
        case 409:
        case 410:
        case 412: return Exit::conflict;
        default: return status >= 400 && status < 500 ? Exit::invalid : Exit::unexpected;
    }
}

}  // namespace berth::cli
