// Answers as tables. A route that declares `.csv` names the member of its answer that is a list of
// rows; whoever sends `Accept: text/csv` gets those rows, one line each, as RFC 4180 has it. The
// columns are the members of a row, so that a table without rows has its head all the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/message.hpp"
#include "wire/type.hpp"

namespace berth::api {

// Whether text/csv is named and nobody would rather have application/json.
bool wants_csv(const http::Request& request);

struct CsvText {
    std::string text;
    std::optional<std::string> next_cursor = {};  // of a page that is not the last
};
// `json` is an answer of this type, `rows` the name of its member. A text that a spreadsheet would
// take for a formula is given an apostrophe before it.
CsvText to_csv(const wire::Type& answer, std::string_view rows, std::string_view json);

// The row type of the member; null when it is no list of structures.
const wire::Type* row_type(const wire::Type& answer, std::string_view rows);

}  // namespace berth::api
