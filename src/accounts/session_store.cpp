// Sessions and emailed codes: their statements; and the row readers of rows.hpp.
#include "accounts/rows.hpp"
#include "accounts/store.hpp"
#include "base/check.hpp"

namespace berth::accounts {
namespace {

constexpr std::string_view find_session_sql =
    "SELECT a.account_id, a.kind, a.email, a.role, a.host_capability, a.suspended, a.totp_secret, "
    "s.session_id, s.origin, s.user_agent_hash, s.pending, s.last_seen_at, s.expires_at, "
    "s.account_sensitive_until, s.wallet_until, s.admin_sensitive_until "
    "FROM sessions s JOIN accounts a ON a.account_id = s.account_id WHERE s.token_hash = $1";
constexpr std::string_view add_session_sql =
    "INSERT INTO sessions (session_id, token_hash, account_id, origin, user_agent_hash, pending, "
    "failures, account_sensitive_until, wallet_until, admin_sensitive_until, created_at, "
    "last_seen_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, $7, $7, $8)";
constexpr std::string_view rotate_session_sql =
    "UPDATE sessions SET token_hash = $2, failures = 0, pending = 0, "
    "expires_at = CASE WHEN pending = 1 THEN $3 ELSE expires_at END "
    "WHERE session_id = $1 RETURNING expires_at";
constexpr std::string_view touch_session_sql =
    "UPDATE sessions SET last_seen_at = $2 WHERE session_id = $1 AND last_seen_at < $2";
constexpr std::string_view delete_session_sql = "DELETE FROM sessions WHERE session_id = $1";
constexpr std::string_view delete_sessions_sql = "DELETE FROM sessions WHERE account_id = $1";
constexpr std::string_view delete_other_sessions_sql =
    "DELETE FROM sessions WHERE account_id = $1 AND session_id <> $2";
constexpr std::string_view count_try_sql =
    "UPDATE sessions SET failures = failures + 1 WHERE session_id = $1 AND failures < $2 "
    "RETURNING failures";
constexpr std::string_view forget_tries_sql =
    "UPDATE sessions SET failures = 0 WHERE session_id = $1";
constexpr std::string_view account_step_up_sql =
    "UPDATE sessions SET account_sensitive_until = $2 WHERE session_id = $1";
constexpr std::string_view wallet_step_up_sql =
    "UPDATE sessions SET wallet_until = $2 WHERE session_id = $1";
constexpr std::string_view admin_step_up_sql =
    "UPDATE sessions SET admin_sensitive_until = $2 WHERE session_id = $1";
constexpr std::string_view prune_sessions_sql =
    "DELETE FROM sessions WHERE session_id IN "
    "(SELECT session_id FROM sessions WHERE expires_at <= $1 LIMIT $2)";
// A code that is over is kept for as long as it counts towards the hour.
constexpr std::string_view prune_codes_sql =
    "DELETE FROM email_codes WHERE (purpose, email) IN "
    "(SELECT purpose, email FROM email_codes WHERE expires_at <= $1 AND window_start <= $2 "
    "LIMIT $3)";
constexpr std::string_view prune_enrollments_sql =
    "DELETE FROM totp_enrollments WHERE enrollment_id IN "
    "(SELECT enrollment_id FROM totp_enrollments WHERE expires_at <= $1 LIMIT $2)";

// $8 is now, $9 the time before which a window of counting has ended, $10 how many may be sent.
constexpr std::string_view put_code_sql =
    "INSERT INTO email_codes (purpose, email, code_id, code_hash, token_hash, bound_to, tries, "
    "expires_at, window_start, sent) VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8, 1) "
    "ON CONFLICT (purpose, email) DO UPDATE SET code_id = $3, code_hash = $4, token_hash = $5, "
    "bound_to = $6, tries = 0, expires_at = $7, "
    "sent = CASE WHEN email_codes.window_start <= $9 THEN 1 ELSE email_codes.sent + 1 END, "
    "window_start = CASE WHEN email_codes.window_start <= $9 THEN $8 "
    "ELSE email_codes.window_start END "
    "WHERE email_codes.window_start <= $9 OR email_codes.sent < $10";
constexpr std::string_view try_code_sql =
    "UPDATE email_codes SET tries = tries + 1 WHERE purpose = $1 AND email = $2 "
    "AND code_hash IS NOT NULL AND expires_at > $3 AND tries < $4 "
    "RETURNING code_id, code_hash, bound_to";
constexpr std::string_view spend_code_sql =
    "UPDATE email_codes SET code_hash = NULL, token_hash = NULL "
    "WHERE purpose = $1 AND email = $2 AND code_id = $3 AND code_hash IS NOT NULL";
constexpr std::string_view spend_token_sql =
    "UPDATE email_codes SET code_hash = NULL, token_hash = NULL "
    "WHERE purpose = $1 AND token_hash = $2 AND expires_at > $3 RETURNING email";

constexpr std::array<std::string_view, 3> role_names{"renter", "host", "admin"};

Role parse_role(std::string_view name) {
    for (std::size_t i = 0; i < role_names.size(); ++i)
        if (role_names[i] == name) return static_cast<Role>(i);
    check(false, "a role in the database is one of ours");
    return Role::renter;
}

}  // namespace

std::string_view role_name(Role role) { return role_names[static_cast<std::size_t>(role)]; }

Account read_account(const db::Result::Row& row) {
    return {row.get<AccountId>(0),
            row.get<std::string>(1) == "agent" ? Kind::agent : Kind::human,
            row.get<std::optional<std::string>>(2),
            parse_role(row.get<std::string>(3)),
            row.get<bool>(4),
            row.get<bool>(5),
            row.get<std::optional<Bytes>>(6)};
}

std::optional<OpenSession> find_session(db::Transaction& tx, std::string_view token_hash) {
    const auto rows = tx.run(find_session_sql, db::Blob{token_hash});
    if (rows.empty()) return std::nullopt;
    OpenSession found;
    found.account = read_account(rows[0]);
    Session& session = found.session;
    session.id = rows[0].get<SessionId>(account_columns);
    session.account = found.account.id;
    session.origin = rows[0].get<std::string>(account_columns + 1);
    session.user_agent_hash = rows[0].get<Bytes>(account_columns + 2);
    session.pending = rows[0].get<bool>(account_columns + 3);
    session.last_seen_at = rows[0].get<Time>(account_columns + 4);
    session.expires_at = rows[0].get<Time>(account_columns + 5);
    for (std::size_t i = 1; i < session.step_up_until.size(); ++i)
        session.step_up_until[i] = rows[0].get<Time>(account_columns + 5 + i);
    return found;
}

void add_session(db::Transaction& tx, const Session& session, std::string_view token_hash, Time now) {
    tx.run(add_session_sql, session.id, db::Blob{token_hash}, session.account, session.origin,
           db::Blob{session.user_agent_hash}, session.pending, now, session.expires_at);
}

std::optional<Time> rotate_session(db::Transaction& tx, const Rotation& rotation) {
    const auto rows = tx.run(rotate_session_sql, rotation.session, db::Blob{rotation.token_hash},
                             rotation.opened_until);
    return rows.empty() ? std::nullopt : std::optional(rows[0].get<Time>(0));
}

void touch_session(db::Transaction& tx, SessionId id, Time now) {
    tx.run(touch_session_sql, id, now);
}

void delete_session(db::Transaction& tx, SessionId id) { tx.run(delete_session_sql, id); }

void delete_sessions(db::Transaction& tx, AccountId account) {
    tx.run(delete_sessions_sql, account);
}

void delete_other_sessions(db::Transaction& tx, AccountId account, SessionId kept) {
    tx.run(delete_other_sessions_sql, account, kept);
}

std::optional<std::int64_t> count_try(db::Transaction& tx, SessionId id, std::int64_t tries_max) {
    const auto rows = tx.run(count_try_sql, id, tries_max);
    return rows.empty() ? std::nullopt : std::optional(rows[0].get<std::int64_t>(0));
}

void forget_tries(db::Transaction& tx, SessionId id) { tx.run(forget_tries_sql, id); }

void set_step_up(db::Transaction& tx, SessionId id, Purpose purpose, Time until) {
    const std::string_view sql = purpose == Purpose::account_sensitive ? account_step_up_sql
                                 : purpose == Purpose::wallet          ? wallet_step_up_sql
                                                                       : admin_step_up_sql;
    tx.run(sql, id, until);
}

std::int64_t prune_sessions(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.run(prune_sessions_sql, now, rows_max).affected;
}

std::int64_t prune_codes(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.run(prune_codes_sql, now, now - std::chrono::hours(1), rows_max).affected;
}

std::int64_t prune_totp_enrollments(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.run(prune_enrollments_sql, now, rows_max).affected;
}

bool put_code(db::Transaction& tx, const CodeRow& row, Time now, std::int64_t sent_max,
              Duration window) {
    std::optional<db::Blob> token;
    if (row.token_hash) token = db::Blob{*row.token_hash};
    return tx.run(put_code_sql, row.purpose, row.email, row.code_id, db::Blob{row.code_hash}, token,
                  row.bound_to, row.expires_at, now, now - window, sent_max)
               .affected == 1;
}

std::optional<LiveCode> try_code(db::Transaction& tx, std::string_view purpose,
                                 std::string_view email, Time now, std::int64_t tries_max) {
    const auto rows = tx.run(try_code_sql, purpose, email, now, tries_max);
    if (rows.empty()) return std::nullopt;
    return LiveCode{rows[0].get<Uuid>(0), rows[0].get<Bytes>(1), rows[0].get<std::string>(2)};
}

bool spend_code(db::Transaction& tx, std::string_view purpose, std::string_view email,
                Uuid code_id) {
    return tx.run(spend_code_sql, purpose, email, code_id).affected == 1;
}

std::optional<std::string> spend_token(db::Transaction& tx, std::string_view purpose,
                                       std::string_view token_hash, Time now) {
    const auto rows = tx.run(spend_token_sql, purpose, db::Blob{token_hash}, now);
    return rows.empty() ? std::nullopt : std::optional(rows[0].get<std::string>(0));
}

}  // namespace berth::accounts
