#include "db/query.hpp"

#include <fmt/format.h>

namespace berth::db {
namespace {

// {=} is for UPDATE: all columns but the first, which is the key, so that no index over the key is
// written anew.
std::string list_of(ColumnNames names, std::string_view mark) {
    std::string list;
    for (std::size_t i = mark == "=" ? 1 : 0; i < names.size(); ++i) {
        if (!list.empty()) list += ", ";
        if (mark != "$") list += fmt::format("{}{}", mark == "=" ? "" : mark, names[i]);
        if (mark == "=") list += " = ";
        if (mark == "$" || mark == "=") list += fmt::format("${}", i + 1);
    }
    return list;
}

}  // namespace

std::string with_columns(std::string_view text, ColumnNames names) {
    std::string out;
    bool named = false;
    while (!text.empty()) {
        const std::size_t open = std::min(text.find('{'), text.size());
        out += text.substr(0, open);
        text.remove_prefix(open);
        if (text.empty()) break;
        const std::size_t close = text.find('}');
        check(close != text.npos, "a { in a query is closed");
        const std::string_view mark = text.substr(1, close - 1);
        check(mark.empty() || mark == "$" || mark == "=" || mark.ends_with('.'),
              "a query has {}, {t.}, {$} or {=}");
        named = named || mark != "$";
        out += list_of(names, mark);
        text.remove_prefix(close + 1);
    }
    check(named, "a query says where its columns belong");
    return out;
}

}  // namespace berth::db
