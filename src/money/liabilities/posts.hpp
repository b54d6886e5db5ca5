// The newest records written into the chain, where nobody can take them back: a transaction without
// money, from an address of its own to itself, whose data has root and hash of each. What customers
// were shown at that time cannot be exchanged for another record later.
//
// The address has a key of its own, so that no nonce of a treasury is used; it needs gas. It is off
// unless `liabilities_post_hours` says how often.
#pragma once

#include <span>

#include "chain/chain.hpp"
#include "crypto/secp256k1.hpp"
#include "liabilities/store.hpp"
#include "worker/worker.hpp"

namespace berth::liabilities {

inline constexpr std::string_view post_mark = "berth-liabilities-1";
inline constexpr std::int64_t post_gas_max = 100'000;
inline constexpr Duration post_again_after = std::chrono::minutes(10);  // at a higher fee
inline constexpr std::int64_t post_attempts_max = 20;

// The mark; then of each record the name of its asset (4 letters), its number (8 bytes, the largest
// first), its root and its hash (32 bytes each).
Bytes post_data(std::span<const RecordRow> records);

class Poster {
public:
    struct Parts {
        chain::Chain& chain;
        std::int64_t chain_id = 0;
        const crypto::SigningKey& key;
        db::Database& database;
        const Clock& clock;
    };
    explicit Poster(const Parts& parts) : parts_(parts) {}

    struct Rules {
        std::int64_t every_hours = 0;  // 0: nothing new
        std::int64_t fee_max = 0;      // wei per gas
    };
    // Brings what was signed to its end, or posts what is due. A provider that fails is an
    // exception, and nothing is lost by it.
    void run(const Rules& rules) const;

private:
    void begin(const Rules& rules) const;
    void follow(const Rules& rules, const std::vector<PostRow>& open) const;
    void follow_earlier(const Rules& rules, const crypto::Address& signer,
                        const std::vector<PostRow>& open) const;
    std::optional<PostRow> sign(const PostRow& plan, const chain::Standing& standing,
                                const Rules& rules) const;
    void send(const PostRow& row) const;
    void end(const PostRow& row, bool posted) const;

    Parts parts_;
};

inline constexpr std::string_view post_liabilities_kind_name = "post_liabilities";
worker::Kind post_liabilities_kind(const Poster::Parts& parts);

}  // namespace berth::liabilities
