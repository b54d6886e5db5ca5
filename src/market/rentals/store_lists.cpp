// SQL of lists of jobs.
#include <algorithm>

#include "db/name_list.hpp"
#include "rentals/store.hpp"

namespace berth::rentals {
namespace {

constexpr std::string_view list_jobs_sql =
    "SELECT job_id FROM jobs WHERE renter_id = $1 AND job_id < $2 ORDER BY job_id DESC LIMIT $3";
// Open ones have an index of their own: of a long history they are few.
std::string jobs_of_states_sql(const std::string& which) {
    return "SELECT job_id FROM jobs WHERE renter_id = $1 AND job_id < $2 "
           "AND state IN ($4, $5, $6, $7, $8, $9, $10, $11)" +
           which + " ORDER BY job_id DESC LIMIT $3";
}
const std::string list_jobs_in_sql = jobs_of_states_sql("");
const std::string list_open_jobs_in_sql =
    jobs_of_states_sql(" AND state IN " + db::name_list(open_states));
constexpr std::string_view list_state_sql =
    "SELECT job_id FROM jobs WHERE state = $1 AND job_id < $2 ORDER BY job_id DESC LIMIT $3";
constexpr std::string_view list_machine_jobs_sql =
    "SELECT job_id FROM jobs WHERE machine_id = $1 ORDER BY job_id DESC LIMIT $2";

JobId last_of_all() {
    JobId last;
    last.uuid.bytes.fill(static_cast<char>(0xff));
    return last;
}

std::vector<JobRow> read_jobs(db::Transaction& tx, const std::vector<JobId>& ids) {
    std::vector<JobRow> jobs;
    jobs.reserve(ids.size());
    for (const JobId& id : ids)
        if (auto job = find_job(tx, id)) jobs.push_back(std::move(*job));
    return jobs;
}

}  // namespace

std::vector<JobRow> list_jobs(db::Transaction& tx, AccountId renter,
                              const std::optional<JobId>& before, std::int64_t rows_max) {
    return read_jobs(tx, tx.fetch_values<JobId>(list_jobs_sql, renter,
                                                before.value_or(last_of_all()), rows_max));
}

std::vector<JobRow> list_jobs_in(db::Transaction& tx, std::span<const JobState> states,
                                 const std::optional<AccountId>& renter,
                                 const std::optional<JobId>& before, std::int64_t rows_max) {
    const JobId limit = before.value_or(last_of_all());
    if (renter) {
        std::array<JobState, states_count> asked{};
        asked.fill(states.front());
        std::copy(states.begin(), states.end(), asked.begin());
        const bool only_open = std::all_of(states.begin(), states.end(), is_open);
        return read_jobs(
            tx, tx.fetch_values<JobId>(only_open ? list_open_jobs_in_sql : list_jobs_in_sql,
                                       *renter, limit, rows_max, asked[0], asked[1], asked[2],
                                       asked[3], asked[4], asked[5], asked[6], asked[7]));
    }
    std::vector<JobId> ids;
    for (const JobState state : states) {
        const auto some = tx.fetch_values<JobId>(list_state_sql, state, limit, rows_max);
        ids.insert(ids.end(), some.begin(), some.end());
    }
    std::sort(ids.begin(), ids.end(), std::greater<>());
    if (ids.size() > static_cast<std::size_t>(rows_max))
        ids.resize(static_cast<std::size_t>(rows_max));
    return read_jobs(tx, ids);
}

// The filters that are there make the statement, so that each finds its index.
std::vector<JobRow> list_jobs_like(db::Transaction& tx, const JobFilter& filter,
                                   const std::optional<JobId>& before, std::int64_t rows_max) {
    std::string sql = "SELECT job_id FROM jobs WHERE job_id < $1";
    if (filter.state) sql += " AND state = $2";
    if (filter.renter) sql += " AND renter_id = $3";
    if (filter.host) sql += " AND host_id = $4";
    if (filter.machine) sql += " AND machine_id = $5";
    sql += " ORDER BY job_id DESC LIMIT $6";
    return read_jobs(tx, tx.fetch_values<JobId>(sql, before.value_or(last_of_all()),
                                                filter.state.value_or(JobState::RESERVED),
                                                filter.renter.value_or(AccountId{}),
                                                filter.host.value_or(AccountId{}),
                                                filter.machine.value_or(MachineId{}), rows_max));
}

std::vector<JobRow> list_machine_jobs(db::Transaction& tx, MachineId machine,
                                      std::int64_t rows_max) {
    return read_jobs(tx, tx.fetch_values<JobId>(list_machine_jobs_sql, machine, rows_max));
}

}  // namespace berth::rentals
