#include "delivery/mail_store.hpp"

#include "events/events.hpp"

namespace berth::delivery {
namespace {

struct ChoiceRow {
    std::string type;
    MailChoice choice = MailChoice::off;
};
BOOST_DESCRIBE_STRUCT(ChoiceRow, (), (type, choice))
const db::Query<ChoiceRow> choices_sql(
    "SELECT {} FROM mail_choices WHERE account_id = $1 ORDER BY type");
constexpr std::string_view forget_choices_sql = "DELETE FROM mail_choices WHERE account_id = $1";
constexpr std::string_view add_choice_sql =
    "INSERT INTO mail_choices (account_id, type, choice) VALUES ($1, $2, $3) "
    "ON CONFLICT (account_id, type) DO UPDATE SET choice = excluded.choice";

const db::Query<MailPlace> find_place_sql("SELECT {} FROM mail_places WHERE account_id = $1");
constexpr std::string_view move_place_sql =
    "INSERT INTO mail_places (account_id, through, window_began, window_mails, next_at, "
    "digest_through, digest_at) VALUES ($1, $2, $3, $4, $5, $6, $7) "
    "ON CONFLICT (account_id) DO UPDATE SET through = excluded.through, "
    "window_began = excluded.window_began, window_mails = excluded.window_mails, "
    "next_at = excluded.next_at, digest_through = excluded.digest_through, "
    "digest_at = excluded.digest_at WHERE mail_places.through = $8";
constexpr std::string_view end_digest_sql =
    "UPDATE mail_places SET digest_at = NULL WHERE account_id = $1 AND digest_at = $2";
constexpr std::string_view forget_place_sql = "DELETE FROM mail_places WHERE account_id = $1";
constexpr std::string_view move_places_sql =
    "UPDATE mail_places SET through = through + $1, digest_through = digest_through + $1 "
    "WHERE account_id IN (SELECT account_id FROM event_heads)";

constexpr std::string_view with_news_sql =
    "SELECT h.account_id FROM event_heads h "
    "LEFT JOIN mail_places p ON p.account_id = h.account_id "
    "WHERE h.account_id > $1 AND h.newest > COALESCE(p.through, 0) "
    "AND COALESCE(p.next_at, 0) <= $2 ORDER BY h.account_id LIMIT $3";
constexpr std::string_view with_digest_sql =
    "SELECT account_id FROM mail_places WHERE digest_at <= $1 ORDER BY digest_at LIMIT $2";

}  // namespace

MailChoices choices_of(db::Transaction& tx, AccountId account) {
    MailChoices choices;
    for (ChoiceRow& row : tx.fetch(choices_sql, account)) choices[row.type] = row.choice;
    return choices;
}

void put_choices(db::Transaction& tx, AccountId account, const MailChoices& choices) {
    tx.run(forget_choices_sql, account);
    for (const auto& [type, choice] : choices) tx.run(add_choice_sql, account, type, choice);
}

std::optional<MailPlace> find_place(db::Transaction& tx, AccountId account) {
    return tx.fetch_one(find_place_sql, account);
}

bool move_place(db::Transaction& tx, const MailPlace& place, std::int64_t seen) {
    return tx.run(move_place_sql, place.account_id, place.through, place.window_began,
                  place.window_mails, place.next_at, place.digest_through, place.digest_at, seen)
               .affected == 1;
}

bool end_digest(db::Transaction& tx, AccountId account, Time seen) {
    return tx.run(end_digest_sql, account, seen).affected == 1;
}

std::vector<AccountId> accounts_with_news(db::Transaction& tx, AccountId after, Time now,
                                          std::int64_t rows_max) {
    return tx.fetch_values<AccountId>(with_news_sql, after, now, rows_max);
}

std::vector<AccountId> accounts_with_digest(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.fetch_values<AccountId>(with_digest_sql, now, rows_max);
}

void move_mail(db::Transaction& tx, std::int64_t by) { tx.run(move_places_sql, by); }

void forget_mail(db::Transaction& tx, AccountId account) {
    tx.run(forget_choices_sql, account);
    tx.run(forget_place_sql, account);
}

}  // namespace berth::delivery
