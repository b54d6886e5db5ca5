// Asking for codes: what was mailed, or what an authenticator shows. A person who mistypes one is
// asked again; a file, which a script brings, is read once.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/context.hpp"

namespace berth::cli {

struct CodeWanted {
    std::string_view flag;  // brings it from a file; empty: only a person has it
    std::string question;
    bool is_digits = true;  // six of them; a recovery code is longer
    bool may_skip = false;  // by an empty line: then there is no answer
};

using GiveCode = std::function<Answer(const std::string& code)>;

// The answer to the first code that the server takes.
Answer give_code(Context& context, const CodeWanted& wanted, const GiveCode& give);

// Asks for a fresh proof before one is missing; an empty line leaves it for later.
void offer_proof(Context& context, std::string_view purpose);

// Turns an authenticator on, in the session: shows its secret, asks for its code, and shows the
// recovery codes.
void enroll_authenticator(Context& context);

}  // namespace berth::cli
