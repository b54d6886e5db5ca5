#include "db/postgres_transaction.hpp"

namespace berth::db {
namespace {

constexpr std::string_view begin_write = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
constexpr std::string_view begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
constexpr std::string_view commit_text = "COMMIT";
constexpr std::string_view roll_back_text = "ROLLBACK";

// A migration may rebuild a large table.
constexpr std::string_view unlimited_text = "SET LOCAL statement_timeout = 0;\n";

}  // namespace

Result PostgresTransaction::finish(Ticket ticket) {
    receive_through(ticket.number + 1);
    return take(ticket);
}

void PostgresTransaction::script(std::string_view sql) {
    judge(sql);
    begin();
    receive_through(results_.size());
    if (!failure_) failure_ = connection_.script(std::string(unlimited_text).append(sql));
    if (failure_) failure_.raise();
}

void PostgresTransaction::commit() {
    if (!begun_) return;
    if (mode_ == Mode::read) return end_read();
    // A connection that died while it was idle shows before the COMMIT is sent, so that the
    // closure can simply run again.
    if (received_ == 0) receive_through(results_.size());
    if (failure_) return;

    connection_.send(commit_text, {}, PostgresConnection::Use::wanted);
    connection_.sync();
    while (received_ < results_.size()) receive_next();
    const PostgresConnection::Reply reply = connection_.receive();
    if (!connection_.usable()) throw OutcomeUnknown();
    if (!reply.failure && reply.tag == "COMMIT") {
        failure_ = {};  // at most a result that nobody asked for could not be read
        return;
    }
    if (failure_) return;
    failure_ = reply.failure;
    if (!failure_) failure_ = {Failure::Kind::statement, false, "PostgreSQL rolled back instead"};
}

void PostgresTransaction::roll_back() {
    if (!begun_) return;
    connection_.ignore_outstanding();
    connection_.sync();  // an error before made the server skip everything up to here
    connection_.send(roll_back_text, {}, PostgresConnection::Use::ignored);
    connection_.sync();
    connection_.settle();
}

PostgresTransaction::Ticket PostgresTransaction::begin_statement(std::string_view sql,
                                                                 std::span<const Param> params) {
    const Ticket ticket{results_.size()};
    if (!failure_) {
        judge(sql);
        begin();
        connection_.send(sql, params, PostgresConnection::Use::wanted);
    }
    results_.emplace_back();
    return ticket;
}

void PostgresTransaction::begin() {
    if (begun_) return;
    begun_ = true;
    connection_.send(mode_ == Mode::read ? begin_read : begin_write, {},
                     PostgresConnection::Use::prelude);
}

void PostgresTransaction::receive_through(std::size_t count) {
    while (received_ < count && !failure_) receive_next();
}

void PostgresTransaction::receive_next() {
    PostgresConnection::Reply reply = connection_.receive();
    if (!reply.failure)
        results_[received_] = std::move(reply.result);
    else if (!failure_)
        failure_ = reply.failure;
    ++received_;
}

// Nothing hangs on the end of a read, so nobody waits for it.
void PostgresTransaction::end_read() {
    receive_through(results_.size());
    if (failure_) return;
    connection_.send(commit_text, {}, PostgresConnection::Use::ignored);
    connection_.sync();
    connection_.settle();
}

}  // namespace berth::db
