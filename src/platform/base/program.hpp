// Another program, run to its end: what it printed and how it ended, within a time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace berth {

struct ProgramCall {
    std::vector<std::string> arguments;         // the first is the program, looked up in PATH
    std::string input = {};                     // its standard input: the place for secrets
    std::vector<std::string> environment = {};  // NAME=value, beside ours and before it
    std::string folder = {};                    // where it runs; empty is where we do
    std::chrono::milliseconds deadline = std::chrono::seconds(30);
    std::size_t output_bytes_max = 1 << 20;  // of each stream; the rest is read and dropped
};

struct ProgramEnd {
    int status = 0;  // of its exit, or 128 + the signal that ended it; 127 when it did not start
    bool timed_out = false;  // it was killed, and everything of its process group with it
    std::string output;
    std::string errors;

    bool ok() const { return status == 0 && !timed_out; }
};

// Waits for it. A program that cannot be started ends with 127 and says why in `errors`.
ProgramEnd run_program(const ProgramCall& call);

}  // namespace berth
