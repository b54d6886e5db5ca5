#include "db/engine.hpp"

#include "base/check.hpp"

namespace berth::db {

void Failure::raise() const {
    check(kind != Kind::none, "a failure is raised only when there is one");
    if (kind == Kind::statement) throw StatementError(message, constraint);
    throw Unavailable(message);
}

Result TicketTransaction::take(Ticket ticket) {
    require(ticket.number < results_.size(), "a ticket belongs to its transaction");
    std::optional<Result>& slot = results_[ticket.number];
    if (!slot && failure_) failure_.raise();
    require(slot.has_value(), "a ticket is finished once");
    Result result = std::move(*slot);
    slot.reset();
    return result;
}

thread_local const void* NestingGuard::inside_ = nullptr;

void NestingGuard::check_outside(const void* database) {
    require(inside_ != database, "a transaction is not opened from inside another one");
}

}  // namespace berth::db
