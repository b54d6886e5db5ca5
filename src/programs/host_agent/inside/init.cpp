#include "init.hpp"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

namespace {

constexpr time_t at_once_s = 10;
constexpr long look_again_ns = 100'000'000;

time_t seconds_since_boot() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec;
}

// A session of its own: what it is sent by a terminal is not for us.
pid_t start(char** command) {
    const pid_t child = fork();
    if (child != 0) return child;
    setsid();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvp(command[0], command);
    fprintf(stderr, "%s: %s\n", command[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

class Init {
public:
    explicit Init(pid_t child) : child_(child) {
        if (child_ < 0) first_status_ = 126;
    }

    // Until there is nothing to stay for.
    int wait(const sigset_t& signals) {
        for (;;) {
            const timespec patience{0, look_again_ns};
            siginfo_t info{};
            // Those who came by SSH are nobody's children here: that they have gone tells no
            // signal.
            const int number = is_ending_ ? sigtimedwait(&signals, &info, &patience)
                                          : sigwaitinfo(&signals, &info);
            if (number == SIGTERM || number == SIGINT || number == SIGHUP) end_all();
            reap();
            if (has_ended() && !stays_) return first_status_;
            if (is_ending_ && kill(-1, 0) != 0) return has_ended() ? first_status_ : 0;
        }
    }

private:
    bool has_ended() const { return first_status_ >= 0; }

    void end_all() {
        is_ending_ = true;
        kill(-1, SIGTERM);
    }

    void reap() {
        int raw = 0;
        for (pid_t pid = 0; (pid = waitpid(-1, &raw, WNOHANG)) > 0;) {
            if (pid != child_) continue;
            first_status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
            const bool was_short = seconds_since_boot() - began_ < at_once_s;
            stays_ = is_ending_ || (first_status_ == 0 && was_short);
            if (stays_ && !is_ending_) {
                puts(
                    "berth: the image's own program ended at once, as a shell without a terminal "
                    "does; this machine is yours by SSH until you stop it");
                fflush(stdout);
            }
        }
    }

    const pid_t child_;
    const time_t began_ = seconds_since_boot();
    int first_status_ = -1;  // while the command runs
    bool stays_ = false;
    bool is_ending_ = false;
};

}  // namespace

int run_as_init(char** command) {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&signals, number);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    if (command[0] == nullptr) return Init(0).wait(signals);
    return Init(start(command)).wait(signals);
}
