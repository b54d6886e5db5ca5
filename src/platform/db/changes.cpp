#include "db/changes.hpp"

#include <algorithm>

#include "base/letters.hpp"

namespace berth::db {
namespace {

bool is_name_letter(char c) { return is_alphanumeric(c) || c == '_'; }

std::string_view first_name(std::string_view text) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_name_letter);
    return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

bool names(std::string_view sql, std::string_view column) {
    for (std::size_t at = sql.find(column); at != std::string_view::npos;
         at = sql.find(column, at + 1)) {
        const bool begins = at == 0 || !is_name_letter(sql[at - 1]);
        if (begins && first_name(sql.substr(at)) == column) return true;
    }
    return false;
}

// The table that stands after the verb, and nothing when it is not that plain: ours are written
// small, so that what has a capital letter is another word or another spelling.
std::string_view table_after(std::string_view verb, std::string_view sql) {
    if (!sql.starts_with(verb)) return {};
    sql.remove_prefix(verb.size());
    const std::string_view table = first_name(sql);
    if (std::any_of(table.begin(), table.end(), is_upper)) return {};
    sql.remove_prefix(table.size());
    return sql.empty() || sql.starts_with(' ') ? table : std::string_view{};
}

}  // namespace

bool Changes::concern(std::string_view sql) const {
    if (watched_.empty() || sql.starts_with("SELECT ")) return false;
    const std::string_view emptied = table_after("DELETE FROM ", sql);
    std::string_view table = emptied;
    if (table.empty()) table = table_after("UPDATE ", sql);
    if (table.empty()) table = table_after("INSERT INTO ", sql);
    if (table.empty()) return true;
    sql = sql.substr(0, sql.find(" RETURNING "));  // what follows is only read
    return std::any_of(watched_.begin(), watched_.end(), [&](const Watched& each) {
        const auto named = [&](std::string_view column) { return names(sql, column); };
        return each.table == table &&
               (!emptied.empty() || std::any_of(each.columns.begin(), each.columns.end(), named));
    });
}

}  // namespace berth::db
