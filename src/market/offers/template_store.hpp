// All SQL of templates.
#pragma once

#include "offers/templates.hpp"

namespace berth::offers {

std::optional<TemplateRow> find_template_by_slug(db::Transaction& tx, std::string_view slug);
// To be changed: nobody else can until this transaction is over.
std::optional<TemplateRow> hold_template(db::Transaction& tx, TemplateId id);

struct TemplateFilter {
    std::optional<TemplateKind> kind;
    std::optional<wire::Decimal> vram_bytes;
    bool unpublished_too = false;
    std::string after_slug;
    std::int64_t rows_max = 0;
};
std::vector<TemplateRow> list_templates(db::Transaction& tx, const TemplateFilter& filter);
std::int64_t count_templates(db::Transaction& tx);

bool add_template(db::Transaction& tx, const TemplateRow& row);  // false when the slug is taken
void save_template(db::Transaction& tx, const TemplateRow& row);

}  // namespace berth::offers
