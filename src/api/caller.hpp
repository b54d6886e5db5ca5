// Who is calling, and who may. Finding out is the Authenticator's work (the accounts feature
// provides one); judging is done once, in the router, from the route's declaration.
#pragma once

#include "base/ids.hpp"
#include "db/db.hpp"
#include "http/message.hpp"

namespace berth::api {

enum class Credential { none, api_key, session, machine };

struct Caller {
    Credential credential = Credential::none;
    AccountId account;
    bool renter = false;  // a key's scope; a session has it
    bool host = false;    // a key's scope; a session has it when the account may host
    bool admin = false;   // an admin's session with its second factor; never a key
};

// Who may call a route.
enum class Access {
    anyone,       // no credential is looked at
    participant,  // any session or key
    renter,
    host,
    session,  // a person in a browser: keys are refused
    admin,
    machine,  // an enrolled host agent, by its signature
};

bool permits(Access access, const Caller& caller);

class Authenticator {
public:
    virtual ~Authenticator() = default;
    // Throws a Problem UNAUTHENTICATED when the credential is missing, wrong or no longer good.
    virtual Caller identify(const http::Request& request, db::Transaction& tx, Time now) = 0;
};

}  // namespace berth::api
