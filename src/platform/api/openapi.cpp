#include "api/openapi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "api/envelope.hpp"
#include "api/error_words.hpp"
#include "base/check.hpp"
#include "http/text.hpp"
#include "wire/schema.hpp"

namespace berth::api {
namespace {

namespace json = wire::json;
using wire::Schemas;
using wire::Use;

std::string lower_case(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), to_lower);
    return text;
}

json::object security_schemes() {
    return {
        {"apiKey",
         {{"type", "http"},
          {"scheme", "bearer"},
          {"description", "A scoped API key: Authorization: Bearer ark_…"}}},
        {"session",
         {{"type", "apiKey"},
          {"in", "cookie"},
          {"name", "__Host-session"},
          {"description",
           "A pinned browser session; changes also need X-CSRF-Token and a matching Origin, and "
           "what is relayed needs X-CSRF-Token also to be read."}}},
        {"hostAgent",
         {{"type", "http"},
          {"scheme", "signature"},
          {"description",
           "RFC 9421 message signature by the Ed25519 key of an enrolled machine."}}},
        {"gate",
         {{"type", "http"},
          {"scheme", "signature"},
          {"description",
           "RFC 9421 message signature by the Ed25519 key of a gate of the operator's."}}},
    };
}

json::array security(Access access) {
    const json::object key{{"apiKey", json::array{}}};
    const json::object session{{"session", json::array{}}};
    switch (access) {
        case Access::anyone: return {};
        case Access::signed_in:
        case Access::participant:
        case Access::renter:
        case Access::host:
        case Access::host_or_admin:
        case Access::host_to_be:
        case Access::self: return {key, session};
        case Access::any_session:
        case Access::session:
        case Access::admin:
        case Access::finance:
        case Access::support:
        case Access::operator_: return {session};
        case Access::machine: return {json::object{{"hostAgent", json::array{}}}};
        case Access::gate: return {json::object{{"gate", json::array{}}}};
    }
    return {};
}

std::string fresh_proof(StepUp purpose) {
    if (purpose == StepUp::none) return "";
    return fmt::format(" Needs a fresh step-up for {}.", step_up_name(purpose));
}

std::string other_addresses(const Route& route) {
    if (route.also_below.empty()) return "";
    return fmt::format(" Also at, and below, {}.", fmt::join(route.also_below, ", "));
}

std::string_view who(Access access) {
    switch (access) {
        case Access::anyone: return "Anyone may call this; no credential is looked at.";
        case Access::signed_in:
            return "Needs an API key or a session, also one whose second factor is still missing.";
        case Access::participant: return "Needs a session or an API key of any scope.";
        case Access::renter: return "Needs a session or an API key of scope renter.";
        case Access::host: return "Needs a session or an API key of scope host.";
        case Access::host_or_admin:
            return "Needs a session or an API key of scope host, or an admin session with TOTP.";
        case Access::host_to_be:
            return "Needs an API key of scope host, or a session, whose account then may host.";
        case Access::any_session:
            return "Needs a session, also one whose second factor is still missing; API keys are "
                   "refused.";
        case Access::session: return "Needs a session; API keys are refused.";
        case Access::self: return "Needs a session, or the API key of an agent.";
        case Access::admin: return "Needs an admin session with TOTP; API keys are refused.";
        case Access::finance:
            return "Needs a session with TOTP of an admin or of finance; API keys are refused.";
        case Access::support:
            return "Needs a session with TOTP of an admin or of support; API keys are refused.";
        case Access::operator_:
            return "Needs an operator's session with TOTP (admin, finance or support); API keys "
                   "are refused.";
        case Access::machine: return "Needs the signature of an enrolled host agent.";
        case Access::gate: return "Needs the signature of a gate.";
    }
    return "";
}

struct Audience {
    std::string_view name;
    std::string_view about;
};
constexpr std::array audiences{
    Audience{"public", "Open to everybody: the catalog, the state of the service, signing in."},
    Audience{"renter", "For accounts that rent, and what every account has: money, wallets, keys."},
    Audience{"host", "For accounts that let machines; what every account has is under renter."},
    Audience{"agent", "For the host agent on an enrolled machine."},
    Audience{"operator", "For admins of the service."},
};

// Whom a route is for; it is explained where the first of them finds it.
json::array audience(const Route& route) {
    switch (route.access) {
        case Access::anyone: return {route.group == "host agent" ? "agent" : "public"};
        case Access::renter: return {"renter"};
        case Access::host:
        case Access::host_or_admin:
        case Access::host_to_be: return {"host"};
        case Access::machine:
        case Access::gate: return {"agent"};
        case Access::admin:
        case Access::finance:
        case Access::support:
        case Access::operator_: return {"operator"};
        case Access::signed_in:
        case Access::participant:
        case Access::any_session:
        case Access::session:
        case Access::self: return {"renter", "host"};
    }
    return {};
}

// Of "/api/v1/funding-intents/{id}/claim" which of the funding intents.
std::string which_of(std::string_view path) {
    const std::size_t end = path.find("/{id}");
    std::string list(path.substr(0, end));
    list.erase(0, list.rfind('/') + 1);
    std::replace(list.begin(), list.end(), '-', ' ');
    return fmt::format("Which {}of the {}, by its id.", list.ends_with('s') ? "" : "entry ", list);
}

void add_parameters(json::array& parameters, const wire::Type* type, std::string_view place,
                    std::string_view path, Schemas& schemas) {
    if (type == nullptr) return;
    for (const wire::Member& member : type->members) {
        const bool optional = member.type().kind == wire::Kind::optional;
        const wire::Type& value = optional ? member.type().inner() : member.type();
        const wire::Doc* doc = wire::doc_of(*type, member.name);
        json::value schema = schemas.of(value, Use::request);
        json::object parameter{{"name", member.name}, {"in", place}, {"required", !optional}};
        const bool told = doc != nullptr && !doc->text.empty();
        if (told)
            parameter["description"] = doc->text;
        else if (place == "path" && member.name == "id")
            parameter["description"] = which_of(path);
        else
            parameter["description"] = wire::usual_meaning(member.name);
        if (doc != nullptr && !doc->fallback.empty())
            schema.as_object()["default"] = wire::spelled_value(value, doc->fallback);
        if (doc != nullptr && !doc->pattern.empty()) schema.as_object()["pattern"] = doc->pattern;
        parameter["schema"] = std::move(schema);
        if (doc != nullptr && !doc->example.empty())
            parameter["example"] = wire::spelled_value(value, doc->example);
        else if (place == "path")
            parameter["example"] = wire::example(value);
        parameters.push_back(std::move(parameter));
    }
}

json::value json_content(json::value schema, json::value example) {
    return {{"application/json", {{"schema", std::move(schema)}, {"example", std::move(example)}}}};
}

std::string_view reason_phrase(int status) {
    switch (status) {
        case 200: return "Done.";
        case 201: return "Created.";
        case 202: return "Accepted.";
        case 204: return "Done; no body.";
        case http::not_modified_status: return "It is as If-None-Match says; no body.";
        case 503: return "Not now.";
        default: return "Answered.";
    }
}

json::object response(std::string_view description) {
    return {{"description", description},
            {"headers",
             {{"X-Request-Id",
               {{"description", "The id of this request, as in the log."},
                {"schema", {{"type", "string"}, {"format", "uuid"}}}}}}}};
}

// What a streamed route says to clients that try again by themselves.
void add_stream_headers(json::object& response, int status) {
    json::object& headers = response["headers"].as_object();
    headers["x-should-retry"] = {
        {"description", "false where another try cannot help."},
        {"schema", {{"type", "string"}, {"enum", json::array{"true", "false"}}}}};
    if (status == 503)
        headers["X-Engine-Status"] = {
            {"description", "What the engine answered, if it did."},
            {"schema", {{"type", "string"}, {"pattern", "^[1-5][0-9]{2}$"}}}};
}

void add_step_up_header(json::object& response) {
    response["headers"].as_object()[step_up_header] = {
        {"description", "Where a fresh step-up is what is missing, its purpose."},
        {"schema", {{"type", "string"}}}};
}

// The same rows for whoever accepts CSV; where the next page begins cannot stand among them.
void add_table(json::object& response, std::string_view rows) {
    response["content"].as_object()["text/csv"] = {
        {"schema", {{"type", "string"}, {"description", fmt::format("The rows of {}.", rows)}}}};
    response["headers"].as_object()["Berth-Next-Cursor"] = {
        {"description", "With text/csv, what next_cursor would be; left out on the last page."},
        {"schema", {{"type", "string"}}}};
}

// An answer that is no described type, as each of the kinds that it may have.
json::object media_content(const std::vector<Media>& media) {
    json::object out;
    for (const Media& each : media) {
        const bool is_json = each.type == "application/json";
        json::object schema{{"type", is_json ? "object" : "string"}, {"description", each.about}};
        json::object content{{"schema", std::move(schema)}};
        if (!each.example.empty())
            content["example"] = is_json ? json::parse({each.example.data(), each.example.size()})
                                         : json::value(each.example);
        out[each.type] = std::move(content);
    }
    return out;
}

json::object answer(const Entry& entry, int status, Schemas& schemas) {
    json::object out = response(reason_phrase(status));
    if (status == http::not_modified_status) return out;
    if (entry.html)
        out["content"] = {{"text/html", {{"schema", {{"type", "string"}}}}}};
    else if (entry.streamed || entry.file)
        out["content"] = media_content(entry.route.media);
    else if (entry.result != nullptr)
        out["content"] =
            json_content(schemas.of(*entry.result, Use::response), wire::example(*entry.result));
    if (!entry.route.csv.empty()) add_table(out, entry.route.csv);
    return out;
}

// The answer that says that somebody else's word is awaited, beside the route's own where both have
// one status.
void add_deferral(json::object& responses, const Entry& entry, Schemas& schemas) {
    const wire::Type* const later = entry.route.deferral.type;
    if (later == nullptr) return;
    json::value schema = schemas.of(*later, Use::response);
    json::value example = wire::example(*later);
    if (entry.route.status == Deferred::status && entry.result != nullptr) {
        schema = {{"anyOf", json::array{schemas.of(*entry.result, Use::response), schema}}};
        example = wire::example(*entry.result);
    }
    json::object out = response("Accepted; or it waits for a second admin, and nothing was done.");
    out["content"] = json_content(std::move(schema), std::move(example));
    responses[std::to_string(Deferred::status)] = std::move(out);
}

// Of the errors that have a status of their own.
constexpr const char* too_large_example = "TOO_LARGE";
constexpr const char* too_many_example = "TOO_MANY";

using Explained = std::map<ErrorRow, std::string>;

// Every error of a route, each with when it occurs.
Explained explained_errors(const Entry& entry) {
    const Route& route = entry.route;
    Explained rows;
    const auto add = [&](Code code, std::string_view when) {
        std::string& text = rows[{code_status(code), code_name(code)}];
        if (!text.empty() && !when.empty()) text += ", or ";
        text += when;
    };
    for (const DeclaredError& error : route.errors) add(error.code, error.when);
    for (const DeclaredSibling& sibling : route.siblings) add(sibling.code, "");
    if (route.access != Access::anyone) {
        add(Code::unauthenticated, "");
        add(Code::forbidden, error_words(Code::forbidden).when);
    }
    if (route.work != Work::memory) add(Code::unavailable, "");
    add(Code::invalid_input, "");
    if (route.idempotent) add(Code::idempotency_conflict, "");
    for (int i = 0; i < code_count; ++i) {
        const auto row = rows.find({code_status(Code{i}), code_name(Code{i})});
        if (row != rows.end() && row->second.empty()) row->second = error_words(Code{i}).when;
    }
    if (route.rate != &unlimited) rows[{429, code_name(Code::unavailable)}] = too_many_words;
    rows[{413, code_name(Code::invalid_input)}] = too_large_words;
    return rows;
}

// The envelope, closed, with what may stand beside `error` for some code of this status.
json::value error_schema(const Entry& entry, int status, Schemas& schemas) {
    json::value envelope = schemas.of(wire::type_of<ErrorEnvelope>(), Use::response);
    json::object properties{{"error", schemas.of(wire::type_of<ErrorDetail>(), Use::response)}};
    for (const DeclaredSibling& sibling : entry.route.siblings) {
        if (code_status(sibling.code) != status) continue;
        json::value schema = schemas.of(*sibling.type, Use::response);
        schema.as_object()["description"] = fmt::format("With {}.", code_name(sibling.code));
        properties[sibling.name] = std::move(schema);
    }
    if (properties.size() == 1) return envelope;
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", json::array{"error"}},
            {"additionalProperties", false}};
}

json::object error_example(std::string_view code, std::string_view message) {
    return {{"value",
             {{"error",
               {{"code", code},
                {"message", message},
                {"retryable", code == code_name(Code::unavailable)},
                {"request_id", "018f0000-0000-7000-8000-000000000000"}}}}}};
}

json::value shared_example(std::string_view name) {
    return {{"$ref", "#/components/examples/" + std::string(name)}};
}

// What a client may read with this code: in the words of the route where it has its own, and with
// what stands beside the envelope.
json::value shown_error(const Route& route, const ErrorRow& row) {
    if (row.status == 413) return shared_example(too_large_example);
    if (row.status == 429) return shared_example(too_many_example);
    const auto is_it = [&](const auto& declared) { return code_name(declared.code) == row.code; };
    const auto own = std::find_if(
        route.errors.begin(), route.errors.end(),
        [&](const DeclaredError& error) { return is_it(error) && !error.when.empty(); });
    const auto beside = std::find_if(route.siblings.begin(), route.siblings.end(), is_it);
    const bool has_words = own != route.errors.end();
    if (beside == route.siblings.end())
        return has_words ? json::value(error_example(row.code, own->when))
                         : shared_example(row.code);
    json::object shown =
        error_example(row.code, has_words ? own->when : error_words(beside->code).message);
    shown["value"].as_object()[beside->name] = wire::example(*beside->type);
    return shown;
}

// Those that some route refers to.
json::object error_examples(const json::value& paths) {
    const std::string text = json::serialize(paths);
    json::object out;
    const auto add = [&](std::string_view name, Code code, std::string_view message) {
        if (text.find(fmt::format("/examples/{}\"", name)) != std::string::npos)
            out[name] = error_example(code_name(code), message);
    };
    for (int i = 0; i < code_count; ++i)
        add(code_name(Code{i}), Code{i}, error_words(Code{i}).message);
    add(too_large_example, Code::invalid_input, too_large_words);
    add(too_many_example, Code::unavailable, too_many_words);
    return out;
}

// One response per status; its description names the codes it may carry and when.
void add_errors(json::object& responses, const Entry& entry, Schemas& schemas) {
    struct Said {
        std::string text;
        json::object examples;
    };
    std::map<int, Said> by_status;
    for (const auto& [row, when] : explained_errors(entry)) {
        Said& said = by_status[row.status];
        said.text += fmt::format("{}{}: {}.", said.text.empty() ? "" : " ", row.code, when);
        said.examples[row.code] = shown_error(entry.route, row);
    }
    for (auto& [status, said] : by_status) {
        if (status == entry.route.second_status) continue;  // that body is described already
        json::object out = response(said.text);
        if (entry.streamed && (status == 409 || status == 503)) add_stream_headers(out, status);
        if (status == 403 && entry.route.step_up != StepUp::none) add_step_up_header(out);
        out["content"] = {{"application/json",
                           {{"schema", error_schema(entry, status, schemas)},
                            {"examples", std::move(said.examples)}}}};
        responses[std::to_string(status)] = std::move(out);
    }
}

// What somebody else refuses may come with each of these statuses.
void add_passed_refusal(json::object& responses, const Route& route) {
    if (!route.passed_refusal) return;
    json::object content = media_content({*route.passed_refusal});
    const json::value& theirs = content.at("application/json").at("schema");
    for (auto& [status, said] : responses) {
        if (!status.starts_with('4')) continue;
        json::value& schema = said.at("content").at("application/json").at("schema");
        json::value ours = schema;
        schema = json::object{{"anyOf", json::array{std::move(ours), theirs}}};
    }
    json::object out = response(route.passed_refusal->about);
    out["content"] = std::move(content);
    responses["4XX"] = std::move(out);
}

json::object operation(const Entry& entry, Schemas& schemas) {
    const Route& route = entry.route;
    json::object out{
        {"operationId", route.name},
        {"tags", audience(route)},
        {"x-group", route.group},
        {"summary", route.summary},
        {"description", fmt::format("{}{}{}", who(route.access), fresh_proof(route.step_up),
                                    other_addresses(route))},
        {"security", security(route.access)}};
    json::array parameters;
    if (route.idempotent)
        parameters.push_back(json::object{{"$ref", "#/components/parameters/IdempotencyKey"}});
    add_parameters(parameters, entry.path, "path", route.path, schemas);
    add_parameters(parameters, entry.query, "query", route.path, schemas);
    if (!parameters.empty()) out["parameters"] = std::move(parameters);
    if (entry.body != nullptr)
        out["requestBody"] = {{"required", true},
                              {"content", json_content(schemas.of(*entry.body, Use::request),
                                                       wire::example(*entry.body))}};
    if (route.body_sink)
        out["requestBody"] = {
            {"required", true},
            {"content", {{"application/octet-stream", {{"schema", json::object{}}}}}}};
    json::object responses;
    for (const int status : {route.status, route.second_status})
        if (status != 0) responses[std::to_string(status)] = answer(entry, status, schemas);
    add_deferral(responses, entry, schemas);
    add_errors(responses, entry, schemas);
    add_passed_refusal(responses, route);
    out["responses"] = std::move(responses);
    return out;
}

json::array tags() {
    json::array out;
    for (const Audience& each : audiences)
        out.push_back(json::object{{"name", each.name}, {"description", each.about}});
    return out;
}

json::object paths(const Router& router, Schemas& schemas) {
    json::object out;
    for (const auto& entry : router.entries()) {
        json::value& item = out[entry->route.path];
        if (item.is_null()) item = json::object{};
        item.as_object()[lower_case(entry->route.method)] = operation(*entry, schemas);
    }
    return out;
}

// The envelope, with what this one has in the place of its open member.
json::object pushed_schema(const Pushed& pushed, Schemas& schemas) {
    json::object own;
    own["type"] = {{"type", "string"}, {"const", pushed.name}};
    own[pushed.member] = schemas.of(*pushed.content, Use::response);
    return {{"allOf", json::array{schemas.of(*pushed.envelope, Use::response),
                                  json::object{{"type", "object"}, {"properties", own}}}}};
}

json::object webhooks(const Router& router, Schemas& schemas) {
    json::object out;
    for (const Pushed& pushed : router.pushed()) {
        std::string id = fmt::format("told_{}", pushed.name);
        std::replace(id.begin(), id.end(), '.', '_');
        json::object example = wire::example(*pushed.envelope).as_object();
        example["type"] = pushed.name;
        example[pushed.member] = pushed.example();
        json::object call{
            {"operationId", id},
            {"x-group", "events"},
            {"summary", pushed.about},
            {"security", json::array{}},
            {"requestBody",
             {{"required", true},
              {"content", json_content(pushed_schema(pushed, schemas), std::move(example))}}},
            {"responses",
             {{"2XX", {{"description", "It was taken; the next one follows."}}},
              {"4XX", {{"description", "It was not, and is tried again for a while."}}}}}};
        out[pushed.name] = json::object{{"post", std::move(call)}};
    }
    return out;
}

json::object components(const Schemas& schemas, const json::value& paths) {
    return {{"parameters",
             {{"IdempotencyKey",
               {{"name", "Idempotency-Key"},
                {"in", "header"},
                {"required", true},
                {"description",
                 "A UUID made by the caller. The same key with the same request gives the same "
                 "answer; with another request it gives 409."},
                {"schema", {{"type", "string"}, {"format", "uuid"}}}}}}},
            {"examples", error_examples(paths)},
            {"schemas", schemas.components()},
            {"securitySchemes", security_schemes()}};
}

json::object info() {
    return {{"title", "Berth"},
            {"version", contract_version},
            {"summary", "Rent GPUs by the millisecond."},
            {"description",
             "Money and milliseconds are base-10 integer strings. Lists take cursor and limit. "
             "Errors have one envelope. Clients treat an unknown error code by its HTTP status, "
             "and ignore members of answers that they do not know."},
            {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}};
}

}  // namespace

std::vector<ErrorRow> route_errors(const Entry& entry) {
    std::vector<ErrorRow> out;
    for (const auto& [row, when] : explained_errors(entry)) out.push_back(row);
    return out;
}

std::string openapi(const Router& router) {
    Schemas schemas;
    json::object document{
        {"openapi", "3.1.0"},
        {"info", info()},
        {"servers", json::array{{{"url", "/"}, {"description", "The service that printed this."}}}},
        {"tags", tags()}};
    document["paths"] = paths(router, schemas);
    if (!router.pushed().empty()) document["webhooks"] = webhooks(router, schemas);
    document["components"] = components(schemas, document.at("paths"));
    return wire::indented(document);
}

}  // namespace berth::api
