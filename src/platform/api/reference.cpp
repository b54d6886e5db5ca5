#include "api/reference.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/letters.hpp"
#include "wire/schema.hpp"

namespace berth::api {

const std::string_view reference_style = R"(
body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
code,pre{font:14px/1.4 monospace}pre{background:#f4f4f4;padding:.7rem;overflow-x:auto}
section{border-top:1px solid #ddd;margin-top:1.5rem}h4 code{font-size:17px}
table{border-collapse:collapse;width:100%}
td{border-top:1px solid #eee;padding:.3rem .6rem .3rem 0;vertical-align:top}
nav a{margin-right:1rem}
)";

namespace {

namespace json = wire::json;

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

std::string_view text_of(const json::object& object, std::string_view name) {
    const json::value* found = object.if_contains(name);
    return found != nullptr && found->is_string() ? view(found->get_string()) : "";
}

const json::object* object_of(const json::object& object, std::string_view name) {
    const json::value* found = object.if_contains(name);
    return found != nullptr ? found->if_object() : nullptr;
}

std::string joined(const json::array& values, std::string_view between) {
    std::string out;
    for (const json::value& value : values) {
        if (!out.empty()) out += between;
        out += value.is_string() ? html_escaped(view(value.get_string())) : json::serialize(value);
    }
    return out;
}

// A reference as a link to the shape it names.
std::string link(std::string_view reference) {
    const std::string_view name = reference.substr(reference.rfind('/') + 1);
    return fmt::format(R"(<a href="#{0}">{0}</a>)", html_escaped(name));
}

std::string kind_of(const json::object& schema);

std::string kinds_of(const json::array& schemas) {
    std::string out;
    for (const json::value& each : schemas)
        out.append(out.empty() ? "" : " or ").append(kind_of(each.as_object()));
    return out;
}

// What a value is, in a few words.
std::string kind_of(const json::object& schema) {
    if (const auto reference = text_of(schema, "$ref"); !reference.empty()) return link(reference);
    for (const char* choice : {"anyOf", "oneOf"})
        if (const json::value* found = schema.if_contains(choice))
            return kinds_of(found->as_array());
    if (const json::value* found = schema.if_contains("enum"))
        return joined(found->as_array(), " | ");
    if (const json::value* found = schema.if_contains("const")) return joined({*found}, "");
    if (const json::object* items = object_of(schema, "items"))
        return "array of " + kind_of(*items);
    const json::value* type = schema.if_contains("type");
    if (type == nullptr) return "any JSON";
    std::string out = type->is_array() ? joined(type->get_array(), " or ")
                                       : html_escaped(view(type->as_string()));
    if (const auto format = text_of(schema, "format"); !format.empty())
        out.append(", ").append(format);
    for (const auto& [name, words] : {std::pair{"minimum", "from"},
                                      {"maximum", "to"},
                                      {"minLength", "at least"},
                                      {"maxLength", "at most"}})
        if (const json::value* bound = schema.if_contains(name))
            out += fmt::format(" {} {}", words, json::serialize(*bound));
    return out;
}

std::string row(std::string_view name, const json::object& schema, std::string_view description,
                bool optional) {
    std::string about = html_escaped(description);
    if (const json::value* fallback = schema.if_contains("default"))
        about += " Default: " + html_escaped(json::serialize(*fallback)) + ".";
    return fmt::format("<tr><td><code>{}</code>{}</td><td>{}</td><td>{}</td></tr>\n",
                       html_escaped(name), optional ? " (optional)" : "", kind_of(schema), about);
}

std::string parameters(const json::object& operation) {
    const json::value* list = operation.if_contains("parameters");
    if (list == nullptr) return "";
    std::string rows;
    for (const json::value& each : list->as_array()) {
        const json::object& parameter = each.as_object();
        const json::object* schema = object_of(parameter, "schema");
        if (schema == nullptr) {
            rows +=
                "<tr><td><code>Idempotency-Key</code></td><td>header</td><td>A UUID of your "
                "own; the same key with the same request gives the same answer.</td></tr>\n";
            continue;
        }
        rows +=
            row(fmt::format("{} ({})", text_of(parameter, "name"), text_of(parameter, "in")),
                *schema, text_of(parameter, "description"), !parameter.at("required").as_bool());
    }
    return "<h5>Parameters</h5><table>\n" + rows + "</table>\n";
}

const json::object* json_body(const json::object& holder) {
    const json::object* content = object_of(holder, "content");
    return content != nullptr ? object_of(*content, "application/json") : nullptr;
}

struct Place {
    std::string method;
    std::string_view path;
};

std::string curl(const Place& place, const json::object& operation) {
    std::string out = "curl";
    if (place.method != "GET") out += " -X " + place.method;
    const json::array& security = operation.at("security").as_array();
    if (!security.empty()) {
        const json::object& scheme = security[0].as_object();
        if (scheme.contains("apiKey")) out += " -H \"Authorization: Bearer $KEY\"";
        if (scheme.contains("session"))
            out +=
                " -b \"__Host-session=$SESSION\" -H \"Origin: $BASE\" "
                "-H \"X-CSRF-Token: $CSRF\"";
    }
    if (parameters(operation).find("Idempotency-Key") != std::string::npos)
        out += " -H \"Idempotency-Key: $(uuidgen)\"";
    const json::object* request = object_of(operation, "requestBody");
    const json::object* body = request != nullptr ? json_body(*request) : nullptr;
    if (body != nullptr)
        out += fmt::format(" \\\n  -H \"Content-Type: application/json\" -d '{}'",
                           json::serialize(body->at("example")));
    return out + fmt::format(" \\\n  \"$BASE{}\"", place.path);
}

std::string answers(const json::object& operation) {
    std::string rows;
    for (const auto& [status, value] : operation.at("responses").as_object()) {
        const json::object& response = value.as_object();
        const json::object* body = json_body(response);
        rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                            std::string_view(status.data(), status.size()),
                            body != nullptr ? kind_of(body->at("schema").as_object()) : "",
                            html_escaped(text_of(response, "description")));
    }
    return "<h5>Answers</h5><table>\n" + rows + "</table>\n";
}

std::string operation_section(const Place& place, const json::object& operation) {
    std::string out =
        fmt::format("<section id=\"{}\"><h4><code>{} {}</code></h4>\n<p>{}<br>{}</p>\n",
                    html_escaped(text_of(operation, "operationId")), place.method,
                    html_escaped(place.path), html_escaped(text_of(operation, "summary")),
                    html_escaped(text_of(operation, "description")));
    out += parameters(operation);
    const json::object* request = object_of(operation, "requestBody");
    if (const json::object* body = request != nullptr ? json_body(*request) : nullptr)
        out += fmt::format("<p>Body: {}</p>\n", kind_of(body->at("schema").as_object()));
    out += fmt::format("<pre>{}</pre>\n", html_escaped(curl(place, operation)));
    return out + answers(operation) + "</section>\n";
}

// The operations of an audience by what they are about; those that another one has too are
// explained there.
std::string audience_sections(const json::object& document, const json::object& tag) {
    const std::string_view audience = text_of(tag, "name");
    std::string also;
    std::vector<std::pair<std::string, std::string>> groups;
    for (const auto& [path, methods] : document.at("paths").as_object())
        for (const auto& [name, value] : methods.as_object()) {
            const json::object& operation = value.as_object();
            const json::array& tags = operation.at("tags").as_array();
            const auto is_it = [&](const json::value& each) {
                return view(each.as_string()) == audience;
            };
            if (std::none_of(tags.begin(), tags.end(), is_it)) continue;
            std::string method(name.data(), name.size());
            std::transform(method.begin(), method.end(), method.begin(), to_upper);
            if (!is_it(tags[0])) {
                also += fmt::format("<a href=\"#{}\">{} {}</a><br>\n",
                                    html_escaped(text_of(operation, "operationId")), method,
                                    html_escaped({path.data(), path.size()}));
                continue;
            }
            const std::string group(text_of(operation, "x-group"));
            auto found = std::find_if(groups.begin(), groups.end(),
                                      [&](const auto& each) { return each.first == group; });
            if (found == groups.end()) found = groups.insert(groups.end(), {group, {}});
            found->second +=
                operation_section({std::move(method), {path.data(), path.size()}}, operation);
        }
    std::string out =
        fmt::format("<h2 id=\"for-{0}\">{0}</h2>\n<p>{1}</p>\n", html_escaped(audience),
                    html_escaped(text_of(tag, "description")));
    for (const auto& [group, sections] : groups)
        out += fmt::format("<h3>{}</h3>\n{}", html_escaped(group), sections);
    return also.empty() ? out : out + "<h3>as every account</h3>\n<p>" + also + "</p>\n";
}

std::string shape_section(std::string_view name, const json::object& schema) {
    const json::array& required = schema.at("required").as_array();
    std::string rows;
    for (const auto& [key, property] : schema.at("properties").as_object()) {
        const std::string_view member(key.data(), key.size());
        const auto is_it = [&](const json::value& each) {
            return view(each.as_string()) == member;
        };
        const bool needed = std::any_of(required.begin(), required.end(), is_it);
        rows += row(member, property.as_object(), text_of(property.as_object(), "description"),
                    !needed);
    }
    return fmt::format("<section id=\"{0}\"><h3>{0}</h3>\n<table>\n{1}</table></section>\n",
                       html_escaped(name), rows);
}

}  // namespace

std::string html_escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            default: out += c;
        }
    }
    return out;
}

std::string reference_page(std::string_view specification) {
    const json::value parsed = json::parse({specification.data(), specification.size()});
    const json::object& document = parsed.as_object();
    const json::object& info = document.at("info").as_object();
    const std::string title = html_escaped(text_of(info, "title"));
    std::string menu;
    std::string sections;
    for (const json::value& tag : document.at("tags").as_array()) {
        const std::string_view name = text_of(tag.as_object(), "name");
        menu += fmt::format("<a href=\"#for-{0}\">{0}</a>\n", html_escaped(name));
        sections += audience_sections(document, tag.as_object());
    }
    std::string shapes;
    for (const auto& [name, schema] : document.at("components").at("schemas").as_object())
        shapes += shape_section({name.data(), name.size()}, schema.as_object());
    return fmt::format(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{0} API</title>\n"
        "<style>{1}</style>\n<h1>{0} API</h1>\n<p>{2}</p>\n"
        "<p>The same as data: <a href=\"/openapi.json\">/openapi.json</a>.</p>\n"
        "<nav><a href=\"/docs\">Docs</a>{3}<a href=\"#shapes\">shapes</a></nav>\n{4}"
        "<h2 id=\"shapes\">Shapes</h2>\n{5}</html>\n",
        title, reference_style, html_escaped(text_of(info, "description")), menu, sections, shapes);
}

}  // namespace berth::api
