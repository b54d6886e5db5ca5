// Statements whose rows are described structs. The column list is made from the names of the
// struct's members, and so is the order in which they are read: two columns of one type cannot be
// swapped, and a struct that grows is read everywhere.
//
//     struct TransferRow { TransferId transfer_id; Micro amount; };
//     BOOST_DESCRIBE_STRUCT(TransferRow, (), (transfer_id, amount))
//     const db::Query<TransferRow> find_transfer_sql(
//         "SELECT {} FROM transfers WHERE transfer_id = $1");
//     const std::optional<TransferRow> row = tx.fetch_one(find_transfer_sql, id);
//
// In the text, {} becomes "transfer_id, amount", {t.} becomes "t.transfer_id, t.amount" (for
// joins), and {$} becomes "$1, $2" (for INSERT). A computed column is named by AS in a subquery. A
// member may be NULL when it is a std::optional.
#pragma once

#include <array>
#include <boost/describe.hpp>

#include "base/described.hpp"
#include "db/values.hpp"

namespace berth::db {

using ColumnNames = std::span<const std::string_view>;

std::string with_columns(std::string_view text, ColumnNames names);

template <class Row, class List = Descriptions<Row>>
struct Columns;

template <class Row, template <class...> class List, class... Each>
struct Columns<Row, List<Each...>> {
    static_assert(every_member_described<Row>);
    static constexpr std::array<std::string_view, sizeof...(Each)> names{json_name(Each::name)...};

    static void read(const Result::Row& from, Row& to) {
        std::size_t column = 0;
        ((to.*Each::pointer = from.get<std::remove_cvref_t<decltype(to.*Each::pointer)>>(column++)),
         ...);
    }
    static std::array<Param, sizeof...(Each)> params(const Row& row) {
        return {Param(row.*Each::pointer)...};
    }
};

// One lives as long as the program, next to its feature's other SQL.
template <class Row>
class Query {
public:
    explicit Query(std::string_view text) : sql_(with_columns(text, Columns<Row>::names)) {}

    std::string_view sql() const { return sql_; }

    std::vector<Row> rows(const Result& result) const {
        require(result.empty() || result.columns() == Columns<Row>::names.size(),
                "a statement gives the columns of its row and no others");
        std::vector<Row> list(result.size());
        for (std::size_t i = 0; i < list.size(); ++i) Columns<Row>::read(result[i], list[i]);
        return list;
    }
    std::optional<Row> row(const Result& result) const {
        require(result.size() <= 1, "the statement gives at most one row");
        std::vector<Row> list = rows(result);
        return list.empty() ? std::nullopt : std::optional<Row>(std::move(list.front()));
    }
    auto params(const Row& row) const { return Columns<Row>::params(row); }

private:
    std::string sql_;
};

template <class T>
std::vector<T> read_values(const Result& result) {
    require(result.empty() || result.columns() == 1, "the statement gives one column");
    std::vector<T> list;
    list.reserve(result.size());
    for (std::size_t i = 0; i < result.size(); ++i) list.push_back(result[i].get<T>(0));
    return list;
}

template <class T>
std::optional<T> read_value(const Result& result) {
    require(result.size() <= 1, "the statement gives at most one row");
    require(result.empty() || result.columns() == 1, "the statement gives one column");
    return result.empty() ? std::nullopt : std::optional<T>(result[0].get<T>(0));
}

}  // namespace berth::db
