#include "box/children.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

namespace berth::box {
namespace {

constexpr int exit_not_started = 127;

sigset_t ending_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
    return set;
}

[[noreturn]] void become(const Words& words, int output) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const sigset_t held = ending_signals();
    ::pthread_sigmask(SIG_UNBLOCK, &held, nullptr);
    ::dup2(::open("/dev/null", O_RDONLY), 0);
    ::dup2(output, 1);
    ::dup2(output, 2);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(exit_not_started);
}

int status_of(int waited) {
    return WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited);
}

}  // namespace

Child::Child(std::string name, const Words& words, std::string log)
    : name_(std::move(name)), log_(std::move(log)) {
    const int output = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (output < 0) throw std::runtime_error(log_ + ": cannot be written");
    pid_ = ::fork();
    if (pid_ == 0) {
        ::setsid();
        become(words, output);
    }
    ::close(output);
    if (pid_ < 0) throw std::runtime_error(name_ + ": cannot be started");
}

Child::Child(Child&& other) noexcept
    : name_(std::move(other.name_)),
      log_(std::move(other.log_)),
      pid_(other.pid_),
      status_(other.status_) {
    other.pid_ = -1;
}

Child::~Child() {
    if (is_over()) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

void Child::ask_to_end() const {
    if (pid_ > 0) ::kill(pid_, SIGTERM);
}

bool Child::is_over() {
    int waited = 0;
    if (pid_ > 0 && ::waitpid(pid_, &waited, WNOHANG) == pid_) {
        status_ = status_of(waited);
        pid_ = -1;
    }
    return pid_ < 0;
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

// Each that ends may leave others to us.
void end_orphans() {
    const std::string own = fmt::format("/proc/self/task/{}/children", ::getpid());
    for (;;) {
        std::ifstream list(own);
        int found = 0;
        for (pid_t child = 0; list >> child; ++found) ::kill(child, SIGKILL);
        if (found == 0) return;
        ::usleep(1000);
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
    }
}

void hold_signals() {
    const sigset_t set = ending_signals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void pause_for(std::chrono::milliseconds span) {
    const sigset_t set = ending_signals();
    const timespec at_most{span.count() / 1000, (span.count() % 1000) * 1'000'000};
    if (::sigtimedwait(&set, nullptr, &at_most) > 0) throw Interrupted();
}

}  // namespace berth::box
