#include "api/openapi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/envelope.hpp"
#include "base/json_text.hpp"
#include "http/text.hpp"

namespace berth::api {
namespace {

std::string quoted(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

std::string lower_case(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), http::to_lower);
    return text;
}

// Joins members or items with commas.
class Joined {
public:
    void add(std::string_view text) {
        if (!text_.empty()) text_ += ',';
        text_ += text;
    }
    void member(std::string_view name, std::string_view value) {
        add(quoted(name) + ":" + std::string(value));
    }
    std::string object() const { return "{" + text_ + "}"; }
    std::string array() const { return "[" + text_ + "]"; }
    bool empty() const { return text_.empty(); }

private:
    std::string text_;
};

struct Scheme {
    std::string_view name;
    std::string_view definition;
};
constexpr Scheme api_key{
    "apiKey",
    R"({"type":"http","scheme":"bearer","description":"A scoped API key: Authorization: Bearer ark_…"})"};
constexpr Scheme session{
    "session",
    R"({"type":"apiKey","in":"cookie","name":"__Host-session","description":"A pinned browser session; changes also need X-CSRF-Token and a matching Origin."})"};
constexpr Scheme host_agent{
    "hostAgent",
    R"({"type":"http","scheme":"signature","description":"RFC 9421 message signature by the Ed25519 key of an enrolled machine."})"};

std::string security(Access access) {
    switch (access) {
        case Access::anyone: return "[]";
        case Access::signed_in:
        case Access::participant:
        case Access::renter:
        case Access::host: return R"([{"apiKey":[]},{"session":[]}])";
        case Access::session:
        case Access::admin: return R"([{"session":[]}])";
        case Access::machine: return R"([{"hostAgent":[]}])";
    }
    return "[]";
}

std::string_view fresh_proof(StepUp purpose) {
    switch (purpose) {
        case StepUp::none: return "";
        case StepUp::account_sensitive: return " Needs a fresh step-up for account-sensitive.";
        case StepUp::wallet: return " Needs a fresh step-up for wallet.";
        case StepUp::admin_sensitive: return " Needs a fresh step-up for admin-sensitive.";
    }
    return "";
}

std::string_view who(Access access) {
    switch (access) {
        case Access::anyone: return "Anyone may call this; no credential is looked at.";
        case Access::signed_in:
            return "Needs an API key or a session, also one whose second factor is still missing.";
        case Access::participant: return "Needs a session or an API key of any scope.";
        case Access::renter: return "Needs a session or an API key of scope renter.";
        case Access::host: return "Needs a session or an API key of scope host.";
        case Access::session: return "Needs a session; API keys are refused.";
        case Access::admin: return "Needs an admin session with TOTP; API keys are refused.";
        case Access::machine: return "Needs the signature of an enrolled host agent.";
    }
    return "";
}

void add_parameters(Joined& parameters, const wire::Type* type, std::string_view place,
                    wire::Components& components) {
    if (type == nullptr) return;
    for (const wire::Member& member : type->members) {
        const wire::Type& value = member.type();
        const bool optional = value.kind == wire::Kind::optional;
        parameters.add(fmt::format(R"({{"name":{},"in":"{}","required":{},"schema":{}}})",
                                   quoted(member.name), place, optional ? "false" : "true",
                                   wire::schema(optional ? value.inner() : value, components)));
    }
}

std::string json_content(const wire::Type& type, wire::Components& components) {
    return fmt::format(R"({{"application/json":{{"schema":{},"example":{}}}}})",
                       wire::schema(type, components), wire::example(type));
}

std::string reason_phrase(int status) {
    switch (status) {
        case 200: return "Done.";
        case 201: return "Created.";
        case 202: return "Accepted.";
        case 204: return "Done; no body.";
        case 503: return "Not now.";
        default: return "Answered.";
    }
}

constexpr std::string_view answer_headers =
    R"("headers":{"X-Request-Id":{"description":"The id of this request, as in the log.",)"
    R"("schema":{"type":"string","format":"uuid"}}})";

void add_answer(Joined& responses, const Entry& entry, int status, wire::Components& components) {
    std::string response =
        fmt::format(R"({{"description":{},{})", quoted(reason_phrase(status)), answer_headers);
    if (entry.html)
        response += R"(,"content":{"text/html":{"schema":{"type":"string"}}})";
    else if (entry.result != nullptr)
        response += ",\"content\":" + json_content(*entry.result, components);
    responses.member(std::to_string(status), response + "}");
}

// One response per status; its description names the codes it may carry.
void add_errors(Joined& responses, const Entry& entry, wire::Components& components) {
    std::map<int, std::vector<std::string_view>> by_status;
    for (const ErrorRow& row : route_errors(entry)) by_status[row.status].push_back(row.code);
    const std::string schema = wire::schema(wire::type_of<ErrorEnvelope>(), components);
    for (const auto& [status, codes] : by_status) {
        if (status == entry.route.second_status) continue;  // that body is described already
        const bool retryable = codes.front() == code_name(Code::unavailable);
        const std::string example =
            fmt::format(R"({{"error":{{"code":"{}","message":"what was wrong","retryable":{},)"
                        R"("request_id":"018f0000-0000-7000-8000-000000000000"}}}})",
                        codes.front(), retryable);
        responses.member(
            std::to_string(status),
            fmt::format(R"({{"description":{},{},"content":{{"application/json":)"
                        R"({{"schema":{},"example":{}}}}}}})",
                        quoted(fmt::format("{}", fmt::join(codes, ", "))), answer_headers, schema,
                        example));
    }
}

std::string operation(const Entry& entry, wire::Components& components) {
    const Route& route = entry.route;
    Joined members;
    members.member("operationId", quoted(route.name));
    members.member("tags", "[" + quoted(route.group) + "]");
    members.member("summary", quoted(route.summary));
    members.member("description", quoted(fmt::format("{}{}", who(route.access), fresh_proof(route.step_up))));
    members.member("security", security(route.access));
    Joined parameters;
    if (route.idempotent) parameters.add(R"({"$ref":"#/components/parameters/IdempotencyKey"})");
    add_parameters(parameters, entry.path, "path", components);
    add_parameters(parameters, entry.query, "query", components);
    if (!parameters.empty()) members.member("parameters", parameters.array());
    if (entry.body != nullptr)
        members.member("requestBody", fmt::format(R"({{"required":true,"content":{}}})",
                                                  json_content(*entry.body, components)));
    Joined responses;
    add_answer(responses, entry, route.status, components);
    if (route.second_status != 0) add_answer(responses, entry, route.second_status, components);
    add_errors(responses, entry, components);
    members.member("responses", responses.object());
    return members.object();
}

std::string tags(const Router& router) {
    Joined list;
    std::set<std::string> seen;
    for (const auto& entry : router.entries())
        if (seen.insert(entry->route.group).second)
            list.add("{\"name\":" + quoted(entry->route.group) + "}");
    return list.array();
}

std::string paths(const Router& router, wire::Components& components) {
    std::vector<std::string> order;
    std::map<std::string, Joined> items;
    for (const auto& entry : router.entries()) {
        if (!items.contains(entry->route.path)) order.push_back(entry->route.path);
        items[entry->route.path].member(lower_case(entry->route.method),
                                        operation(*entry, components));
    }
    Joined all;
    for (const std::string& path : order) all.member(path, items[path].object());
    return all.object();
}

std::string component_object(const wire::Components& components) {
    Joined schemas;
    for (const auto& [name, schema] : components) schemas.member(name, schema);
    Joined schemes;
    for (const Scheme& scheme : {api_key, session, host_agent})
        schemes.member(scheme.name, scheme.definition);
    Joined all;
    all.member("parameters",
               R"({"IdempotencyKey":{"name":"Idempotency-Key","in":"header","required":true,)"
               R"("description":"A UUID made by the caller. The same key with the same request )"
               R"(gives the same answer; with another request it gives 409.",)"
               R"("schema":{"type":"string","format":"uuid"}}})");
    all.member("schemas", schemas.object());
    all.member("securitySchemes", schemes.object());
    return all.object();
}

// Puts each member and item on a line of its own, so that a change shows as a small difference.
std::string indented(std::string_view json) {
    std::string out;
    std::size_t depth = 0;
    const auto new_line = [&] { out.append("\n").append(depth * 2, ' '); };
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (c == '"') {
            const std::size_t begin = i++;
            while (json[i] != '"') i += json[i] == '\\' ? 2U : 1U;
            out.append(json, begin, i - begin + 1);
        } else if (c == '{' || c == '[') {
            out += c;
            if (json[i + 1] == c + 2) {  // '}' and ']' follow '{' and '[' by two in ASCII
                out += json[++i];
            } else {
                ++depth;
                new_line();
            }
        } else if (c == '}' || c == ']') {
            --depth;
            new_line();
            out += c;
        } else {
            out += c;
            if (c == ',') new_line();
            if (c == ':') out += ' ';
        }
    }
    return out + "\n";
}

}  // namespace

std::vector<ErrorRow> route_errors(const Entry& entry) {
    const Route& route = entry.route;
    std::set<ErrorRow> rows;
    const auto add = [&](Code code) { rows.insert({code_status(code), code_name(code)}); };
    for (const Code code : route.errors) add(code);
    if (route.access != Access::anyone) {
        add(Code::unauthenticated);
        add(Code::forbidden);
    }
    if (route.rate != nullptr) rows.insert({429, code_name(Code::unavailable)});
    if (route.work != Work::memory) add(Code::unavailable);
    if (entry.path != nullptr || entry.query != nullptr || entry.body != nullptr ||
        route.idempotent)
        add(Code::invalid_input);
    if (entry.body != nullptr) rows.insert({413, code_name(Code::invalid_input)});
    if (route.idempotent) add(Code::idempotency_conflict);
    return {rows.begin(), rows.end()};
}

std::string openapi(const Router& router) {
    wire::Components components;
    Joined document;
    document.member("openapi", R"("3.1.0")");
    document.member(
        "info",
        fmt::format(R"({{"title":"Berth","version":"{}","summary":"Rent GPUs by the millisecond.",)"
                    R"("description":"Money and milliseconds are base-10 integer strings. Lists )"
                    R"(take cursor and limit. Errors have one envelope. Clients treat an unknown )"
                    R"(error code by its HTTP status.",)"
                    R"("license":{{"name":"Proprietary","identifier":"LicenseRef-Berth"}}}})",
                    contract_version));
    document.member("servers", R"([{"url":"/","description":"The service that printed this."}])");
    document.member("tags", tags(router));
    document.member("paths", paths(router, components));
    document.member("components", component_object(components));
    return indented(document.object());
}

}  // namespace berth::api
