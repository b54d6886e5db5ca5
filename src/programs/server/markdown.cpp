#include "server/markdown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "api/reference.hpp"
#include "base/letters.hpp"

namespace berth::server {
namespace {

using api::html_escaped;

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
    Lines lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

bool is_blank(std::string_view line) { return trimmed(line).empty(); }
bool is_fence(std::string_view line) { return line.starts_with("```"); }
bool is_indented(std::string_view line) { return line.starts_with("    ") && !is_blank(line); }
bool is_row(std::string_view line) { return line.starts_with('|'); }

std::size_t heading_level(std::string_view line) {
    const std::size_t level = std::min(line.find_first_not_of('#'), line.size());
    return level <= 6 && level < line.size() && line[level] == ' ' ? level : 0;
}

// How many letters of a line are the mark of a list's item; 0 when it is none.
std::size_t item_mark(std::string_view line) {
    if (line.starts_with("- ") || line.starts_with("* ")) return 2;
    const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
    return digits > 0 && line.substr(digits).starts_with(". ") ? digits + 2 : 0;
}

// As GitHub makes them, so that links within the sources work there, too.
std::string anchor_of(std::string_view heading) {
    std::string out;
    for (const char c : heading) {
        if (is_alphanumeric(c) || c == '_' || c == '-') out += to_lower(c);
        if (c == ' ') out += '-';
    }
    return out;
}

// `docs/renting.md`, `renting.md#stop` and `../README.md` as an address here; empty where that is
// not served.
std::string address_of(std::string_view place) {
    if (place.starts_with("https://") || place.starts_with("http://") || place.starts_with('#') ||
        place.starts_with('/'))
        return std::string(place);
    if (place.starts_with("docs/")) place.remove_prefix(5);
    const std::size_t end = place.find(".md");
    const std::string_view name = place.substr(0, end);
    const auto fits = [](char c) { return is_lower(c) || is_digit(c) || c == '-'; };
    if (end == place.npos || name.empty() || !std::ranges::all_of(name, fits)) return "";
    return fmt::format("/docs/{}{}", name, place.substr(end + 3));
}

std::string linked(const std::string& address, const std::string& html) {
    if (address.empty()) return html;
    return fmt::format("<a href=\"{}\">{}</a>", html_escaped(address), html);
}

std::string inline_html(std::string_view text);

// The piece that begins with a mark, and how many letters of the text it takes; none: the letter is
// one like any other.
struct Piece {
    std::string html;
    std::size_t taken;
};

std::optional<Piece> code_piece(std::string_view text) {
    const std::size_t end = text.find('`', 1);
    if (end == text.npos) return {};
    const std::string_view code = text.substr(1, end - 1);
    const bool is_page = code.starts_with("docs/") && code.ends_with(".md");
    return Piece{
        linked(is_page ? address_of(code) : "", fmt::format("<code>{}</code>", html_escaped(code))),
        end + 1};
}

std::optional<Piece> link_piece(std::string_view text) {
    const bool is_picture = text.starts_with('!');
    const std::size_t begin = is_picture ? 2 : 1;
    const std::size_t middle = text.find("](");
    const std::size_t end = middle == text.npos ? text.npos : text.find(')', middle);
    if (end == text.npos) return {};
    const std::string inside = inline_html(text.substr(begin, middle - begin));
    if (is_picture) return Piece{fmt::format("<em>{}</em>", inside), end + 1};
    return Piece{linked(address_of(text.substr(middle + 2, end - middle - 2)), inside), end + 1};
}

std::optional<Piece> emphasis_piece(std::string_view text) {
    const std::string_view mark = text.starts_with("**") ? "**" : "*";
    const std::size_t end = text.find(mark, mark.size());
    if (end == text.npos || text.size() <= mark.size() || text[mark.size()] == ' ') return {};
    const char* const name = mark.size() == 2 ? "strong" : "em";
    return Piece{fmt::format("<{0}>{1}</{0}>", name,
                             inline_html(text.substr(mark.size(), end - mark.size()))),
                 end + mark.size()};
}

std::string inline_html(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        std::optional<Piece> piece;
        if (text[0] == '`') piece = code_piece(text);
        if (text[0] == '[' || text.starts_with("![")) piece = link_piece(text);
        if (text[0] == '*') piece = emphasis_piece(text);
        if (text[0] == '\\' && text.size() > 1) piece = Piece{html_escaped(text.substr(1, 1)), 2};
        if (!piece) piece = Piece{html_escaped(text.substr(0, 1)), 1};
        out += piece->html;
        text.remove_prefix(piece->taken);
    }
    return out;
}

std::string row_html(std::string_view line, const char* cell) {
    line = trimmed(line);
    line.remove_prefix(1);
    if (line.ends_with('|')) line.remove_suffix(1);
    std::string out = "<tr>";
    while (true) {
        // A bar within code, or behind a backslash, ends no cell.
        std::size_t end = 0;
        for (bool code = false; end < line.size() && (code || line[end] != '|'); ++end) {
            if (line[end] == '`') code = !code;
            if (line[end] == '\\' && end + 1 < line.size()) ++end;
        }
        end = std::min(end, line.size());
        out += fmt::format("<{0}>{1}</{0}>", cell, inline_html(trimmed(line.substr(0, end))));
        if (end == line.size()) return out + "</tr>\n";
        line.remove_prefix(end + 1);
    }
}

// Takes lines off the front, a block at a time.
class Blocks {
public:
    explicit Blocks(Lines lines) : lines_(std::move(lines)) {}

    std::string html() {
        std::string out;
        while (at_ < lines_.size()) out += block();
        return out;
    }

private:
    std::string_view line() const { return lines_[at_]; }
    bool more() const { return at_ < lines_.size(); }

    std::string block() {
        if (is_blank(line())) {
            ++at_;
            return "";
        }
        if (line().starts_with("<!--")) return comment();
        if (is_fence(line())) return fence();
        if (const std::size_t level = heading_level(line())) return heading(level);
        if (is_row(line())) return table();
        if (item_mark(line()) > 0) return list();
        if (is_indented(line())) return indented();
        return paragraph();
    }

    std::string comment() {
        while (more() && line().find("-->") == std::string_view::npos) ++at_;
        ++at_;
        return "";
    }

    std::string fence() {
        std::string code;
        for (++at_; more() && !is_fence(line()); ++at_) code.append(line()).append("\n");
        ++at_;
        return "<pre>" + html_escaped(code) + "</pre>\n";
    }

    std::string heading(std::size_t level) {
        const std::string_view text = trimmed(line().substr(level));
        ++at_;
        return fmt::format("<h{0} id=\"{1}\">{2}</h{0}>\n", level, anchor_of(text),
                           inline_html(text));
    }

    std::string table() {
        std::string out = "<table>\n" + row_html(line(), "th");
        at_ += 2;
        for (; more() && is_row(line()); ++at_) out += row_html(line(), "td");
        return out + "</table>\n";
    }

    std::string indented() {
        std::string code;
        for (; more() && (is_indented(line()) || is_blank(line())); ++at_)
            code.append(line().substr(std::min<std::size_t>(4, line().size()))).append("\n");
        while (code.ends_with("\n\n")) code.pop_back();
        return "<pre>" + html_escaped(code) + "</pre>\n";
    }

    // An item goes on for as long as lines are indented below its mark.
    std::string list() {
        const char* const name = is_digit(line().front()) ? "ol" : "ul";
        std::string out = fmt::format("<{}>\n", name);
        while (more() && item_mark(line()) > 0) {
            const std::size_t mark = item_mark(line());
            Lines item{line().substr(mark)};
            for (++at_; more() && goes_on(mark); ++at_)
                item.push_back(line().substr(std::min(mark, line().size())));
            out += "<li>" + Blocks(std::move(item)).html() + "</li>\n";
        }
        return out + fmt::format("</{}>\n", name);
    }
    bool goes_on(std::size_t mark) const {
        std::size_t next = at_;
        while (next < lines_.size() && is_blank(lines_[next])) ++next;
        return next < lines_.size() &&
               lines_[next].substr(0, mark).find_first_not_of(' ') == std::string_view::npos;
    }

    std::string paragraph() {
        std::string text;
        for (; more() && !is_blank(line()) && !is_fence(line()) && heading_level(line()) == 0 &&
               !is_row(line()) && (text.empty() || item_mark(line()) == 0);
             ++at_)
            text.append(text.empty() ? "" : "\n").append(trimmed(line()));
        return "<p>" + inline_html(text) + "</p>\n";
    }

    Lines lines_;
    std::size_t at_ = 0;
};

}  // namespace

std::string markdown_to_html(std::string_view markdown) {
    return Blocks(lines_of(markdown)).html();
}

std::vector<MarkdownSection> markdown_sections(std::string_view markdown) {
    std::vector<MarkdownSection> sections;
    bool in_code = false;
    for (const std::string_view line : lines_of(markdown)) {
        if (is_fence(line)) in_code = !in_code;
        const std::size_t level = in_code ? 0 : heading_level(line);
        if (level > 0) {
            const std::string_view heading = trimmed(line.substr(level));
            sections.push_back({std::string(heading), anchor_of(heading), ""});
        } else if (!sections.empty()) {
            sections.back().text.append(line).append("\n");
        }
    }
    return sections;
}

}  // namespace berth::server
