#include "offers/templates.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent_protocol/image.hpp"
#include "agent_protocol/variables.hpp"
#include "audit/audit.hpp"
#include "base/letters.hpp"
#include "offers/template_store.hpp"

namespace berth::offers {
namespace {

using api::Access;
using api::Body;
using api::Call;
using api::Path;
using api::Query;
using api::Router;
using api::StepUp;
using api::Work;

constexpr std::int64_t start_deadline_default_s = 7200;
constexpr std::size_t env_entries_max = 64;
constexpr std::size_t env_name_bytes_max = 128;

bool is_slug(std::string_view text) {
    const auto allowed = [](char c) { return is_lower(c) || is_digit(c) || c == '-'; };
    return !text.empty() && text.size() <= 64 && text.front() != '-' &&
           std::ranges::all_of(text, allowed);
}

bool is_env_name(std::string_view text) {
    const auto allowed = [](char c) { return is_alphanumeric(c) || c == '_'; };
    return !text.empty() && text.size() <= env_name_bytes_max && !is_digit(text.front()) &&
           std::ranges::all_of(text, allowed);
}

// It becomes a part of requests that the server and agents make.
bool is_path(std::string_view text) {
    const auto visible = [](char c) { return c > ' ' && c < 127; };
    return text.starts_with('/') && std::ranges::all_of(text, visible);
}

// The names in braces that a word asks for.
std::vector<std::string> variables_in(std::string_view word) {
    std::vector<std::string> names;
    for (std::size_t open = word.find('{'); open != word.npos; open = word.find('{', open + 1)) {
        const std::size_t close = word.find('}', open);
        if (close == word.npos) break;
        const std::string_view name = word.substr(open + 1, close - open - 1);
        if (is_env_name(name)) names.emplace_back(name);
    }
    return names;
}

// A word with a letter that is none, or a variable that nobody sets, would be started as it stands.
void check_command(const TemplateDraft& draft, wire::Errors& errors) {
    if (!draft.command) return;
    const auto is_control = [](char c) { return c < ' ' || c == 127; };
    for (const auto& word : draft.command->value) {
        if (std::ranges::any_of(word.value, is_control))
            errors.add("body.command", "must have no control characters");
        for (const std::string& name : variables_in(word.value))
            if (!draft.env || !draft.env->contains(name))
                errors.add("body.command", fmt::format("{{{}}} is no variable of env", name));
    }
    if (!draft.command->value.empty() && draft.command->value.front().value.starts_with('-'))
        errors.add("body.command", "must begin with a program");
}

// What the types of the members cannot say.
void check_draft(const TemplateDraft& draft) {
    wire::Errors errors;
    if (!is_slug(draft.template_id.value) || parse_uuid(draft.template_id.value))
        errors.add("body.template_id",
                   "must be 1 to 64 small letters, digits and dashes, begin with no dash, and be "
                   "no UUID");
    if (draft.env) {
        if (draft.env->size() > env_entries_max)
            errors.add("body.env", fmt::format("must have at most {} entries", env_entries_max));
        for (const auto& [name, value] : *draft.env)
            if (!is_env_name(name))
                errors.add("body.env",
                           "names must be letters, digits and underscores, and begin "
                           "with no digit");
        for (const auto& [name, value] : *draft.env)
            if (agent_protocol::is_loader_variable(name))
                errors.add("body.env", fmt::format("must not have {}, which hosts refuse", name));
    }
    if (draft.image_digest && draft.image_digest->value &&
        !agent_protocol::names_registry(draft.image_digest->value->value))
        errors.add("body.image_digest", std::string(agent_protocol::no_registry));
    check_command(draft, errors);
    if (draft.readiness_path && draft.readiness_path->value &&
        !is_path(draft.readiness_path->value->value))
        errors.add("body.readiness_path",
                   "must begin with a slash and have only visible characters of ASCII");
    if (draft.min_cuda && draft.min_cuda->value && !parse_version(draft.min_cuda->value->value))
        errors.add("body.min_cuda", "must be a version such as 12.8");
    errors.raise();
}

// Members that may be left out, be null, or hold a value: the first two mean the same here.
template <class T>
auto value_of(const std::optional<wire::Nullable<T>>& given) {
    using Value = decltype(T::value);
    return given && given->value ? std::optional<Value>(given->value->value) : std::nullopt;
}

TemplateRow row_of(const TemplateDraft& draft) {
    TemplateRow row;
    row.slug = draft.template_id.value;
    row.name = draft.name.value;
    row.kind = draft.kind;
    row.engine = draft.engine.value;
    row.quantization = value_of(draft.quantization);
    row.image_digest = value_of(draft.image_digest);
    row.min_vram_bytes = draft.vram_fit.min_vram_bytes.value;
    row.est_weights_bytes = draft.vram_fit.est_weights_bytes.value;
    row.est_kv_bytes_per_1k_tokens = draft.vram_fit.est_kv_bytes_per_1k_tokens.value;
    row.min_gpu_count = draft.min_gpu_count ? draft.min_gpu_count->value : 1;
    row.required_runtime = draft.required_runtime;
    if (draft.command) row.command = wire::encode(draft.command->value);
    if (draft.exposes) row.exposes = wire::encode(draft.exposes->value);
    if (draft.env) row.env = wire::encode(*draft.env);
    if (draft.setup_notes) row.setup_notes = draft.setup_notes->value;
    row.readiness_path = value_of(draft.readiness_path);
    row.max_model_len = value_of(draft.max_model_len);
    row.min_cuda = value_of(draft.min_cuda);
    row.gated = draft.gated.value_or(false);
    row.start_deadline_s =
        draft.start_deadline_s ? draft.start_deadline_s->value : start_deadline_default_s;
    row.fits_from_bytes = smallest_vram_bytes(needs_of(row));
    return row;
}

void record(Call& call, const TemplateRow& row, std::string action,
            std::vector<audit::Change> changes) {
    audit::record(call.context(), {.actor = audit::Actor::of(call.caller.account),
                                   .action = std::move(action),
                                   .target = {"template", to_string(row.template_id)},
                                   .changes = std::move(changes),
                                   .request = call.request_id});
}

TemplateRow hold_or_refuse(Call& call, TemplateId id) {
    auto row = hold_template(call.tx(), id);
    if (!row) throw Problem(Code::not_found, "no such template");
    return *std::move(row);
}

}  // namespace

FitNeeds needs_of(const TemplateRow& row) {
    return {.is_model = row.kind == TemplateKind::model,
            .splits = engine_splits(row.engine),
            .runtime = backend_of(row.required_runtime),
            .min_gpu_count = row.min_gpu_count,
            .min_vram_bytes = row.min_vram_bytes,
            .weights_bytes = row.est_weights_bytes,
            .kv_bytes_per_1k_tokens = row.est_kv_bytes_per_1k_tokens,
            .max_model_len = row.max_model_len,
            .min_cuda = row.min_cuda ? parse_version(*row.min_cuda) : std::nullopt};
}

std::vector<std::string> command_of(const TemplateRow& row) {
    auto words = wire::decode<std::vector<std::string>>(row.command, "command");
    const auto variables = wire::decode<std::map<std::string, std::string>>(row.env, "env");
    for (std::string& word : words)
        for (const std::string& name : variables_in(word))
            if (const auto found = variables.find(name); found != variables.end())
                word.replace(word.find("{" + name + "}"), name.size() + 2, found->second);
    return words;
}

Template shown(const TemplateRow& row) {
    Template out;
    out.id = row.template_id;
    out.template_id = row.slug;
    out.name = row.name;
    out.kind = row.kind;
    out.engine = row.engine;
    out.quantization = row.quantization;
    if (row.image_digest) out.image_digest = wire::ImageDigest{*row.image_digest};
    out.command = wire::decode<std::vector<std::string>>(row.command, "command");
    out.vram_fit = {
        {row.min_vram_bytes}, {row.est_weights_bytes}, {row.est_kv_bytes_per_1k_tokens}};
    out.min_gpu_count = {row.min_gpu_count};
    out.required_runtime = row.required_runtime;
    out.exposes = wire::decode<std::vector<Expose>>(row.exposes, "exposes");
    out.env = wire::decode<std::map<std::string, std::string>>(row.env, "env");
    out.setup_notes = row.setup_notes;
    out.readiness_path = row.readiness_path;
    if (row.max_model_len) out.max_model_len = wire::Count{*row.max_model_len};
    out.min_cuda = row.min_cuda;
    out.gated = row.gated;
    out.start_deadline_s = {row.start_deadline_s};
    out.published_at = row.published_at;
    return out;
}

api::Page<Template> Templates::list(Call& call, const TemplateQuery& query, bool all) const {
    const std::string filters =
        fmt::format("{} {} {}", all, query.kind ? enum_name(*query.kind) : "",
                    query.min_vram_bytes ? query.min_vram_bytes->value : -1);
    const api::Pager pager(call.cursors, {"templates", filters}, query);
    const auto rows = list_templates(call.tx(), {.kind = query.kind,
                                                 .vram_bytes = query.min_vram_bytes,
                                                 .unpublished_too = all,
                                                 .after_slug = pager.after().value_or(""),
                                                 .rows_max = pager.rows_wanted()});
    return pager.page(rows, &TemplateRow::slug, [](const TemplateRow& row) { return shown(row); });
}

Template Templates::show(Call& call, const TemplatePath& path) const {
    const auto id = parse_uuid(path.id.value);
    if (!id && !is_slug(path.id.value))
        throw Problem(Code::invalid_input, "path.id: must be a slug or a UUID");
    const auto row = id ? find_template(call.tx(), TemplateId{*id})
                        : find_template_by_slug(call.tx(), path.id.value);
    if (!row || !row->published_at) throw Problem(Code::not_found, "no such template");
    Template out = shown(*row);
    out.time_to_ready = usual_start_(call.tx(), row->template_id, call.now);
    return out;
}

Template Templates::add(Call& call, const TemplateDraft& draft) const {
    check_draft(draft);
    call.require_step_up();
    TemplateRow row = row_of(draft);
    row.template_id = call.make_id<TemplateId>();
    row.changed_at = call.now;
    if (count_templates(call.tx()) >= templates_max)
        throw Problem(Code::conflict, fmt::format("there are {} templates already, which is as "
                                                  "many as there can be",
                                                  templates_max));
    if (!add_template(call.tx(), row))
        throw Problem(Code::conflict, "body.template_id: another template has this slug");
    record(call, row, "add_template", {{"template", std::nullopt, wire::encode(shown(row))}});
    return shown(row);
}

Template Templates::replace(Call& call, TemplateId id, const TemplateDraft& draft) const {
    check_draft(draft);
    const TemplateRow before = hold_or_refuse(call, id);
    if (before.slug != draft.template_id.value)
        throw Problem(Code::invalid_input,
                      "body.template_id: must be that of the template: links refer to it");
    call.require_step_up();
    TemplateRow row = row_of(draft);
    if (before.published_at && !row.image_digest)
        throw Problem(Code::conflict, "a published template needs an image; unpublish it first");
    row.template_id = id;
    row.published_at = before.published_at;
    row.changed_at = call.now;
    if (row.image_digest == before.image_digest) row.image_source = before.image_source;
    save_template(call.tx(), row);
    record(call, row, "change_template",
           {{"template", wire::encode(shown(before)), wire::encode(shown(row))}});
    return shown(row);
}

Template Templates::publish(Call& call, TemplateId id, bool published) const {
    TemplateRow row = hold_or_refuse(call, id);
    call.require_step_up();
    if (published == row.published_at.has_value()) return shown(row);
    if (published && !row.image_digest)
        throw Problem(Code::conflict, "give the template an image_digest before it is published");
    row.published_at = published ? std::optional(call.now) : std::nullopt;
    row.changed_at = call.now;
    save_template(call.tx(), row);
    record(call, row, published ? "publish_template" : "unpublish_template",
           {{"published", published ? "false" : "true", published ? "true" : "false"}});
    return shown(row);
}

void Templates::add_routes(Router& router) const {
    router.add({.method = "GET",
                .path = "/api/v1/templates",
                .name = "list_templates",
                .group = "catalog",
                .summary = "What can be started on a machine, by slug.",
                .access = Access::anyone,
                .cache = api::Cache::open},
               [this](Call& call, const Query<TemplateQuery>& query) {
                   return list(call, *query, false);
               });
    router.add({.method = "GET",
                .path = "/api/v1/templates/{id}",
                .name = "show_template",
                .group = "catalog",
                .summary = "One template, by its slug or its id.",
                .access = Access::anyone,
                .errors = {Code::not_found},
                .cache = api::Cache::open},
               [this](Call& call, const Path<TemplatePath>& path) { return show(call, *path); });
    router.add(
        {.method = "GET",
         .path = "/api/v1/admin/templates",
         .name = "list_all_templates",
         .group = "admin",
         .summary = "Every template, also those that are not published.",
         .access = Access::admin},
        [this](Call& call, const Query<TemplateQuery>& query) { return list(call, *query, true); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/templates",
                .name = "add_template",
                .group = "admin",
                .summary = "Adds a template, not yet published.",
                .access = Access::admin,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .status = 201,
                .errors = {{Code::conflict, "another template has the slug"}}},
               [this](Call& call, const Body<TemplateDraft>& body) { return add(call, *body); });
    router.add(
        {.method = "PUT",
         .path = "/api/v1/admin/templates/{id}",
         .name = "replace_template",
         .group = "admin",
         .summary = "Writes a template anew; jobs keep what they were made with, and open "
                    "quotes of it cannot be used any more.",
         .access = Access::admin,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .errors = {Code::not_found, {Code::conflict, "it is published and would lose its image"}}},
        [this](Call& call, const Path<TemplateIdPath>& path, const Body<TemplateDraft>& body) {
            return replace(call, path->id, *body);
        });
    router.add({.method = "POST",
                .path = "/api/v1/admin/templates/{id}/publish",
                .name = "publish_template",
                .group = "admin",
                .summary = "Lets everybody see and start a template.",
                .access = Access::admin,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .errors = {Code::not_found, {Code::conflict, "it has no image"}}},
               [this](Call& call, const Path<TemplateIdPath>& path) {
                   return publish(call, path->id, true);
               });
    router.add({.method = "POST",
                .path = "/api/v1/admin/templates/{id}/unpublish",
                .name = "unpublish_template",
                .group = "admin",
                .summary = "Takes a template back; jobs that run it go on.",
                .access = Access::admin,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<TemplateIdPath>& path) {
                   return publish(call, path->id, false);
               });
}

}  // namespace berth::offers
