#include "agent_protocol/structured.hpp"

#include <algorithm>
#include <charconv>

#include "base/letters.hpp"

namespace berth::agent_protocol {
namespace {

constexpr std::size_t integer_digits_max = 15;

bool is_key_letter(char c) {
    return is_lower(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '*';
}

bool is_token_letter(char c) {
    return is_alphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~:/").find(c) != std::string::npos;
}

// Reads from the front. Every function is false where the text does not go on as it must.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    bool at_end() const { return rest_.empty(); }

    bool take(char c) {
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }

    bool read_member(DictionaryMember& member) {
        if (!read_key(member.key)) return false;
        // A key alone would be the boolean true; no field of ours has one.
        if (!take('=')) return false;
        if (rest_.starts_with('(')) return read_list(member.value.emplace<InnerList>());
        return read_item(member.value.emplace<FieldItem>());
    }

private:
    bool read_list(InnerList& list) {
        if (!take('(')) return false;
        while (!take(')')) {
            if (list.items.size() == field_parts_max) return false;
            if (!list.items.empty() && !take(' ')) return false;
            if (!read_item(list.items.emplace_back())) return false;
        }
        return read_parameters(list.parameters);
    }

    bool read_item(FieldItem& item) {
        return read_bare(item.value) && read_parameters(item.parameters);
    }

    bool read_parameters(Parameters& parameters) {
        while (take(';')) {
            if (parameters.size() == field_parts_max) return false;
            Parameter parameter;
            if (!read_key(parameter.key) || !take('=') || !read_bare(parameter.value)) return false;
            for (const Parameter& earlier : parameters)
                if (earlier.key == parameter.key) return false;
            parameters.push_back(std::move(parameter));
        }
        return true;
    }

    bool read_key(std::string& key) {
        if (rest_.empty() || !(is_lower(rest_.front()) || rest_.front() == '*')) return false;
        key = take_while(is_key_letter);
        return true;
    }

    bool read_bare(BareItem& item) {
        if (rest_.empty()) return false;
        const char first = rest_.front();
        if (first == '"') return read_string(item.emplace<std::string>());
        if (first == ':') return read_bytes(item.emplace<ByteSequence>().bytes);
        if (first == '?') return read_boolean(item.emplace<bool>());
        if (first == '-' || is_digit(first)) return read_integer(item.emplace<std::int64_t>());
        if (first != '*' && !is_letter(first)) return false;
        item = Token{std::string(take_while(is_token_letter))};
        return true;
    }

    bool read_string(std::string& out) {
        take('"');
        while (!rest_.empty()) {
            char c = rest_.front();
            rest_.remove_prefix(1);
            if (c == '"') return true;
            if (c < ' ' || c > '~') return false;
            if (c == '\\') {
                if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\\')) return false;
                c = rest_.front();
                rest_.remove_prefix(1);
            }
            out += c;
        }
        return false;
    }

    bool read_bytes(Bytes& out) {
        take(':');
        const std::size_t end = rest_.find(':');
        if (end == std::string_view::npos) return false;
        const auto bytes = from_base64(rest_.substr(0, end));
        if (!bytes) return false;
        out = *bytes;
        rest_.remove_prefix(end + 1);
        return true;
    }

    bool read_boolean(bool& out) {
        take('?');
        if (take('1')) return out = true, true;
        return take('0');
    }

    bool read_integer(std::int64_t& out) {
        const bool negative = take('-');
        const std::string_view digits = take_while(is_digit);
        if (digits.empty() || digits.size() > integer_digits_max) return false;
        if (digits.front() == '0' && (digits.size() > 1 || negative)) return false;
        std::from_chars(digits.data(), digits.data() + digits.size(), out);
        if (negative) out = -out;
        return !rest_.starts_with('.');  // a decimal
    }

    template <class Predicate>
    std::string_view take_while(Predicate belongs) {
        const auto* end = std::find_if_not(rest_.begin(), rest_.end(), belongs);
        const std::string_view taken(rest_.data(), static_cast<std::size_t>(end - rest_.begin()));
        rest_.remove_prefix(taken.size());
        return taken;
    }

    std::string_view rest_;
};

struct BareWriter {
    std::string& out;

    void operator()(std::int64_t number) const { out += std::to_string(number); }
    void operator()(const Token& token) const { out += token.text; }
    void operator()(bool truth) const { out += truth ? "?1" : "?0"; }
    void operator()(const ByteSequence& sequence) const {
        out += ':';
        out += to_base64(sequence.bytes);
        out += ':';
    }
    void operator()(const std::string& text) const {
        out += '"';
        for (const char c : text) {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
        out += '"';
    }
};

void append(std::string& out, const Parameters& parameters) {
    for (const Parameter& parameter : parameters) {
        out += ';';
        out += parameter.key;
        out += '=';
        std::visit(BareWriter{out}, parameter.value);
    }
}

void append(std::string& out, const FieldItem& item) {
    std::visit(BareWriter{out}, item.value);
    append(out, item.parameters);
}

void append(std::string& out, const InnerList& list) {
    out += '(';
    for (const FieldItem& item : list.items) {
        if (&item != &list.items.front()) out += ' ';
        append(out, item);
    }
    out += ')';
    append(out, list.parameters);
}

}  // namespace

std::optional<Dictionary> parse_dictionary(std::string_view text) {
    if (text.size() > field_bytes_max) return std::nullopt;
    Reader reader(text);
    Dictionary dictionary;
    do {
        if (dictionary.size() == field_parts_max) return std::nullopt;
        if (!dictionary.empty() && !reader.take(' ')) return std::nullopt;
        DictionaryMember member;
        if (!reader.read_member(member)) return std::nullopt;
        for (const DictionaryMember& earlier : dictionary)
            if (earlier.key == member.key) return std::nullopt;
        dictionary.push_back(std::move(member));
    } while (reader.take(','));
    return reader.at_end() ? std::optional(std::move(dictionary)) : std::nullopt;
}

std::string write(const InnerList& list) {
    std::string out;
    append(out, list);
    return out;
}

std::string write(const Dictionary& dictionary) {
    std::string out;
    for (const DictionaryMember& member : dictionary) {
        if (!out.empty()) out += ", ";
        out += member.key;
        out += '=';
        std::visit([&](const auto& value) { append(out, value); }, member.value);
    }
    return out;
}

}  // namespace berth::agent_protocol
