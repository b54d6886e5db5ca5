// Runs one of the host's programs (podman, nft, mkfs.ext4, …) and waits for it, with a deadline.
// Secrets go in by standard input, never by an argument.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace berth::host_agent {

struct Tool {
    std::vector<std::string> arguments;  // the first is the program, looked for in PATH
    std::string input{};
    std::string folder{};                              // where it works; empty: where we do
    std::map<std::string, std::string> environment{};  // added to ours
    std::chrono::steady_clock::time_point until =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const std::atomic<bool>* cancelled = nullptr;
    std::function<void()> meanwhile{};   // called every 200 ms or so while it runs
    std::function<void(pid_t)> begun{};  // called once it runs; if it throws the tool is ended
};

struct ToolOutcome {
    enum class End { exited, out_of_time, cancelled, not_started };
    End end = End::not_started;
    int status = 0;  // 128 + the signal that ended it
    std::string output{};
    std::string error{};

    bool good() const { return end == End::exited && status == 0; }
    // What it said that went wrong, as one line.
    std::string why() const;
};

// It and what it started in its process group is killed when it may not go on. Output that daemons
// of its making hold open is not waited for.
ToolOutcome run_tool(const Tool& tool);
// Throws std::runtime_error with what it said when it fails.
std::string run_tool_or_throw(const Tool& tool);

// All of it; empty when it cannot be read, as of a process that ends meanwhile.
std::string read_host_file(const std::string& path);

bool has_tool(const std::string& program);  // in PATH or where only root looks

}  // namespace berth::host_agent
