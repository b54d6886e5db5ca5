// Texts for a wallet to sign (EIP-4361), and the proof that it did. A challenge is for one purpose
// and one owner, it is spent by the first proof that names it, good or bad, and then gone.
#pragma once

#include "accounts/site.hpp"
#include "api/call.hpp"
#include "crypto/siwe.hpp"

namespace berth::wallets {

inline constexpr Duration challenge_lifetime = std::chrono::minutes(5);
// How far a wallet's clock may run ahead of ours, or have lagged when it signed.
inline constexpr Duration clock_skew_max = std::chrono::seconds(60);

class Challenges {
public:
    explicit Challenges(const accounts::Site& site) : site_(site) {}

    // Who may answer a challenge, and for what.
    struct Scope {
        std::string_view purpose;  // "wallet", "agent", "transfer"
        std::string owner;  // the session or account that asks; empty when nobody is known yet
    };

    // A nonce for a text that the wallet's own software writes.
    struct Nonce {
        std::string nonce;
        Time issued_at;
        Time expires_at;
    };
    Nonce issue_nonce(api::Call& call, const Scope& scope) const;

    // A text that we write, to be signed as it is.
    struct Wanted {
        crypto::Address address;
        std::string statement;
        std::optional<std::vector<std::string>> resources = {};
    };
    struct Text {
        std::string text;
        Time expires_at;
    };
    // The text with this nonce, for a wallet whose software writes none.
    std::string text_of(const Nonce& nonce, const Wanted& wanted) const;
    Text issue_text(api::Call& call, const Scope& scope, const Wanted& wanted) const;

    // Whether a text names a nonce that this owner could redeem now; nothing is spent.
    bool is_open(api::Call& call, const Scope& scope, const crypto::SiweMessage& message) const;

    // What was signed, by the wallet that it names. Both throw AUTHORIZATION_INVALID, and the
    // challenge is spent all the same. A wallet that is a contract was asked before (ERC-1271).
    enum class Contract { not_asked, vouches, denies };
    crypto::SiweMessage redeem_nonce(api::Call& call, const Scope& scope,
                                     const crypto::SiweProof& proof,
                                     Contract contract = Contract::not_asked) const;
    crypto::SiweMessage redeem_text(api::Call& call, const Scope& scope,
                                    const crypto::SiweProof& proof) const;

private:
    const accounts::Site& site_;
};

}  // namespace berth::wallets
