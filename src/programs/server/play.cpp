#include "server/play.hpp"

#include "server/simulation.hpp"

namespace berth::server {
namespace {

using api::Access;
using api::Body;
using api::Call;
using api::Query;
using api::Work;

constexpr std::size_t mails_shown = 5;

// As any path is refused that nobody has.
[[noreturn]] void refuse_real() { throw Problem(Code::not_found, "no such route"); }

// What a faucet's request asks of the chain, before its transaction.
std::function<funding::DepositMark()> prepare_faucet(Faucet* faucet, const Call& call,
                                                     const FaucetWish& wish) {
    if (faucet == nullptr) refuse_real();
    const auto key = parse_uuid(call.request.headers.find("Idempotency-Key").value_or(""));
    require(key.has_value(), "a request without its key is refused before");
    return [faucet, now = call.now,
            asked = Faucet::Wish{call.caller.account, *key, wish.asset, wish.amount_micro.value}] {
        return faucet->pour(asked, now);
    };
}

// A page of another site can make its own name lead to this machine, and so read what is answered;
// a proxy makes everybody come from here. Both are told by what the request says.
bool is_asked_here(const http::Request& request) {
    for (const char* const proxied : {"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "Via"})
        if (request.headers.count(proxied) != 0) return false;
    return is_loopback(request.client_address) &&
           is_own_host(request.headers.find("Host").value_or(""));
}

PlayMails show_mail(const KeptMail* mail, const Call& call, const PlayMailQuery& query) {
    if (mail == nullptr || !is_asked_here(call.request)) refuse_real();
    PlayMails shown;
    for (KeptMail::Mail& one : mail->find(query.to.value, mails_shown))
        shown.items.push_back({std::move(one.subject), std::move(one.text), one.sent_at});
    return shown;
}

}  // namespace

void add_play_routes(api::Router& router, const Play& play) {
    const api::DeclaredError real{Code::not_found, "the server is not a simulated one"};
    router.add_asking(
        {.method = "POST",
         .path = "/api/v1/simulated/faucet",
         .name = "ask_faucet",
         .group = "simulated",
         .summary = "Play money for the account, on a simulated server.",
         .access = Access::renter,
         .work = Work::write,
         .idempotent = true,
         .status = 201,
         .errors = {real,
                    {Code::conflict, "it is more than an account gets in a day"},
                    {Code::unavailable, "the chain's watcher has not seen it yet"}}},
        [faucet = play.faucet](Call& call, const Body<FaucetWish>& body) {
            return prepare_faucet(faucet, call, *body);
        },
        [](Call& call, const funding::DepositMark& deposit,
           const Body<FaucetWish>& body) -> FaucetPaid {
            Faucet::match(call.context(), deposit, call.caller.account);
            return {body->asset, body->amount_micro.value, {deposit.transaction}};
        });
    router.add({.method = "GET",
                .path = "/api/v1/simulated/mail",
                .name = "show_simulated_mail",
                .group = "simulated",
                .summary = "The last mails to an address, on a simulated server: anyone on its "
                           "machine may read them.",
                .access = Access::anyone,
                .work = Work::memory,
                .errors = {real},
                .rate = &api::unlimited},
               [mail = play.mail](Call& call, const Query<PlayMailQuery>& query) {
                   return show_mail(mail, call, *query);
               });
}

}  // namespace berth::server
