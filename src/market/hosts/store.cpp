#include "hosts/store.hpp"

namespace berth::hosts {
namespace {

db::Query<SummaryRow> summaries(std::string_view which) {
    std::string text =
        "SELECT {} FROM (SELECT m.machine_id, m.owner, m.state, m.manifest, m.manifest_hash, "
        "m.fence, m.version, h.last_healthy_at, m.gpu_model, m.gpu_count, m.vram_bytes, "
        "m.ram_bytes, m.disk_bytes, m.offer_version, m.offer_state, v.rate_micro_per_hour "
        "FROM machines AS m LEFT JOIN machine_health AS h ON h.machine_id = m.machine_id "
        "LEFT JOIN offer_versions AS v ON v.offer_id = m.offer_id "
        "AND v.offer_version = m.offer_version WHERE m.retired_at IS NULL AND ";
    text += which;
    text += ") AS page ORDER BY machine_id DESC";
    return db::Query<SummaryRow>(text);
}

const auto own_sql =
    summaries("m.owner = $1 AND m.machine_id < $2 ORDER BY m.machine_id DESC LIMIT $3");
const auto all_sql = summaries("m.machine_id < $1 ORDER BY m.machine_id DESC LIMIT $2");
const auto one_sql = summaries("m.machine_id = $1");

const db::Query<Sample> sample_sql("SELECT {} FROM machine_health WHERE machine_id = $1");

MachineId last_id() {
    MachineId last;
    last.uuid.bytes.fill(static_cast<char>(0xff));
    return last;
}

}  // namespace

std::vector<SummaryRow> list_machines(db::Transaction& tx, const std::optional<AccountId>& owner,
                                      const std::optional<MachineId>& before,
                                      std::int64_t rows_max) {
    const MachineId limit = before.value_or(last_id());
    return owner ? tx.fetch(own_sql, *owner, limit, rows_max) : tx.fetch(all_sql, limit, rows_max);
}

std::optional<SummaryRow> find_summary(db::Transaction& tx, MachineId id) {
    return tx.fetch_one(one_sql, id);
}

std::optional<Sample> find_sample(db::Transaction& tx, MachineId id) {
    return tx.fetch_one(sample_sql, id);
}

}  // namespace berth::hosts
