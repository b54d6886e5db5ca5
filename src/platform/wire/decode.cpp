#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "wire/document.hpp"
#include "wire/wire.hpp"

namespace berth::wire {
namespace {

// Where we are in the input, as a chain on the stack; it becomes text only when there is an error.
struct Place {
    static constexpr std::size_t no_index = static_cast<std::size_t>(-1);

    const Place* parent = nullptr;
    std::string_view name;
    std::size_t index = no_index;
};

// A name the caller chose, for a message if it can be one of ours. Anything longer, or with other
// letters, may be a value that came to stand in the wrong place, and a secret.
std::string safe_name(std::string_view name) {
    constexpr std::size_t name_bytes_max = 32;
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
    };
    const bool good = name.size() <= name_bytes_max && std::all_of(name.begin(), name.end(), fits);
    return good ? redact(name) : "…";
}

std::string to_string(const Place& place) {
    if (!place.parent) return std::string(place.name);
    std::string out = to_string(*place.parent);
    if (place.index != Place::no_index)
        out += fmt::format("[{}]", place.index);
    else
        out.append(1, '.').append(safe_name(place.name));
    return out;
}

std::string enumeration_rule(const Type& type) {
    std::string out = "must be one of ";
    for (const Enumerator& each : type.enumerators) {
        if (&each != type.enumerators.data()) out += ", ";
        out += each.name;
    }
    return out;
}

bool takes_null(const Type& type) {
    return type.kind == Kind::nullable || type.kind == Kind::json || type.kind == Kind::secret;
}

// A position that no member has, when `name` is unknown. Members mostly come in the order they
// were described in, so the search starts at `expected`.
std::size_t find_member(const Type& type, std::string_view name, std::size_t expected) {
    const std::size_t count = type.members.size();
    if (expected < count && type.members[expected].name == name) return expected;
    for (std::size_t i = 0; i < count; ++i)
        if (type.members[i].name == name) return i;
    return count;
}

// Once the list of errors is full, the items of arrays and maps are no longer looked at: a large
// body with an error in each of them must not cost more than a good one.
class Reader {
public:
    Reader(const Document& document, Errors& errors, Unknown unknown)
        : document_(document), errors_(errors), unknown_(unknown) {}

    void read(const Type& type, std::uint32_t index, void* out, const Place& place) {
        switch (type.kind) {
            case Kind::leaf:
            case Kind::secret:
            case Kind::enumeration: return read_scalar(type, document_[index].scalar(), out, place);
            case Kind::json:
            case Kind::object_json:
            case Kind::passed_object: return read_json(type, index, out, place);
            case Kind::structure: return read_structure(type, index, out, place);
            case Kind::map: return read_map(type, index, out, place);
            case Kind::array: return read_array(type, index, out, place);
            case Kind::optional: return read_optional(type, index, out, place);
            case Kind::one_of: return read_one_of(type, index, out, place);
            case Kind::rendered: return read_rendered(type, index, out, place);
            case Kind::nullable:
                if (document_[index].shape != Shape::null)
                    read(type.inner(), index, type.add(out), place);
        }
    }

    void read_scalar(const Type& type, const Scalar& input, void* out, const Place& place) {
        if (type.kind == Kind::enumeration) return read_enumeration(type, input, out, place);
        if (type.kind == Kind::secret && input.shape == Shape::null) return;
        const Leaf& leaf = *type.leaf;
        if (leaf.read(type, input, out)) return;
        fail(place, leaf.rule_for ? leaf.rule_for(type, input) : std::string(leaf.rule));
    }

    // An error beyond those that are shown is only counted, and needs no place.
    void fail(const Place& place, std::string_view message) {
        errors_.add(errors_.full() ? std::string() : to_string(place), message);
    }

private:
    void read_enumeration(const Type& type, const Scalar& input, void* out, const Place& place) {
        if (input.is_text())
            for (const Enumerator& each : type.enumerators)
                if (each.name == input.text) return type.store(out, each.value);
        fail(place, enumeration_rule(type));
    }

    void read_json(const Type& type, std::uint32_t index, void* out, const Place& place) {
        if (type.kind != Kind::json && document_[index].shape != Shape::object)
            return fail(place, "must be an object");
        if (const auto twice = document_.duplicate_within(index))
            return fail(place, fmt::format("has the member {} twice", safe_name(*twice)));
        if (type.high < Document::depth_levels_max && document_.levels_within(index) > type.high)
            return fail(place, fmt::format("must not be nested deeper than {} levels", type.high));
        if (type.kind == Kind::passed_object) return;
        auto& text = *static_cast<std::string*>(out);
        text.clear();
        document_.append_compact(index, text);
    }

    void read_optional(const Type& type, std::uint32_t index, void* out, const Place& place) {
        const Type& inner = type.inner();
        if (document_[index].shape == Shape::null && !takes_null(inner))
            return fail(place, "must not be null; leave it out instead");
        read(inner, index, type.add(out), place);
    }

    void read_array(const Type& type, std::uint32_t index, void* out, const Place& place) {
        const Node node = document_[index];
        if (node.shape != Shape::array) return fail(place, "must be an array");
        if (node.count < type.low || node.count > type.high)
            return fail(place, fmt::format("must have {} to {} items", type.low, type.high));
        const Type& inner = type.inner();
        constexpr std::uint32_t items_reserved_max = 256;
        type.reserve(out, std::min(node.count, items_reserved_max));
        std::size_t position = 0;
        for (std::uint32_t item = index + 1; item < node.end && !errors_.full();
             item = document_[item].end)
            read(inner, item, type.add(out), {&place, {}, position++});
        if (type.unique) refuse_doubles(index, place);
    }

    // Items are enumerators, so their texts are their values; the list is short, or was refused.
    void refuse_doubles(std::uint32_t index, const Place& place) {
        std::vector<std::string_view> texts;
        for (std::uint32_t item = index + 1; item < document_[index].end;
             item = document_[item].end)
            texts.push_back(document_[item].text);
        std::sort(texts.begin(), texts.end());
        const auto twice = std::adjacent_find(texts.begin(), texts.end());
        if (twice != texts.end()) fail(place, fmt::format("has {} twice", safe_name(*twice)));
    }

    void read_map(const Type& type, std::uint32_t index, void* out, const Place& place) {
        const Node node = document_[index];
        if (node.shape != Shape::object) return fail(place, "must be an object");
        if (const auto twice = document_.duplicate_within(index))
            return fail(place, fmt::format("has the member {} twice", safe_name(*twice)));
        const Type& inner = type.inner();
        for (std::uint32_t key = index + 1; key < node.end && !errors_.full();
             key = document_[key + 1].end) {
            const std::string_view name = document_[key].text;
            read(inner, key + 1, type.add_entry(out, name), {&place, name});
        }
    }

    void read_structure(const Type& type, std::uint32_t index, void* out, const Place& place) {
        const Node node = document_[index];
        if (node.shape != Shape::object) return fail(place, "must be an object");
        static_assert(members_max <= 64);
        std::uint64_t seen = 0;
        std::size_t expected = 0;
        for (std::uint32_t key = index + 1; key < node.end; key = document_[key + 1].end) {
            const Place here{&place, document_[key].text};
            const std::size_t position = find_member(type, here.name, expected);
            if (position == type.members.size()) {
                if (unknown_ == Unknown::refuse) fail(here, "is not a member of this request");
                continue;
            }
            const std::uint64_t bit = std::uint64_t{1} << position;
            if (seen & bit) {
                fail(here, "is given twice");
                continue;
            }
            seen |= bit;
            expected = position + 1;
            const Member& member = type.members[position];
            read(member.type(), key + 1, member.at(out), here);
        }
        for (std::size_t i = 0; i < type.members.size(); ++i)
            if (!(seen >> i & 1) && type.members[i].type().kind != Kind::optional)
                fail({&place, type.members[i].name}, "is required");
    }

    void read_one_of(const Type& type, std::uint32_t index, void* out, const Place& place) {
        if (document_[index].shape != Shape::object) return fail(place, "must be an object");
        const Variant* variant = type.name.empty() ? chosen_by_presence(type, index, place)
                                                   : chosen_by_literal(type, index, place);
        if (variant) read_structure(variant->type(), index, variant->make(out), place);
    }

    // Null when the literal is missing or no variant's; that has been said then.
    const Variant* chosen_by_literal(const Type& type, std::uint32_t index, const Place& place) {
        const Place here{&place, type.name};
        const std::uint32_t key = find_key(index, type.name);
        if (key == no_node) {
            fail(here, "is required");
            return nullptr;
        }
        std::string known;
        for (const Variant& variant : type.variants) {
            const std::string_view literal = variant.type().members[0].type().name;
            if (document_[key + 1].scalar().is_text() && document_[key + 1].text == literal)
                return &variant;
            known.append(known.empty() ? "" : ", ").append(literal);
        }
        fail(here, "must be one of " + known);
        return nullptr;
    }

    // The variant that has every known member that is there. Where several do, the one that lacks
    // nothing; where none does, it cannot be told what was meant.
    const Variant* chosen_by_presence(const Type& type, std::uint32_t index, const Place& place) {
        const Variant* fitting = nullptr;
        std::size_t count = 0;
        for (const Variant& variant : type.variants) {
            if (!may_be(type, variant.type(), index)) continue;
            if (is_complete(variant.type(), index)) return &variant;
            fitting = &variant;
            ++count;
        }
        if (count == 1) return fitting;
        std::string choices;
        for (const Variant& variant : type.variants)
            choices.append(choices.empty() ? "" : ", or ").append(needed(variant.type()));
        fail(place, "must have " + choices);
        return nullptr;
    }

    bool may_be(const Type& type, const Type& variant, std::uint32_t index) const {
        for (const Variant& other : type.variants)
            for (const Member& member : other.type().members)
                if (find_key(index, member.name) != no_node &&
                    find_member(variant, member.name, 0) == variant.members.size())
                    return false;
        return true;
    }

    bool is_complete(const Type& variant, std::uint32_t index) const {
        return std::all_of(variant.members.begin(), variant.members.end(), [&](const Member& each) {
            return each.type().kind == Kind::optional || find_key(index, each.name) != no_node;
        });
    }

    static std::string needed(const Type& variant) {
        std::vector<std::string_view> names;
        for (const Member& member : variant.members)
            if (member.type().kind != Kind::optional) names.push_back(member.name);
        return fmt::format("{}", fmt::join(names, " and "));
    }

    std::uint32_t find_key(std::uint32_t object, std::string_view name) const {
        for (std::uint32_t key = object + 1; key < document_[object].end;
             key = document_[key + 1].end)
            if (document_[key].text == name) return key;
        return no_node;
    }
    static constexpr std::uint32_t no_node = 0;  // the root is nobody's key

    // The text is kept, once it has been seen to be what it stands for.
    void read_rendered(const Type& type, std::uint32_t index, void* out, const Place& place) {
        struct Context {
            Reader& reader;
            const Type& inner;
            std::uint32_t index;
            const Place& place;
        } context{*this, type.inner(), index, place};
        type.with_blank(&context, [](void* raw, void* blank) {
            const auto& [reader, inner, node, where] = *static_cast<Context*>(raw);
            reader.read(inner, node, blank, where);
        });
        std::string text;
        document_.append_compact(index, text);
        static_cast<RenderedText*>(out)->json =
            std::make_shared<const std::string>(std::move(text));
    }

    const Document& document_;
    Errors& errors_;
    const Unknown unknown_;
};

}  // namespace

void Errors::add(std::string_view place, std::string_view message) {
    if (full()) {
        ++more_;
        return;
    }
    rows_.push_back(fmt::format("{}: {}", place, message));
}

void Errors::raise() const {
    if (rows_.empty()) return;
    std::string message = fmt::format("{}", fmt::join(rows_, "; "));
    if (more_ > 0) message += fmt::format("; and {} more", more_);
    throw Problem(Code::invalid_input, std::move(message));
}

void decode(const Type& type, std::string_view json, void* out, std::string_view place,
            Errors& errors, Unknown unknown) {
    // Kept from one request to the next for its memory.
    thread_local Document document;
    if (const auto wrong = document.parse(json))
        errors.add(place, *wrong);
    else
        Reader(document, errors, unknown).read(type, 0, out, {nullptr, place});
    document.clear();
}

void decode_fields(const Type& type, const TextFields& fields, void* out, std::string_view place,
                   Errors& errors) {
    require(type.kind == Kind::structure, "path and query parameters become a struct");
    const Document none;
    Reader reader(none, errors, Unknown::refuse);
    const Place root{nullptr, place};
    for (const Member& member : type.members) {
        const Place here{&root, member.name};
        const bool required = member.type().kind != Kind::optional;
        const Type& inner = required ? member.type() : member.type().inner();
        require(inner.kind == Kind::leaf || inner.kind == Kind::enumeration,
                "a path or query parameter is a leaf or an enumeration");
        const auto named = [&](const auto& field) { return field.first == member.name; };
        const auto found = std::find_if(fields.begin(), fields.end(), named);
        if (found == fields.end()) {
            if (required) reader.fail(here, "is required");
            continue;
        }
        if (std::find_if(found + 1, fields.end(), named) != fields.end()) {
            reader.fail(here, "is given twice");
            continue;
        }
        const std::string& value = found->second;
        if (!utf8_length(value) || value.find('\0') != std::string::npos) {
            reader.fail(here, "must be UTF-8 text without NUL");
            continue;
        }
        void* slot = member.at(out);
        reader.read_scalar(inner, {Shape::text, value}, required ? slot : member.type().add(slot),
                           here);
    }
}

}  // namespace berth::wire
