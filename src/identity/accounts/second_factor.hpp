// The authenticator (TOTP) and its recovery codes. A step or a recovery code works once. Five wrong
// ones in a row end the session they were tried in.
#pragma once

#include "accounts/notices.hpp"
#include "accounts/sessions.hpp"
#include "crypto/seal.hpp"

namespace berth::accounts {

inline constexpr Duration enrollment_lifetime = std::chrono::minutes(10);
inline constexpr std::int64_t factor_failures_max = 5;
inline constexpr std::size_t recovery_code_count = 10;

class SecondFactors {
public:
    SecondFactors(const crypto::Sealer& sealer, const Notices& notices, const CodeKeys& keys)
        : sealer_(sealer), notices_(notices), keys_(keys) {}

    NewTotp begin(api::Call& call) const;
    // Gives the recovery codes; the caller of this rotates the session.
    std::vector<wire::Secret> confirm(api::Call& call, const ConfirmTotp& request) const;
    void disable(api::Call& call) const;

    // Throws a CommittedProblem AUTHORIZATION_INVALID, with the failure counted.
    void redeem(api::Call& call, const Account& account, std::string_view code) const;
    // The authenticator alone, without recovery codes.
    void redeem_authenticator(api::Call& call, const Account& account, std::string_view code) const;

private:
    // Every guess is counted before it is looked at, so that a crowd of them gets no more than one.
    std::int64_t begin_try(api::Call& call) const;
    // A right answer makes up for the wrong ones before it; a wrong one is the request's end.
    void end_try(api::Call& call, std::int64_t tries, bool good) const;
    Bytes open_secret(const Bytes& sealed, AccountId account) const;
    bool use_code(api::Call& call, const Account& account, std::string_view code) const;
    bool use_recovery(api::Call& call, AccountId account, std::string_view code) const;
    // A recovery code as it is kept: its hash, sealed, so that the key can be exchanged.
    struct Recovery {
        AccountId account;
        std::string_view code;
    };
    Bytes keep(const Recovery& recovery, Random& random) const;
    bool is_kept_as(const Recovery& recovery, const Bytes& kept) const;

    const crypto::Sealer& sealer_;
    const Notices& notices_;
    const CodeKeys& keys_;
};

}  // namespace berth::accounts
