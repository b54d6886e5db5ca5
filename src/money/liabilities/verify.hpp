// Checking a proof of liabilities, which needs nobody: no server, no database.
#pragma once

#include <string>

namespace berth::liabilities {

// A sentence about a proof as the route answers it. Throws a Problem INVALID_INPUT when the text is
// no proof.
struct Verdict {
    bool good = false;
    std::string sentence;
};
Verdict verify(const std::string& json);

}  // namespace berth::liabilities
