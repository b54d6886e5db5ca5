#include "cli/show.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/letters.hpp"
#include "base/money.hpp"
#include "base/time.hpp"
#include "cli/console.hpp"
#include "cli/flags.hpp"

namespace berth::cli {
namespace {

constexpr std::string_view nothing = "-";
constexpr std::size_t columns_made_max = 7;

struct Column {
    std::string head;
    std::string member;
    bool is_optional = false;  // "?HEAD=member": there only if a row has it
};

std::vector<Column> parse_columns(std::string_view text) {
    std::vector<Column> columns;
    while (!text.empty()) {
        const std::size_t space = std::min(text.find(' '), text.size());
        std::string_view one = text.substr(0, space);
        const bool is_optional = one.starts_with('?');
        if (is_optional) one.remove_prefix(1);
        const std::size_t equals = one.find('=');
        columns.push_back(
            {std::string(one.substr(0, equals)), std::string(one.substr(equals + 1)), is_optional});
        text.remove_prefix(std::min(space + 1, text.size()));
    }
    return columns;
}

// Values are shown with their unit, so that a name need not say it too; the flags do likewise.
std::string without_unit(std::string_view member) {
    if (member.ends_with("_per_s")) return std::string(member.substr(0, member.size() - 6)) + "/s";
    for (const std::string_view unit :
         {"_micro_per_hour", "_micro_per_gpu_hour", "_micro", "_bytes", "_ms", "_s"})
        if (member.ends_with(unit))
            return std::string(member.substr(0, member.size() - unit.size()));
    if (member.ends_with("_bps"))
        return std::string(member.substr(0, member.size() - 3)) + "percent";
    return std::string(member);
}

std::string upper(std::string_view member) {
    std::string head = without_unit(member);
    if (head.ends_with("/s")) return head;
    std::transform(head.begin(), head.end(), head.begin(),
                   [](char c) { return c == '_' ? ' ' : to_upper(c); });
    return head;
}

// Where a row names no columns: the members of the first item that are no containers.
std::vector<Column> made_columns(const Reading& answer, Reading::Place row) {
    std::vector<Column> columns;
    for (const auto& [name, value] : answer.members(row)) {
        if (answer.is_object(value) || answer.is_array(value)) continue;
        if (columns.size() == columns_made_max) break;
        columns.push_back({printable(upper(name)), std::string(name)});
    }
    return columns;
}

bool is_numeric(std::string_view member) {
    for (const std::string_view end : {"_bytes", "_s", "_ms", "_bps", "_count", "_mbps", "version"})
        if (member.ends_with(end)) return true;
    return member.find("_micro") != std::string_view::npos;
}

std::size_t width(std::string_view text) { return utf8_length(text).value_or(text.size()); }

// So that the points stand under each other.
void align_decimals(std::vector<std::vector<std::string>>& cells, std::size_t column) {
    const auto decimals = [](std::string_view text) {
        const std::size_t dot = text.find('.');
        return dot == std::string_view::npos ? 0 : std::min(text.find(' ', dot), text.size()) - dot;
    };
    std::size_t most = 0;
    for (std::size_t i = 1; i < cells.size(); ++i)
        most = std::max(most, decimals(cells[i][column]));
    for (std::size_t i = 1; i < cells.size(); ++i) {
        std::string& cell = cells[i][column];
        const std::size_t own = decimals(cell);
        if (own == 0 || own == most) continue;
        cell.insert(std::min(cell.find(' '), cell.size()), most - own, '0');
    }
}

std::string_view colour_of(std::string_view state) {
    for (const std::string_view good : {"RUNNING", "AVAILABLE", "CONFIRMED", "SETTLED", "SAVED",
                                        "ready", "ok", "passed", "listed"})
        if (state == good) return "\033[32m";
    for (const std::string_view bad :
         {"FAILED", "QUARANTINED", "EXCEPTION", "dead", "needs_attention", "engine_down"})
        if (state == bad) return "\033[31m";
    return "";
}

std::string padded(const std::string& text, std::size_t to, bool right) {
    const std::string space(to - std::min(to, width(text)), ' ');
    return right ? space + text : text + space;
}

std::string shortened(std::string_view text, std::size_t to) {
    if (width(text) <= to) return std::string(text);
    std::string out;
    for (std::size_t taken = 0; taken + 1 < to; ++taken) {
        const std::size_t length = std::max<std::size_t>(1, utf8_sequence_length(text));
        out += text.substr(0, length);
        text.remove_prefix(length);
    }
    return out + "…";
}

using Cells = std::vector<std::vector<std::string>>;

bool is_money(const Column& column) { return column.member.find("_micro") != std::string::npos; }

// Ids lose what they are told apart without: any command takes the rest.
void shorten_ids(Cells& cells, std::size_t column) {
    constexpr std::size_t least = 8;
    std::size_t common = 0;
    for (std::size_t i = 1; i < cells.size(); ++i) {
        const std::string& id = cells[i][column];
        if (id != nothing && !parse_uuid(id)) return;
        for (std::size_t j = 1; j < i; ++j) {
            const std::string& other = cells[j][column];
            if (id == other) continue;
            const auto end = std::mismatch(id.begin(), id.end(), other.begin(), other.end());
            common = std::max(common, static_cast<std::size_t>(end.first - id.begin()));
        }
    }
    const std::size_t length = std::max(least, common + 1);
    for (std::size_t i = 1; i < cells.size(); ++i)
        if (cells[i][column].size() > length) cells[i][column].resize(length);
}

constexpr std::size_t column_gap = 2;

std::size_t line_width(const std::vector<std::size_t>& widths,
                       const std::vector<std::size_t>& shown) {
    std::size_t sum = 0;
    for (const std::size_t c : shown) sum += widths[c] + column_gap;
    return sum == 0 ? 0 : sum - column_gap;
}

// Which columns a line has room for. They stand in the order of their importance, but for the
// price, the first money of a line, which stays; the last one is made narrower if that is enough to
// tell something.
std::vector<std::size_t> fit_columns(const std::vector<Column>& columns,
                                     std::vector<std::size_t>& widths, std::size_t room) {
    constexpr std::size_t least = 10;
    std::vector<std::size_t> shown(columns.size());
    std::iota(shown.begin(), shown.end(), std::size_t{0});
    const auto price = static_cast<std::size_t>(
        std::find_if(columns.begin(), columns.end(), is_money) - columns.begin());
    while (room > 0 && line_width(widths, shown) > room) {
        const auto last = std::find_if(shown.rbegin(), shown.rend(),
                                       [&](const std::size_t c) { return c > 0 && c != price; });
        if (last == shown.rend()) break;
        const std::size_t over = line_width(widths, shown) - room;
        if (!is_numeric(columns[*last].member) && widths[*last] >= over + least) {
            widths[*last] -= over;
            break;
        }
        shown.erase(std::next(last).base());
    }
    return shown;
}

std::string line_of(const std::vector<std::string>& cells, const std::vector<Column>& columns,
                    const std::vector<std::size_t>& widths, const std::vector<std::size_t>& shown,
                    const Look& look, bool is_head) {
    std::string line;
    for (const std::size_t c : shown) {
        const bool is_last = c == shown.back();
        const bool right = is_numeric(columns[c].member);
        std::string cell =
            padded(shortened(cells[c], widths[c]), is_last && !right ? 0 : widths[c], right);
        const std::string_view colour = is_head ? "\033[1m" : colour_of(cells[c]);
        if (look.colours && !colour.empty()) cell = std::string(colour) + cell + "\033[0m";
        line += cell + (is_last ? "" : std::string(column_gap, ' '));
    }
    while (line.ends_with(' ')) line.pop_back();
    return line + "\n";
}

std::vector<Column> without_missing(const Reading& answer, std::vector<Column> columns,
                                    const std::vector<Reading::Place>& rows) {
    std::erase_if(columns, [&](const Column& column) {
        return column.is_optional && std::none_of(rows.begin(), rows.end(), [&](const auto row) {
                   return answer.find(column.member, row).has_value();
               });
    });
    return columns;
}

std::string table_of(const Reading& answer, const std::vector<Column>& wished,
                     const std::vector<Reading::Place>& rows, const Look& look) {
    const std::vector<Column> columns = without_missing(answer, wished, rows);
    Cells cells(1);
    for (const Column& column : columns) cells[0].push_back(column.head);
    for (const Reading::Place row : rows) {
        cells.emplace_back();
        for (const Column& column : columns)
            cells.back().push_back(cell_text(answer, column.member, row));
    }
    std::vector<std::size_t> widths(columns.size());
    const auto measure = [&] {
        for (std::size_t c = 0; c < columns.size(); ++c) {
            widths[c] = 0;
            for (const auto& line : cells) widths[c] = std::max(widths[c], width(line[c]));
        }
    };
    for (std::size_t c = 0; c < columns.size(); ++c)
        if (is_money(columns[c])) align_decimals(cells, c);
    measure();
    std::vector<std::size_t> all(columns.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (look.width > 0 && line_width(widths, all) > look.width) {
        for (const std::size_t c : all) shorten_ids(cells, c);
        measure();
    }
    const std::vector<std::size_t> wanted = widths;
    const auto shown = fit_columns(columns, widths, look.width);
    if (look.is_cut != nullptr && (shown.size() < columns.size() || widths != wanted))
        *look.is_cut = true;
    std::string out;
    for (std::size_t i = 0; i < cells.size(); ++i)
        out += line_of(cells[i], columns, widths, shown, look, i == 0);
    return out;
}

struct Line {
    std::string name;
    std::string text;
};

void add_text(const std::string& name, std::string_view text, std::vector<Line>& lines) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back({name, printable(text.substr(0, end), "\t")});
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

// Of a day on which nothing happened, say: zeros behind its name.
bool is_idle(const Reading& answer, Reading::Place row) {
    const auto members = answer.members(row);
    for (std::size_t i = 1; i < members.size(); ++i)
        if (answer.text(members[i].second) != "0") return false;
    return members.size() > 2;
}

bool has_column(const std::vector<Column>& columns, std::string_view member) {
    return std::any_of(columns.begin(), columns.end(),
                       [&](const Column& column) { return column.member == member; });
}

// What is known of the lists inside an answer.
struct Within {
    std::string_view list = {};  // the one with these columns
    std::vector<Column> columns = {};
    std::size_t room = 0;  // for their lines; 0: anything
};

// A list inside an answer: things are a table of what at least one of them has.
void add_list(const Reading& answer, const std::string& name, Reading::Place list,
              const Within& within, std::vector<Line>& lines) {
    if (const auto rows = answer.items(list); name == within.list && !rows.empty())
        return add_text(name, table_of(answer, within.columns, rows, {.width = within.room}),
                        lines);
    const auto items = answer.items(list);
    std::vector<Column> columns;
    std::vector<Reading::Place> rows;
    for (const Reading::Place item : items) {
        if (!answer.is_object(item)) {
            lines.push_back({name, printable(answer.text(item))});
            continue;
        }
        if (is_idle(answer, item)) continue;
        rows.push_back(item);
        for (const auto& [member, value] : answer.members(item)) {
            const bool is_known = has_column(columns, member);
            if (is_known || answer.is_object(value) || answer.is_array(value) ||
                answer.text(value).empty())
                continue;
            columns.push_back({printable(upper(member)), std::string(member)});
        }
    }
    if (items.empty() || (columns.empty() && answer.is_object(items[0])))
        lines.push_back({name, std::string(nothing)});
    else if (!columns.empty())
        add_text(name, table_of(answer, columns, rows, {.width = within.room}), lines);
}

void add_lines(const Reading& answer, Reading::Place object, const std::string& before,
               const Within& within, std::vector<Line>& lines) {
    for (const auto& [name, value] : answer.members(object)) {
        const std::string full = before + (answer.is_object(value) || answer.is_array(value)
                                               ? printable(name)
                                               : printable(without_unit(name)));
        if (answer.is_object(value)) {
            add_lines(answer, value, full + ".", within, lines);
        } else if (answer.is_array(value)) {
            add_list(answer, full, value, within, lines);
        } else if (const std::string text = answer.text(value); text.find('\n') != text.npos) {
            add_text(full, text, lines);
        } else {
            lines.push_back({full, cell_text(answer, name, object)});
        }
    }
}

std::string members_of(const Reading& answer, std::string_view columns, const Look& look) {
    constexpr std::size_t room_min = 30;
    Within within{.list = look.inner, .columns = parse_columns(columns)};
    std::vector<Line> lines;
    std::size_t widest = 0;
    const auto read = [&] {
        lines.clear();
        add_lines(answer, Reading::root, "", within, lines);
    };
    read();
    for (const Line& line : lines) widest = std::max(widest, width(line.name));
    if (look.width > 0) {
        within.room = std::max(room_min, look.width - std::min(look.width, widest + column_gap));
        read();
    }
    std::string out;
    std::string last;
    for (const Line& line : lines) {
        out += padded(line.name == last ? "" : line.name, widest, false) + "  " + line.text + "\n";
        last = line.name;
    }
    return out;
}

bool is_decimal_fraction(std::string_view text) {
    return text.size() < 32 && std::count(text.begin(), text.end(), '.') == 1 &&
           is_digit(text[0]) &&
           std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == '.'; });
}

std::string id_member(const Reading& answer, std::string_view columns, Reading::Place row) {
    const auto named = parse_columns(columns);
    if (!named.empty() &&
        (named[0].member == "id" || named[0].member.ends_with("_id") || named[0].member == "key"))
        return named[0].member;
    for (const auto& [name, value] : answer.members(row))
        if (name == "id" || name.ends_with("_id")) return std::string(name);
    return named.empty() ? "" : named[0].member;
}

}  // namespace

std::string money_text(std::string_view micro) {
    const bool is_negative = micro.starts_with('-');
    const auto amount = parse_decimal(micro.substr(is_negative ? 1 : 0));
    if (!amount) return std::string(micro);
    const std::string_view sign = is_negative ? "-" : "";
    const std::int64_t whole = *amount / 1'000'000;
    const std::int64_t rest = *amount % 1'000'000;
    if (rest % 100 == 0) return fmt::format("{}{}.{:04}", sign, whole, rest / 100);
    return fmt::format("{}{}.{:06}", sign, whole, rest);
}

std::string gib_text(std::string_view bytes) {
    const auto count = parse_decimal(bytes);
    if (!count) return std::string(bytes);
    return fmt::format("{:.1f} GiB", static_cast<double>(*count) / (1 << 30));
}

// A card has a little less than it is sold with, or as much in GiB.
std::string card_text(std::string_view bytes) {
    constexpr std::int64_t sold_with_gb[] = {2,  3,   4,   6,   8,   10,  11, 12, 16,
                                             20, 24,  32,  40,  48,  64,  72, 80, 94,
                                             96, 128, 141, 180, 192, 256, 288};
    const auto count = parse_decimal(bytes);
    if (!count) return std::string(bytes);
    for (const std::int64_t gb : sold_with_gb)
        if (*count <= gb << 30 && *count >= gb * 970'000'000) return fmt::format("{} GB", gb);
    return gib_text(bytes);
}

std::string duration_text(std::int64_t seconds) {
    const auto of = [&](std::int64_t unit, char name, std::int64_t part, char part_name) {
        const std::int64_t rest = seconds % unit / part;
        return fmt::format("{}{}", seconds / unit, name) +
               (rest == 0 ? "" : fmt::format("{:02}{}", rest, part_name));
    };
    if (seconds < 120) return fmt::format("{}s", seconds);
    if (seconds < 3600) return of(60, 'm', 1, 's');
    if (seconds < 172'800) return of(3600, 'h', 60, 'm');
    return of(86'400, 'd', 3600, 'h');
}

std::string cell_text(const Reading& answer, std::string_view member, Reading::Place row) {
    const auto place = answer.find(member, row);
    if (!place) return std::string(nothing);
    const std::string text = printable(answer.text(*place));
    const std::string_view name = member.substr(member.rfind('.') + 1);
    if (name.find("_micro") != std::string_view::npos || name.starts_with("micro_")) {
        std::string asset = answer.text("asset", row);
        if (asset.empty()) asset = answer.text("asset");
        return fmt::format("{} {}{}", money_text(text), asset.empty() ? "USDC" : printable(asset),
                           name.ends_with("_hour") ? "/h" : "");
    }
    if (name == "vram_bytes") return card_text(text);
    if (name.ends_with("_bytes")) return gib_text(text);
    const bool is_rate = name.ends_with("_per_s");
    const auto number = is_rate ? std::nullopt : parse_decimal(text);
    if (number && name.ends_with("_bps"))
        return fmt::format("{:.2f} %", static_cast<double>(*number) / 100);
    if (number && name.ends_with("_s")) return duration_text(*number);
    if (number && *number > 0 && name == "uncarried_ms")
        return fmt::format("{} (not billed: the gate did not carry it)",
                           duration_text((*number + 999) / 1000));
    if (number && name.ends_with("_ms") && *number >= 3'600'000)
        return duration_text(*number / 1000);
    if (number && name.ends_with("_ms"))
        return fmt::format("{:.3f} s", static_cast<double>(*number) / 1000);
    if (answer.is_object(*place))  // of a setting that is not shown
        if (const std::string set = answer.text("set", *place); !set.empty())
            return set == "true" ? "(set)" : std::string(nothing);
    if (const std::size_t point = text.find('.');
        point != text.npos && text.size() > point + 3 && is_decimal_fraction(text))
        return fmt::format("{:.2f}", std::stod(text));
    if (name == "filter")  // as it is typed
        return "--" + std::string(present_name(flag_of_member(text)));
    if (text == "true") return "yes";
    if (text == "false") return "no";
    if (parse_rfc3339(text)) return text.substr(0, 10) + " " + text.substr(11, 8);
    std::string shown = text;
    std::replace(shown.begin(), shown.end(), '\n', ' ');
    return shown.empty() ? std::string(nothing) : shown;
}

std::string to_table(const Reading& answer, std::string_view columns, const Look& look) {
    const auto list = answer.find(look.rows.empty() ? "items" : look.rows);
    if (!list || !answer.is_array(*list)) return members_of(answer, columns, look);
    const auto rows = answer.items(*list);
    if (rows.empty()) return "";
    const auto named = parse_columns(columns);
    return table_of(answer, named.empty() ? made_columns(answer, rows[0]) : named, rows, look);
}

std::string to_ids(const Reading& answer, std::string_view columns) {
    std::string out;
    for (const Reading::Place row : answer.rows())
        out += printable(answer.text(id_member(answer, columns, row), row)) + "\n";
    return out;
}

}  // namespace berth::cli
