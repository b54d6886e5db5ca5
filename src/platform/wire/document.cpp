#include "wire/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <functional>

#include "base/check.hpp"
#include "base/json_text.hpp"
#include "wire/number.hpp"

namespace berth::wire {
namespace {

constexpr std::uint32_t shape_mask = 7;
constexpr std::uint32_t unescaped_bit = 8;
constexpr int number_shift = 4;
static_assert(static_cast<std::uint32_t>(Shape::text) <= shape_mask);
static_assert(Document::text_bytes_max < std::uint64_t{1} << (32 - number_shift));

bool is_container(Shape shape) { return shape == Shape::array || shape == Shape::object; }

// Where the quote stands that ends the string which begins at `at`; the end of the text if none
// does.
std::size_t end_of_string(std::string_view json, std::size_t at) {
    while (true) {
        const std::size_t quote = json.find('"', at + 1);
        if (quote == std::string_view::npos) return json.size();
        std::size_t slashes = 0;
        while (json[quote - slashes - 1] == '\\') ++slashes;
        if (slashes % 2 == 0) return quote;
        at = quote;
    }
}

// Room for so many is kept from one text to the next anyway, and counting would cost a pass over
// it.
constexpr std::size_t nodes_uncounted_max = 1024;

std::size_t nodes_max(std::string_view json) { return json.size() / 2 + 1; }

// How many nodes a valid text has: one, and one for each bracket, comma and colon outside strings.
// For a text that is not valid it is a guess, and never more than a valid one could have.
std::size_t count_nodes(std::string_view json) {
    std::size_t count = 1;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (c == '"')
            i = end_of_string(json, i);
        else
            count += c == ',' || c == ':' || c == '[' || c == '{' ? 1U : 0U;
    }
    return std::min(count, nodes_max(json));
}

}  // namespace

// Takes the parser's events. A handler that returns false has set the error.
class DocumentBuilder {
public:
    static constexpr std::size_t max_array_size = Document::text_bytes_max;
    static constexpr std::size_t max_object_size = Document::text_bytes_max;
    static constexpr std::size_t max_string_size = Document::text_bytes_max;
    static constexpr std::size_t max_key_size = Document::text_bytes_max;

    using Failure = boost::json::error_code;
    using View = boost::json::string_view;

    DocumentBuilder(Document& document, std::string_view json)
        : cells_(document.cells_), unescaped_(document.unescaped_), json_(json) {}

    bool on_document_begin(Failure&) { return true; }
    bool on_document_end(Failure&) { return true; }
    bool on_object_begin(Failure&) { return open(Shape::object); }
    bool on_object_end(std::size_t count, Failure&) { return close(count); }
    bool on_array_begin(Failure&) { return open(Shape::array); }
    bool on_array_end(std::size_t count, Failure&) { return close(count); }
    bool on_key_part(View part, std::size_t, Failure&) { return keep(part); }
    bool on_key(View part, std::size_t total, Failure& failure) {
        return string(Shape::key, part, total, failure);
    }
    bool on_string_part(View part, std::size_t, Failure&) { return keep(part); }
    bool on_string(View part, std::size_t total, Failure& failure) {
        return string(Shape::string, part, total, failure);
    }
    bool on_number_part(View, Failure&) { return true; }
    bool on_int64(std::int64_t, View text, Failure&) { return add_text(Shape::number, text); }
    bool on_uint64(std::uint64_t, View text, Failure&) { return add_text(Shape::number, text); }
    bool on_double(double, View text, Failure& failure) {
        if (parse_number(text)) return add_text(Shape::number, text);
        complaint = "a number is outside the range of a double";
        failure = boost::json::error::exponent_overflow;
        return false;
    }
    bool on_bool(bool value, Failure&) { return add(Shape::boolean, 0, value ? 1 : 0); }
    bool on_null(Failure&) { return add(Shape::null, 0, 0); }
    bool on_comment_part(View, Failure&) { return false; }
    bool on_comment(View, Failure&) { return false; }

    std::string_view complaint;  // set when we, not the parser, found the error

private:
    bool add(Shape shape, std::size_t number, std::size_t size, std::uint32_t bits = 0) {
        cells_.push_back({head(shape, number) | bits, static_cast<std::uint32_t>(size)});
        return true;
    }

    static std::uint32_t head(Shape shape, std::size_t number) {
        return static_cast<std::uint32_t>(number << number_shift) |
               static_cast<std::uint32_t>(shape);
    }

    bool add_text(Shape shape, View text) {
        check(within_input(text), "a number stands in the text where it was read");
        return add(shape, static_cast<std::size_t>(text.data() - json_.data()), text.size());
    }

    bool open(Shape shape) {
        check(depth_ < open_.size(), "the parser keeps its depth limit");
        open_[depth_++] = static_cast<std::uint32_t>(cells_.size());
        return add(shape, 0, 0);
    }

    bool close(std::size_t count) {
        Document::Cell& cell = cells_[open_[--depth_]];
        cell.head |= head(Shape::null, cells_.size());
        cell.size = static_cast<std::uint32_t>(count);
        return true;
    }

    bool keep(View part) {
        unescaped_.append(part.data(), part.size());
        return true;
    }

    // A string without escapes stays where it is; another was, or still is, to be put together.
    bool string(Shape shape, View last, std::size_t total, Failure& failure) {
        if (last.size() == total && within_input(last)) return add_text(shape, last);
        keep(last);
        const std::size_t begin = unescaped_.size() - total;
        if (unescaped_.find('\0', begin) == std::string::npos)
            return add(shape, begin, total, unescaped_bit);
        complaint = "a string holds a NUL character";
        failure = boost::json::error::syntax;
        return false;
    }

    bool within_input(View part) const {
        constexpr std::less_equal<const char*> before;
        return before(json_.data(), part.data()) &&
               before(part.data() + part.size(), json_.data() + json_.size());
    }

    std::vector<Document::Cell>& cells_;
    std::string& unescaped_;
    std::string_view json_;
    std::array<std::uint32_t, Document::depth_levels_max> open_{};
    std::size_t depth_ = 0;
};

std::optional<std::string> Document::parse(std::string_view json) {
    using Error = boost::json::error;
    clear();
    if (json.empty()) return "must be JSON, and is empty";
    if (json.size() > text_bytes_max) return fmt::format("is larger than {} bytes", text_bytes_max);
    json_ = json;
    if (const std::size_t most = nodes_max(json); cells_.capacity() < most)
        cells_.reserve(most <= nodes_uncounted_max ? most : count_nodes(json));

    boost::json::parse_options options;
    options.max_depth = depth_levels_max;
    boost::json::basic_parser<DocumentBuilder> parser(options, *this, json);
    boost::json::error_code failure;
    const std::size_t read = parser.write_some(false, json.data(), json.size(), failure);
    if (!failure && read == json.size()) return std::nullopt;
    if (failure == Error::too_deep)
        return fmt::format("is nested deeper than {} levels", depth_levels_max);
    const std::string_view complaint = parser.handler().complaint;
    const std::string reason = !complaint.empty() ? std::string(complaint)
                               : failure          ? failure.message()
                                                  : "more follows its end";
    return fmt::format("is not valid JSON: {} (at byte {})", reason, read);
}

Node Document::operator[](std::uint32_t index) const {
    const Cell cell = cells_[index];
    const auto shape = static_cast<Shape>(cell.head & shape_mask);
    const std::uint32_t number = cell.head >> number_shift;
    if (is_container(shape)) return {shape, number, cell.size, {}};
    if (shape == Shape::null) return {shape, index + 1, 0, "null"};
    if (shape == Shape::boolean) return {shape, index + 1, 0, cell.size == 1 ? "true" : "false"};
    const std::string_view from = (cell.head & unescaped_bit) != 0 ? unescaped_ : json_;
    return {shape, index + 1, 0, from.substr(number, cell.size)};
}

std::optional<std::string_view> Document::duplicate_within(std::uint32_t node) const {
    const Document& nodes = *this;
    const std::uint32_t end = nodes[node].end;
    std::vector<std::string_view> keys;
    for (std::uint32_t at = node; at < end; ++at) {
        const Node object = nodes[at];
        if (object.shape != Shape::object) continue;
        keys.clear();
        keys.reserve(object.count);
        for (std::uint32_t key = at + 1; key < object.end; key = nodes[key + 1].end)
            keys.push_back(nodes[key].text);
        std::sort(keys.begin(), keys.end());
        const auto twice = std::adjacent_find(keys.begin(), keys.end());
        if (twice != keys.end()) return *twice;
    }
    return std::nullopt;
}

std::int64_t Document::levels_within(std::uint32_t node) const {
    const Document& nodes = *this;
    const std::uint32_t end = nodes[node].end;
    std::array<std::uint32_t, depth_levels_max> ends{};
    std::int64_t open = 0;
    std::int64_t deepest = 0;
    for (std::uint32_t at = node; at < end; ++at) {
        while (open > 0 && at >= ends[static_cast<std::size_t>(open - 1)]) --open;
        const Node each = nodes[at];
        if (each.shape != Shape::object && each.shape != Shape::array) continue;
        ends[static_cast<std::size_t>(open++)] = each.end;
        deepest = std::max(deepest, open);
    }
    return deepest;
}

void Document::append_compact(std::uint32_t index, std::string& out) const {
    const Document& nodes = *this;
    const Node node = nodes[index];
    if (node.shape == Shape::string) {
        append_json_string(out, node.text);
    } else if (node.shape == Shape::array) {
        out += '[';
        for (std::uint32_t item = index + 1; item < node.end; item = nodes[item].end) {
            if (item != index + 1) out += ',';
            append_compact(item, out);
        }
        out += ']';
    } else if (node.shape == Shape::object) {
        out += '{';
        for (std::uint32_t key = index + 1; key < node.end; key = nodes[key + 1].end) {
            if (key != index + 1) out += ',';
            append_json_string(out, nodes[key].text);
            out += ':';
            append_compact(key + 1, out);
        }
        out += '}';
    } else {
        out += node.text;
    }
}

void Document::clear() {
    constexpr std::size_t nodes_kept_max = 4096;
    constexpr std::size_t unescaped_bytes_kept_max = 64 << 10;
    json_ = {};
    cells_.clear();
    unescaped_.clear();
    if (cells_.capacity() > nodes_kept_max) cells_ = {};
    if (unescaped_.capacity() > unescaped_bytes_kept_max) unescaped_ = {};
}

}  // namespace berth::wire
