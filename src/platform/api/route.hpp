// One declaration per route. Routing, decoding, authorisation, idempotency, rate limits, cache
// headers and openapi.json all come from it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/caller.hpp"
#include "api/deferral.hpp"
#include "api/rate_limit.hpp"
#include "api/sibling.hpp"
#include "base/problem.hpp"

namespace berth::api {

// Where a handler runs and what it is given.
enum class Work {
    memory,    // on the I/O thread, without a transaction: it only touches memory
    blocking,  // on the pool, without a transaction
    read,      // on the pool, in a read-only transaction
    write,     // on the pool, in a transaction that is committed before the answer leaves
    rehearse,  // the same, but undone before the answer leaves: what a write would have done
    // A read that is done on the I/O thread, without a transaction, while memory tells who calls
    // and what the handler would read (see db/changes.hpp). The handler asks Call::from_memory(),
    // and throws NotRemembered when it does not know.
    remembered,
};

// What caches are told.
enum class Cache {
    personal,  // private, no-store: accounts and money
    open,      // no-store: the public catalog, health, the specification
    checked,   // no-cache: it is kept, and asked about before each use (see Call::note_version)
    forever,   // immutable: its address changes when it does
};

// An error that a handler may end with, and when, as the end of a sentence: {Code::conflict, "the
// account has as many open transfers as it can"}. The code alone says what it always means.
struct DeclaredError {
    DeclaredError(Code code_, std::string_view when_ = {}) : code(code_), when(when_) {}

    Code code;
    std::string_view when;
};

// As much is kept of a body while nobody knows whose it is. A longer one is read when the
// credential in its head was found good; a route for anyone that takes more says so.
inline constexpr std::size_t unverified_body_bytes_max = 4 * 1024;
inline constexpr std::size_t registration_body_bytes_max = 16 * 1024;  // and sign-in

// One of the kinds that an answer may have which is no described type.
struct Media {
    std::string type;        // "text/event-stream"
    std::string_view about;  // what it is, as a sentence
    std::string_view example = {};
};

struct Route {
    std::string method;
    std::string path;     // "/api/v1/jobs/{id}"; {id} is a member of the handler's Path struct
    std::string name;     // operationId: "show_job"
    std::string group;    // the feature, as a heading in the documentation
    std::string summary;  // one sentence
    Access access = Access::participant;
    Work work = Work::read;
    StepUp step_up = StepUp::none;  // the handler calls Call::require_step_up()
    bool idempotent = false;        // an Idempotency-Key is required
    // Whoever comes with a session proves, also to read, that a page of ours is asking. For answers
    // that others wrote: no link and no form elsewhere can have them opened at our address.
    bool own_page_only = false;
    // The member of the answer whose rows are given as a table to whoever accepts text/csv.
    std::string csv = {};
    std::vector<Media> media = {};  // of a Streamed answer or a File, and of nothing else
    // What whoever is behind the route refuses: passed on as it is, with any status from 400 to
    // 499, also with one that is ours.
    std::optional<Media> passed_refusal = {};
    int status = 200;
    int second_status = 0;  // another status the same body may have, chosen by Call::answer_with
    DeclaredDeferral deferral = {};              // it may wait for somebody else's word
    std::vector<DeclaredError> errors = {};      // beyond those that follow from the declaration
    std::vector<DeclaredSibling> siblings = {};  // what errors carry beside the envelope
    const RateRule* rate = nullptr;              // none: as RateRules says; or &unlimited
    Cache cache = Cache::personal;
    // Other addresses with the same answer to GET: "/offers" stands for itself and for all below
    // it. What has a route of its own keeps it.
    std::vector<std::string> also_below = {};
    // Of the request. More is 413 and is not read; what a route takes is mostly much less.
    std::optional<std::size_t> body_bytes_max = {};  // none: the usual one of its kind
    // Makes what takes the bytes of a body as they come, in the place of a Body; the handler finds
    // it in its request. For bodies that nobody keeps.
    std::function<std::shared_ptr<http::BodySink>()> body_sink = {};

    // Its handler changes rows, whatever becomes of them.
    bool writes() const { return work == Work::write || work == Work::rehearse; }

    std::size_t body_limit() const {
        const bool open = access == Access::anyone;
        return body_bytes_max.value_or(open ? unverified_body_bytes_max
                                            : http::Handler::usual_body_bytes_max);
    }
};

}  // namespace berth::api
