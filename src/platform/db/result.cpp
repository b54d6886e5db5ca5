#include "base/check.hpp"
#include "db/values.hpp"

namespace berth::db {

void Result::set_columns(std::size_t columns) {
    columns_ = columns;
    cells_.reserve(columns);  // most statements give one row
}

void Result::add_bytes(std::string_view value) {
    cells_.push_back({Cell::Kind::bytes, static_cast<std::int64_t>(arena_.size()), value.size()});
    arena_.append(value);
}

const Result::Cell& Result::cell(std::size_t row, std::size_t column) const {
    require(column < columns_, "the statement has this column");
    require(row < size(), "the result has this row");
    return cells_[row * columns_ + column];
}

bool Result::Row::is_null(std::size_t column) const {
    return result_->cell(row_, column).kind == Cell::Kind::null;
}

std::int64_t Result::Row::integer(std::size_t column) const {
    const Cell& cell = result_->cell(row_, column);
    require(cell.kind == Cell::Kind::integer, "the column holds an integer");
    return cell.value;
}

std::string_view Result::Row::bytes(std::size_t column) const {
    const Cell& cell = result_->cell(row_, column);
    require(cell.kind == Cell::Kind::bytes, "the column holds text or bytes");
    return std::string_view(result_->arena_)
        .substr(static_cast<std::size_t>(cell.value), cell.length);
}

}  // namespace berth::db
