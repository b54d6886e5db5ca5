#include "host_agent/core/tool.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/check.hpp"

extern char** environ;

namespace berth::host_agent {
namespace {

constexpr std::size_t output_bytes_max = std::size_t{1024} * 1024;
constexpr std::size_t input_bytes_max = 64 * 1024;  // what a pipe holds
constexpr int look_every_ms = 200;

class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    ~Descriptor() { close(); }
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    int get() const { return number_; }
    void close() {
        if (number_ >= 0) ::close(number_);
        number_ = -1;
    }

private:
    int number_;
};

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe can be made");
        reading = Descriptor(ends[0]);
        writing = Descriptor(ends[1]);
    }
    Descriptor reading;
    Descriptor writing;
};

// A pipe that has all of it already: podman takes secrets from a pipe alone.
Descriptor holding(std::string_view text) {
    check(text.size() <= input_bytes_max, "a program's input fits a pipe");
    Pipe pipe;
    const ssize_t count = ::write(pipe.writing.get(), text.data(), text.size());
    if (count != static_cast<ssize_t>(text.size()))
        throw std::runtime_error("the input of a program cannot be kept");
    return std::move(pipe.reading);
}

class Child {
public:
    explicit Child(const Tool& tool) : in_(holding(tool.input)) {
        std::vector<std::string> variables;
        for (char** each = environ; *each != nullptr; ++each) {
            const std::string_view text(*each);
            if (!tool.environment.contains(std::string(text.substr(0, text.find('=')))))
                variables.emplace_back(text);
        }
        for (const auto& [name, value] : tool.environment) variables.push_back(name + "=" + value);
        const auto pointers = [](const std::vector<std::string>& texts) {
            std::vector<char*> all;
            for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
            all.push_back(nullptr);
            return all;
        };
        const std::vector<char*> words = pointers(tool.arguments);
        const std::vector<char*> names = pointers(variables);

        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, in_.get(), 0);
        posix_spawn_file_actions_adddup2(&files, out_.writing.get(), 1);
        posix_spawn_file_actions_adddup2(&files, error_.writing.get(), 2);
        if (!tool.folder.empty()) posix_spawn_file_actions_addchdir_np(&files, tool.folder.c_str());
        posix_spawnattr_t how;
        posix_spawnattr_init(&how);
        posix_spawnattr_setflags(
            &how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setpgroup(&how, 0);
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&how, &none);
        sigset_t all;
        sigfillset(&all);
        posix_spawnattr_setsigdefault(&how, &all);
        if (::posix_spawnp(&pid_, words[0], &files, &how, words.data(), names.data()) != 0)
            pid_ = -1;
        posix_spawnattr_destroy(&how);
        posix_spawn_file_actions_destroy(&files);
        in_.close();
        out_.writing.close();
        error_.writing.close();
        if (pid_ < 0) return;
        handle_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
        for (const int end : {out_.reading.get(), error_.reading.get()})
            ::fcntl(end, F_SETFL, O_NONBLOCK);
    }

    bool started() const { return pid_ >= 0; }
    pid_t process() const { return pid_; }

    // Waits for a while for something to happen; true once it has ended.
    bool go_on(ToolOutcome& outcome) {
        std::array<pollfd, 3> watched{{{handle_.get(), POLLIN, 0},
                                       {out_.reading.get(), POLLIN, 0},
                                       {error_.reading.get(), POLLIN, 0}}};
        if (::poll(watched.data(), watched.size(), look_every_ms) < 0) return false;
        take(out_.reading, outcome.output);
        take(error_.reading, outcome.error);
        return watched[0].revents != 0;
    }

    void kill_all() const { ::kill(-pid_, SIGKILL); }

    int wait(ToolOutcome& outcome) {
        int raw = 0;
        while (::waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {
        }
        take(out_.reading, outcome.output);
        take(error_.reading, outcome.error);
        return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    }

private:
    static void take(Descriptor& from, std::string& into) {
        std::array<char, 16 * 1024> buffer;
        while (from.get() >= 0) {
            const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
            if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
            if (count <= 0) return from.close();
            const std::size_t room = output_bytes_max - into.size();
            into.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
        }
    }

    Descriptor in_;
    Pipe out_;
    Pipe error_;
    Descriptor handle_;
    pid_t pid_ = -1;
};

ToolOutcome::End reason_to_end(const Tool& tool) {
    if (tool.cancelled != nullptr && *tool.cancelled) return ToolOutcome::End::cancelled;
    if (std::chrono::steady_clock::now() >= tool.until) return ToolOutcome::End::out_of_time;
    return ToolOutcome::End::exited;
}

}  // namespace

std::string ToolOutcome::why() const {
    if (end == End::not_started) return "it is not installed";
    if (end == End::out_of_time) return "it took too long";
    if (end == End::cancelled) return "it was cancelled";
    std::string text = error.empty() ? output : error;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text.empty() ? fmt::format("it ended with {}", status) : text;
}

ToolOutcome run_tool(const Tool& tool) {
    ToolOutcome outcome;
    Child child(tool);
    if (!child.started()) return outcome;
    outcome.end = ToolOutcome::End::exited;
    try {
        if (tool.begun) tool.begun(child.process());
    } catch (...) {
        child.kill_all();
        child.wait(outcome);
        throw;
    }
    while (!child.go_on(outcome)) {
        if (tool.meanwhile) tool.meanwhile();
        outcome.end = reason_to_end(tool);
        if (outcome.end == ToolOutcome::End::exited) continue;
        child.kill_all();
        break;
    }
    outcome.status = child.wait(outcome);
    return outcome;
}

std::string run_tool_or_throw(const Tool& tool) {
    ToolOutcome outcome = run_tool(tool);
    if (outcome.good()) return std::move(outcome.output);
    throw std::runtime_error(fmt::format("{} failed: {}", tool.arguments[0], outcome.why()));
}

std::string read_host_file(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string out;
    std::array<char, 16 * 1024> buffer;
    while (file.get() >= 0) {
        const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
        if (count < 0) return {};
        if (count == 0) break;
        out.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return out;
}

bool has_tool(const std::string& program) {
    for (const std::string_view folder :
         {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"})
        if (::access(fmt::format("{}/{}", folder, program).c_str(), X_OK) == 0) return true;
    return false;
}

}  // namespace berth::host_agent
