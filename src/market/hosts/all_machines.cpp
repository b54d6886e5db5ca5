#include "hosts/all_machines.hpp"

#include "db/db.hpp"
#include "wire/wire.hpp"

namespace berth::hosts {
namespace {

struct AllMachinesRow {
    MachineId machine_id;
    AccountId owner;
    std::optional<std::string> label;
    machines::MachineState state{};
    std::int64_t version = 0;
    std::optional<std::string> gpu_model;
    std::optional<std::int64_t> gpu_count;
    machines::VerificationLevel verification_level{};
    std::optional<machines::OfferState> offer_state;
    machines::QualifyState qualify_state{};
    std::optional<std::string> qualify_reason;
    std::optional<machines::QuarantineCause> quarantined_by;
    std::optional<JobId> job_id;
    std::optional<Time> last_healthy_at;
    Time enrolled_at;
    Time changed_at;
    std::optional<Time> retired_at;
    machines::Reach reach{};
    std::optional<std::string> reach_why;
};
BOOST_DESCRIBE_STRUCT(AllMachinesRow, (),
                      (machine_id, owner, label, state, version, gpu_model, gpu_count,
                       verification_level, offer_state, qualify_state, qualify_reason,
                       quarantined_by, job_id, last_healthy_at, enrolled_at, changed_at, retired_at,
                       reach, reach_why))

const std::string machines_sql =
    "SELECT {} FROM (SELECT m.machine_id, m.owner, m.label, m.state, m.version, m.gpu_model, "
    "m.gpu_count, m.verification_level, m.offer_state, m.qualify_state, m.qualify_reason, "
    "m.quarantined_by, m.job_id, h.last_healthy_at, m.enrolled_at, m.changed_at, m.retired_at, "
    "m.reach, m.reach_why "
    "FROM machines AS m LEFT JOIN machine_health AS h ON h.machine_id = m.machine_id ";
db::Query<AllMachinesRow> machines_of_all(const std::string& which) {
    return db::Query<AllMachinesRow>(
        machines_sql + "WHERE m.machine_id < $1 AND " + which +
        " AND (m.state = $3 OR $3 IS NULL) AND (m.offer_state = $4 OR $4 IS NULL) "
        "AND (m.qualify_state = $5 OR $5 IS NULL) AND (m.retired_at IS NULL) <> ($6 = 1) "
        "AND (m.reach = $7 OR $7 IS NULL) ORDER BY m.machine_id DESC LIMIT $8) AS page ORDER BY "
        "machine_id DESC");
}
const auto machines_of_all_sql = machines_of_all("$2 IS NULL");
const auto machines_of_one_sql = machines_of_all("m.owner = $2");
const db::Query<AllMachinesRow> one_machine_sql(machines_sql + "WHERE m.machine_id = $1) AS one");

AdminMachine shown_to_operator(const AllMachinesRow& row) {
    AdminMachine machine;
    machine.machine_id = row.machine_id;
    machine.owner = row.owner;
    machine.label = row.label;
    machine.state = row.state;
    machine.version = {row.version};
    machine.gpu_model = row.gpu_model;
    if (row.gpu_count) machine.gpu_count = wire::Count{*row.gpu_count};
    machine.verification_level = row.verification_level;
    machine.offer = row.offer_state;
    machine.test = row.qualify_state;
    machine.test_reason = row.qualify_reason;
    machine.quarantined_by = row.quarantined_by;
    machine.current_job_id = row.job_id;
    machine.last_healthy_at = row.last_healthy_at;
    machine.enrolled_at = row.enrolled_at;
    machine.changed_at = row.changed_at;
    machine.retired_at = row.retired_at;
    machine.reach = row.reach;
    machine.reach_why = row.reach_why;
    return machine;
}

}  // namespace

api::Page<AdminMachine> list_all_machines(api::Call& call, const AdminMachinesQuery& query) {
    AdminMachinesQuery filters = query;
    filters.cursor.reset();
    filters.limit.reset();
    const api::Pager pager(call.cursors, {"operators' machines", wire::encode(filters)}, query);
    if (query.machine)
        return pager.page(call.tx().fetch(one_machine_sql, *query.machine),
                          &AllMachinesRow::machine_id, shown_to_operator);
    MachineId last;
    last.uuid.bytes.fill(static_cast<char>(0xff));
    const auto rows = call.tx().fetch(
        query.owner ? machines_of_one_sql : machines_of_all_sql,
        pager.after_id<MachineId>().value_or(last), query.owner, query.state, query.offer,
        query.test, query.retired.value_or(false), query.reach, pager.rows_wanted());
    return pager.page(rows, &AllMachinesRow::machine_id, shown_to_operator);
}

void add_all_machines_route(api::Router& router) {
    router.add({.method = "GET",
                .path = "/api/v1/admin/machines",
                .name = "list_all_machines",
                .group = "admin",
                .summary = "Machines of all accounts, newest first.",
                .access = api::Access::operator_},
               [](api::Call& call, const api::Query<AdminMachinesQuery>& query) {
                   return list_all_machines(call, *query);
               });
}

}  // namespace berth::hosts
