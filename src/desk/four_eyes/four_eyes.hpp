// Four eyes: what gives power, or moves more than one operator may move alone, waits for a second
// admin. A handler says what it is about to do, before it changes anything:
//
//     four_eyes::require_second(call, outbox, {.action = "refund",
//                                              .target = {"job", to_string(job.job)},
//                                              .about = job.host,
//                                              .gains = job.renter,
//                                              .amount = request.amount_micro,
//                                              .reason = request.reason.value,
//                                              .consequence = "…",
//                                              .seen = "refunded 0 of 2000000"});
//
// and its route declares `.deferral = four_eyes::waits`. The call returns when the handler may go
// on, because nobody else is needed or because a second admin has just confirmed; otherwise it ends
// the request with 202, the request itself is kept, and every other admin is told by mail. When it
// is confirmed the same handler runs again with the same path, query and body, as a call of the
// admin who confirms; if `seen` is another by then, or the handler refuses, nothing happens and the
// action goes on waiting.
#pragma once

#include <functional>
#include <map>

#include "api/router.hpp"
#include "audit/audit.hpp"
#include "four_eyes/types.hpp"
#include "mail/outbox.hpp"

namespace berth::four_eyes {

struct Wish {
    std::string action;  // as the audit record has it: "refund"
    audit::Target target;
    std::optional<AccountId> about = {};  // whose account it is about: cannot confirm
    std::optional<AccountId> gains = {};  // who gets something by it: cannot confirm
    std::optional<Micro> amount = {};     // none: it gives power, and always waits
    std::string reason;
    std::string consequence;  // what happens when it is confirmed, in sentences
    std::string seen = {};    // versions and figures that the consequence follows from
};

inline constexpr api::Deferral<Asked> waits{};
inline constexpr auto waits_for = std::chrono::hours(24);     // for the second admin
inline constexpr auto alone_for = std::chrono::hours(72);     // what `auto` remembers
inline constexpr auto limit_period = std::chrono::hours(24);  // of four_eyes_limit_micro

// Whether a second admin is asked at all, by the setting and by who is an admin.
bool is_on(db::Transaction& tx, const Settings& settings, Time now);

// Whether require_second() may end this call, or holds it to what was shown: whoever needs effort
// to say what would happen makes it only then.
bool may_wait(api::Call& call);

// It comes after the step-up and before the first change.
void require_second(api::Call& call, const mail::Outbox& outbox, const Wish& wish);

// What no route asks for, but a command on the server's own machine: always waits, whatever its
// amount; the caller has asked is_on(). `operation` is one of those that FourEyes was given, which
// gets `arguments`, a JSON text, when an admin confirms.
PendingActionId ask_from_command(db::Context context, const Wish& wish,
                                 const std::string& operation, const std::string& arguments);

// Ends the 72 hours of `auto` now; they begin anew when an admin ceases to be one again. Every
// admin there was in them is told by mail. Refused, with a sentence, while two are active.
struct TurnedOff {
    std::vector<std::string> told;
    bool still_on = false;  // the server was started with `on`, which no command ends
};
TurnedOff turn_off(db::Context context, const mail::Outbox& outbox, const std::string& brand,
                   const std::string& reason);

// What a server is started with. Where it asks for a second admin more seldom than the start before
// it, that is recorded, and every admin is told by mail: the flag is as good as the command above.
struct Start {
    Mode mode = Mode::automatic;
    Micro limit;
};
std::vector<std::string> note_start(db::Context context, const mail::Outbox& outbox,
                                    const std::string& brand, const Start& start);

// Ends everything that waits, because the books are from before: what was decided since may be
// among it. How many there were.
std::int64_t end_waiting(db::Transaction& tx, Time now);

// Forgets what was written of an account whose owner is forgotten: reasons, consequences and
// requests. Who asked, who decided and when stays; what waits about it is over.
void forget_account(db::Transaction& tx, AccountId account, Time now);

class FourEyes {
public:
    // Carries out what a command asked for, in the transaction of the confirmation; gives a JSON
    // text for the answer.
    using Operation = std::function<std::string(api::Call& call, const std::string& arguments)>;
    void add_operation(const std::string& name, Operation operation);

    // The router is asked for the routes of what is confirmed: it must outlive this.
    void add_routes(api::Router& router) const;

private:
    struct Facts {
        std::shared_ptr<const void> known;
    };
    api::Page<PendingAction> list(api::Call& call, const PendingQuery& query) const;
    PendingAction show(api::Call& call, const PendingPath& path) const;
    std::function<Facts()> prepare(api::Call& call, const api::Router& router,
                                   const PendingPath& path) const;
    Decided confirm(api::Call& call, const api::Router& router, const Facts& facts,
                    const PendingPath& path, const Decision& decision) const;
    Decided refuse(api::Call& call, const PendingPath& path, const Decision& decision) const;

    std::map<std::string, Operation, std::less<>> operations_;
};

extern const std::span<const db::Migration> migrations;

}  // namespace berth::four_eyes
