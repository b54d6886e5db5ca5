// The stories of the gate in a world of their own. All that they start, and all that those start,
// lives in one namespace of processes: it ends with its first process, however the stories end, so
// that nothing of a test that failed or was killed is left on the machine. And they have an end:
// who is not done in time is killed.
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "gate_world/world.hpp"

namespace {

constexpr std::chrono::seconds usual_time{1'080};  // all of them take a minute

// BERTH_GATE_WORLD_S: seconds, for drills, which take longer.
std::chrono::seconds time_given() {
    const char* const said = ::getenv("BERTH_GATE_WORLD_S");
    return said == nullptr ? usual_time : std::chrono::seconds(std::atoll(said));
}

int status_of(int raw) { return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw); }

int run_stories(int count, char** words, const std::string& why_not) {
    testing::InitGoogleTest(&count, words);
    berth::test::World::missing = why_not;
    const int result = RUN_ALL_TESTS();
    berth::test::World::end();
    return result;
}

// A copy of a mount keeps its device from being set free: other tests wait for that.
void let_go_of_volumes() {
    std::ifstream mounts("/proc/self/mounts");
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string device;
        std::string place;
        words >> device >> place;
        if (device.starts_with("/dev/loop")) ::umount2(place.c_str(), MNT_DETACH);
    }
}

// The first process of the namespace: gets every orphan, and ends with the stories.
[[noreturn]] void be_first(int count, char** words) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::string why_not;
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("proc", "/proc", "proc", 0, nullptr) != 0)
        why_not = "there is no mounting /proc here";
    else
        let_go_of_volumes();
    const pid_t stories = ::fork();
    if (stories == 0) std::exit(run_stories(count, words, why_not));
    for (;;) {
        int raw = 0;
        const pid_t ended = ::waitpid(-1, &raw, 0);
        if (ended == stories) ::_exit(status_of(raw));
        if (ended < 0 && errno != EINTR) ::_exit(1);
    }
}

int watch(pid_t first) {
    const auto until = std::chrono::steady_clock::now() + time_given();
    int raw = 0;
    while (::waitpid(first, &raw, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > until) {
            std::fprintf(stderr, "FAILED: the stories were not over in time, and were killed\n");
            ::kill(first, SIGKILL);
            ::waitpid(first, &raw, 0);
            return 1;
        }
        ::poll(nullptr, 0, 20);
    }
    return status_of(raw);
}

}  // namespace

int main(int count, char** words) {
    static_cast<void>(berth::test::program_path(""));  // while it can be seen
    if (::geteuid() != 0) return run_stories(count, words, "only root can make networks");
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET) != 0)
        return run_stories(count, words, "this kernel, or whoever runs it, gives no namespaces");
    const pid_t first = ::fork();
    if (first == 0) be_first(count, words);
    if (first < 0) return run_stories(count, words, "no process can be started in a namespace");
    ::_exit(watch(first));
}
