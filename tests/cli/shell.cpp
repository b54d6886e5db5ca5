#include "cli/shell.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "support/process.hpp"
#include "support/sanitized.hpp"

namespace berth::test {
namespace {

constexpr int silence_ms_max = 60'000;

[[noreturn]] void become(const std::vector<std::string>& words,
                         const std::vector<std::string>& variables) {
    const std::string program = program_path("berth");
    std::vector<char*> list{const_cast<char*>(program.c_str())};
    for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
    list.push_back(nullptr);
    std::vector<char*> set;
    for (const std::string& each : variables) set.push_back(const_cast<char*>(each.c_str()));
    set.push_back(nullptr);
    ::execve(program.c_str(), list.data(), set.data());
    ::_exit(127);
}

int wait_for(pid_t child) {
    int raw = 0;
    while (::waitpid(child, &raw, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
}

// What comes before the other side closes.
std::string read_more(int from, const std::string& before) {
    pollfd waited{from, POLLIN, 0};
    if (::poll(&waited, 1, silence_ms_max) != 1)
        throw std::runtime_error("berth says nothing after: " + before);
    char part[4096];
    const ssize_t count = ::read(from, part, sizeof part);
    return count > 0 ? std::string(part, static_cast<std::size_t>(count)) : std::string();
}

}  // namespace

Shell::Shell(std::string server) {
    environment = {{"BERTH_HOME", home()},
                   {"BERTH_SERVER", std::move(server)},
                   {"TERM", "xterm"},
                   {"PATH", std::getenv("PATH")}};
    if (sanitized) environment["ASAN_OPTIONS"] = "detect_leaks=0";
}

std::vector<std::string> Shell::variables() const {
    std::vector<std::string> all;
    for (const auto& [name, value] : environment) all.push_back(name + "=" + value);
    return all;
}

std::string Shell::file(const std::string& name, const std::string& text) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
}

Printed Shell::run(const std::vector<std::string>& words, const std::string& input) const {
    const std::string in = file("stdin", input);
    const std::string out = folder_.path() + "/stdout";
    const std::string err = folder_.path() + "/stderr";
    const auto set = variables();
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(::open(in.c_str(), O_RDONLY), STDIN_FILENO);
        ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
        ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
        become(words, set);
    }
    const int status = wait_for(child);
    return {status, read_text(out), read_text(err)};
}

Printed Shell::run_on_terminal(const std::vector<std::string>& words,
                               const std::vector<Typed>& answers) const {
    const auto set = variables();
    int terminal = -1;
    winsize size{50, columns, 0, 0};
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
    if (child == 0) become(words, set);
    Printed printed;
    std::size_t next = 0;
    std::size_t seen = 0;
    for (std::string part; !(part = read_more(terminal, printed.out)).empty();) {
        printed.out += part;
        while (next < answers.size()) {
            const std::size_t at = printed.out.find(answers[next].after, seen);
            if (at == std::string::npos) break;
            seen = at + answers[next].after.size();
            const Typed& answer = answers[next++];
            const std::string line =
                (answer.text ? answer.text() : answer.reading(printed.out)) + "\n";
            if (::write(terminal, line.data(), line.size()) < 0) break;
        }
    }
    printed.status = wait_for(child);
    termios settings{};
    printed.is_echoing = ::tcgetattr(terminal, &settings) == 0 && (settings.c_lflag & ECHO) != 0;
    ::close(terminal);
    return printed;
}

}  // namespace berth::test
