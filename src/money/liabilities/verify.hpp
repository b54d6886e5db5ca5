// Checking a proof of liabilities, which needs nobody: no server, no database.
#pragma once

#include <cstdint>
#include <string>

namespace berth::liabilities {

// A sentence about what a route answered: an account's proof, a statement of absence, or a page of
// records, whose hashes, signatures and chain are checked. Throws a Problem INVALID_INPUT when the
// text is none of them.
struct Verdict {
    bool good = false;
    std::string sentence;
};
Verdict verify(const std::string& json);

// How many events the audit record had when the newest of these records was made. Throws a Problem
// INVALID_INPUT when the text is no list of records, or they are not good.
std::int64_t count_audited(const std::string& json);

}  // namespace berth::liabilities
