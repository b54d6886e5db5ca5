#include "cli/console.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

#include "base/bytes.hpp"
#include "cli/exit.hpp"

namespace berth::cli {
namespace {

constexpr std::size_t input_bytes_max = 16 << 20;

std::size_t columns_of(int terminal) {
    winsize size{};
    return ::ioctl(terminal, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool is_set(const char* name) {
    const char* const value = ::getenv(name);
    return value != nullptr && *value != '\0';
}

// Set before the handler is, and not changed while it may run.
constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
termios terminal_before;
std::array<struct sigaction, ending_signals.size()> actions_before;

void show_what_is_typed(int when) {
    ::tcsetattr(STDIN_FILENO, when, &terminal_before);
    for (std::size_t i = 0; i < ending_signals.size(); ++i)
        ::sigaction(ending_signals[i], &actions_before[i], nullptr);
}

extern "C" void show_again_and_end(int number) {
    show_what_is_typed(TCSANOW);
    ::raise(number);  // SA_NODEFER: now it does what it did before
}

// Echo is off for as long as it lives, and on again for the shell where a signal ends the program
// meanwhile.
class EchoOff {
public:
    EchoOff() : changed_(::tcgetattr(STDIN_FILENO, &terminal_before) == 0) {
        if (!changed_) return;
        struct sigaction action {};
        action.sa_handler = show_again_and_end;
        action.sa_flags = SA_NODEFER;
        for (std::size_t i = 0; i < ending_signals.size(); ++i) {
            ::sigaction(ending_signals[i], nullptr, &actions_before[i]);
            if (actions_before[i].sa_handler != SIG_IGN)  // as under nohup
                ::sigaction(ending_signals[i], &action, nullptr);
        }
        termios now = terminal_before;
        now.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &now);
    }
    ~EchoOff() {
        if (changed_) show_what_is_typed(TCSAFLUSH);
    }
    EchoOff(const EchoOff&) = delete;
    EchoOff& operator=(const EchoOff&) = delete;

private:
    bool changed_;
};

// Likewise.
std::array<char, 200> killed_line;
std::size_t killed_line_size = 0;

extern "C" void say_and_end(int number) {
    const ssize_t written = ::write(STDERR_FILENO, killed_line.data(), killed_line_size);
    static_cast<void>(written);
    ::raise(number);  // SA_RESETHAND: now it does what it always does
}

std::string read_line() {
    std::string line;
    for (int c = std::getchar(); c != EOF && c != '\n'; c = std::getchar())
        line += static_cast<char>(c);
    if (line.empty() && std::feof(stdin) != 0)
        throw Failure(Exit::usage, "no answer was given, and nothing was done");
    return line;
}

}  // namespace

Console::Console()
    : out_is_terminal_(::isatty(STDOUT_FILENO) == 1),
      err_is_terminal_(::isatty(STDERR_FILENO) == 1),
      in_is_terminal_(::isatty(STDIN_FILENO) == 1),
      knows_colours_(!is_set("NO_COLOR")) {
    const char* const terminal = ::getenv("TERM");
    if (terminal == nullptr || std::string_view(terminal) == "dumb") knows_colours_ = false;
}

void Console::write(std::string_view data) {
    end_progress();
    std::fwrite(data.data(), 1, data.size(), stdout);
}

void Console::write_received(std::string_view data) {
    if (!out_is_terminal_) return write(data);
    std::string shown = printable(data, "\n\t\r");
    std::erase(shown, '\r');  // of the ends of lines; alone it would begin the line anew
    write(shown);
}

std::size_t Console::columns() const { return out_is_terminal_ ? columns_of(STDOUT_FILENO) : 0; }

std::size_t Console::question_columns() const {
    return err_is_terminal_ ? columns_of(STDERR_FILENO) : 0;
}

void Console::end_progress() {
    if (progressing_) fmt::print(stderr, "\r\033[K");
    progressing_ = false;
}

void Console::flush() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw Failure(Exit::unexpected, "standard output cannot be written");
}

void Console::say(std::string_view line) {
    if (quiet_) return;
    std::fflush(stdout);
    end_progress();
    fmt::print(stderr, "{}\n", printable(line));
}

void Console::draw(std::string_view lines) {
    end_progress();
    fmt::print(stderr, "{}", lines);
}

void Console::progress(std::string_view line) {
    if (!err_is_terminal_ || quiet_) return;
    // A line that wraps could not be taken back.
    std::string shown = printable(line);
    if (const std::size_t columns = columns_of(STDERR_FILENO); columns > 1)
        shown = shown.substr(0, columns - 1);
    fmt::print(stderr, "\r\033[K{}", shown);
    std::fflush(stderr);
    progressing_ = !line.empty();
}

void Console::note(std::string_view line) {
    if (err_is_terminal_)
        progress(line);
    else
        say(line);
}

void Console::say_if_killed(std::string_view line) {
    killed_line_size = std::min(line.size(), killed_line.size() - 1);
    std::copy_n(line.begin(), killed_line_size, killed_line.begin());
    killed_line[killed_line_size++] = '\n';
    struct sigaction action {};
    action.sa_handler = say_and_end;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before {};
        ::sigaction(number, nullptr, &before);
        if (before.sa_handler != SIG_IGN) ::sigaction(number, &action, nullptr);  // as under nohup
    }
}

std::string Console::ask(std::string_view question) {
    if (!can_ask())
        throw Failure(Exit::usage, fmt::format("cannot ask for {} without a terminal", question));
    end_progress();
    fmt::print(stderr, "{}: ", question);
    std::fflush(stderr);
    return read_line();
}

std::string Console::ask_secret(std::string_view question) {
    std::string answer;
    {
        const EchoOff echo_off;
        answer = ask(question);
    }
    fmt::print(stderr, "\n");
    return answer;
}

bool Console::confirm(std::string_view question) {
    const std::string answer = ask(fmt::format("{} [y/N]", question));
    return answer == "y" || answer == "Y" || answer == "yes";
}

namespace {

// U+202A to U+202E and U+2066 to U+2069: what follows is shown from right to left, or before what
// stands before it.
bool turns_around(std::string_view sequence) {
    if (sequence.size() != 3 || sequence[0] != '\xe2') return false;
    const auto last = static_cast<unsigned char>(sequence[2]);
    return (sequence[1] == '\x80' && last >= 0xaa && last <= 0xae) ||
           (sequence[1] == '\x81' && last >= 0xa6 && last <= 0xa9);
}

bool steers(std::string_view sequence, std::string_view kept) {
    const auto first = static_cast<unsigned char>(sequence[0]);
    const bool is_c1 =
        sequence.size() == 2 && first == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0;
    const bool is_c0 = first < 0x20 && kept.find(sequence[0]) == kept.npos;
    return is_c0 || is_c1 || first == 0x7f || turns_around(sequence);
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = utf8_sequence_length(text);
        if (length == 0 || steers(text.substr(0, length), kept))
            out += '?';
        else
            out += text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

std::string read_input(const std::string& file, std::string_view what) {
    std::string text;
    if (file == "-") {
        for (int c = std::getchar(); c != EOF && text.size() <= input_bytes_max; c = std::getchar())
            text += static_cast<char>(c);
    } else {
        std::ifstream in(file, std::ios::binary);
        std::array<char, 65'536> part;
        while (in && text.size() <= input_bytes_max) {
            in.read(part.data(), part.size());
            text.append(part.data(), static_cast<std::size_t>(in.gcount()));
        }
        if (!in.eof() && text.size() <= input_bytes_max)  // also a folder
            throw Failure(Exit::usage, fmt::format("{}: {} cannot be read", what, file));
    }
    if (text.size() > input_bytes_max)
        throw Failure(Exit::usage, fmt::format("{}: is larger than 16 MiB", what));
    return text;
}

std::string read_secret(const std::string& file, std::string_view what) {
    std::string text = read_input(file, what);
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    if (text.empty()) throw Failure(Exit::usage, fmt::format("{}: is empty", what));
    return text;
}

}  // namespace berth::cli
