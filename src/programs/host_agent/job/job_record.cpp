#include "host_agent/job/job_record.hpp"

#include <filesystem>

namespace berth::host_agent {

std::vector<JobRecord> JobRecords::all() const {
    std::vector<JobRecord> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
        const std::string path = entry.path().string() + "/record.json";
        const auto text = agent_protocol::read_durable(path);
        // The folder is made before the record and removed after it: without one there is no job.
        if (text) all.push_back(read_state<JobRecord>(path, *text));
    }
    return all;
}

void JobRecords::make_folder(JobId job) const { make_state_folder(folder(job)); }

void JobRecords::save(const JobRecord& record) const {
    make_folder(record.job_id);
    agent_protocol::write_durably(folder(record.job_id) + "/record.json", wire::encode(record));
}

void JobRecords::forget(JobId job) const {
    const std::string own = folder(job);
    if (std::filesystem::remove(own + "/record.json")) agent_protocol::sync_folder(own);
    std::filesystem::remove_all(own);
    agent_protocol::sync_folder(folder_);
}

}  // namespace berth::host_agent
