#include "wire/schema.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/json_text.hpp"
#include "base/letters.hpp"
#include "wire/number.hpp"

namespace berth::wire {
namespace {

std::string component_name(std::string_view cpp_name);

std::string reference(const Type& structure) {
    return "#/components/schemas/" + component_name(structure.name);
}

json::value leaf_schema(const Type& type, bool or_null) {
    const Leaf& leaf = *type.leaf;
    json::object schema;
    if (or_null)
        schema["type"] = json::array{leaf.json_type, "null"};
    else
        schema["type"] = leaf.json_type;
    if (!leaf.format.empty()) schema["format"] = leaf.format;
    if (!leaf.pattern.empty()) schema["pattern"] = leaf.pattern;
    if (leaf.constrain) leaf.constrain(type, schema);
    return schema;
}

json::value enumeration_schema(const Type& type) {
    json::array names;
    for (const Enumerator& each : type.enumerators) names.emplace_back(each.name);
    return {{"type", "string"}, {"enum", std::move(names)}};
}

json::value fragment(const Type& type);

json::value array_schema(const Type& type) {
    json::object schema{{"type", "array"}, {"items", fragment(type.inner())}};
    if (type.low > 0) schema["minItems"] = type.low;
    if (type.high != std::numeric_limits<std::int64_t>::max()) schema["maxItems"] = type.high;
    if (type.unique) schema["uniqueItems"] = true;
    return schema;
}

json::value one_of_schema(const Type& type) {
    json::array references;
    json::object mapping;
    for (const Variant& variant : type.variants) {
        const Type& structure = variant.type();
        references.push_back(json::object{{"$ref", reference(structure)}});
        if (!type.name.empty()) mapping[structure.members[0].type().name] = reference(structure);
    }
    json::object schema{{"oneOf", std::move(references)}};
    if (!type.name.empty())
        schema["discriminator"] =
            json::object{{"propertyName", type.name}, {"mapping", std::move(mapping)}};
    return schema;
}

json::value nullable_schema(const Type& inner) {
    if (inner.kind == Kind::secret || inner.kind == Kind::json) return fragment(inner);
    // An enumeration or a constant would have to list null among its values; the others need not.
    const bool fixed = inner.leaf == &leafs::constant || inner.leaf == &leafs::literal;
    if (inner.kind == Kind::leaf && !fixed) return leaf_schema(inner, true);
    return {{"anyOf", json::array{fragment(inner), json::object{{"type", "null"}}}}};
}

// The schema of one use of `type`: a reference for a struct, the whole for everything else.
json::value fragment(const Type& type) {
    switch (type.kind) {
        case Kind::leaf: return leaf_schema(type, false);
        case Kind::secret: return {{"type", json::array{"string", "null"}}};
        case Kind::json: return json::object{};
        case Kind::passed_object:
            if (type.inner) return fragment(type.inner());
            return {{"type", "object"}};
        case Kind::object_json: return {{"type", "object"}};
        case Kind::enumeration: return enumeration_schema(type);
        case Kind::structure: return {{"$ref", reference(type)}};
        case Kind::map:
            return {{"type", "object"}, {"additionalProperties", fragment(type.inner())}};
        case Kind::array: return array_schema(type);
        case Kind::one_of: return one_of_schema(type);
        case Kind::optional:
        case Kind::rendered: return fragment(type.inner());
        case Kind::nullable: break;
    }
    return nullable_schema(type.inner());
}

// Of the string itself, or of each item.
void add_doc_keywords(json::object& schema, const Type& type, const Doc& doc) {
    if (!doc.fallback.empty()) schema["default"] = spelled_value(type, doc.fallback);
    if (doc.pattern.empty()) return;
    json::value* const items = schema.if_contains("items");
    (items != nullptr ? items->as_object() : schema)["pattern"] = doc.pattern;
}

json::object structure_schema(const Type& type, bool closed) {
    json::object properties;
    json::array required;
    for (const Member& member : type.members) {
        json::value property = fragment(member.type());
        const Doc* doc = doc_of(type, member.name);
        const bool told = doc != nullptr && !doc->text.empty();
        const std::string_view text = told ? doc->text : usual_meaning(member.name);
        json::object& schema = property.as_object();
        if (!text.empty()) schema["description"] = text;
        if (doc != nullptr) add_doc_keywords(schema, member.type(), *doc);
        properties[member.name] = std::move(property);
        if (member.type().kind != Kind::optional) required.emplace_back(member.name);
    }
    json::object schema{{"type", "object"},
                        {"properties", std::move(properties)},
                        {"required", std::move(required)}};
    if (!type.rules.empty()) {
        const json::value rules = json::parse({type.rules.data(), type.rules.size()});
        for (const auto& [keyword, value] : rules.as_object()) schema[keyword] = value;
    }
    if (closed) schema["additionalProperties"] = false;
    return schema;
}

void check_docs(const Type& type) {
    for (const Doc& doc : type.docs) {
        const auto named = [&](const Member& member) { return member.name == doc.member; };
        const auto found = std::find_if(type.members.begin(), type.members.end(), named);
        check(found != type.members.end(), "what is said of a member is said of one that is there");
        check(doc.example != left_out || found->type().kind == Kind::optional,
              "only an optional member is left out");
    }
}

// What an example of `type` is spelled for: the leaf, enumeration or JSON inside its wrappings.
const Type& innermost(const Type& type) {
    const bool wraps = type.kind == Kind::optional || type.kind == Kind::nullable ||
                       type.kind == Kind::array || type.kind == Kind::map;
    return wraps ? innermost(type.inner()) : type;
}

// A struct that holds an array of itself would go on for ever.
constexpr std::size_t example_levels_max = 8;

json::value example_at(const Type& type, const Doc* doc, std::size_t level);

json::value structure_example(const Type& type, std::size_t level) {
    json::object out;
    for (const Member& member : type.members) {
        const Doc* doc = doc_of(type, member.name);
        if (doc != nullptr && doc->example == left_out) continue;
        out[member.name] = example_at(member.type(), doc, level + 1);
    }
    return out;
}

json::value map_example(const Type& type, const Doc* doc, std::size_t level) {
    if (level >= example_levels_max) return json::object{};
    const std::size_t equals = doc != nullptr ? doc->example.find('=') : std::string_view::npos;
    if (equals == std::string_view::npos)
        return json::object{{"key", example_at(type.inner(), doc, level + 1)}};
    const Doc entry{.member = {}, .text = {}, .example = doc->example.substr(equals + 1)};
    return json::object{
        {doc->example.substr(0, equals), example_at(type.inner(), &entry, level + 1)}};
}

json::value array_example(const Type& type, const Doc* doc, std::size_t level) {
    json::array out;
    if (level >= example_levels_max && type.low == 0) return out;
    const std::int64_t count = std::min(std::max(type.low, std::int64_t{1}), type.high);
    for (std::int64_t i = 0; i < count; ++i) {
        if (type.unique)
            out.emplace_back(type.inner().enumerators[static_cast<std::size_t>(i)].name);
        else
            out.push_back(example_at(type.inner(), doc, level + 1));
    }
    return out;
}

json::value example_at(const Type& type, const Doc* doc, std::size_t level) {
    const bool told = doc != nullptr && !doc->example.empty();
    switch (type.kind) {
        case Kind::leaf:
        case Kind::secret:
            if (told) return spelled_value(type, doc->example);
            return spelled_value(
                type, type.leaf->example_for ? type.leaf->example_for(type) : type.leaf->example);
        case Kind::passed_object:
            if (type.inner) return example_at(type.inner(), doc, level);
            [[fallthrough]];
        case Kind::json:
        case Kind::object_json:
            return told ? spelled_value(type, doc->example) : json::object{{"key", "value"}};
        case Kind::enumeration:
            return json::string(told ? doc->example : type.enumerators.front().name);
        case Kind::nullable:
            if (told && doc->example == "null") return nullptr;
            return example_at(type.inner(), doc, level);
        case Kind::optional:
        case Kind::rendered: return example_at(type.inner(), doc, level);
        case Kind::map: return map_example(type, doc, level);
        case Kind::array: return array_example(type, doc, level);
        case Kind::one_of: return example_at(type.variants[0].type(), nullptr, level);
        case Kind::structure: break;
    }
    return structure_example(type, level);
}

// "berth::api::Page<berth::rentals::Job>" becomes "JobPage": the arguments, then the template, each
// without its namespaces, and only letters that may stand in a reference. What is rendered has the
// name of what it stands for.
std::string component_name(std::string_view cpp_name) {
    const std::size_t angle = cpp_name.find('<');
    std::string out;
    if (angle != std::string_view::npos) {
        std::string_view arguments = cpp_name.substr(angle + 1, cpp_name.rfind('>') - angle - 1);
        while (!arguments.empty()) {
            // The next comma that is not inside an argument's own brackets.
            std::size_t end = 0;
            for (int nested = 0; end < arguments.size(); ++end) {
                const char c = arguments[end];
                nested += c == '<' ? 1 : c == '>' ? -1 : 0;
                if (c == ',' && nested == 0) break;
            }
            out += component_name(arguments.substr(0, end));
            arguments.remove_prefix(std::min(end + 1, arguments.size()));
        }
        cpp_name = cpp_name.substr(0, angle);
    }
    const std::size_t colons = cpp_name.rfind("::");
    if (colons != std::string_view::npos) cpp_name.remove_prefix(colons + 2);
    if (cpp_name == "Rendered") return out;
    for (const char c : cpp_name) {
        if (is_alphanumeric(c) || c == '_') out += c;
    }
    return out;
}

void append_indented(std::string& out, const json::value& value, std::size_t depth) {
    const auto new_line = [&](std::size_t levels) { out.append("\n").append(levels * 2, ' '); };
    if (const json::object* object = value.if_object(); object != nullptr && !object->empty()) {
        char before = '{';
        for (const auto& [name, member] : *object) {
            out += std::exchange(before, ',');
            new_line(depth + 1);
            append_json_string(out, {name.data(), name.size()});
            out += ": ";
            append_indented(out, member, depth + 1);
        }
        new_line(depth);
        out += '}';
    } else if (const json::array* array = value.if_array(); array != nullptr && !array->empty()) {
        char before = '[';
        for (const json::value& item : *array) {
            out += std::exchange(before, ',');
            new_line(depth + 1);
            append_indented(out, item, depth + 1);
        }
        new_line(depth);
        out += ']';
    } else if (const json::string* text = value.if_string()) {
        append_json_string(out, {text->data(), text->size()});
    } else if (const double* number = value.if_double()) {
        append_number(out, *number);
    } else {
        out += json::serialize(value);
    }
}

}  // namespace

json::value Schemas::of(const Type& type, Use use) {
    collect(type, use);
    return fragment(type);
}

json::object Schemas::components() const {
    json::object out;
    for (const auto& [name, component] : components_)
        out[name] = structure_schema(*component.type, component.is_read || component.type->closed);
    return out;
}

void Schemas::collect(const Type& type, Use use) {
    if (type.kind == Kind::passed_object) use = Use::response;  // it may have more
    if (type.inner) return collect(type.inner(), use);
    for (const Variant& variant : type.variants) collect(variant.type(), use);
    if (type.kind != Kind::structure) return;
    const bool is_read = use == Use::request;
    const auto [row, added] =
        components_.emplace(component_name(type.name), Component{&type, is_read});
    Component& known = row->second;
    if (!added) {
        check(known.type == &type ||
                  structure_schema(*known.type, true) == structure_schema(type, true),
              "two structs share one name in the schema");
        if (known.is_read || !is_read) return;
        known.is_read = true;
    }
    check_docs(type);
    for (const Member& member : type.members) collect(member.type(), use);
}

const Doc* doc_of(const Type& structure, std::string_view member) {
    for (const Doc& doc : structure.docs)
        if (doc.member == member) return &doc;
    return nullptr;
}

json::value example(const Type& type) { return example_at(type, nullptr, 0); }
json::value example(const Type& type, const Doc* doc) { return example_at(type, doc, 0); }

json::value spelled_value(const Type& type, std::string_view text) {
    const Type& inner = innermost(type);
    const bool is_string = inner.kind == Kind::enumeration ||
                           (inner.leaf != nullptr && inner.leaf->json_type == "string");
    return is_string ? json::value(text) : json::parse({text.data(), text.size()});
}

std::string indented(const json::value& value) {
    std::string out;
    append_indented(out, value, 0);
    return out + "\n";
}

}  // namespace berth::wire
