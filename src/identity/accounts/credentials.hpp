// Who a request comes from: an API key in Authorization, or a session in its cookie. The key wins
// when both are there, so that a program is never mistaken for the browser it runs in.
#pragma once

#include "accounts/sessions.hpp"
#include "api/caller.hpp"

namespace berth::accounts {

// What decides whether an API key is good, and what for.
std::vector<db::Watched> watched_of_keys();

// What something that takes long goes on under.
struct HeldCredential {
    api::Credential kind = api::Credential::none;
    Uuid id{};  // the session's or the key's

    auto operator<=>(const HeldCredential&) const = default;
};
// Whether a request with it would be identified now: not revoked, not ended, and of an account that
// is not suspended. In the order of `held`.
std::vector<bool> find_good(db::Transaction& tx, const std::vector<HeldCredential>& held, Time now);

// What such a request could do now.
struct Rights {
    bool renter = false;
    bool host = false;
    bool is_operator = false;  // of any kind

    bool operator==(const Rights&) const = default;
};
Rights rights_of(const api::Caller& caller);
// Nothing for a credential that is not good any more. In the order of `held`.
std::vector<std::optional<Rights>> find_rights(db::Transaction& tx,
                                               const std::vector<HeldCredential>& held, Time now);

class Credentials final : public api::Authenticator {
public:
    explicit Credentials(const Sessions& sessions) : sessions_(sessions) {}

    bool may_identify(const http::Request& head) const override;
    api::Caller identify(const http::Request& request, db::Transaction& tx, Time now) override;
    void check_own_page(const http::Request& request) const override;
    void note_use(const api::Caller& caller, db::Transaction& tx, Time now) override;

private:
    api::Caller identify_key(std::string_view header, db::Transaction& tx, Time now) const;
    api::Caller identify_session(const http::Request& request, db::Transaction& tx, Time now) const;

    const Sessions& sessions_;
};

}  // namespace berth::accounts
