#include <fmt/format.h>

#include "base/check.hpp"
#include "base/json_text.hpp"
#include "wire/wire.hpp"

namespace berth::wire {
namespace {

std::string component_name(std::string_view cpp_name);

std::string constraints(const Type& type) {
    const Leaf& leaf = *type.leaf;
    return leaf.constraints_for ? leaf.constraints_for(type) : std::string(leaf.constraints);
}

std::string enumeration_schema(const Type& type) {
    std::string out = R"({"type":"string","enum":[)";
    for (const Enumerator& each : type.enumerators) {
        if (&each != type.enumerators.data()) out += ',';
        append_json_string(out, each.name);
    }
    return out + "]}";
}

std::string array_bounds(const Type& type) {
    std::string out;
    if (type.low > 0) out += fmt::format(R"(,"minItems":{})", type.low);
    if (type.high != std::numeric_limits<std::int64_t>::max())
        out += fmt::format(R"(,"maxItems":{})", type.high);
    return out;
}

// The properties alone, with references for what they hold; nothing is added to `components`.
std::string structure_schema(const Type& type);

// The schema of one use of `type`: a reference for a struct, the whole for everything else.
std::string fragment(const Type& type) {
    switch (type.kind) {
        case Kind::leaf:
            return fmt::format(R"({{"type":"{}"{}}})", type.leaf->json_type, constraints(type));
        case Kind::secret: return R"({"type":["string","null"]})";
        case Kind::json: return "{}";
        case Kind::object_json: return R"({"type":"object"})";
        case Kind::enumeration: return enumeration_schema(type);
        case Kind::structure:
            return fmt::format(R"({{"$ref":"#/components/schemas/{}"}})",
                               component_name(type.name));
        case Kind::map:
            return fmt::format(R"({{"type":"object","additionalProperties":{}}})",
                               fragment(type.inner()));
        case Kind::array:
            return fmt::format(R"({{"type":"array","items":{}{}}})", fragment(type.inner()),
                               array_bounds(type));
        case Kind::optional: return fragment(type.inner());
        case Kind::nullable: break;
    }
    const Type& inner = type.inner();
    if (inner.kind == Kind::secret || inner.kind == Kind::json) return fragment(inner);
    // An enumeration or a constant would have to list null among its values; the others need not.
    if (inner.kind == Kind::leaf && inner.leaf != &leafs::constant)
        return fmt::format(R"({{"type":["{}","null"]{}}})", inner.leaf->json_type,
                           constraints(inner));
    return fmt::format(R"({{"anyOf":[{},{{"type":"null"}}]}})", fragment(inner));
}

std::string structure_schema(const Type& type) {
    std::string properties;
    std::string required;
    for (const Member& member : type.members) {
        if (!properties.empty()) properties += ',';
        properties += fmt::format(R"("{}":{})", member.name, fragment(member.type()));
        if (member.type().kind == Kind::optional) continue;
        if (!required.empty()) required += ',';
        required += fmt::format(R"("{}")", member.name);
    }
    return fmt::format(R"({{"type":"object","properties":{{{}}},"required":[{}],)"
                       R"("additionalProperties":false}})",
                       properties, required);
}

void collect(const Type& type, Components& components) {
    if (type.inner) return collect(type.inner(), components);
    if (type.kind != Kind::structure) return;
    const auto [row, added] = components.emplace(component_name(type.name), structure_schema(type));
    if (!added) {
        check(row->second == structure_schema(type), "two structs share one name in the schema");
        return;
    }
    for (const Member& member : type.members) collect(member.type(), components);
}

// A struct that holds an array of itself would go on for ever.
constexpr std::size_t example_levels_max = 8;

std::string example_at(const Type& type, std::size_t level) {
    switch (type.kind) {
        case Kind::leaf:
        case Kind::secret:
            return type.leaf->example_for ? type.leaf->example_for(type)
                                          : std::string(type.leaf->example);
        case Kind::json:
        case Kind::object_json: return R"({"key":"value"})";
        case Kind::enumeration: {
            std::string out;
            append_json_string(out, type.enumerators.front().name);
            return out;
        }
        case Kind::optional:
        case Kind::nullable: return example_at(type.inner(), level);
        case Kind::map:
            if (level >= example_levels_max) return "{}";
            return fmt::format(R"({{"key":{}}})", example_at(type.inner(), level + 1));
        case Kind::array: {
            if (level >= example_levels_max && type.low == 0) return "[]";
            const std::int64_t count = std::min(std::max(type.low, std::int64_t{1}), type.high);
            const std::string item = example_at(type.inner(), level + 1);
            std::string out = "[";
            for (std::int64_t i = 0; i < count; ++i) out.append(i == 0 ? "" : ",").append(item);
            return out + ']';
        }
        case Kind::structure: break;
    }
    std::string out = "{";
    for (const Member& member : type.members) {
        if (out.size() > 1) out += ',';
        out += fmt::format(R"("{}":{})", member.name, example_at(member.type(), level + 1));
    }
    return out + '}';
}

// "berth::api::Page<berth::rentals::Job>" becomes "JobPage": the arguments, then the template, each
// without its namespaces, and only letters that may stand in a reference.
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
    for (const char c : cpp_name) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                           (c >= 'A' && c <= 'Z') || c == '_';
        if (plain) out += c;
    }
    return out;
}

}  // namespace

std::string schema(const Type& type, Components& components) {
    collect(type, components);
    return fragment(type);
}

std::string example(const Type& type) { return example_at(type, 0); }

}  // namespace berth::wire
