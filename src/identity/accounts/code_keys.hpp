// Hashes that only the service can make: of emailed codes, whose six digits a plain hash would give
// away in no time, and of tokens against requests from other sites. The keys are not in the
// database.
#pragma once

#include <vector>

#include "base/bytes.hpp"

namespace berth::accounts {

class CodeKeys {
public:
    // Hashes with `key`; what one of the others has hashed is good, too, while keys are exchanged.
    explicit CodeKeys(Bytes key, std::vector<Bytes> others = {})
        : key_(std::move(key)), others_(std::move(others)) {}

    Bytes hash(std::string_view text) const;
    bool matches(std::string_view hash, std::string_view text) const;  // in constant time

private:
    Bytes key_;
    std::vector<Bytes> others_;
};

}  // namespace berth::accounts
