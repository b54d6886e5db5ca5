// Who calls, and whether he may: what is settled before a handler runs.
#include "api/exchange.hpp"
#include "api/service.hpp"
#include "crypto/hash.hpp"

namespace berth::api {
namespace {

// A credential that was good lately is looked up even when its address has sent many wrong ones: a
// forgotten program behind a shared address must not lock its neighbours out.
const RateRule good_lately{"good lately", [](const settings::Snapshot&) { return std::int64_t{1}; },
                           std::chrono::minutes(10), RateRule::By::account};

Bytes credential_hash(const http::Request& request) {
    std::string text(request.headers.find("Authorization").value_or(""));
    text += '\n';
    text += request.headers.find("Cookie").value_or("");
    // A signed request is new each time: what stays is who it says it is from.
    constexpr std::string_view names = "keyid=\"";
    const std::string_view input = request.headers.find("Signature-Input").value_or("");
    if (const auto at = input.find(names); at != std::string_view::npos) {
        const std::string_view from = input.substr(at + names.size());
        text += '\n';
        text += from.substr(0, from.find('"'));
    }
    return crypto::sha256(text);
}

}  // namespace

Bytes key_hash(const http::Request& request) {
    return crypto::sha256(request.headers.find("Authorization").value_or(""));
}

// True when who calls is known, or does not matter, without asking the database.
bool Service::recognise(Exchange& exchange) {
    const http::Request& request = exchange.request;
    const Access access = exchange.route().access;
    if (access == Access::anyone) return true;
    Authenticator& authenticator = *parts_.authenticators.of(access);
    const auto* const judged = dynamic_cast<const Judged*>(request.verdict.get());
    if (judged != nullptr) exchange.counted = judged->counted;
    try {
        auto caller = judged != nullptr ? authenticator.recall(judged->caller, request)
                                        : authenticator.recognise(request, exchange.now);
        if (!caller) return false;
        exchange.caller = *caller;
        return true;
    } catch (const InvalidCredential&) {
        count_invalid(exchange);
        throw;
    }
}

// An address that has sent many wrong credentials is not looked up for a while.
void Service::identify(Exchange& exchange, db::Transaction& tx) {
    const std::string& address = exchange.request.client_address;
    const Bytes hash = credential_hash(exchange.request);
    const RateRule& rule = rates_.invalid_credential;
    const std::int64_t requests_max = rule.requests_max(*exchange.settings);
    if (limiter_.is_spent(rule, address, exchange.now, requests_max) &&
        !good_credentials_.is_spent(good_lately, hash, exchange.now, 1))
        throw Problem::rate_limited();
    try {
        exchange.caller = parts_.authenticators.of(exchange.route().access)
                              ->identify(exchange.request, tx, exchange.now);
    } catch (const InvalidCredential&) {
        count_invalid(exchange);
        throw;
    }
    good_credentials_.allow(good_lately, hash, exchange.now, 1);
    if (exchange.route().work == Work::remembered)
        known_callers_.keep(key_hash(exchange.request), exchange.caller,
                            {tx.changes(), exchange.now});
    exchange.identified = true;
}

void Service::count_invalid(const Exchange& exchange) {
    const RateRule& rule = rates_.invalid_credential;
    limiter_.allow(rule, exchange.request.client_address, exchange.now,
                   rule.requests_max(*exchange.settings));
}

// Everything that is settled before the handler runs.
void Service::admit(Exchange& exchange, db::Transaction* tx) {
    if (exchange.admitted) return;
    admit_caller(exchange, tx);
    decode(exchange);
}

void Service::admit_caller(Exchange& exchange, db::Transaction* tx) {
    if (!exchange.identified) {
        require(tx != nullptr, "a route that asks who calls reads the database");
        identify(exchange, *tx);
    }
    if (!std::exchange(exchange.counted, true)) limit_rate(exchange, rate_of(exchange.route()));
    exchange.admitted = true;
    const Access access = exchange.route().access;
    if (!permits(access, exchange.caller))
        throw Problem(Code::forbidden, std::string(refusal(access, exchange.caller)));
    if (exchange.route().own_page_only && exchange.caller.credential == Credential::session)
        parts_.authenticators.of(access)->check_own_page(exchange.request);
}

// The rule that the route names, or the one that its kind of caller has.
const RateRule& Service::rate_of(const Route& route) const {
    if (route.rate != nullptr) return *route.rate;
    return route.access == Access::anyone ? rates_.open : rates_.account;
}

void Service::limit_rate(const Exchange& exchange, const RateRule& rule) {
    if (&rule == &unlimited) return;
    const std::int64_t requests_max = rule.requests_max(*exchange.settings);
    const Caller& caller = exchange.caller;
    const std::string who = rule.by == RateRule::By::address     ? exchange.request.client_address
                            : is_signed(exchange.route().access) ? to_string(caller.credential_id)
                                                                 : to_string(caller.account);
    if (!limiter_.allow(rule, who, exchange.now, requests_max)) throw Problem::rate_limited();
}

}  // namespace berth::api
