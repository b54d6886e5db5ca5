// The terminal: data goes to standard output, everything else to standard error, and questions are
// asked only of a person. Nothing that a server sent reaches it with its control characters.
#pragma once

#include <string>
#include <string_view>

namespace berth::cli {

class Console {
public:
    Console();

    bool out_is_terminal() const { return out_is_terminal_; }
    bool can_ask() const { return in_is_terminal_ && err_is_terminal_; }
    bool err_is_terminal() const { return err_is_terminal_; }
    bool colours() const { return out_is_terminal_ && knows_colours_; }
    std::size_t columns() const;  // of the terminal that standard output is; 0: none

    void write(std::string_view data);  // to standard output, as it is
    // What a server sent: as it is into a pipe or a file, and onto a terminal without what steers
    // it.
    void write_received(std::string_view data);
    void flush();
    void say(std::string_view line);       // to standard error
    void progress(std::string_view line);  // in the place of the line before, on a terminal
    void note(std::string_view line);      // the same; where there is no terminal, as say()
    void draw(std::string_view lines);     // of our own making: to standard error, as they are
    void end_progress();
    void say_if_killed(std::string_view line);  // when SIGINT, SIGTERM or SIGHUP ends the program
    void set_quiet(bool quiet) { quiet_ = quiet; }  // say() is silent

    // A line of a person; throws a Failure when there is none to ask.
    std::string ask(std::string_view question);
    std::size_t question_columns() const;  // of the terminal that standard error is; 0: none
    bool question_colours() const { return err_is_terminal_ && knows_colours_; }
    std::string ask_secret(std::string_view question);  // not shown while it is typed
    bool confirm(std::string_view question);            // anything but yes is no

private:
    bool out_is_terminal_;
    bool err_is_terminal_;
    bool in_is_terminal_;
    bool knows_colours_;
    bool quiet_ = false;
    bool progressing_ = false;
};

// Without what would steer a terminal, or show a line in another order than it is written in. Of
// the control characters those stay that are `kept`.
std::string printable(std::string_view text, std::string_view kept = "\n");

// All of standard input, or of a file; "-" is standard input. `what` names it in a Failure.
std::string read_input(const std::string& file, std::string_view what);
// The same without the line end behind a secret.
std::string read_secret(const std::string& file, std::string_view what);

}  // namespace berth::cli
