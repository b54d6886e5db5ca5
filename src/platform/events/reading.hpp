// Reading streams of events: what page, stream, webhook and mail have in common. A stream is read
// forward from a number; what a filter leaves out moves the reader's place on as well.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/db.hpp"
#include "events/types.hpp"

namespace berth::events {

// What there is of a stream. Empty: newest is oldest - 1.
struct Head {
    std::int64_t oldest = 1;  // that is still kept
    std::int64_t newest = 0;

    // Whether a reader who has everything up to `after` has missed nothing.
    bool reaches(std::int64_t after) const { return after >= oldest - 1 && after <= newest; }
};
Head head_of(db::Transaction& tx, AccountId account);

struct AccountHead {
    AccountId account_id;
    std::int64_t oldest = 1;
    std::int64_t newest = 0;
};
BOOST_DESCRIBE_STRUCT(AccountHead, (), (account_id, oldest, newest))
// Of many accounts at once, in their order; an account that was never told anything is left out.
std::vector<AccountHead> heads_of(db::Transaction& tx, std::span<const AccountId> accounts);
// Accounts that were told something since, with their newest number of that time; at most ten
// thousand. What commits late does not show here: who relies on it looks at heads now and then.
struct Told {
    AccountId account_id;
    std::int64_t newest = 0;
};
BOOST_DESCRIBE_STRUCT(Told, (), (account_id, newest))
std::vector<Told> told_since(db::Transaction& tx, Time since);

// An event with what a reader's filter asks for.
struct Kept {
    Event event;
    Audience audience = Audience::both;
};
// In order, those that follow `after`, whatever they are.
std::vector<Kept> read_after(db::Transaction& tx, AccountId account, std::int64_t after,
                             std::int64_t rows_max);
// The same in two steps, so that several travel in one round trip.
db::Transaction::Ticket start_after(db::Transaction& tx, AccountId account, std::int64_t after,
                                    std::int64_t rows_max);
std::vector<Kept> finish_after(db::Transaction& tx, db::Transaction::Ticket ticket);
// One by its number; none when it is no longer kept, or not yet there.
std::optional<Kept> find_event(db::Transaction& tx, AccountId account, std::int64_t sequence);

// Which part of an account a credential hears.
struct Hearing {
    bool renter = true;
    bool host = true;

    bool hears(Audience audience) const;
    friend bool operator==(const Hearing&, const Hearing&) = default;
};

struct Filter {
    static constexpr std::size_t types_max = 20;

    Hearing hearing = {};
    std::vector<std::string> types = {};  // "rental.running" or "rental.*"; none: all
    std::optional<std::string> subject_id = {};

    bool wants(const Kept& kept) const;
};
// Whether a type is what a word of a filter says.
bool matches(std::string_view wanted, std::string_view type);

// What a filter finds after a number. `through` is how far was looked: up to there nothing is
// missing, and a reader goes on there.
struct Stretch {
    std::vector<Event> items;
    std::int64_t through = 0;
    Head head;
};
Stretch read_stretch(db::Transaction& tx, AccountId account, std::int64_t after,
                     const Filter& filter, std::int64_t items_max);

// The bytes of an event, the same for every reader.
std::string text_of(const Event& event);

}  // namespace berth::events
