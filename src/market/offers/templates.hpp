// Templates: what renters start without writing an image of their own. A starter set ships with the
// program; operators add more. A published template is never deleted: jobs and links refer to it.
#pragma once

#include <functional>

#include "api/page.hpp"
#include "api/router.hpp"
#include "db/migrate.hpp"
#include "offers/template_types.hpp"

namespace berth::offers {

// A row, with its lists as the JSON text that they are stored as.
struct TemplateRow {
    TemplateId template_id;
    std::string slug;
    std::string name;
    TemplateKind kind = TemplateKind::classical;
    std::string engine;
    std::optional<std::string> quantization;
    std::optional<std::string> image_digest;
    std::optional<std::string> image_source;  // where the digest stands, for operators
    std::int64_t min_vram_bytes = 0;
    std::int64_t est_weights_bytes = 0;
    std::int64_t est_kv_bytes_per_1k_tokens = 0;
    std::int64_t fits_from_bytes = 0;  // smallest_vram_bytes()
    std::int64_t min_gpu_count = 1;
    Runtime required_runtime = Runtime::cuda;
    std::string command = "[]";
    std::string exposes = "[]";
    std::string env = "{}";
    std::string setup_notes;
    std::optional<std::string> readiness_path;
    std::optional<std::int64_t> max_model_len;
    std::optional<std::string> min_cuda;
    bool gated = false;
    std::int64_t start_deadline_s = 0;
    std::optional<Time> published_at;
    Time changed_at;  // with every change; the catalog follows it
};
BOOST_DESCRIBE_STRUCT(TemplateRow, (),
                      (template_id, slug, name, kind, engine, quantization, image_digest,
                       image_source, min_vram_bytes, est_weights_bytes, est_kv_bytes_per_1k_tokens,
                       fits_from_bytes, min_gpu_count, required_runtime, command, exposes, env,
                       setup_notes, readiness_path, max_model_len, min_cuda, gated,
                       start_deadline_s, published_at, changed_at))

FitNeeds needs_of(const TemplateRow& row);
// What a job of it starts, with its variables filled in; empty: what the image starts by itself.
std::vector<std::string> command_of(const TemplateRow& row);
Template shown(const TemplateRow& row);

// For the catalog, quotes and jobs.
std::optional<TemplateRow> find_template(db::Transaction& tx, TemplateId id);
inline constexpr std::int64_t templates_max = 1000;  // of all; the last one can be refused
std::vector<TemplateRow> published_templates(db::Transaction& tx);  // by id

// Adds what the program ships with and the database does not have; changes nothing that is there.
// Returns how many were added.
int plant_starter_templates(db::Transaction& tx, Time now);
std::span<const TemplateRow> starter_templates();

// What starts of a template usually take, by whoever keeps the jobs; none while too few are known.
using UsualStart =
    std::function<std::optional<TimeToReady>(db::Transaction& tx, TemplateId id, Time now)>;

class Templates {
public:
    explicit Templates(UsualStart usual_start) : usual_start_(std::move(usual_start)) {}

    void add_routes(api::Router& router) const;

private:
    api::Page<Template> list(api::Call& call, const TemplateQuery& query, bool all) const;
    Template show(api::Call& call, const TemplatePath& path) const;
    Template add(api::Call& call, const TemplateDraft& draft) const;
    Template replace(api::Call& call, TemplateId id, const TemplateDraft& draft) const;
    Template publish(api::Call& call, TemplateId id, bool published) const;

    const UsualStart usual_start_;
};

}  // namespace berth::offers
