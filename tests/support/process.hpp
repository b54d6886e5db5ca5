// Real processes: starting a program of ours, waiting for it to be ready, ending it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "http/client.hpp"

namespace berth::test {

// Where the programs of this build are (beside the test program itself).
std::string program_path(const std::string& name);

class Process {
public:
    // Starts `arguments[0]`; its standard output and error go to `log_path`.
    Process(const std::vector<std::string>& arguments, const std::string& log_path);
    ~Process();  // SIGKILL, if it still runs
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void signal(int number) const;
    int wait();  // exit status, or 128 + the signal that ended it
    bool running();
    pid_t pid() const { return pid_; }
    const std::string& log_path() const { return log_path_; }

private:
    std::string log_path_;
    pid_t pid_;
};

std::string read_text(const std::string& path);

// A port nobody listens on, and that no other test is given while this process lives.
std::uint16_t free_port();
// The first of as many in a row.
std::uint16_t free_ports(std::uint16_t count);

// Asks `url` until it answers with 200; false when `process` ended or the time is up.
bool wait_until_ready(Process& process, const std::string& url);

// What a command prints and how it ends.
struct Outcome {
    int status;
    std::string output;
};
Outcome run_program(const std::vector<std::string>& arguments);

}  // namespace berth::test
