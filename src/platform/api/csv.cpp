#include "api/csv.hpp"

#include <algorithm>
#include <optional>

#include "base/check.hpp"
#include "base/letters.hpp"
#include "http/text.hpp"
#include "wire/document.hpp"

namespace berth::api {
namespace {

constexpr int whole_quality = 1000;

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

std::string_view take_until(std::string_view& rest, char end) {
    const std::size_t at = std::min(rest.find(end), rest.size());
    const std::string_view part = rest.substr(0, at);
    rest.remove_prefix(std::min(at + 1, rest.size()));
    return trimmed(part);
}

// "0.75" in thousandths; what is no quality counts as none was given.
int quality_of(std::string_view text) {
    if (text.empty() || (text[0] != '0' && text[0] != '1')) return whole_quality;
    if (text[0] == '1') return whole_quality;
    int thousandths = 0;
    int unit = 100;
    for (std::size_t i = 2; i < text.size() && unit > 0; ++i, unit /= 10) {
        if (!is_digit(text[i])) return whole_quality;
        thousandths += (text[i] - '0') * unit;
    }
    return thousandths;
}

// How much a media type is wanted by name; nothing when it is not named.
std::optional<int> wish_for(std::string_view accept, std::string_view type) {
    while (!accept.empty()) {
        std::string_view one = take_until(accept, ',');
        if (!http::equal_without_case(take_until(one, ';'), type)) continue;
        int quality = whole_quality;
        while (!one.empty()) {
            const std::string_view parameter = take_until(one, ';');
            if (parameter.starts_with("q=") || parameter.starts_with("Q="))
                quality = quality_of(parameter.substr(2));
        }
        return quality;
    }
    return std::nullopt;
}

bool is_number(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '-' || c == '+';
    });
}

// Spreadsheets carry out what begins so.
bool is_formula(std::string_view text) {
    constexpr std::string_view beginnings = "=+-@\t\r\n";
    return !text.empty() && beginnings.find(text.front()) != std::string_view::npos &&
           !(text.front() == '-' && is_number(text));
}

void append_cell(std::string& out, std::string_view text) {
    std::string cell = is_formula(text) ? "'" : "";
    cell += text;
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
        out += cell;
        return;
    }
    out += '"';
    for (const char c : cell) {
        if (c == '"') out += '"';
        out += c;
    }
    out += '"';
}

// A list of plain values is one cell, its values apart by spaces.
std::string cell_of(const wire::Document& json, std::uint32_t at) {
    const wire::Node node = json[at];
    switch (node.shape) {
        case wire::Shape::null: return "";
        case wire::Shape::object: {
            std::string text;
            json.append_compact(at, text);
            return text;
        }
        case wire::Shape::array: {
            std::string text;
            for (std::uint32_t item = at + 1; item < node.end; item = json[item].end)
                text += (text.empty() ? "" : " ") + cell_of(json, item);
            return text;
        }
        default: return std::string(node.text);
    }
}

// Where the value of a member of this object begins; nothing when it is left out.
std::optional<std::uint32_t> find_member(const wire::Document& json, std::uint32_t object,
                                         std::string_view name) {
    const std::uint32_t end = json[object].end;
    for (std::uint32_t key = object + 1; key < end; key = json[key + 1].end)
        if (json[key].text == name) return key + 1;
    return std::nullopt;
}

}  // namespace

bool wants_csv(const http::Request& request) {
    const std::string_view accept = request.headers.find("Accept").value_or("");
    const int csv = wish_for(accept, "text/csv").value_or(0);
    return csv > 0 && csv >= wish_for(accept, "application/json").value_or(0);
}

const wire::Type* row_type(const wire::Type& answer, std::string_view rows) {
    for (const wire::Member& member : answer.members) {
        if (member.name != rows) continue;
        const wire::Type& list = member.type();
        if (list.kind != wire::Kind::array) return nullptr;
        const wire::Type& row = list.inner();
        return row.kind == wire::Kind::structure ? &row : nullptr;
    }
    return nullptr;
}

CsvText to_csv(const wire::Type& answer, std::string_view rows, std::string_view json) {
    const wire::Type* const row = row_type(answer, rows);
    require(row != nullptr, "a route says which list of its answer is a table");
    wire::Document document;
    require(!document.parse(json), "an answer is JSON");
    CsvText table;
    for (const wire::Member& column : row->members) {
        if (!table.text.empty()) table.text += ',';
        append_cell(table.text, column.name);
    }
    table.text += "\r\n";
    const auto list = find_member(document, 0, rows);
    require(list.has_value(), "an answer has its rows");
    for (std::uint32_t at = *list + 1; at < document[*list].end; at = document[at].end) {
        bool first = true;
        for (const wire::Member& column : row->members) {
            if (!first) table.text += ',';
            first = false;
            if (const auto value = find_member(document, at, column.name))
                append_cell(table.text, cell_of(document, *value));
        }
        table.text += "\r\n";
    }
    if (const auto next = find_member(document, 0, "next_cursor"))
        if (document[*next].shape == wire::Shape::string)
            table.next_cursor = std::string(document[*next].text);
    return table;
}

}  // namespace berth::api
