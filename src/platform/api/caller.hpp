// Who is calling, and who may. Finding out is an Authenticator's work, chosen by the route's Access
// (the accounts feature provides one); judging is done once, from the route's declaration.
#pragma once

#include <array>
#include <optional>

#include "base/ids.hpp"
#include "base/problem.hpp"
#include "db/db.hpp"
#include "http/message.hpp"

namespace berth::api {

enum class Credential {
    none,
    api_key,
    session,
    pending_session,  // signed in by mail, the second factor still missing
    machine,
    gate,
};

// What a fresh proof of presence was given for.
enum class StepUp { none, account_sensitive, wallet, admin_sensitive };
inline constexpr std::size_t step_up_count = 4;
std::string_view step_up_name(StepUp purpose);  // as POST /account/step-up takes it

struct Caller {
    Credential credential = Credential::none;
    AccountId account;
    bool renter = false;   // a key's scope; a session has it
    bool host = false;     // the account may host, and for a key it has the scope
    bool admin = false;    // an admin's session with its second factor; never a key
    bool finance = false;  // likewise of an operator for money
    bool support = false;  // likewise of an operator for people's questions
    bool agent = false;    // a key of an account that has no person, and so no session
    Uuid credential_id{};  // the session's or the key's
    std::array<Time, step_up_count> step_up_until{};  // of the session, by purpose
    bool use_is_stale = false;                        // when it was last used should be noted again
    std::optional<Time> ends_at = {};                 // the credential, by itself
};

// Who may call a route.
enum class Access {
    anyone,       // no credential is looked at
    signed_in,    // any session or key, also a session before its second factor
    participant,  // any session or key
    renter,
    host,
    host_or_admin,  // operators read every machine, and ask for its new key
    host_to_be,     // a host, or a person in a browser who becomes one by asking
    any_session,    // a person in a browser, also before the second factor
    session,        // a person in a browser: keys are refused
    self,           // a person in a browser, or an agent by its own key
    admin,
    finance,    // an admin, or an operator for money
    support,    // an admin, or an operator for people's questions
    operator_,  // any of these
    machine,    // an enrolled host agent, by its signature
    gate,       // a gate that the operator has added, likewise
};
// Programs that belong to the service: what they say is taken first, and what they sign is for one
// request alone.
constexpr bool is_signed(Access access) {
    return access == Access::machine || access == Access::gate;
}

bool permits(Access access, const Caller& caller);
// A sentence for a caller who is not permitted: which credential it would take.
std::string_view refusal(Access access, const Caller& caller);

// A credential was sent and is wrong or no longer good. It is counted against the address it came
// from; a credential that is missing is a plain Problem and is not.
class InvalidCredential : public Problem {
public:
    explicit InvalidCredential(std::string why) : Problem(Code::unauthenticated, std::move(why)) {}
};

class Authenticator {
public:
    virtual ~Authenticator() = default;
    // False when the head alone shows that identify() will refuse: nothing more of the request is
    // read then. It does not block.
    virtual bool may_identify(const http::Request& head) const {
        static_cast<void>(head);
        return true;
    }
    // Who calls, when memory alone can tell; nothing when it takes a transaction. It must not
    // block.
    virtual std::optional<Caller> recognise(const http::Request&, Time) { return std::nullopt; }
    // Who calls, when the head of the request was judged before its body was read: `judged`, if
    // nothing but the body had yet to be looked at; nothing when all is to be asked again.
    virtual std::optional<Caller> recall(const Caller& judged, const http::Request& request) {
        static_cast<void>(judged);
        static_cast<void>(request);
        return std::nullopt;
    }
    // Throws a Problem UNAUTHENTICATED when the credential is missing, and InvalidCredential when
    // it is wrong or no longer good; so does recognise.
    virtual Caller identify(const http::Request& request, db::Transaction& tx, Time now) = 0;
    // Throws a Problem FORBIDDEN unless a page of ours sent this request, which has a session.
    virtual void check_own_page(const http::Request&) const {}
    // Notes that the credential was used; called now and then, when use_is_stale said so.
    virtual void note_use(const Caller& caller, db::Transaction& tx, Time now) = 0;
};

// Who finds out, for each kind of route.
struct Authenticators {
    Authenticator* accounts = nullptr;  // sessions and keys
    Authenticator* machines = nullptr;  // host agents; none while no route is for them
    Authenticator* gates = nullptr;     // likewise

    Authenticator* of(Access access) const {
        if (access == Access::gate) return gates;
        return access == Access::machine ? machines : accounts;
    }
};

}  // namespace berth::api
