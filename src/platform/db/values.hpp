// Values on their way into statements and out of them.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/check.hpp"
#include "base/enum_names.hpp"
#include "base/ids.hpp"
#include "base/money.hpp"
#include "base/time.hpp"

namespace berth::db {

// Raw bytes, where a plain string_view would be taken as text.
struct Blob {
    std::string_view bytes;
};

// A type of its own in a text column says so beside itself, with the two functions
// `std::string column_text(const T&)` and `bool read_column(std::string_view, T&)`.
template <class T>
concept ColumnText = requires(const T& value, T& out) {
    { column_text(value) } -> std::same_as<std::string>;
    { read_column(std::string_view{}, out) } -> std::same_as<bool>;
};

// One value to bind to $1, $2, …; it borrows what it points to.
struct Param {
    enum class Kind { integer, text, blob, uuid };

    Param(std::integral auto value)
        : kind(Kind::integer), integer(static_cast<std::int64_t>(value)) {}
    Param(std::string_view value) : kind(Kind::text), borrowed(value) {}
    Param(const std::string& value) : kind(Kind::text), borrowed(value) {}
    Param(const char* value) : kind(Kind::text), borrowed(value) {}
    Param(Blob value) : kind(Kind::blob), borrowed(value.bytes) {}
    Param(Micro value) : Param(value.value) {}
    Param(Time value) : Param(value.micros) {}
    Param(const Uuid& value) : kind(Kind::uuid), borrowed(value.view()) {}
    template <class Tag>
    Param(const Id<Tag>& value) : Param(value.uuid) {}
    template <class E>
    requires std::is_enum_v<E> Param(E value) : kind(Kind::text), borrowed(enum_name(value)) {}
    template <ColumnText T>
    Param(const T& value) : kind(Kind::text), own(column_text(value)) {}
    template <class T>
    Param(const std::optional<T>& value) : Param(value ? Param(*value) : Param(T{})) {
        null = !value;
    }

    Kind kind;
    bool null = false;
    std::int64_t integer = 0;
    std::string_view bytes() const { return own.empty() ? borrowed : std::string_view(own); }

    std::string_view borrowed = {};
    std::string own = {};  // text that is nowhere else
};

// What a statement gave back. Features read it by type (see query.hpp); asking for another type
// than the column has, for a value where there is NULL, or meeting a word that is none of ours is a
// Bug.
class Result {
public:
    class Row {
    public:
        template <class T>
        T get(std::size_t column) const;
        bool is_null(std::size_t column) const;

    private:
        friend class Result;
        Row(const Result& result, std::size_t row) : result_(&result), row_(row) {}
        std::int64_t integer(std::size_t column) const;
        std::string_view bytes(std::size_t column) const;

        const Result* result_;
        std::size_t row_;
    };

    std::int64_t affected = 0;  // rows changed by INSERT, UPDATE, DELETE
    std::size_t columns() const { return columns_; }
    std::size_t size() const { return columns_ == 0 ? 0 : cells_.size() / columns_; }
    bool empty() const { return size() == 0; }
    Row operator[](std::size_t row) const { return {*this, row}; }

    // For the engines: cells are added row by row.
    void set_columns(std::size_t columns);
    void add_null() { cells_.push_back({Cell::Kind::null, 0, 0}); }
    void add_integer(std::int64_t value) { cells_.push_back({Cell::Kind::integer, value, 0}); }
    void add_bytes(std::string_view value);

private:
    struct Cell {
        enum class Kind { null, integer, bytes } kind;
        std::int64_t value;  // the integer, or the offset into arena_
        std::size_t length;
    };
    const Cell& cell(std::size_t row, std::size_t column) const;

    std::size_t columns_ = 0;
    std::vector<Cell> cells_;
    std::string arena_;
};

// Value access, defined for every type a column may hold.
template <class T>
T Result::Row::get(std::size_t column) const {
    if constexpr (requires {
                      typename T::value_type;
                      T(std::nullopt);
                  }) {
        if (is_null(column)) return std::nullopt;
        return get<typename T::value_type>(column);
    } else if constexpr (std::same_as<T, bool>) {
        return integer(column) != 0;
    } else if constexpr (std::integral<T>) {
        return static_cast<T>(integer(column));
    } else if constexpr (std::same_as<T, Micro> || std::same_as<T, Time>) {
        return T{integer(column)};
    } else if constexpr (std::same_as<T, Uuid>) {
        return uuid_from_bytes(bytes(column)).value();
    } else if constexpr (requires(T id) { id.uuid; }) {
        return T{get<Uuid>(column)};
    } else if constexpr (std::is_enum_v<T>) {
        const std::optional<T> value = parse_enum<T>(bytes(column));
        require(value.has_value(), "a word in the database is one of ours");
        return *value;
    } else if constexpr (ColumnText<T>) {
        T value;
        require(read_column(bytes(column), value), "a column holds what its type says");
        return value;
    } else {
        return T(bytes(column));
    }
}

}  // namespace berth::db
