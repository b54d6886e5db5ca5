#include "accounts/codes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/allowances.hpp"
#include "accounts/settings.hpp"
#include "api/rate_limit.hpp"
#include "crypto/hash.hpp"
#include "crypto/token.hpp"

namespace berth::accounts {
namespace {

[[noreturn]] void refuse(std::string_view why) {
    throw api::CommittedProblem(Code::authorization_invalid, std::string(why));
}

constexpr std::string_view wrong = "the code is wrong, used or expired; ask for a new one";

[[noreturn]] void refuse_more(std::string_view purpose) {
    refuse(purpose == sign_in_purpose ? "too many wrong codes; open the link in the mail instead"
                                      : "too many wrong codes in a day; try again later");
}

// All guesses at the codes of a mailbox, wherever they come from.
Allowance guesses_at(const EmailCodes::Order& order) {
    return {order.purpose, order.email, guesses_per_day, guess_window};
}

// Guesses at sign-in codes from one network address: one stranger alone does not use up the above.
Allowance guesses_from(api::Call& call, const EmailCodes::Order& order) {
    return {"sign-in from", order.email + " " + api::address_key(call.request.client_address),
            code_tries_max, code_count_window};
}

// What is hashed of a code.
std::string hashed(Uuid code_id, std::string_view code) {
    return fmt::format("code:{}:{}", to_string(code_id), code);
}

// No mail has gone out in the last minutes, so that one may, whatever was asked for before.
bool is_quiet(api::Call& call, const EmailCodes::Order& order) {
    return list_askers(call.tx(), order.purpose, order.email, call.now - mail_always_after).empty();
}

}  // namespace

EmailCodes::Issued EmailCodes::issue(api::Call& call, const Order& order) const {
    constexpr std::uint64_t codes = 1'000'000;
    Issued issued;
    issued.to_be_sent = admit(call, order);
    issued.code = fmt::format("{:06}", call.random.below(codes));
    issued.expires_at = call.now + code_lifetime;
    if (order.link) issued.token = crypto::make_token(issued::sign_in_link, call.random);
    if (!issued.to_be_sent) return issued;

    CodeRow row;
    row.code_id = make_uuid(call.now, call.random);
    row.purpose = order.purpose;
    row.email = order.email;
    row.asked_from = api::address_key(call.request.client_address);
    row.code_hash = keys_.hash(hashed(row.code_id, issued.code));
    if (order.link) row.token_hash = crypto::sha256(issued.token);
    row.bound_to = order.bound_to;
    row.created_at = call.now;
    row.expires_at = issued.expires_at;
    add_code(call.tx(), row);
    return issued;
}

// Whether a mail may go out; a 429 depends only on what the one who asks did before. Those who ask
// for the same mailbox at once wait for each other here, so that each sees the ones before.
bool EmailCodes::admit(api::Call& call, const Order& order) const {
    lock(call.tx(), guesses_at(order), call.now);
    const auto askers =
        list_askers(call.tx(), order.purpose, order.email, call.now - code_count_window);
    const auto& limits = call.settings<Settings>();
    const auto all = static_cast<std::int64_t>(askers.size());
    if (order.purpose != sign_in_purpose) {
        if (all >= *limits.rate_codes_per_hour) throw Problem::rate_limited();
        return true;
    }
    const std::string asker = api::address_key(call.request.client_address);
    // A stranger may share the owner's address: once the mailbox is quiet, whoever asks is heard.
    if (std::count(askers.begin(), askers.end(), asker) >= *limits.rate_sign_in_codes_per_hour &&
        !is_quiet(call, order))
        throw Problem::rate_limited();
    return gets_mail(call, order, *limits.rate_sign_in_mails_per_hour);
}

// Keeps: whatever strangers ask for, a mailbox gets one mail in five minutes, so that there always
// is a code or a link in it that is still good; and a network from which somebody got in before has
// a share that nobody else can use up.
bool EmailCodes::gets_mail(api::Call& call, const Order& order, std::int64_t per_hour) const {
    const std::string asker = api::address_key(call.request.client_address);
    const Allowance own{"sign-in mails to", order.email + " " + asker,
                        *call.settings<Settings>().rate_sign_in_codes_per_hour, code_count_window};
    if (knows_network(call.tx(), order.email, asker) && take(call.tx(), own, 1, call.now))
        return true;
    const Allowance all{"sign-in mails", order.email, per_hour, code_count_window};
    if (take(call.tx(), all, 1, call.now)) return true;
    return is_quiet(call, order);
}

void EmailCodes::redeem(api::Call& call, const Order& order, std::string_view code) const {
    const auto live = begin_try(call, order);
    for (const LiveCode& candidate : live) {
        if (!keys_.matches(candidate.code_hash, hashed(candidate.code_id, code)) ||
            !spend_code(call.tx(), candidate.code_id))
            continue;
        give_back(call.tx(), guesses_at(order), static_cast<std::int64_t>(live.size()));
        if (order.purpose == sign_in_purpose) give_back(call.tx(), guesses_from(call, order), 1);
        return;
    }
    refuse(wrong);
}

// The codes a guess is held against, which is counted before it is looked at. A guess at several
// codes at once has several times the odds, and costs as much.
std::vector<LiveCode> EmailCodes::begin_try(api::Call& call, const Order& order) const {
    const bool sign_in = order.purpose == sign_in_purpose;
    const CodesOf codes{order.purpose, order.email, order.bound_to};
    auto live = sign_in ? list_live_codes(call.tx(), codes, call.now)
                        : try_codes(call.tx(), codes, call.now, code_tries_max);
    if (live.empty()) refuse(wrong);
    if (sign_in && !take(call.tx(), guesses_from(call, order), 1, call.now))
        refuse_more(order.purpose);
    if (!take(call.tx(), guesses_at(order), static_cast<std::int64_t>(live.size()), call.now))
        refuse_more(order.purpose);
    return live;
}

std::string EmailCodes::redeem_link(api::Call& call, std::string_view purpose,
                                    std::string_view token) const {
    if (crypto::looks_like_token(issued::sign_in_link, token))
        if (auto email = spend_token(call.tx(), purpose, crypto::sha256(token), call.now))
            return *email;
    refuse("the link is used or expired; ask for a new one");
}

}  // namespace berth::accounts
