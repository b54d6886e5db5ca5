#include "host_agent/runtimes/shim.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "agent_protocol/durable.hpp"
#include "host_agent/core/boot_clock.hpp"
#include "host_agent/core/process_filter.hpp"

namespace berth::host_agent {
namespace {

namespace files = std::filesystem;
using SteadyTime = std::chrono::steady_clock::time_point;

struct Stat {
    std::int64_t parent = 0;
    std::int64_t started_ticks = 0;
    char state = '?';
    std::string name;
};

// /proc/PID/stat. The name stands in brackets and may hold any letter, so what follows is counted
// from the last of them.
std::optional<Stat> stat_of(std::int64_t pid) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string text;
    if (!std::getline(file, text)) return std::nullopt;
    const std::size_t open = text.find('(');
    const std::size_t close = text.rfind(')');
    if (open == std::string::npos || close == std::string::npos) return std::nullopt;
    Stat stat;
    stat.name = text.substr(open + 1, close - open - 1);
    std::istringstream rest(text.substr(close + 1));
    rest >> stat.state >> stat.parent;
    std::string skipped;
    for (int column = 5; column < 22; ++column) rest >> skipped;
    rest >> stat.started_ticks;
    return rest ? std::optional(std::move(stat)) : std::nullopt;
}

// Everything under `root`, to any depth. Orphans come back to us: we are their reaper.
std::vector<pid_t> descendants(pid_t root) {
    std::multimap<std::int64_t, pid_t> children;
    for (const auto& entry : files::directory_iterator("/proc")) {
        const std::string name = entry.path().filename().string();
        pid_t pid = 0;
        const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (read.ec != std::errc() || read.ptr != name.data() + name.size()) continue;
        if (const auto stat = stat_of(pid)) children.emplace(stat->parent, pid);
    }
    std::vector<pid_t> found;
    std::vector<pid_t> open{root};
    while (!open.empty()) {
        const pid_t parent = open.back();
        open.pop_back();
        for (auto [at, end] = children.equal_range(parent); at != end; ++at) {
            found.push_back(at->second);
            open.push_back(at->second);
        }
    }
    return found;
}

void limit(int what, std::int64_t value) {
    const auto most = static_cast<rlim_t>(value);
    rlimit now{};
    ::getrlimit(what, &now);
    const rlimit wanted{std::min(most, now.rlim_max), std::min(most, now.rlim_max)};
    ::setrlimit(what, &wanted);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
    all.push_back(nullptr);
    return all;
}

// `group` is the file of its processes.
bool enter_group(const char* group) {
    const int file = ::open(group, O_WRONLY | O_CLOEXEC);
    const bool good = file >= 0 && ::write(file, "0", 1) == 1;
    ::close(file);
    return good;
}

// Whether the kernel ended one of them because their memory was used up.
bool ran_out_of_memory(const std::string& group) {
    const std::string folder = group.substr(0, group.rfind('/'));
    for (const char* name : {"/memory.events", "/memory.oom_control"}) {
        std::ifstream file(folder + name);
        std::string word;
        std::int64_t number = 0;
        while (file >> word >> number)
            if (word == "oom_kill") return number > 0;
    }
    return false;
}

// No program that we become sees what is open from here up. The kernel does it at once from 5.11
// on; an older one is asked for each. Safe between fork and exec.
void hide_from(unsigned first) {
    if (::close_range(first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    for (rlim_t file = first; file < files.rlim_cur; ++file)
        ::fcntl(static_cast<int>(file), F_SETFD, FD_CLOEXEC);
}

void close_from(unsigned first) {
    if (::close_range(first, ~0U, 0) == 0) return;
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    for (rlim_t file = first; file < files.rlim_cur; ++file) ::close(static_cast<int>(file));
}

struct Filter {
    std::string program = process_filter();
    int file = ::memfd_create("filter", MFD_CLOEXEC);  // the same, to hand on

    Filter() {
        const auto size = static_cast<ssize_t>(program.size());
        if (::write(file, program.data(), program.size()) != size ||
            ::lseek(file, 0, SEEK_SET) != 0)
            throw std::runtime_error("the filter of system calls cannot be handed on");
    }
    ~Filter() { ::close(file); }
    Filter(const Filter&) = delete;
    Filter& operator=(const Filter&) = delete;

    bool put_on_or_hand_on(bool hands_on) const {
        if (!hands_on) return put_on_filter(program);
        if (file == filter_descriptor) return ::fcntl(file, F_SETFD, 0) == 0;
        return ::dup2(file, filter_descriptor) == filter_descriptor;
    }
};

// In the child. Only what is safe there; the vectors were made before.
[[noreturn]] void become(const Launch& launch, const std::vector<char*>& command,
                         const std::vector<char*>& environment, int output, const Filter& filter) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setsid();
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
    ::dup2(output, 1);
    ::dup2(output, 2);
    if (!launch.group.empty() && !enter_group(launch.group.c_str())) ::_exit(126);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, launch.files_max.value);
    limit(RLIMIT_NPROC, launch.processes_max.value);
    if (launch.file_bytes_max.value > 0) limit(RLIMIT_FSIZE, launch.file_bytes_max.value);
    if (launch.user.value >= 0) {
        const auto user = static_cast<uid_t>(launch.user.value);
        if (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 ||
            ::setresuid(user, user, user) != 0)
            ::_exit(126);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // another user: asked for anew
    }
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    hide_from(filter_descriptor);
    if (!filter.put_on_or_hand_on(launch.hands_filter_on)) ::_exit(126);
    ::execve(command.front(), command.data(), environment.data());
    ::dprintf(2, "%s: %s\n", command.front(), std::strerror(errno));
    ::_exit(127);
}

// Keeps the newest of what is printed: `log`, and before that `log.1`.
class Log {
public:
    explicit Log(const std::string& folder) : path_(folder + "/log") { open(); }
    ~Log() { ::close(file_); }
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void take(std::string_view bytes) {
        if (written_ + bytes.size() > log_bytes_max) {
            ::close(file_);
            ::rename(path_.c_str(), (path_ + ".1").c_str());
            open();
        }
        written_ += bytes.size();
        (void)!::write(file_, bytes.data(), bytes.size());
    }

private:
    void open() {
        file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        written_ = 0;
    }
    const std::string path_;
    int file_ = -1;
    std::size_t written_ = 0;
};

class Keeper {
public:
    Keeper(Launch launch, pid_t engine, int output, int signals)
        : launch_(std::move(launch)),
          engine_(engine),
          output_(output),
          signals_(signals),
          log_(launch_.folder) {}

    // Until nothing that was started is left.
    ProcessEnd keep() {
        for (;;) {
            pollfd waits[] = {{output_, POLLIN, 0}, {signals_, POLLIN, 0}};
            ::poll(static_cast<pollfd*>(waits), 2, kill_at_ ? 100 : -1);
            if (waits[0].revents != 0) read_output();
            if (waits[1].revents != 0) read_signals();
            if (kill_at_ && std::chrono::steady_clock::now() >= *kill_at_) signal_all(SIGKILL);
            if (is_over_) {
                while (output_ >= 0 && read_output()) {
                }
                return end_;
            }
        }
    }

private:
    bool read_output() {
        char buffer[16 * 1024];
        const ssize_t count = ::read(output_, static_cast<char*>(buffer), sizeof buffer);
        if (count > 0) log_.take({static_cast<char*>(buffer), static_cast<std::size_t>(count)});
        if (count == 0) {
            ::close(output_);
            output_ = -1;  // poll passes over it
        }
        return count > 0;
    }
    void read_signals() {
        signalfd_siginfo info{};
        while (::read(signals_, &info, sizeof info) == sizeof info)
            if (info.ssi_signo == SIGTERM) hurry();
        reap();
    }
    // Asked once: with grace. Asked again: at once.
    void hurry() {
        if (kill_at_)
            kill_at_ = std::chrono::steady_clock::now();
        else
            begin_to_end();
    }
    void begin_to_end() {
        kill_at_ =
            std::chrono::steady_clock::now() + std::chrono::milliseconds(launch_.grace_ms.value);
        signal_all(SIGTERM);
    }
    // What bubblewrap itself does with SIGTERM is to end everything in it without grace.
    void signal_all(int number) const {
        for (const pid_t pid : descendants(::getpid())) {
            const auto stat = number == SIGTERM ? stat_of(pid) : std::nullopt;
            if (!stat || stat->name != "bwrap") ::kill(pid, number);
        }
    }
    void reap() {
        int status = 0;
        for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) != 0;) {
            if (pid < 0) {
                is_over_ = errno == ECHILD;
                return;
            }
            if (pid != engine_) continue;
            end_.exit_code.value = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            // What it left behind does not go on without it.
            if (!kill_at_) begin_to_end();
        }
    }

    const Launch launch_;
    const pid_t engine_;
    int output_;
    const int signals_;
    Log log_;
    std::optional<SteadyTime> kill_at_;
    bool is_over_ = false;
    ProcessEnd end_;
};

std::string read_all(int input) {
    std::string text;
    char buffer[16 * 1024];
    for (ssize_t count = 0; (count = ::read(input, static_cast<char*>(buffer), sizeof buffer)) > 0;)
        text.append(static_cast<char*>(buffer), static_cast<std::size_t>(count));
    return text;
}

}  // namespace

std::optional<ProcessName> name_process(pid_t pid) {
    const auto stat = stat_of(pid);
    if (!stat || stat->state == 'Z') return std::nullopt;
    return ProcessName{{pid}, {stat->started_ticks}, SystemBootClock().boot_id()};
}

bool is_alive(const ProcessName& name) {
    const auto now = name_process(static_cast<pid_t>(name.pid.value));
    return now && now->started_ticks == name.started_ticks && now->boot_id == name.boot_id;
}

int run_shim(int input, int output) {
    // Not the agent's child: nobody has to wait for us.
    if (const pid_t child = ::fork(); child != 0) return child < 0 ? 1 : 0;
    // What the agent had open, its listeners among them, would stay open for as long as we do, and
    // the next agent would find its ports taken.
    close_from(STDERR_FILENO + 1);
    ::setsid();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGTERM, SIGCHLD, SIGINT, SIGHUP}) sigaddset(&set, number);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    const int signals = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);

    const auto launch = wire::decode<Launch>(read_all(input), "launch");
    const auto own = name_process(::getpid());
    if (!own || launch.command.empty()) return 1;
    files::remove(launch.folder + "/exit.json");
    agent_protocol::write_durably(launch.folder + "/process.json", wire::encode(*own));

    int pipe[2];
    if (::pipe2(static_cast<int*>(pipe), O_CLOEXEC) != 0) return 1;
    const auto command = pointers(launch.command);
    const auto environment = pointers(launch.environment);
    const Filter filter;
    const pid_t engine = ::fork();
    if (engine == 0) become(launch, command, environment, pipe[1], filter);
    ::close(pipe[1]);
    ::fcntl(pipe[0], F_SETFL, O_NONBLOCK);
    (void)!::write(output, "started", 7);
    ::close(output);
    ProcessEnd end = Keeper(launch, engine, pipe[0], signals).keep();
    end.ended_us = wire::Count{SystemBootClock().since_boot().count()};
    end.out_of_memory = !launch.group.empty() && ran_out_of_memory(launch.group);
    agent_protocol::write_durably(launch.folder + "/exit.json", wire::encode(end));
    return 0;
}

}  // namespace berth::host_agent
