// All SQL of mails about events.
#pragma once

#include "db/db.hpp"
#include "delivery/mail_types.hpp"

namespace berth::delivery {

MailChoices choices_of(db::Transaction& tx, AccountId account);
void put_choices(db::Transaction& tx, AccountId account, const MailChoices& choices);

// How far an account's events were looked at for mails.
struct MailPlace {
    AccountId account_id;
    std::int64_t through = 0;
    Time window_began;              // of the mails that may be single
    std::int64_t window_mails = 0;  // so far
    Time next_at;                   // nothing is looked at before
    std::int64_t digest_through = 0;
    std::optional<Time> digest_at = {};  // none: nothing waits for one
};
BOOST_DESCRIBE_STRUCT(MailPlace, (),
                      (account_id, through, window_began, window_mails, next_at, digest_through,
                       digest_at))
std::optional<MailPlace> find_place(db::Transaction& tx, AccountId account);
// False, and nothing happens, when somebody else has moved it from `seen`.
bool move_place(db::Transaction& tx, const MailPlace& place, std::int64_t seen);
// False when somebody else has sent the digest that was due at `seen`.
bool end_digest(db::Transaction& tx, AccountId account, Time seen);

// Accounts with events that were not looked at, in the order of their ids, after one of them.
std::vector<AccountId> accounts_with_news(db::Transaction& tx, AccountId after, Time now,
                                          std::int64_t rows_max);
std::vector<AccountId> accounts_with_digest(db::Transaction& tx, Time now, std::int64_t rows_max);

// When all numbers of events have risen.
void move_mail(db::Transaction& tx, std::int64_t by);
void forget_mail(db::Transaction& tx, AccountId account);

}  // namespace berth::delivery
