// How much guessing a thing bears. An allowance fills up again evenly over its window: `units` can
// be taken at once, and fewer than twice as many within any window. What was right is given back.
#pragma once

#include <string>

#include "db/db.hpp"

namespace berth::accounts {

struct Allowance {
    std::string_view kind;
    std::string subject;  // whose: an address, an account
    std::int64_t units;
    Duration window;
};

// A guess at one code of six digits finds it once in a million. So 49 guesses, 98 at most within
// any 24 hours, find one with odds under 1 in 10,000 a day; a guess that is held against several
// codes, or an authenticator of which two codes are good at a time, counts as many times.
inline constexpr std::int64_t guesses_per_day = 49;
inline constexpr Duration guess_window = std::chrono::hours(24);

// False, and nothing is taken, when there is not so much left.
bool take(db::Transaction& tx, const Allowance& allowance, std::int64_t units, Time now);
void give_back(db::Transaction& tx, const Allowance& allowance, std::int64_t units);
// Holds off everybody else who would take of it, until the transaction is over.
void lock(db::Transaction& tx, const Allowance& allowance, Time now);

// Deletes up to `rows_max` allowances that are full again; how many.
std::int64_t prune_allowances(db::Transaction& tx, Time now, std::int64_t rows_max);

}  // namespace berth::accounts
