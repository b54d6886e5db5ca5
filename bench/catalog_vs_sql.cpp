// A filtered page over HTTP, against the same page straight from PostgreSQL by pgbench: the tables
// of the service, indexes for the very filters and order, and JSON that the query builds. Before
// anything is measured the two pages are compared, every member of every item as a JSON value. The
// cursor alone is left out, because SQL lacks the key that seals it; so PostgreSQL is spared it,
// and the look for an offer behind the page.
//
// `flat` is what PostgreSQL does when nothing is left to join, to fit or to render: each item
// stands with its finished JSON in one table that is made for this query and never changes.
#include <fstream>

#include "bench/catalog_server.hpp"
#include "bench/pgbench.hpp"
#include "ledger/settings.hpp"
#include "wire/wire.hpp"

namespace {

using namespace berth;

constexpr int rounds = 3;

// The page is found without a look at a row: one index has the order and everything that filters
// ask of a machine, the others what they ask of its offer and of its heartbeats.
constexpr const char* indexes =
    "CREATE INDEX page_order ON machines (continent, tflops_milli DESC NULLS LAST, offer_id)"
    " INCLUDE (machine_id, owner, offer_version, gpu_model, verification_level, offerable, mode)"
    " WHERE offer_state = 'listed' AND retired_at IS NULL AND state = 'AVAILABLE';"
    "CREATE INDEX page_version ON offer_versions (offer_id, offer_version)"
    " INCLUDE (rate_micro_per_hour, available_from, available_until, availability_class);"
    "CREATE INDEX page_heard ON machine_health (machine_id) INCLUDE (last_healthy_at);";

// With what a page needs of its tables and of one template, and what the fit compares.
constexpr const char* page_rows = R"(
WITH moment AS (SELECT (extract(epoch FROM now()) * 1000000)::bigint AS now),
asked AS (
  SELECT kind, min_gpu_count, min_vram_bytes, est_weights_bytes,
    replace(required_runtime, 'rocm-hip', 'rocm') AS runtime,
    string_to_array(min_cuda, '.')::int[] AS min_cuda,
    kind = 'model' AND engine IN ('vllm', 'sglang', 'tgi', 'llama.cpp', 'tensorrt-llm') AS splits,
    est_weights_bytes + est_kv_bytes_per_1k_tokens * ((coalesce(max_model_len, 0) + 999) / 1000)
      + greatest(1073741824, est_weights_bytes / 20) AS need
  FROM templates WHERE template_id = '{template_id}' AND published_at IS NOT NULL),
found AS (
  SELECT m.machine_id, m.offer_id, m.offer_version, m.tflops_milli, h.last_healthy_at
  FROM machines m
  JOIN offer_versions v ON v.offer_id = m.offer_id AND v.offer_version = m.offer_version
  JOIN accounts a ON a.account_id = m.owner
  JOIN machine_health h ON h.machine_id = m.machine_id
  WHERE m.offer_state = 'listed' AND m.retired_at IS NULL AND m.state = 'AVAILABLE'
    AND m.verification_level <> 'unverified' AND m.offerable IS DISTINCT FROM 0
    AND (m.mode IS NULL OR (v.availability_class = 'dedicated') = (m.mode = 'dedicated'))
    AND a.suspended = 0 AND m.continent = 'EU' AND lower(m.gpu_model) LIKE '%rtx 4090%'
    AND v.rate_micro_per_hour <= 150000 AND v.available_from <= (SELECT now FROM moment)
    AND v.available_until > (SELECT now FROM moment)
    AND h.last_healthy_at >= (SELECT now FROM moment) - 90000000
  ORDER BY m.tflops_milli DESC NULLS LAST, m.offer_id LIMIT 20),
page AS (
  SELECT m.*, v.rate_micro_per_hour, v.included_disk_gib, v.included_egress_gib, v.available_from,
    v.available_until AS ends_at, v.availability_class AS class, v.preemption_notice_s,
    greatest(0, (SELECT now FROM moment) - f.last_healthy_at) / 1000000 AS age
  FROM found f JOIN machines m USING (machine_id)
  JOIN offer_versions v ON v.offer_id = f.offer_id AND v.offer_version = f.offer_version),
shared AS (
  SELECT p.*, t.*, string_to_array(p.backends, ',') AS served,
    CASE WHEN t.need + 536870912 <= p.vram_bytes * 95 / 100 OR NOT t.splits THEN 1
      ELSE 1 << floor(log(2, greatest(p.gpu_count, 1)))::int END AS gpus
  FROM page p CROSS JOIN asked t),
fitted AS (
  SELECT *, gpus * (vram_bytes * 95 / 100) - need - gpus * 536870912 AS room,
    CASE WHEN tier = 'inference' AND kind <> 'model' THEN 'tier'
      WHEN NOT runtime = ANY (served) THEN 'runtime'
      WHEN coalesce(gpu_count, 0) < min_gpu_count THEN 'gpu_count'
      WHEN vram_bytes IS NULL THEN 'vram_unmeasured'
      WHEN min_cuda > coalesce(string_to_array(cuda_max, '.')::int[], '{{-1}}') THEN 'driver'
      WHEN vram_bytes < min_vram_bytes THEN 'vram'
      WHEN est_weights_bytes > 0 AND gpus * (vram_bytes * 95 / 100) < need + gpus * 536870912
        THEN 'vram' END AS reason
  FROM shared)
)";

// What every item has, what some have, and what may be null in it.
constexpr const char* page_items = R"(
SELECT '{{"items":[' || string_agg(left(json_build_object(
  'offer_id', offer_id, 'offer_version', offer_version::text, 'model', gpu_model,
  'gpu_model_key', gpu_model_key, 'gpu_count', gpu_count,
  'total_rate_micro_per_hour', rate_micro_per_hour::text,
  'rate_micro_per_gpu_hour', (rate_micro_per_hour / greatest(gpu_count, 1))::text,
  'readiness', 'ready', 'verification_level', verification_level,
  'included_quotas', json_build_object(
    'included_disk_gib', included_disk_gib, 'included_egress_gib', included_egress_gib),
  'available_from', {available_from}, 'available_until', {ends_at}, 'tier', tier,
  'backends', served, 'availability_class', class,
  'accepts_custom_images', accepts_custom_images <> 0, 'runtime', runtime_kind,
  'listed_at', {listed_at}, 'platform_fee_bps', {fee}, 'last_seen_age_s', age,
  'fit', json_build_object('fits', reason IS NULL, 'reason', reason, 'headroom_bytes',
    CASE WHEN reason IS NOT NULL THEN 0 WHEN est_weights_bytes = 0 THEN vram_bytes - min_vram_bytes
      ELSE room END::text))::text, -1)
|| ',' || substr(json_strip_nulls(json_build_object(
  'preemption_notice_s', preemption_notice_s, 'continent', continent,
  'vram_bytes', vram_bytes::text, 'ram_bytes', ram_bytes::text, 'disk_bytes', disk_bytes::text,
  'cpu_cores', cpu_cores_measured, 'download_mbps', download_mbps_milli / 1000.0::float8,
  'upload_mbps', upload_mbps_milli / 1000.0::float8,
  'gpu_mem_bw_gbps', gpu_mem_bw_gbps_milli / 1000.0::float8,
  'tflops', tflops_milli / 1000.0::float8, 'ai_speed_tok_s', ai_speed_tok_s_milli / 1000.0::float8,
  'driver_version', driver_version, 'cuda_max', cuda_max, 'uptime_bps', uptime_bps,
  'reliability', CASE WHEN rated_jobs > 0 THEN json_build_object('score',
    (rated_jobs - faulted_jobs) * 10000 / rated_jobs / 10000.0::float8, 'sample_jobs', rated_jobs)
    END,
  'interruption', CASE WHEN class = 'interruptible' AND interruptible_runs > 0 THEN
    json_build_object('runs', interruptible_runs, 'uninterrupted', uninterrupted_runs,
      'horizon_h', 24, 'computed_at', {interruption_at}, 'summary', uninterrupted_runs || ' of ' ||
      interruptible_runs || ' runs reached 24 hours without interruption.') END))::text, 2), ','
  ORDER BY tflops_milli DESC NULLS LAST, offer_id)
|| ']}}' FROM fitted)";

// RFC 3339 with a fraction of no, three or six digits. To pgbench a colon before a letter is the
// beginning of a name.
std::string shown(std::string_view column) {
    constexpr std::string_view format = R"('YYYY-MM-DD"T"HH24":"MI":"SS.US"Z"')";
    return fmt::format(
        "replace(replace(to_char(timestamp '1970-01-01' + {} * interval "
        "'1 microsecond', {}), '.000000Z', 'Z'), '000Z', 'Z')",
        column, format);
}

std::string page_statement(offers::TemplateId template_id) {
    const std::string page = fmt::format("{}{}", page_rows, page_items);
    return fmt::format(fmt::runtime(page), fmt::arg("template_id", to_string(template_id)),
                       fmt::arg("available_from", shown("available_from")),
                       fmt::arg("ends_at", shown("ends_at")),
                       fmt::arg("listed_at", shown("listed_at")),
                       fmt::arg("interruption_at", shown("interruption_at")),
                       fmt::arg("fee", *ledger::Settings{}.platform_fee_bps));
}

constexpr const char* flat_table =
    "CREATE TABLE flat AS SELECT m.offer_id, m.continent, m.tflops_milli AS tflops, "
    "v.rate_micro_per_hour AS rate, lower(m.gpu_model) AS model, h.last_healthy_at AS heard, "
    "i.item "
    "FROM machines m JOIN offer_versions v USING (offer_id, offer_version) "
    "JOIN items i USING (offer_id) JOIN machine_health h ON h.machine_id = m.machine_id";
constexpr const char* flat_sql =
    "SELECT item FROM flat WHERE continent = 'EU' AND model LIKE '%rtx 4090%' AND rate <= 150000 "
    "AND heard > 0 ORDER BY tflops DESC, offer_id LIMIT 20";

// Every item as the catalog sends it, by its offer.
void copy_items(bench::CatalogServer& server) {
    server.database().write([](db::Transaction& tx) {
        tx.script("CREATE TABLE items AS SELECT offer_id, ''::text AS item FROM machines LIMIT 0");
    });
    std::string cursor;
    do {
        const std::string page = server.page("?limit=100" + cursor);
        server.database().write([&](db::Transaction& tx) {
            tx.run(
                "INSERT INTO items SELECT (item ->> 'offer_id')::uuid, item::text "
                "FROM json_array_elements($1::json -> 'items') AS item",
                page);
        });
        const auto next =
            wire::decode<api::Page<catalog::OfferSummary>>(page, "page").next_cursor.value;
        cursor = next ? "&cursor=" + *next : "";
    } while (!cursor.empty());
}

// PostgreSQL compares: what it built itself with what it is given.
void require_same_page(db::Database& database, const std::string& sql, const std::string& ours) {
    const std::string theirs = database.read(
        [&](db::Transaction& tx) { return tx.fetch_value<std::string>(sql).value_or("nothing"); });
    const bool same = database
                          .read([&](db::Transaction& tx) {
                              return tx.fetch_value<bool>(
                                  "SELECT (($1::jsonb - 'next_cursor') = $2::jsonb AND "
                                  "jsonb_array_length($1::jsonb -> 'items') = 20)::int",
                                  ours, theirs);
                          })
                          .value();
    if (!same)
        throw std::runtime_error("the pages differ; PostgreSQL's:\n" + theirs + "\nours:\n" + ours);
}

double pages_of_sql(const test::PostgresCluster& cluster, const std::string& sql) {
    std::ofstream(cluster.folder() / "page.sql") << sql << ";\n";
    return bench::pgbench_per_second(cluster, 16, "--time=3", "page.sql");
}

void measure() {
    const test::PostgresCluster cluster(
        "fsync = off\nmax_wal_size = 4GB\n"
        "random_page_cost = 1.1\n");
    bench::CatalogServer server(bench::usual_offers, cluster.url());
    server.start();
    copy_items(server);
    server.database().write([](db::Transaction& tx) {
        tx.script(flat_table);
        tx.script("CREATE INDEX flat_page ON flat (continent, tflops DESC, offer_id, rate)");
        tx.script("CREATE INDEX flat_rate ON flat (continent, rate)");
        tx.script(indexes);
    });
    if (!cluster.run("vacuumdb --analyze postgres", cluster.folder() / "vacuum.log"))
        throw std::runtime_error("VACUUM failed");
    const auto templates =
        server.database().read([](db::Transaction& tx) { return offers::published_templates(tx); });
    const offers::TemplateId asked = templates.at(0).template_id;
    const std::string query =
        fmt::format("{}&template_id={}", bench::selective_query, to_string(asked));
    static const std::string page_sql = page_statement(asked);  // as long as the program
    require_same_page(server.database(), page_sql, server.page(query));

    std::vector<double> ours;
    std::vector<double> theirs;
    std::vector<double> flat;
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(bench::pages_per_second(server.url(query)));
        theirs.push_back(pages_of_sql(cluster, page_sql));
        flat.push_back(pages_of_sql(cluster, flat_sql));
    }
    const double pages = bench::median(ours);
    fmt::print(
        "BENCH catalog_vs_sql ours={:.0f} baseline=postgres:{:.0f} ratio={:.2f} flat={:.0f} "
        "flat_ratio={:.2f} {}\n",
        pages, bench::median(theirs), pages / bench::median(theirs), bench::median(flat),
        pages / bench::median(flat), bench::wrk_latencies("-t1 -c64 -d3s " + server.url(query)));
}

}  // namespace

int main() { return bench::run("catalog_vs_sql", measure); }
