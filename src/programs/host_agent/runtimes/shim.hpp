// The parent of an engine's process, a program of its own (`berth-agent shim`): it is what runs on
// when the agent is killed. It reads what to start from standard input, so that no secret stands in
// arguments or on the disk; writes `process.json` before the engine begins and `exit.json` when
// everything that it started is gone; and keeps the newest of what was printed in `log` and
// `log.1`. SIGTERM makes it end the engine: SIGTERM, grace, SIGKILL.
#pragma once

#include <sys/types.h>

#include "wire/wire.hpp"

namespace berth::host_agent {

struct Launch {
    std::string folder;  // of the job
    std::vector<std::string> command;
    std::vector<std::string> environment;  // NAME=value, all there is
    wire::Count grace_ms{10'000};
    wire::Integer<-1, 2'000'000'000> user{-1};  // to become before the engine begins; -1: stay
    wire::Count files_max{4096};
    wire::Count processes_max{4096};
    wire::Count file_bytes_max;  // 0: no limit
    std::string group;           // a cgroup that it goes into; empty: it stays in ours
    // Who puts on the filter of system calls: bubblewrap, which itself needs what it forbids, from
    // `filter_descriptor`; or we, before the engine begins.
    bool hands_filter_on = false;
};
BOOST_DESCRIBE_STRUCT(Launch, (),
                      (folder, command, environment, grace_ms, user, files_max, processes_max,
                       file_bytes_max, group, hands_filter_on))
inline constexpr int filter_descriptor = 3;

// A process, and that it is the same one: numbers are given again.
struct ProcessName {
    wire::Count pid;
    wire::Count started_ticks;  // since boot
    std::string boot_id;
};
BOOST_DESCRIBE_STRUCT(ProcessName, (), (pid, started_ticks, boot_id))

struct ProcessEnd {
    wire::Count exit_code;  // 128 + the signal that ended it
    bool out_of_memory = false;
    std::optional<wire::Count> ended_us;  // since boot
};
BOOST_DESCRIBE_STRUCT(ProcessEnd, (), (exit_code, out_of_memory, ended_us))

inline constexpr std::size_t log_bytes_max = 256 * 1024;  // of each of the two files

// Reads a Launch from `input`, says "started" on `output` or why it could not. Its exit status.
// Both are of the three that every program has: whatever else is open is closed first.
int run_shim(int input, int output);

std::optional<ProcessName> name_process(pid_t pid);  // empty when there is none
bool is_alive(const ProcessName& name);

}  // namespace berth::host_agent
