#include "agent_protocol/counters.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "wire/wire.hpp"

namespace berth::agent_protocol {
namespace {

struct StoredJob {
    JobId job_id;
    wire::Decimal lease_seq;
    wire::Decimal budget_version;
    Micro budget_micro;
};
BOOST_DESCRIBE_STRUCT(StoredJob, (), (job_id, lease_seq, budget_version, budget_micro))

struct Stored {
    wire::Constant<1> format;
    wire::Decimal fence;
    wire::List<StoredJob, 0, Counters::jobs_kept_max> jobs;
};
BOOST_DESCRIBE_STRUCT(Stored, (), (format, fence, jobs))

[[noreturn]] void fail(const std::string& path) {
    throw CountersLost(fmt::format("{}: {}", path, std::strerror(errno)));
}

// Durable once it returns: the bytes, and that the folder knows them.
void write_durably(const std::string& path, std::string_view text) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) fail(path);
    const bool written =
        ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const bool synced = written && ::fsync(file) == 0;
    if (::close(file) != 0 || !synced) fail(path);
}

void sync_folder(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const int handle = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (handle < 0) fail(folder);
    const bool synced = ::fsync(handle) == 0;
    ::close(handle);
    if (!synced) fail(folder);
}

}  // namespace

Counters::Counters(std::string path) : path_(std::move(path)) {
    if (!std::filesystem::exists(path_)) return;
    std::ifstream file(path_);
    std::stringstream text;
    if (!file || !(text << file.rdbuf())) throw CountersLost(path_ + ": cannot be read");
    try {
        const auto stored = wire::decode<Stored>(text.str(), "file");
        fence_ = stored.fence.value;
        for (const StoredJob& job : stored.jobs.value)
            jobs_[job.job_id] = {job.job_id, job.lease_seq.value, job.budget_version.value,
                                 job.budget_micro};
    } catch (const Problem& problem) {
        throw CountersLost(fmt::format("{}: {}", path_, problem.message));
    }
}

std::optional<JobCounters> Counters::job(JobId id) const {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Code> Counters::take_fence(std::int64_t fence) {
    if (fence < fence_) return Code::stale_fence;
    if (fence == fence_) return std::nullopt;
    fence_ = fence;
    save();
    return std::nullopt;
}

std::optional<Code> Counters::take_lease(JobId job, std::int64_t lease_seq) {
    JobCounters& known = counters_of(job);
    if (lease_seq < known.lease_seq) return Code::lease_seq_replay;
    if (lease_seq == known.lease_seq) return std::nullopt;
    known.lease_seq = lease_seq;
    save();
    return std::nullopt;
}

std::optional<Code> Counters::take_budget(JobId job, std::int64_t version, Micro amount) {
    JobCounters& known = counters_of(job);
    if (version < known.budget_version) return Code::budget_version_older;
    if (version == known.budget_version)
        return amount == known.budget_micro ? std::nullopt
                                            : std::optional(Code::budget_funding_mismatch);
    known.budget_version = version;
    known.budget_micro = amount;
    save();
    return std::nullopt;
}

void Counters::forget(JobId job) {
    if (jobs_.erase(job) != 0) save();
}

JobCounters& Counters::counters_of(JobId job) {
    if (!jobs_.contains(job) && jobs_.size() == jobs_kept_max)
        throw CountersLost(path_ + ": holds more jobs than an agent can have");
    JobCounters& known = jobs_[job];
    known.job_id = job;
    return known;
}

// Written beside the file and renamed over it: after a crash it is the old one or the new one.
void Counters::save() const {
    Stored stored;
    stored.fence.value = fence_;
    for (const auto& [id, job] : jobs_)
        stored.jobs.value.push_back({id, {job.lease_seq}, {job.budget_version}, job.budget_micro});
    const std::string draft = path_ + ".new";
    write_durably(draft, wire::encode(stored));
    if (::rename(draft.c_str(), path_.c_str()) != 0) fail(path_);
    sync_folder(path_);
}

}  // namespace berth::agent_protocol
