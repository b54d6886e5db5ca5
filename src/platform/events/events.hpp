// What happened, told to the account that it concerns, in the transaction that does it. Each
// account has one stream of events, numbered 1, 2, 3 without gaps in the order of their commits;
// pages, streams, webhooks and mail are its readers (reading.hpp).
//
// A kind of event is a constant beside the struct of its facts, and is told by it:
//
//     inline constexpr events::Kind<RentalFacts> rental_running{
//         .type = "rental.running", .subject = "rental", .audience = Audience::renter, .about =
//         "…"};
//     events::tell(context, rental_running, job.renter_id, job.job_id, facts);
//
// The facts are members of the resource, by its names and types, from rows that the transaction
// holds anyway: never a key, a token, an access detail or the other party's id.
//
// Nothing is written by tell() itself. All that a transaction told is written as its last
// statements, accounts in the order of their ids, so that the lock on a stream lasts no longer than
// the commit and nobody waits in a circle.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/wake.hpp"
#include "db/db.hpp"
#include "events/types.hpp"
#include "wire/open.hpp"
#include "wire/wire.hpp"

namespace berth::events {

inline constexpr std::size_t data_bytes_max = 4096;

// The stream of all operators: of no account.
inline constexpr AccountId operators_stream{};

// What a mail says of an event.
struct Words {
    std::string subject;  // goes on from the name of the service
    std::string text;
};

template <class Facts>
struct Kind {
    std::string_view type;     // "rental.running"
    std::string_view subject;  // the kind of what it is about
    Audience audience = Audience::both;
    std::string_view about;    // when it is told, as a sentence
    std::string_view example;  // JSON: in what its facts differ from the usual example of them
    Mail mail = Mail::off;
    // Where the feature has words of its own for it; else a mail is made of `about` and the facts.
    Words (*words)(const Facts& facts, std::string_view subject_id) = nullptr;
};

// A kind in the registry, the type of its facts erased.
struct DeclaredKind {
    template <class Facts>
    DeclaredKind(const Kind<Facts>& kind)
        : type(kind.type),
          subject(kind.subject),
          audience(kind.audience),
          about(kind.about),
          mail(kind.mail),
          facts(&wire::type_of<Facts>()),
          example(kind.example),
          spell([](std::string_view data) {
              return wire::encode(wire::decode<Facts>(data, "example"));
          }) {
        if (kind.words != nullptr)
            words = [in_words = kind.words](std::string_view data, std::string_view subject_id) {
                return in_words(wire::decode_known<Facts>(data, "data"), subject_id);
            };
    }

    std::string_view type;
    std::string_view subject;
    Audience audience;
    std::string_view about;
    Mail mail;
    const wire::Type* facts;
    std::string_view example;
    // The same facts as they would be told; throws a Problem where they are none of its kind.
    std::string (*spell)(std::string_view data);
    std::function<Words(std::string_view data, std::string_view subject_id)> words;  // none: usual
};

// A text of people or of agents that goes into facts: cut to what a fact may be long.
std::string in_brief(std::string_view text);

// The type erased: what tell() calls.
struct Telling {
    std::string_view type;
    std::string_view subject_kind;
    std::string subject_id;
    Audience audience = Audience::both;
    std::string data;
};
void tell(const db::Context& context, AccountId account, Telling telling);

template <class Facts>
void tell(const db::Context& context, const Kind<Facts>& kind, AccountId account,
          std::string subject_id, const Facts& facts) {
    tell(context, account,
         {kind.type, kind.subject, std::move(subject_id), kind.audience, wire::encode(facts)});
}
template <class Facts, class Tag>
void tell(const db::Context& context, const Kind<Facts>& kind, AccountId account,
          const Id<Tag>& subject, const Facts& facts) {
    tell(context, kind, account, to_string(subject), facts);
}
// To the operators.
template <class Facts>
void tell_operators(const db::Context& context, const Kind<Facts>& kind, std::string subject_id,
                    const Facts& facts) {
    tell(context, kind, operators_stream, std::move(subject_id), facts);
}
template <class Facts, class Tag>
void tell_operators(const db::Context& context, const Kind<Facts>& kind, const Id<Tag>& subject,
                    const Facts& facts) {
    tell(context, kind, operators_stream, to_string(subject), facts);
}

// Of an account that is erased: all that it was told goes, also by this very transaction. Its
// numbers go on where they were.
void forget(db::Transaction& tx, AccountId account);

// For benchmarks alone, which measure what telling costs: from now on nothing is told.
void set_muted(bool muted);

// Woken after every commit that told the account something.
inline constexpr std::string_view wake_topic = "events";
WakeKey wake_key(AccountId account);
// The account of a key of that topic; none for other keys.
std::optional<AccountId> account_of(const WakeKey& key);

}  // namespace berth::events
