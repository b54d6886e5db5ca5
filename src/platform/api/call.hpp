// What a handler is given besides its input: the caller, the time, randomness and the transaction.
// All of it is injected, so a handler can be retried, replayed and simulated.
#pragma once

#include <functional>

#include "api/caller.hpp"
#include "api/page.hpp"
#include "base/check.hpp"
#include "base/problem.hpp"
#include "base/wake.hpp"
#include "settings/registry.hpp"

namespace berth::api {

// What a second person has approved: a handler that finds it does what it would only ask for.
struct Approval {
    std::string action;
    std::string seen;  // what the action was asked for by; see four_eyes
};

class Call {
public:
    struct Parts {
        const Caller& caller;
        Time now;
        Random& random;
        const Cursors& cursors;
        StepUp step_up;  // what the route declares
        const http::Request& request;
        RequestId request_id;
        const berth::settings::Snapshot& settings;
        db::Transaction* tx;
        std::optional<Duration> waited = {};  // since the request came; none when it cannot wait
        const Approval* approval = nullptr;
    };

    explicit Call(const Parts& parts)
        : caller(parts.caller),
          now(parts.now),
          random(parts.random),
          cursors(parts.cursors),
          request(parts.request),
          request_id(parts.request_id),
          settings_(parts.settings),
          step_up_(parts.step_up),
          tx_(parts.tx),
          waited_(parts.waited),
          approval_(parts.approval) {}

    const Caller& caller;
    const Time now;
    Random& random;
    const Cursors& cursors;
    const http::Request& request;  // for what is in no declared type: cookies, user agent, origin
    const RequestId request_id;    // the one of X-Request-Id, for the audit

    db::Transaction& tx() const {
        require(tx_ != nullptr, "a handler that uses the database is declared read or write");
        return *tx_;
    }

    // No transaction: the handler of a Work::remembered route is to answer from memory.
    bool from_memory() const { return tx_ == nullptr; }

    db::Context context() const { return {tx(), random, now}; }

    // What operators have set, the same from the beginning of a request to its end.
    template <class Section>
    const Section& settings() const {
        return settings_.get<Section>();
    }

    template <class SomeId>
    SomeId make_id() {
        return SomeId::make(now, random);
    }

    // The proof of presence that the route declares; a handler asks for it after it has made sure
    // that the object is the caller's own, so that a stranger learns nothing.
    void require_step_up();
    // The same for a purpose that only some callers of the route need, such as operators who look
    // at what is somebody else's.
    void require_step_up(StepUp purpose) const;
    bool step_up_checked() const { return step_up_ == StepUp::none || step_up_checked_; }

    // The same call, as the handler of another route is given it that was approved by this caller.
    Call approved(StepUp step_up, const Approval& approval) const {
        return Call({caller, now, random, cursors, step_up, request, request_id, settings_, tx_,
                     std::nullopt, &approval});
    }
    const Approval* approval() const { return approval_; }  // null: nobody has

    // The same call, as if this caller had made it: for who gathers all that somebody could read.
    // The caller must outlive it.
    Call on_behalf_of(const Caller& other) const {
        return Call({other, now, random, cursors, StepUp::none, request, request_id, settings_, tx_,
                     std::nullopt});
    }

    // There is no news yet. Puts the request aside, without a thread or a transaction, until the
    // key is woken or `at_most` has passed since the request came; then the handler runs again from
    // its beginning. Returns when that time is over or the service stops: the handler then answers
    // with what there is. Only a handler that does not write may wait.
    void wait_for(const WakeKey& key, Duration at_most) const;

    // Of a handler that only reads: what must be in the records before its answer leaves, such as
    // that an operator has looked. It is written in a transaction of its own; if that fails, so
    // does the request.
    using Note = std::function<void(db::Context)>;
    void keep_before_answer(Note note) { notes_.push_back(std::move(note)); }
    const std::vector<Note>& notes() const { return notes_; }

    // A header of a successful answer, such as Set-Cookie. It is not stored for replays.
    void add_header(std::string name, std::string value) {
        headers_.add(std::move(name), std::move(value));
    }
    const http::Headers& headers() const { return headers_; }

    // Which version of its answer a Cache::checked route gives, as letters and digits. A client
    // that has it is answered with the route's second_status, 304, and without the body.
    void note_version(std::string_view version);

    // The answer is not final: the same Idempotency-Key will run the handler again.
    void do_not_store() { store_ = false; }
    // Answers with the route's second_status.
    void answer_with(int status) { status_ = status; }

    bool stored() const { return store_; }
    int status() const { return status_; }  // 0: the route's own

private:
    const berth::settings::Snapshot& settings_;
    StepUp step_up_;
    bool step_up_checked_ = false;
    db::Transaction* tx_;
    std::optional<Duration> waited_;
    const Approval* approval_;
    std::vector<Note> notes_;
    http::Headers headers_;
    bool store_ = true;
    int status_ = 0;
};

// Ends the request like any Problem, but what the handler did so far is committed: a wrong guess is
// counted, a spent proof stays spent.
class CommittedProblem : public Problem {
public:
    using Problem::Problem;
};

// A fresh step-up is missing; the answer names its purpose in a header.
class StepUpMissing : public Problem {
public:
    explicit StepUpMissing(StepUp purpose_)
        : Problem(Code::forbidden, "a fresh step-up of this purpose is required"),
          purpose(purpose_) {}

    const StepUp purpose;
};
inline constexpr const char* step_up_header = "Berth-Step-Up";

// Ends a run of a handler that was to answer from memory and cannot; it runs again, in a
// transaction.
struct NotRemembered {};

// Ends a run of a handler that has nothing to answer yet. Not an error: only the service catches
// it.
struct NothingYet {
    WakeKey key;
    Duration at_most;
};

}  // namespace berth::api
