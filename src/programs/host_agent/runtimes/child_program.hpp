// Other programs.
#pragma once

#include <string>
#include <vector>

namespace berth::host_agent {

// Starts a program by its full path, with nothing but `input` on its standard input; waits for its
// end. Nothing of ours is open in it.
struct ProgramOutcome {
    int status = -1;  // of its exit; -1 when it did not end by itself
    std::string output;
};
ProgramOutcome run_program(const std::vector<std::string>& command, const std::string& input);

}  // namespace berth::host_agent
