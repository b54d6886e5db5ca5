#include "accounts/second_factor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/allowances.hpp"
#include "accounts/resealing.hpp"
#include "accounts/settings.hpp"
#include "base/log.hpp"
#include "crypto/hash.hpp"
#include "crypto/totp.hpp"

namespace berth::accounts {
namespace {

constexpr std::int64_t codes_good_at_once = 2;  // of the present step and the one before

// Ten letters in two groups, without those that look alike.
std::string make_recovery_code(Random& random) {
    constexpr std::string_view letters = "abcdefghjkmnpqrstuvwxyz23456789";
    std::string code;
    for (int i = 0; i < 10; ++i) {
        if (i == 5) code += '-';
        code += letters[random.below(letters.size())];
    }
    return code;
}

// What is hashed of a recovery code.
std::string hashed(AccountId account, std::string_view code) {
    return fmt::format("recovery:{}:{}", to_string(account), code);
}

Account own_account(api::Call& call) {
    auto account = find_account(call.tx(), call.caller.account);
    require(account.has_value(), "a caller has an account");
    return *account;
}

}  // namespace

Bytes SecondFactors::keep(const Recovery& recovery, Random& random) const {
    const Bytes hash = crypto::sha256(hashed(recovery.account, recovery.code));
    return sealer_.seal({hash, recovery_context(recovery.account)}, random);
}

// Those of before recovery codes were sealed are bare hashes.
bool SecondFactors::is_kept_as(const Recovery& recovery, const Bytes& kept) const {
    const std::string text = hashed(recovery.account, recovery.code);
    const auto opened = sealer_.open({kept, recovery_context(recovery.account)});
    return opened ? crypto::equal_in_constant_time(*opened, crypto::sha256(text))
                  : keys_.matches(kept, text);
}

NewTotp SecondFactors::begin(api::Call& call) const {
    const Account account = own_account(call);
    call.require_step_up();
    if (account.totp_secret)
        throw Problem(Code::conflict, "an authenticator is enrolled already; remove it first");
    const Bytes secret = call.random.bytes(crypto::totp_secret_bytes);
    const auto id = call.make_id<EnrollmentId>();
    const Time expires_at = call.now + enrollment_lifetime;
    delete_totp_enrollments(call.tx(), account.id);
    add_totp_enrollment(call.tx(), id, account.id,
                        sealer_.seal({secret, totp_context(account.id)}, call.random), expires_at);
    return {id,
            {crypto::to_base32(secret)},
            {crypto::otpauth_uri({brand(call), account.email.value_or(""), secret})},
            expires_at};
}

std::vector<wire::Secret> SecondFactors::confirm(api::Call& call,
                                                 const ConfirmTotp& request) const {
    const AccountId account = call.caller.account;
    const auto sealed = find_totp_enrollment(call.tx(), request.enrollment_id, account, call.now);
    if (!sealed) throw Problem(Code::not_found, "no such enrollment, or it has expired");
    call.require_step_up();
    const std::int64_t tries = begin_try(call);
    const auto step =
        crypto::match_totp(open_secret(*sealed, account), request.code.value, call.now);
    end_try(call, tries, step.has_value());
    if (!enable_totp(call.tx(), account, {*sealed, *step, call.now}))
        throw Problem(Code::conflict, "an authenticator is enrolled already");
    delete_totp_enrollments(call.tx(), account);
    std::vector<wire::Secret> codes;
    for (std::size_t i = 0; i < recovery_code_count; ++i) {
        codes.push_back({make_recovery_code(call.random)});
        add_recovery_code(call.tx(), account, keep({account, codes.back().value}, call.random));
    }
    notices_.send(call, {account, "enable_authenticator", "an authenticator was turned on"});
    return codes;
}

void SecondFactors::disable(api::Call& call) const {
    const Account account = own_account(call);
    if (!account.totp_secret) throw Problem(Code::not_found, "no authenticator is enrolled");
    call.require_step_up();
    disable_totp(call.tx(), account.id);
    notices_.send(call, {account.id, "remove_authenticator", "the authenticator was removed"});
}

void SecondFactors::redeem(api::Call& call, const Account& account, std::string_view code) const {
    const std::int64_t tries = begin_try(call);
    end_try(
        call, tries,
        code.size() == 6 ? use_code(call, account, code) : use_recovery(call, account.id, code));
}

void SecondFactors::redeem_authenticator(api::Call& call, const Account& account,
                                         std::string_view code) const {
    const std::int64_t tries = begin_try(call);
    end_try(call, tries, use_code(call, account, code));
}

bool SecondFactors::use_code(api::Call& call, const Account& account, std::string_view code) const {
    if (!account.totp_secret) return false;
    const Allowance guesses{"authenticator", to_string(account.id), guesses_per_day, guess_window};
    if (!take(call.tx(), guesses, codes_good_at_once, call.now))
        throw api::CommittedProblem(Code::authorization_invalid,
                                    "too many wrong codes in a day; use a recovery code, or try "
                                    "again later");
    const Bytes secret = open_secret(*account.totp_secret, account.id);
    const auto step = crypto::match_totp(secret, code, call.now);
    if (!step || !use_totp_step(call.tx(), account.id, *step)) return false;
    give_back(call.tx(), guesses, codes_good_at_once);
    return true;
}

bool SecondFactors::use_recovery(api::Call& call, AccountId account, std::string_view code) const {
    const auto all = list_recovery_codes(call.tx(), account);
    const auto kept = std::find_if(all.begin(), all.end(), [&](const Bytes& one) {
        return is_kept_as({account, code}, one);
    });
    if (kept == all.end() || !use_recovery_code(call.tx(), account, *kept)) return false;
    notices_.send(call, {account, "use_recovery_code", "a recovery code was used"});
    return true;
}

// A secret that does not open was sealed by another server's key: that is for the operator to mend.
Bytes SecondFactors::open_secret(const Bytes& sealed, AccountId account) const {
    auto secret = sealer_.open({sealed, totp_context(account)});
    if (secret) return *secret;
    log(Level::error, "totp_secret_does_not_open", {{"account", to_string(account)}});
    throw Problem(Code::unavailable, "authenticator codes cannot be checked now; try again later");
}

std::int64_t SecondFactors::begin_try(api::Call& call) const {
    const auto tried = count_try(call.tx(), {call.caller.credential_id}, factor_failures_max);
    if (!tried) throw Problem(Code::unauthenticated, "the session has ended");
    return *tried;
}

void SecondFactors::end_try(api::Call& call, std::int64_t tries, bool good) const {
    const SessionId session{call.caller.credential_id};
    if (good) {
        forget_tries(call.tx(), session);
        return;
    }
    if (tries >= factor_failures_max) delete_session(call.tx(), call.caller.account, session);
    throw api::CommittedProblem(Code::authorization_invalid,
                                "the code is wrong or was used already");
}

}  // namespace berth::accounts
