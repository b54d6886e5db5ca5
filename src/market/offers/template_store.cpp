#include "offers/template_store.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace berth::offers {
namespace {

const db::Query<TemplateRow> find_template_sql("SELECT {} FROM templates WHERE template_id = $1");
const db::Query<TemplateRow> find_by_slug_sql("SELECT {} FROM templates WHERE slug = $1");
// An update of nothing takes the row for this transaction.
const db::Query<TemplateRow> hold_sql(
    "UPDATE templates SET changed_at = changed_at WHERE template_id = $1 RETURNING {}");
const db::Query<TemplateRow> published_sql(
    "SELECT {} FROM templates WHERE published_at IS NOT NULL ORDER BY template_id LIMIT $1");
const db::Query<TemplateRow> list_templates_sql(
    "SELECT {} FROM templates WHERE slug > $1 AND fits_from_bytes <= $2 "
    "AND (kind = $3 OR $3 = '') AND (published_at IS NOT NULL OR $4 = 1) "
    "ORDER BY slug LIMIT $5");
constexpr std::string_view count_sql = "SELECT COUNT(*) FROM templates";
const db::Query<TemplateRow> add_template_sql(
    "INSERT INTO templates ({}) VALUES ({$}) ON CONFLICT (slug) DO NOTHING");
const db::Query<TemplateRow> plant_sql(
    "INSERT INTO templates ({}) VALUES ({$}) ON CONFLICT DO NOTHING");
constexpr std::string_view renew_sql =
    "UPDATE templates SET image_digest = $2, env = $3, command = $4, changed_at = $5 "
    "WHERE template_id = $1 AND image_digest = $6 AND env = $7 AND command = '[]'";
// Starter templates of an earlier version named images of Docker's registry without it.
constexpr std::string_view name_registry_sql =
    "UPDATE templates SET image_digest = $2, changed_at = $3 "
    "WHERE template_id = $1 AND image_digest = $4";
const db::Query<TemplateRow> save_template_sql("UPDATE templates SET {=} WHERE template_id = $1");

// What starter templates had in the last version, where it was something else.
struct FormerEnv {
    std::string_view slug;
    std::string_view env;
};
constexpr FormerEnv former_envs[] = {
    {"vllm-qwen2-5-7b-instruct",
     R"({"HF_HOME":"/work/hub","MAX_MODEL_LEN":"32768","MODEL_ID":"Qwen/Qwen2.5-7B-Instruct"})"},
    {"vllm-qwen3-8b",
     R"({"HF_HOME":"/work/hub","MAX_MODEL_LEN":"16384","MODEL_ID":"Qwen/Qwen3-8B"})"},
    {"vllm-qwen2-5-72b-instruct",
     R"({"HF_HOME":"/work/hub","MAX_MODEL_LEN":"32768","MODEL_ID":"Qwen/Qwen2.5-72B-Instruct",)"
     R"("TENSOR_PARALLEL_SIZE":"4"})"},
    {"jupyter-pytorch", R"({"HOME":"/work","JUPYTER_RUNTIME_DIR":"/work/.jupyter"})"},
    {"whisper", R"({"HF_HOME":"/work/hub"})"},
};

// A template that is as the last version planted it becomes what it is in this one. What an
// operator has changed stays, but for an image that names no registry, which no host would pull.
void renew(db::Transaction& tx, const TemplateRow& row, Time now) {
    if (!row.image_digest) return;
    constexpr std::string_view registry = "docker.io/";
    const std::string& image = *row.image_digest;
    const bool is_renamed = image.starts_with(registry);
    const std::string former_image = is_renamed ? image.substr(registry.size()) : image;
    const auto* former =
        std::ranges::find(former_envs, std::string_view(row.slug), &FormerEnv::slug);
    const bool has_other_env = former != std::end(former_envs);
    const std::string former_env = has_other_env ? std::string(former->env) : row.env;
    if (is_renamed || has_other_env)
        tx.run(renew_sql, row.template_id, image, row.env, row.command, now, former_image,
               former_env);
    if (is_renamed) tx.run(name_registry_sql, row.template_id, image, now, former_image);
}

}  // namespace

std::optional<TemplateRow> find_template(db::Transaction& tx, TemplateId id) {
    return tx.fetch_one(find_template_sql, id);
}

std::optional<TemplateRow> find_template_by_slug(db::Transaction& tx, std::string_view slug) {
    return tx.fetch_one(find_by_slug_sql, slug);
}

std::optional<TemplateRow> hold_template(db::Transaction& tx, TemplateId id) {
    return tx.fetch_one(hold_sql, id);
}

std::vector<TemplateRow> published_templates(db::Transaction& tx) {
    return tx.fetch(published_sql, templates_max);
}

std::vector<TemplateRow> list_templates(db::Transaction& tx, const TemplateFilter& filter) {
    const std::int64_t vram =
        filter.vram_bytes ? filter.vram_bytes->value : std::numeric_limits<std::int64_t>::max();
    const std::string kind(filter.kind ? enum_name(*filter.kind) : "");
    return tx.fetch(list_templates_sql, filter.after_slug, vram, kind,
                    filter.unpublished_too ? 1 : 0, filter.rows_max);
}

std::int64_t count_templates(db::Transaction& tx) {
    return tx.fetch_value<std::int64_t>(count_sql).value_or(0);
}

bool add_template(db::Transaction& tx, const TemplateRow& row) {
    return tx.insert(add_template_sql, row).affected == 1;
}

void save_template(db::Transaction& tx, const TemplateRow& row) {
    tx.insert(save_template_sql, row);
}

int plant_starter_templates(db::Transaction& tx, Time now) {
    std::int64_t added = 0;
    for (TemplateRow row : starter_templates()) {
        row.changed_at = now;
        if (row.published_at) row.published_at = now;
        added += tx.insert(plant_sql, row).affected;
        renew(tx, row, now);
    }
    return static_cast<int>(added);
}

}  // namespace berth::offers
