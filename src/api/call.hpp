// What a handler is given besides its input: the caller, the time, randomness and the transaction.
// All of it is injected, so a handler can be retried, replayed and simulated.
#pragma once

#include "api/caller.hpp"
#include "api/page.hpp"
#include "base/check.hpp"

namespace berth::api {

class Call {
public:
    struct Parts {
        const Caller& caller;
        Time now;
        Random& random;
        RequestId request_id;
        const Cursors& cursors;
        db::Transaction* tx;
    };

    explicit Call(const Parts& parts)
        : caller(parts.caller),
          now(parts.now),
          random(parts.random),
          request_id(parts.request_id),
          cursors(parts.cursors),
          tx_(parts.tx) {}

    const Caller& caller;
    const Time now;
    Random& random;
    const RequestId request_id;
    const Cursors& cursors;

    db::Transaction& tx() const {
        check(tx_ != nullptr, "a handler that uses the database is declared read or write");
        return *tx_;
    }

    template <class SomeId>
    SomeId make_id() {
        return SomeId::make(now, random);
    }

    // The answer is not final: the same Idempotency-Key will run the handler again.
    void do_not_store() { store_ = false; }
    // Answers with the route's second_status.
    void answer_with(int status) { status_ = status; }

    bool stored() const { return store_; }
    int status() const { return status_; }  // 0: the route's own

private:
    db::Transaction* tx_;
    bool store_ = true;
    int status_ = 0;
};

}  // namespace berth::api
