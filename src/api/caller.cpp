#include "api/caller.hpp"

namespace berth::api {

bool permits(Access access, const Caller& caller) {
    const bool account = caller.credential == Credential::api_key ||
                         caller.credential == Credential::session;
    switch (access) {
        case Access::anyone: return true;
        case Access::signed_in:
            return account || caller.credential == Credential::pending_session;
        case Access::participant: return account;
        case Access::renter: return account && caller.renter;
        case Access::host: return account && caller.host;
        case Access::session: return caller.credential == Credential::session;
        case Access::admin: return caller.credential == Credential::session && caller.admin;
        case Access::machine: return caller.credential == Credential::machine;
    }
    return false;
}

}  // namespace berth::api
