// The tables of offers and templates.
#include "offers/offers.hpp"

namespace berth::offers {
namespace {

constexpr db::Migration history[] = {
    // Rows are only ever added. Which version counts, and whether it is listed, is on the machine.
    {.feature = "offers",
     .number = 1,
     .sql = "CREATE TABLE offer_versions ("
            "  offer_id @id NOT NULL,"
            "  offer_version @int NOT NULL CHECK (offer_version >= 1),"
            "  machine_id @id NOT NULL,"
            "  rate_micro_per_hour @int NOT NULL CHECK (rate_micro_per_hour >= 0),"
            "  included_disk_gib @int NOT NULL CHECK (included_disk_gib >= 0),"
            "  included_egress_gib @int NOT NULL CHECK (included_egress_gib >= 0),"
            "  available_from @int NOT NULL,"
            "  available_until @int NOT NULL CHECK (available_until > available_from),"
            "  availability_class @text NOT NULL,"
            "  preemption_notice_s @int CHECK (preemption_notice_s BETWEEN 0 AND 3600),"
            "  created_at @int NOT NULL,"
            "  PRIMARY KEY (offer_id, offer_version),"
            "  CHECK ((availability_class = 'interruptible') = (preemption_notice_s IS NOT NULL))"
            ") @strict;"
            // What one model costs, of those that are on sale.
            "CREATE INDEX machines_by_model ON machines (gpu_model_key, listed_at)"
            "  WHERE offer_state = 'listed';"},
    {.feature = "offers",
     .number = 2,
     .sql = "CREATE TABLE templates ("
            "  template_id @id NOT NULL PRIMARY KEY,"
            "  slug @text NOT NULL UNIQUE,"
            "  name @text NOT NULL,"
            "  kind @text NOT NULL,"
            "  engine @text NOT NULL,"
            "  quantization @text,"
            "  image_digest @text,"
            "  image_source @text,"
            "  min_vram_bytes @int NOT NULL,"
            "  est_weights_bytes @int NOT NULL,"
            "  est_kv_bytes_per_1k_tokens @int NOT NULL,"
            "  fits_from_bytes @int NOT NULL,"
            "  min_gpu_count @int NOT NULL CHECK (min_gpu_count >= 1),"
            "  required_runtime @text NOT NULL,"
            "  exposes @text NOT NULL,"
            "  env @text NOT NULL,"
            "  setup_notes @text NOT NULL,"
            "  readiness_path @text,"
            "  max_model_len @int,"
            "  min_cuda @text,"
            "  gated @int NOT NULL,"
            "  start_deadline_s @int NOT NULL,"
            "  published_at @int,"
            "  changed_at @int NOT NULL,"
            "  CHECK (published_at IS NULL OR image_digest IS NOT NULL)"
            ") @strict;"},
    // What is started in place of what the image would start.
    {.feature = "offers",
     .number = 3,
     .sql = "ALTER TABLE templates ADD COLUMN command @text NOT NULL DEFAULT '[]';"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

}  // namespace berth::offers
