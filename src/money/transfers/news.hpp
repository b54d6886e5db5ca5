// Tells owners by mail what became of their transfers. It reads what is over from the table, so
// that every way to an end is told, whoever brought it about, and none of them has to think of it.
#pragma once

#include "accounts/site.hpp"
#include "mail/outbox.hpp"
#include "transfers/store.hpp"
#include "worker/worker.hpp"

namespace berth::transfers {

inline constexpr std::int64_t told_rows_max = 100;  // in one transaction

struct Teller {
    const mail::Outbox& outbox;
    const accounts::Site& site;
    const std::string& brand;
};
// Writes the mails of up to `rows_max` transfers that are over and were not told, once for each;
// how many there were. Agents have no mailbox, and a return belongs to nobody.
std::int64_t tell_owners(db::Context context, const Teller& teller, std::int64_t rows_max);

struct NewsParts {
    const mail::Outbox& outbox;
    const accounts::Site& site;
    db::Database& database;
    const Clock& clock;
    Random& random;
};
worker::Kind tell_owners_kind(const NewsParts& parts);

}  // namespace berth::transfers
