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
        : nodes_(document.nodes_), unescaped_(document.unescaped_), json_(json) {}

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
    bool on_int64(std::int64_t, View text, Failure&) { return add(Shape::number, text); }
    bool on_uint64(std::uint64_t, View text, Failure&) { return add(Shape::number, text); }
    bool on_double(double, View text, Failure& failure) {
        if (parse_number(text)) return add(Shape::number, text);
        complaint = "a number is outside the range of a double";
        failure = boost::json::error::exponent_overflow;
        return false;
    }
    bool on_bool(bool value, Failure&) { return add(Shape::boolean, value ? "true" : "false"); }
    bool on_null(Failure&) { return add(Shape::null, "null"); }
    bool on_comment_part(View, Failure&) { return false; }
    bool on_comment(View, Failure&) { return false; }

    std::string_view complaint;  // set when we, not the parser, found the error

private:
    bool add(Shape shape, std::string_view text) {
        nodes_.push_back({shape, static_cast<std::uint32_t>(nodes_.size() + 1), 0, text});
        return true;
    }

    bool open(Shape shape) {
        check(depth_ < open_.size(), "the parser keeps its depth limit");
        open_[depth_++] = static_cast<std::uint32_t>(nodes_.size());
        return add(shape, {});
    }

    bool close(std::size_t count) {
        Node& node = nodes_[open_[--depth_]];
        node.end = static_cast<std::uint32_t>(nodes_.size());
        node.count = static_cast<std::uint32_t>(count);
        return true;
    }

    bool keep(View part) {
        check(unescaped_.size() + part.size() <= unescaped_.capacity(),
              "escapes only make a text longer");
        unescaped_.append(part.data(), part.size());
        return true;
    }

    // A string without escapes stays where it is; another was, or still is, to be put together.
    bool string(Shape shape, View last, std::size_t total, Failure& failure) {
        if (last.size() == total && within_input(last)) return add(shape, last);
        keep(last);
        const auto text = std::string_view(unescaped_).substr(unescaped_.size() - total);
        if (text.find('\0') == std::string_view::npos) return add(shape, text);
        complaint = "a string holds a NUL character";
        failure = boost::json::error::syntax;
        return false;
    }

    bool within_input(View part) const {
        constexpr std::less_equal<const char*> before;
        return before(json_.data(), part.data()) &&
               before(part.data() + part.size(), json_.data() + json_.size());
    }

    std::vector<Node>& nodes_;
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
    unescaped_.reserve(json.size());

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

std::optional<std::string_view> Document::duplicate_within(std::uint32_t node) const {
    std::vector<std::string_view> keys;
    for (std::uint32_t at = node; at < nodes_[node].end; ++at) {
        if (nodes_[at].shape != Shape::object) continue;
        keys.clear();
        for (std::uint32_t key = at + 1; key < nodes_[at].end; key = nodes_[key + 1].end)
            keys.push_back(nodes_[key].text);
        std::sort(keys.begin(), keys.end());
        const auto twice = std::adjacent_find(keys.begin(), keys.end());
        if (twice != keys.end()) return *twice;
    }
    return std::nullopt;
}

void Document::append_compact(std::uint32_t index, std::string& out) const {
    const Node& node = nodes_[index];
    if (node.shape == Shape::string) {
        append_json_string(out, node.text);
    } else if (node.shape == Shape::array) {
        out += '[';
        for (std::uint32_t item = index + 1; item < node.end; item = nodes_[item].end) {
            if (item != index + 1) out += ',';
            append_compact(item, out);
        }
        out += ']';
    } else if (node.shape == Shape::object) {
        out += '{';
        for (std::uint32_t key = index + 1; key < node.end; key = nodes_[key + 1].end) {
            if (key != index + 1) out += ',';
            append_json_string(out, nodes_[key].text);
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
    nodes_.clear();
    unescaped_.clear();
    if (nodes_.capacity() > nodes_kept_max) nodes_ = {};
    if (unescaped_.capacity() > unescaped_bytes_kept_max) unescaped_ = {};
}

}  // namespace berth::wire
