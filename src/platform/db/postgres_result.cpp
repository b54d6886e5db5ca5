#include "db/postgres_result.hpp"

#include <libpq-fe.h>

#include <charconv>

#include <fmt/format.h>

namespace berth::db {
namespace {

// Type numbers of PostgreSQL's catalog; they are fixed for ever.
enum Type : Oid {
    type_bool = 16,
    type_bytea = 17,
    type_name = 19,
    type_int8 = 20,
    type_int2 = 21,
    type_int4 = 23,
    type_text = 25,
    type_bpchar = 1042,
    type_varchar = 1043,
    type_void = 2278,
    type_uuid = 2950,
};

bool is_readable(Oid type) {
    switch (type) {
        case type_bool:
        case type_bytea:
        case type_name:
        case type_int8:
        case type_int2:
        case type_int4:
        case type_text:
        case type_bpchar:
        case type_varchar:
        case type_void:
        case type_uuid: return true;
        default: return false;
    }
}

// Big-endian two's complement of 1, 2, 4 or 8 bytes.
std::int64_t load_integer(std::string_view bytes) {
    std::uint64_t value = 0;
    if (!bytes.empty() && (static_cast<unsigned char>(bytes[0]) & 0x80) != 0) value = ~value;
    for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
    return static_cast<std::int64_t>(value);
}

std::int64_t affected_by(const PGresult* result) {
    // libpq wants these two without const and changes nothing.
    PGresult* const unconst = const_cast<PGresult*>(result);
    if (std::string_view(PQcmdStatus(unconst)).starts_with("SELECT")) return 0;
    const std::string_view digits = PQcmdTuples(unconst);
    std::int64_t count = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), count);
    return count;
}

Failure::Kind kind_of(std::string_view state, bool first_use) {
    using Kind = Failure::Kind;
    // Serialization failure, deadlock, a lock that was not to be had.
    if (state == "40001" || state == "40P01" || state == "55P03") return Kind::conflict;
    // A wrong number of values: a mistake of ours, though its class is connection trouble.
    if (state == "08P01") return Kind::statement;
    // Connection trouble; the server goes down or comes up; our session was ended.
    if (state.starts_with("08") || state.starts_with("57P") || state == "25P03") return Kind::lost;
    // A prepared statement that is gone or whose table has changed: a new connection prepares anew.
    if (state == "26000" || (state == "0A000" && !first_use)) return Kind::lost;
    // The name of a statement is taken: a pooler lets others into our session (postgres_pooled).
    if (state == "42P05") return Kind::unavailable;
    // Out of disk, memory or connections; system error; statement timeout.
    if (state.starts_with("53") || state.starts_with("58") || state == "57014")
        return Kind::unavailable;
    return Kind::statement;
}

}  // namespace

Failure failure_of(const pg_result* result, bool first_use) {
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (state == nullptr)  // libpq made the error itself: there is no server behind it
        return {Failure::Kind::lost, false, PQresultErrorMessage(result)};
    return {kind_of(state, first_use), std::string_view(state).starts_with("23"),
            fmt::format("{} ({})", message == nullptr ? "" : message, state)};
}

Result result_of(const pg_result* result, Failure& failure) {
    const int columns = PQnfields(result);
    for (int column = 0; column < columns; ++column) {
        if (is_readable(PQftype(result, column))) continue;
        failure = {Failure::Kind::statement, false,
                   fmt::format("column {} ({}) has a type that is not read (type {}); SUM gives "
                               "numeric and needs a CAST to BIGINT",
                               column, PQfname(result, column), PQftype(result, column))};
        return {};
    }
    Result out;
    out.affected = affected_by(result);
    out.set_columns(static_cast<std::size_t>(columns));
    const int rows = PQntuples(result);
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
            const Oid type = PQftype(result, column);
            const std::string_view bytes(
                PQgetvalue(result, row, column),
                static_cast<std::size_t>(PQgetlength(result, row, column)));
            if (PQgetisnull(result, row, column) != 0 || type == type_void)
                out.add_null();
            else if (type == type_int8 || type == type_int4 || type == type_int2 ||
                     type == type_bool)
                out.add_integer(load_integer(bytes));
            else
                out.add_bytes(bytes);
        }
    }
    return out;
}

}  // namespace berth::db
