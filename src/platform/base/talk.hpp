// Another program that is asked line by line and answers each with one line, for as long as it is
// needed. It ends with this object, and its standard input with our process.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace berth {

class Talk {
public:
    // Starts it; the first is the program, looked up in PATH. Throws std::runtime_error with one
    // sentence, like everything here.
    explicit Talk(const std::vector<std::string>& arguments);
    ~Talk();
    Talk(const Talk&) = delete;
    Talk& operator=(const Talk&) = delete;

    void say(const std::string& line);
    // The next line that it prints.
    std::string hear(std::chrono::milliseconds within);

private:
    Descriptor input_;   // of the program
    Descriptor output_;  // likewise
    std::string heard_;  // and not yet a line
    int process_ = -1;
};

}  // namespace berth
