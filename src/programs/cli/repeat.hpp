// Changes whose answer may be lost: under which key they are to be repeated, so that they are done
// once.
#pragma once

#include "cli/context.hpp"

namespace berth::cli {

// Whoever is killed, or hears nothing, must be able to ask again. With JSON a failure is one line
// and nothing else: there it is said when a signal comes, and with_key() says it in that line.
void tell_key(Context& context, const Uuid& key);

// Beside the error, where it is not known what was done or the same may yet be done. `more` are the
// flags that make the same request of it later: what was looked up, and times that count from now.
Failure with_key(const Failure& failure, const Uuid& key, const std::string& more = "");

// Sends it. What is told of a failure says how to ask again, or that under the key that was given
// something was done before.
Answer send_once(Context& context, const Request& request, const std::string& more = "");

}  // namespace berth::cli
