#include "api/caller.hpp"

namespace berth::api {

bool permits(Access access, const Caller& caller) {
    const bool account =
        caller.credential == Credential::api_key || caller.credential == Credential::session;
    switch (access) {
        case Access::anyone: return true;
        case Access::signed_in: return account || caller.credential == Credential::pending_session;
        case Access::participant: return account;
        case Access::renter: return account && caller.renter;
        case Access::host: return account && caller.host;
        case Access::host_or_admin: return account && (caller.host || caller.admin);
        case Access::host_to_be:
            return caller.credential == Credential::session || (account && caller.host);
        case Access::any_session:
            return caller.credential == Credential::session ||
                   caller.credential == Credential::pending_session;
        case Access::session: return caller.credential == Credential::session;
        // Whoever stole a person's key must not be able to make or revoke others with it.
        case Access::self:
            return caller.credential == Credential::session || (account && caller.agent);
        case Access::admin: return caller.credential == Credential::session && caller.admin;
        case Access::finance:
            return caller.credential == Credential::session && (caller.admin || caller.finance);
        case Access::support:
            return caller.credential == Credential::session && (caller.admin || caller.support);
        case Access::operator_:
            return caller.credential == Credential::session &&
                   (caller.admin || caller.finance || caller.support);
        case Access::machine: return caller.credential == Credential::machine;
        case Access::gate: return caller.credential == Credential::gate;
    }
    return false;
}

std::string_view refusal(Access access, const Caller& caller) {
    if (caller.credential == Credential::pending_session)
        return "the second factor is still missing: give it to /api/v1/auth/mfa";
    const bool by_key = caller.credential == Credential::api_key;
    switch (access) {
        case Access::any_session:
        case Access::session:
        case Access::self: return "a session is needed here; API keys are refused";
        case Access::admin:
        case Access::finance:
        case Access::support:
        case Access::operator_:
            return by_key ? "an operator's session is needed here; API keys are refused"
                          : "an operator's session with an authenticator is needed here";
        case Access::renter: return "a key with the scope renter is needed here";
        case Access::host:
        case Access::host_or_admin:
        case Access::host_to_be:
            return by_key ? "a key with the scope host, of an account that may host, is needed here"
                          : "an account that may host is needed here";
        case Access::machine: return "the signature of an enrolled machine is needed here";
        case Access::gate: return "the signature of a gate is needed here";
        case Access::anyone:
        case Access::signed_in:
        case Access::participant: break;
    }
    return "a session or an API key is needed here";
}

std::string_view step_up_name(StepUp purpose) {
    switch (purpose) {
        case StepUp::none: return "";
        case StepUp::account_sensitive: return "account-sensitive";
        case StepUp::wallet: return "wallet";
        case StepUp::admin_sensitive: return "admin-sensitive";
    }
    return "";
}

}  // namespace berth::api
