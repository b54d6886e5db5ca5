#include "accounts/codes.hpp"

#include <fmt/format.h>

#include "crypto/hash.hpp"
#include "crypto/token.hpp"

namespace berth::accounts {
namespace {

[[noreturn]] void refuse() {
    throw api::CommittedProblem(Code::authorization_invalid,
                                "the code is wrong, used or expired; ask for a new one");
}

}  // namespace

// Six digits alone could be found from a plain hash in no time; the secret is not in the database.
Bytes EmailCodes::hash(Uuid code_id, std::string_view code) const {
    return crypto::hmac_sha256(secret_, fmt::format("code:{}:{}", to_string(code_id), code));
}

EmailCodes::Issued EmailCodes::issue(api::Call& call, const Order& order) const {
    constexpr std::uint64_t codes = 1'000'000;
    Issued issued;
    issued.code = fmt::format("{:06}", call.random.below(codes));
    issued.expires_at = call.now + code_lifetime;
    if (order.link) issued.token = crypto::make_token(crypto::sign_in_link_prefix, call.random);

    CodeRow row{order.purpose, order.email, make_uuid(call.now, call.random), {}, {},
                order.bound_to, issued.expires_at};
    row.code_hash = hash(row.code_id, issued.code);
    if (order.link) row.token_hash = crypto::sha256(issued.token);
    const std::int64_t sent_max = order.purpose == sign_in_purpose ? limits_.sign_in_per_hour
                                                                   : limits_.other_per_hour;
    if (!put_code(call.tx(), row, call.now, sent_max, std::chrono::hours(1)))
        throw Problem::rate_limited();
    return issued;
}

void EmailCodes::redeem(api::Call& call, const Order& order, std::string_view code) const {
    const auto live = try_code(call.tx(), order.purpose, order.email, call.now, code_tries_max);
    if (!live || live->bound_to != order.bound_to ||
        !equal_in_constant_time(live->code_hash, hash(live->code_id, code)) ||
        !spend_code(call.tx(), order.purpose, order.email, live->code_id))
        refuse();
}

std::string EmailCodes::redeem_link(api::Call& call, std::string_view purpose,
                                    std::string_view token) const {
    if (crypto::looks_like_token(crypto::sign_in_link_prefix, token))
        if (auto email = spend_token(call.tx(), purpose, crypto::sha256(token), call.now))
            return *email;
    refuse();
}

}  // namespace berth::accounts
