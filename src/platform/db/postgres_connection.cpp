#include "db/postgres_connection.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <cerrno>
#include <chrono>

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "db/postgres_result.hpp"

namespace berth::db {
namespace {

constexpr std::size_t postgres_statements_max = 1000;
constexpr Duration script_max = std::chrono::hours(1);
constexpr int binary = 1;

using SteadyTime = std::chrono::steady_clock::time_point;

Oid type_of(Param::Kind kind) {
    switch (kind) {
        case Param::Kind::integer: return 20;
        case Param::Kind::text: return 25;
        case Param::Kind::blob: return 17;
        case Param::Kind::uuid: return 2950;
    }
    check(false, "every kind of parameter has a type");
    return 0;
}

// False when `deadline` passes first.
bool wait_for_socket(int socket, short events, SteadyTime deadline) {
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) return false;
        pollfd waiting{socket, events, 0};
        const int ready = poll(&waiting, 1, static_cast<int>(left.count()));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
}

// With several hosts there is a line for each of them.
std::string one_line(std::string_view text) {
    std::string line;
    for (const char c : text) {
        if (c != '\n')
            line += c;
        else if (!line.ends_with("; "))
            line += "; ";
    }
    while (line.ends_with(' ') || line.ends_with(';')) line.pop_back();
    return line;
}

}  // namespace

PostgresConnection::PostgresConnection(const PostgresSettings& settings)
    : reply_max_(settings.reply_max) {
    std::vector<const char*> keywords;
    std::vector<const char*> values;
    for (const auto& [keyword, value] : settings.parameters) {
        keywords.push_back(keyword.c_str());
        values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    handle_ = PQconnectdbParams(keywords.data(), values.data(), 0);
    if (PQstatus(handle_) != CONNECTION_OK || PQsetnonblocking(handle_, 1) != 0 ||
        PQenterPipelineMode(handle_) != 1) {
        const std::string reason = one_line(PQerrorMessage(handle_));
        PQfinish(handle_);
        throw Unavailable(fmt::format("cannot connect to PostgreSQL: {}", reason));
    }
    PQsetNoticeProcessor(
        handle_, [](void*, const char*) {}, nullptr);
}

PostgresConnection::~PostgresConnection() { PQfinish(handle_); }

void PostgresConnection::send(std::string_view sql, std::span<const Param> params, Use use) {
    if (!usable_) return;
    bool first_use = false;
    if (!send_statement(sql, params, first_use))
        return lose(Failure::Kind::lost, PQerrorMessage(handle_));
    expected_.push_back({Expected::Kind::command, use, first_use, {}});
    request_flush_ = true;
}

void PostgresConnection::sync() {
    if (!usable_) return;
    if (PQpipelineSync(handle_) != 1) return lose(Failure::Kind::lost, PQerrorMessage(handle_));
    expected_.push_back({Expected::Kind::sync, Use::ignored, false, {}});
    request_flush_ = false;
}

void PostgresConnection::settle() {
    // Whether a statement was prepared must be known before the next transaction relies on it.
    for (const Expected& expected : expected_)
        if (expected.kind == Expected::Kind::prepare) return drain();
    const SteadyTime deadline = std::chrono::steady_clock::now() + reply_max_;
    while (usable_) {
        const int unsent = PQflush(handle_);
        if (unsent == 0) return;
        if (unsent < 0 || !wait_for_socket(PQsocket(handle_), POLLOUT, deadline))
            lose(Failure::Kind::lost, PQerrorMessage(handle_));
    }
}

bool PostgresConnection::is_pooled() {
    send("SELECT CAST(pg_backend_pid() AS BIGINT)", {}, Use::wanted);
    sync();
    const Reply reply = receive();
    drain();
    // Who shares a session finds that another has given the name of our statement away.
    if (reply.failure || reply.result.size() != 1) return usable_;
    return reply.result[0].get<std::int64_t>(0) != PQbackendPID(handle_);
}

PostgresConnection::Reply PostgresConnection::receive() {
    while (usable_) {
        Use use = Use::ignored;
        Reply reply = next_reply(use);
        if (use == Use::wanted) return reply;
    }
    return {{}, end_, {}};
}

void PostgresConnection::ignore_outstanding() {
    for (Expected& expected : expected_) expected.use = Use::ignored;
    prelude_failure_ = {};
}

Failure PostgresConnection::script(std::string_view sql) {
    sync();
    drain();
    if (prelude_failure_) return std::exchange(prelude_failure_, {});
    if (!usable_) return end_;
    Failure failure;
    if (PQexitPipelineMode(handle_) != 1 || PQsendQuery(handle_, std::string(sql).c_str()) != 1) {
        lose(Failure::Kind::lost, PQerrorMessage(handle_));
        return end_;
    }
    while (await_reply(script_max)) {
        PGresult* result = PQgetResult(handle_);
        if (result == nullptr) break;
        if (PQresultStatus(result) == PGRES_FATAL_ERROR && !failure)
            failure = failure_of(result, true);
        PQclear(result);
    }
    if (usable_ && PQenterPipelineMode(handle_) != 1)
        lose(Failure::Kind::lost, PQerrorMessage(handle_));
    if (failure.kind == Failure::Kind::lost) lose(failure.kind, failure.message);
    return usable_ ? failure : end_;
}

void PostgresConnection::load_params(std::span<const Param> params) {
    types_.clear();
    values_.clear();
    lengths_.clear();
    formats_.assign(params.size(), binary);
    integers_.clear();
    integers_.reserve(params.size() * sizeof(std::int64_t));  // values_ points into it
    for (const Param& param : params) {
        types_.push_back(type_of(param.kind));
        std::string_view bytes = param.bytes();
        if (param.kind == Param::Kind::integer) {
            const std::size_t start = integers_.size();
            append_big_endian(integers_, static_cast<std::uint64_t>(param.integer));
            bytes = std::string_view(integers_).substr(start);
        }
        // A null pointer means NULL, and an empty string_view may hold one.
        const char* data = bytes.data() == nullptr ? "" : bytes.data();
        values_.push_back(param.null ? nullptr : data);
        lengths_.push_back(static_cast<int>(bytes.size()));
    }
}

// Statements are prepared under a short name on their first use, in the same breath.
bool PostgresConnection::send_statement(std::string_view sql, std::span<const Param> params,
                                        bool& first_use) {
    load_params(params);
    const int count = static_cast<int>(params.size());
    // The same text with other parameter types is another statement.
    key_.assign(sql);
    key_.push_back('\0');
    for (const Param& param : params) key_.push_back(static_cast<char>(param.kind));

    auto found = statements_.find(key_);
    first_use = found == statements_.end();
    if (first_use && statements_.size() >= postgres_statements_max)
        return PQsendQueryParams(handle_, std::string(sql).c_str(), count, types_.data(),
                                 values_.data(), lengths_.data(), formats_.data(), binary) == 1;
    if (first_use) {
        found = statements_.emplace(key_, fmt::format("s{}", ++names_)).first;
        if (PQsendPrepare(handle_, found->second.c_str(), std::string(sql).c_str(), count,
                          types_.data()) != 1)
            return false;
        expected_.push_back({Expected::Kind::prepare, Use::prelude, true, key_});
    }
    return PQsendQueryPrepared(handle_, found->second.c_str(), count, values_.data(),
                               lengths_.data(), formats_.data(), binary) == 1;
}

// Waits until PQgetResult would not block.
bool PostgresConnection::await_reply(Duration reply_max) {
    const SteadyTime deadline = std::chrono::steady_clock::now() + reply_max;
    while (PQisBusy(handle_) != 0) {
        if (std::exchange(request_flush_, false)) PQsendFlushRequest(handle_);
        const int unsent = PQflush(handle_);
        const short events = unsent > 0 ? POLLIN | POLLOUT : POLLIN;
        if (unsent >= 0 && !wait_for_socket(PQsocket(handle_), events, deadline)) {
            lose(Failure::Kind::unavailable, "PostgreSQL did not answer in time");
            return false;
        }
        if (unsent < 0 || PQconsumeInput(handle_) != 1) {
            lose(Failure::Kind::lost, PQerrorMessage(handle_));
            return false;
        }
    }
    return true;
}

PostgresConnection::Reply PostgresConnection::next_reply(Use& use) {
    check(!expected_.empty(), "a reply is asked for only when one is expected");
    if (!await_reply(reply_max_)) return {};
    PGresult* result = PQgetResult(handle_);
    if (result == nullptr) {
        lose(Failure::Kind::lost, "the replies of PostgreSQL are out of step");
        return {};
    }
    const Expected expected = std::move(expected_.front());
    expected_.pop_front();
    Reply reply = interpret(result, expected);
    PQclear(result);
    if (PQstatus(handle_) == CONNECTION_BAD || reply.failure.kind == Failure::Kind::lost) {
        lose(Failure::Kind::lost,
             reply.failure ? std::string_view(reply.failure.message) : PQerrorMessage(handle_));
        return {};
    }
    // A null result ends the answer to each command, but not a sync.
    if (expected.kind != Expected::Kind::sync) {
        PGresult* end = PQgetResult(handle_);
        check(end == nullptr, "a command of a pipeline has one result");
    }
    if (expected.use == Use::prelude && reply.failure && !prelude_failure_ && !reply.skipped)
        prelude_failure_ = reply.failure;
    if (expected.use == Use::wanted && reply.failure && prelude_failure_)
        reply.failure = std::exchange(prelude_failure_, {});
    use = expected.use;
    return reply;
}

PostgresConnection::Reply PostgresConnection::interpret(pg_result* result,
                                                        const Expected& expected) {
    Reply reply;
    switch (PQresultStatus(result)) {
        case PGRES_COMMAND_OK:
        case PGRES_TUPLES_OK:
        case PGRES_EMPTY_QUERY:
            reply.tag = PQcmdStatus(result);
            reply.result = result_of(result, reply.failure);
            break;
        case PGRES_PIPELINE_SYNC: break;
        case PGRES_PIPELINE_ABORTED:
            reply.skipped = true;
            reply.failure = {Failure::Kind::statement, false, "an earlier statement failed"};
            break;
        default: reply.failure = failure_of(result, expected.first_use);
    }
    if (expected.kind == Expected::Kind::prepare && reply.failure) statements_.erase(expected.key);
    return reply;
}

void PostgresConnection::drain() {
    Use use = Use::ignored;
    while (usable_ && !expected_.empty()) next_reply(use);
}

void PostgresConnection::lose(Failure::Kind kind, std::string_view reason) {
    if (!usable_) return;
    usable_ = false;
    end_ = {kind, false, one_line(reason)};
    expected_.clear();
}

}  // namespace berth::db
