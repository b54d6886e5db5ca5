// Leaving: an account is closed when nothing is in it, exported whole, and erased where the books
// allow it. Closing can be undone by an operator, erasing cannot.
#pragma once

#include <functional>

#include "api/router.hpp"
#include "closing/store.hpp"
#include "closing/types.hpp"
#include "mail/outbox.hpp"
#include "worker/worker.hpp"

namespace berth::closing {

inline constexpr std::int64_t section_items_max = 20'000;
inline constexpr std::size_t export_bytes_max = 32 << 20;
inline constexpr std::int64_t export_events_max = 1000;

// Whether what the route of this path shows an account is in its export.
bool is_exported(std::string_view path);

// Throws CONFLICT for one that is closed: it is opened again first.
void require_not_closed(db::Transaction& tx, AccountId account);
// An operator suspends an account that may be closed: it stays so when it is opened again.
void note_suspension(db::Transaction& tx, AccountId account);

// What rooms that stand above this one have of an account.
struct Above {
    // A dispute over a rental of it is open, whether anything is held for it or not.
    std::function<bool(db::Transaction&, AccountId)> is_under_dispute;
    // It is closed: nothing of it waits any more.
    std::function<void(db::Context, AccountId)> call_off;
    // Its owner is forgotten: what they wrote about that.
    std::function<void(db::Transaction&, AccountId)> forget;
};

class Closing {
public:
    Closing(const mail::Outbox& outbox, Above above) : outbox_(outbox), above_(std::move(above)) {}

    // The router is asked for what the account can read: it must outlive this.
    void add_routes(api::Router& router) const;

    // What stands in the way of closing or erasing an account, as it is now.
    std::vector<Obstacle> find_obstacles(db::Transaction& tx,
                                         const accounts::Record& account) const;
    ClosingState state(api::Call& call, AccountId account) const;
    ClosingDone close_own(api::Call& call, const CloseAccount& wish) const;
    ClosingDone close(api::Call& call, const UserPath& path, const CloseUser& wish) const;
    ClosingDone reopen(api::Call& call, const UserPath& path, const ClosingDecision& wish) const;
    ClosingDone erase(api::Call& call, const UserPath& path, const ClosingDecision& wish) const;
    AccountExport export_own(api::Call& call, const api::Router& router) const;
    AccountExport export_user(api::Call& call, const api::Router& router,
                              const UserPath& path) const;

    // The task that erases those whose time has come.
    struct TaskParts {
        db::Database& database;
        const Clock& clock;
        Random& random;
    };
    worker::Kind erase_accounts_kind(const TaskParts& parts) const;

private:
    void add_operator_routes(api::Router& router) const;
    ClosingDone shut(api::Call& call, const accounts::Record& account, bool erase,
                     const std::optional<std::string>& reason) const;
    void require_no_obstacle(db::Transaction& tx, const accounts::Record& account) const;
    void forget(db::Context context, const accounts::Record& account,
                const std::string& brand) const;
    void erase_due(worker::Attempt& attempt, const TaskParts& parts, AccountId account) const;

    const mail::Outbox& outbox_;
    Above above_;
};

}  // namespace berth::closing
