// The programs that the box starts, each in a session of its own with its output in a file. They
// end with the box, however it ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace berth::box {

using Words = std::vector<std::string>;

class Child {
public:
    Child(std::string name, const Words& words, std::string log);
    Child(Child&& other) noexcept;
    Child& operator=(Child&&) = delete;
    ~Child();  // kills it, if it still runs

    const std::string& name() const { return name_; }
    const std::string& log() const { return log_; }
    void ask_to_end() const;  // SIGTERM
    bool is_over();           // and its status is known then
    int status() const { return status_; }

private:
    std::string name_;
    std::string log_;
    pid_t pid_ = -1;  // -1 once it is over
    int status_ = 0;
};

// What agents start outlives them: it becomes a child of the box, and ends here.
void adopt_orphans();
void end_orphans();

// The terminal, or whoever started the box, wants it to end.
class Interrupted : public std::exception {};

// Blocks the signals that end the box, here and in every thread; children are born without that.
void hold_signals();
// Throws Interrupted when one came within that time.
void pause_for(std::chrono::milliseconds span);

}  // namespace berth::box
