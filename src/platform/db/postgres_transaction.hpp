// A transaction on one PostgreSQL connection. BEGIN travels with the first statement, and COMMIT
// with whatever was started last.
#pragma once

#include "db/postgres_connection.hpp"

namespace berth::db {

class PostgresTransaction final : public TicketTransaction {
public:
    PostgresTransaction(PostgresConnection& connection, Changes& changes, Mode mode)
        : TicketTransaction(changes, mode), connection_(connection) {}

    Result finish(Ticket ticket) override;
    void script(std::string_view sql) override;

    // Afterwards failure() tells whether it is done. Throws OutcomeUnknown when the connection
    // broke with the COMMIT on its way.
    void commit();
    void roll_back();

protected:
    Ticket begin_statement(std::string_view sql, std::span<const Param> params) override;

private:
    void begin();
    void receive_through(std::size_t count);
    void receive_next();
    void end_read();

    PostgresConnection& connection_;
    bool begun_ = false;
    std::size_t received_ = 0;  // tickets whose reply has come
};

}  // namespace berth::db
