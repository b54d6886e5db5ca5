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
    "last_seen_at, expires_at, user_agent, opened_from) "
    "VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, $7, $7, $8, $9, $10)";
constexpr std::string_view list_sessions_sql =
    "SELECT session_id, pending, user_agent, opened_from, created_at, last_seen_at, expires_at "
    "FROM sessions WHERE account_id = $1 AND expires_at > $2 AND last_seen_at > $3 "
    "AND session_id < $4 ORDER BY session_id DESC LIMIT $5";
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
    "DELETE FROM email_codes WHERE code_id IN "
    "(SELECT code_id FROM email_codes WHERE created_at <= $1 LIMIT $2)";
constexpr std::string_view prune_enrollments_sql =
    "DELETE FROM totp_enrollments WHERE enrollment_id IN "
    "(SELECT enrollment_id FROM totp_enrollments WHERE expires_at <= $1 LIMIT $2)";

constexpr std::string_view add_code_sql =
    "INSERT INTO email_codes (code_id, purpose, email, asked_from, code_hash, token_hash, "
    "bound_to, "
    "tries, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9)";
constexpr std::string_view list_askers_sql =
    "SELECT asked_from FROM email_codes WHERE purpose = $1 AND email = $2 AND created_at > $3";
constexpr std::string_view live_codes_sql =
    "SELECT code_id, code_hash FROM email_codes WHERE purpose = $1 AND email = $2 "
    "AND bound_to = $3 AND code_hash IS NOT NULL AND expires_at > $4";
constexpr std::string_view try_codes_sql =
    "UPDATE email_codes SET tries = tries + 1 WHERE purpose = $1 AND email = $2 "
    "AND bound_to = $3 AND code_hash IS NOT NULL AND expires_at > $4 AND tries < $5 "
    "RETURNING code_id, code_hash";
constexpr std::string_view spend_code_sql =
    "UPDATE email_codes SET code_hash = NULL, token_hash = NULL "
    "WHERE code_id = $1 AND code_hash IS NOT NULL";
constexpr std::string_view spend_token_sql =
    "UPDATE email_codes SET code_hash = NULL, token_hash = NULL "
    "WHERE purpose = $1 AND token_hash = $2 AND expires_at > $3 RETURNING email";

constexpr std::array<std::string_view, 3> role_names{"renter", "host", "admin"};

Role parse_role(std::string_view name) {
    for (std::size_t i = 0; i < role_names.size(); ++i)
        if (role_names[i] == name) return static_cast<Role>(i);
    require(false, "a role in the database is one of ours");
    return Role::renter;
}

std::vector<LiveCode> read_codes(const db::Result& rows) {
    std::vector<LiveCode> codes;
    for (std::size_t i = 0; i < rows.size(); ++i)
        codes.push_back({rows[i].get<Uuid>(0), rows[i].get<Bytes>(1)});
    return codes;
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

void add_session(db::Transaction& tx, const Session& session, std::string_view token_hash) {
    tx.run(add_session_sql, session.id, db::Blob{token_hash}, session.account, session.origin,
           db::Blob{session.user_agent_hash}, session.pending, session.created_at,
           session.expires_at, session.user_agent, session.opened_from);
}

std::vector<Session> list_sessions(db::Transaction& tx, const SessionsOf& sessions,
                                   std::int64_t rows_max) {
    Uuid last;
    last.bytes.fill(static_cast<char>(0xFF));
    const auto rows =
        tx.run(list_sessions_sql, sessions.account, sessions.now, sessions.seen_after,
               sessions.before ? sessions.before->uuid : last, rows_max);
    std::vector<Session> found;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        Session session;
        session.id = rows[i].get<SessionId>(0);
        session.account = sessions.account;
        session.pending = rows[i].get<bool>(1);
        session.user_agent = rows[i].get<std::string>(2);
        session.opened_from = rows[i].get<std::string>(3);
        session.created_at = rows[i].get<Time>(4);
        session.last_seen_at = rows[i].get<Time>(5);
        session.expires_at = rows[i].get<Time>(6);
        found.push_back(std::move(session));
    }
    return found;
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
    return tx.run(prune_codes_sql, now - std::chrono::hours(1), rows_max).affected;
}

std::int64_t prune_totp_enrollments(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.run(prune_enrollments_sql, now, rows_max).affected;
}

void add_code(db::Transaction& tx, const CodeRow& row) {
    std::optional<db::Blob> token;
    if (row.token_hash) token = db::Blob{*row.token_hash};
    tx.run(add_code_sql, row.code_id, row.purpose, row.email, row.asked_from,
           db::Blob{row.code_hash}, token, row.bound_to, row.created_at, row.expires_at);
}

std::vector<std::string> list_askers(db::Transaction& tx, std::string_view purpose,
                                     std::string_view email, Time since) {
    const auto rows = tx.run(list_askers_sql, purpose, email, since);
    std::vector<std::string> askers;
    for (std::size_t i = 0; i < rows.size(); ++i) askers.push_back(rows[i].get<std::string>(0));
    return askers;
}

std::vector<LiveCode> list_live_codes(db::Transaction& tx, const CodesOf& codes, Time now) {
    return read_codes(tx.run(live_codes_sql, codes.purpose, codes.email, codes.bound_to, now));
}

std::vector<LiveCode> try_codes(db::Transaction& tx, const CodesOf& codes, Time now,
                                std::int64_t tries_max) {
    return read_codes(
        tx.run(try_codes_sql, codes.purpose, codes.email, codes.bound_to, now, tries_max));
}

bool spend_code(db::Transaction& tx, Uuid code_id) {
    return tx.run(spend_code_sql, code_id).affected == 1;
}

std::optional<std::string> spend_token(db::Transaction& tx, std::string_view purpose,
                                       std::string_view token_hash, Time now) {
    const auto rows = tx.run(spend_token_sql, purpose, db::Blob{token_hash}, now);
    return rows.empty() ? std::nullopt : std::optional(rows[0].get<std::string>(0));
}

}  // namespace berth::accounts
