// Sessions and emailed codes: their statements.
#include "accounts/access_changes.hpp"
#include "accounts/credentials.hpp"
#include "accounts/store.hpp"
#include "base/check.hpp"

namespace berth::accounts {

BOOST_DESCRIBE_STRUCT(LiveCode, (), (code_id, code_hash))

namespace {

// A session beside its account.
struct OpenSessionColumns {
    AccountId account_id;
    Kind kind{};
    std::optional<std::string> email;
    Role role{};
    bool host_capability = false;
    bool suspended = false;
    std::optional<Bytes> totp_secret;
    std::optional<DeskRole> desk_role;
    bool frozen = false;
    SessionId session_id;
    std::string origin;
    Bytes user_agent_hash;
    bool pending = false;
    Time last_seen_at;
    Time expires_at;
    Time account_sensitive_until;
    Time wallet_until;
    Time admin_sensitive_until;
};
BOOST_DESCRIBE_STRUCT(OpenSessionColumns, (),
                      (account_id, kind, email, role, host_capability, suspended, totp_secret,
                       desk_role, frozen, session_id, origin, user_agent_hash, pending,
                       last_seen_at, expires_at, account_sensitive_until, wallet_until,
                       admin_sensitive_until))
const db::Query<OpenSessionColumns> find_session_sql(
    "SELECT {} FROM (SELECT a.account_id, a.kind, a.email, a.role, a.host_capability, "
    "a.suspended, a.totp_secret, a.desk_role, a.frozen, s.session_id, s.origin, s.user_agent_hash, "
    "s.pending, "
    "s.last_seen_at, s.expires_at, s.account_sensitive_until, s.wallet_until, "
    "s.admin_sensitive_until FROM sessions s JOIN accounts a ON a.account_id = s.account_id "
    "WHERE s.token_hash = $1) AS open_ones");
constexpr std::string_view good_session_sql =
    "SELECT s.session_id FROM sessions s JOIN accounts a ON a.account_id = s.account_id "
    "WHERE s.session_id = $1 AND s.pending = 0 AND s.expires_at > $2 AND s.last_seen_at > $3 "
    "AND a.suspended = 0";
struct SessionRightsColumns {
    bool host_capability = false;
    Role role{};
    std::optional<DeskRole> desk_role;
    std::optional<Time> totp_since;
};
BOOST_DESCRIBE_STRUCT(SessionRightsColumns, (), (host_capability, role, desk_role, totp_since))
const db::Query<SessionRightsColumns> session_rights_sql(
    "SELECT {a.} FROM sessions s JOIN accounts a ON a.account_id = s.account_id "
    "WHERE s.session_id = $1 AND s.pending = 0 AND s.expires_at > $2 AND s.last_seen_at > $3 "
    "AND a.suspended = 0");
constexpr std::string_view add_session_sql =
    "INSERT INTO sessions (session_id, token_hash, account_id, origin, user_agent_hash, pending, "
    "failures, account_sensitive_until, wallet_until, admin_sensitive_until, created_at, "
    "last_seen_at, expires_at, user_agent, opened_from) "
    "VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, $7, $7, $8, $9, $10)";
struct SessionColumns {
    SessionId session_id;
    bool pending = false;
    std::string user_agent;
    std::string opened_from;
    Time created_at;
    Time last_seen_at;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(SessionColumns, (),
                      (session_id, pending, user_agent, opened_from, created_at, last_seen_at,
                       expires_at))
const db::Query<SessionColumns> list_sessions_sql(
    "SELECT {} FROM sessions WHERE account_id = $1 AND expires_at > $2 AND last_seen_at > $3 "
    "AND session_id < $4 ORDER BY session_id DESC LIMIT $5");
constexpr std::string_view rotate_session_sql =
    "UPDATE sessions SET token_hash = $2, failures = 0, pending = 0, "
    "expires_at = CASE WHEN pending = 1 THEN $3 ELSE expires_at END "
    "WHERE session_id = $1 RETURNING expires_at";
constexpr std::string_view touch_session_sql =
    "UPDATE sessions SET last_seen_at = $2 WHERE session_id = $1 AND last_seen_at < $2";
constexpr std::string_view delete_session_sql =
    "DELETE FROM sessions WHERE session_id = $1 AND account_id = $2";
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
const db::Query<LiveCode> live_codes_sql(
    "SELECT {} FROM email_codes WHERE purpose = $1 AND email = $2 "
    "AND bound_to = $3 AND code_hash IS NOT NULL AND expires_at > $4");
const db::Query<LiveCode> try_codes_sql(
    "UPDATE email_codes SET tries = tries + 1 WHERE purpose = $1 AND email = $2 "
    "AND bound_to = $3 AND code_hash IS NOT NULL AND expires_at > $4 AND tries < $5 "
    "RETURNING {}");
constexpr std::string_view spend_code_sql =
    "UPDATE email_codes SET code_hash = NULL, token_hash = NULL "
    "WHERE code_id = $1 AND code_hash IS NOT NULL";
// The code beside it stays: whoever presses the link in a browser may be asked for the code
// elsewhere.
constexpr std::string_view spend_token_sql =
    "UPDATE email_codes SET token_hash = NULL "
    "WHERE purpose = $1 AND token_hash = $2 AND expires_at > $3 RETURNING email";

}  // namespace

std::optional<OpenSession> find_session(db::Transaction& tx, std::string_view token_hash) {
    auto row = tx.fetch_one(find_session_sql, db::Blob{token_hash});
    if (!row) return std::nullopt;
    OpenSession found;
    found.account = {.id = row->account_id,
                     .kind = row->kind,
                     .email = std::move(row->email),
                     .role = row->role,
                     .host_capability = row->host_capability,
                     .suspended = row->suspended,
                     .totp_secret = std::move(row->totp_secret),
                     .desk_role = row->desk_role,
                     .frozen = row->frozen};
    Session& session = found.session;
    session.id = row->session_id;
    session.account = row->account_id;
    session.origin = std::move(row->origin);
    session.user_agent_hash = std::move(row->user_agent_hash);
    session.pending = row->pending;
    session.last_seen_at = row->last_seen_at;
    session.expires_at = row->expires_at;
    const auto until = [&](api::StepUp purpose) -> Time& {
        return session.step_up_until[static_cast<std::size_t>(purpose)];
    };
    until(api::StepUp::account_sensitive) = row->account_sensitive_until;
    until(api::StepUp::wallet) = row->wallet_until;
    until(api::StepUp::admin_sensitive) = row->admin_sensitive_until;
    return found;
}

db::Transaction::Ticket ask_for_good_session(db::Transaction& tx, SessionId id,
                                             const SessionTimes& times) {
    return tx.start(good_session_sql, id, times.now, times.seen_after);
}

db::Transaction::Ticket ask_for_session_rights(db::Transaction& tx, SessionId id,
                                               const SessionTimes& times) {
    return tx.start(session_rights_sql.sql(), id, times.now, times.seen_after);
}

std::optional<Rights> session_rights_in(const db::Result& result) {
    const auto row = session_rights_sql.row(result);
    if (!row) return std::nullopt;
    const bool has_office = row->role == Role::admin || row->desk_role.has_value();
    return Rights{true, row->host_capability, has_office && row->totp_since.has_value()};
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
    auto rows = tx.fetch(list_sessions_sql, sessions.account, sessions.now, sessions.seen_after,
                         sessions.before ? sessions.before->uuid : last, rows_max);
    std::vector<Session> found;
    for (SessionColumns& row : rows) {
        Session session;
        session.id = row.session_id;
        session.account = sessions.account;
        session.pending = row.pending;
        session.user_agent = std::move(row.user_agent);
        session.opened_from = std::move(row.opened_from);
        session.created_at = row.created_at;
        session.last_seen_at = row.last_seen_at;
        session.expires_at = row.expires_at;
        found.push_back(std::move(session));
    }
    return found;
}

std::optional<Time> rotate_session(db::Transaction& tx, const Rotation& rotation) {
    return tx.fetch_value<Time>(rotate_session_sql, rotation.session, db::Blob{rotation.token_hash},
                                rotation.opened_until);
}

void touch_session(db::Transaction& tx, SessionId id, Time now) {
    tx.run(touch_session_sql, id, now);
}

bool delete_session(db::Transaction& tx, AccountId account, SessionId id) {
    const bool ended = tx.run(delete_session_sql, id, account).affected == 1;
    note_access_change(tx, account);
    return ended;
}

void delete_sessions(db::Transaction& tx, AccountId account) {
    tx.run(delete_sessions_sql, account);
    note_access_change(tx, account);
}

void delete_other_sessions(db::Transaction& tx, AccountId account, SessionId kept) {
    tx.run(delete_other_sessions_sql, account, kept);
    note_access_change(tx, account);
}

std::optional<std::int64_t> count_try(db::Transaction& tx, SessionId id, std::int64_t tries_max) {
    return tx.fetch_value<std::int64_t>(count_try_sql, id, tries_max);
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
    return tx.fetch_values<std::string>(list_askers_sql, purpose, email, since);
}

std::vector<LiveCode> list_live_codes(db::Transaction& tx, const CodesOf& codes, Time now) {
    return tx.fetch(live_codes_sql, codes.purpose, codes.email, codes.bound_to, now);
}

std::vector<LiveCode> try_codes(db::Transaction& tx, const CodesOf& codes, Time now,
                                std::int64_t tries_max) {
    return tx.fetch(try_codes_sql, codes.purpose, codes.email, codes.bound_to, now, tries_max);
}

bool spend_code(db::Transaction& tx, Uuid code_id) {
    return tx.run(spend_code_sql, code_id).affected == 1;
}

std::optional<std::string> spend_token(db::Transaction& tx, std::string_view purpose,
                                       std::string_view token_hash, Time now) {
    return tx.fetch_value<std::string>(spend_token_sql, purpose, db::Blob{token_hash}, now);
}

}  // namespace berth::accounts
