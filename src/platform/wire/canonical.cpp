// RFC 8785, JSON Canonicalization Scheme.
#include <algorithm>

#include "base/check.hpp"
#include "base/json_text.hpp"
#include "wire/document.hpp"
#include "wire/number.hpp"
#include "wire/wire.hpp"

namespace berth::wire {
namespace {

// Orders UTF-8 as its UTF-16 code units would be. The two differ in one thing: a character beyond
// U+FFFF (lead byte F0 and up) is a surrogate pair in UTF-16 and so stands before U+E000 to U+FFFF
// (lead bytes EE and EF).
bool utf16_less(std::string_view a, std::string_view b) {
    const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    if (in_a == a.end() || in_b == b.end()) return in_b != b.end();
    const auto x = static_cast<unsigned char>(*in_a);
    const auto y = static_cast<unsigned char>(*in_b);
    if (x >= 0xF0 && (y == 0xEE || y == 0xEF)) return true;
    if (y >= 0xF0 && (x == 0xEE || x == 0xEF)) return false;
    return x < y;
}

class Canonicalizer {
public:
    Canonicalizer(const Document& document, std::string& out) : document_(document), out_(out) {}

    void write(std::uint32_t index) {
        const Node node = document_[index];
        switch (node.shape) {
            case Shape::string: return append_json_string(out_, node.text);
            case Shape::number: return write_number(node.text);
            case Shape::array: return write_array(index);
            case Shape::object: return write_object(index);
            default: out_ += node.text;
        }
    }

private:
    void write_number(std::string_view text) {
        const auto value = parse_number(text);
        require(value.has_value(), "a document holds numbers in range only");
        append_number(out_, *value);
    }

    void write_array(std::uint32_t index) {
        out_ += '[';
        for (std::uint32_t item = index + 1; item < document_[index].end;
             item = document_[item].end) {
            if (item != index + 1) out_ += ',';
            write(item);
        }
        out_ += ']';
    }

    void write_object(std::uint32_t index) {
        std::vector<std::uint32_t> keys;
        keys.reserve(document_[index].count);
        for (std::uint32_t key = index + 1; key < document_[index].end;
             key = document_[key + 1].end)
            keys.push_back(key);
        std::sort(keys.begin(), keys.end(), [this](std::uint32_t a, std::uint32_t b) {
            return utf16_less(document_[a].text, document_[b].text);
        });
        out_ += '{';
        for (const std::uint32_t key : keys) {
            if (key != keys.front()) out_ += ',';
            append_json_string(out_, document_[key].text);
            out_ += ':';
            write(key + 1);
        }
        out_ += '}';
    }

    const Document& document_;
    std::string& out_;
};

}  // namespace

std::optional<std::string> canonical(std::string_view json) {
    Document document;
    if (document.parse(json) || document.duplicate_within(0)) return std::nullopt;
    std::string out;
    out.reserve(json.size());
    Canonicalizer(document, out).write(0);
    return out;
}

}  // namespace berth::wire
