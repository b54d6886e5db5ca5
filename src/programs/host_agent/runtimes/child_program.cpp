#include "host_agent/runtimes/child_program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace berth::host_agent {
namespace {

struct Pipe {
    Pipe() {
        if (::pipe2(static_cast<int*>(ends), O_CLOEXEC) != 0) ends[0] = ends[1] = -1;
    }
    ~Pipe() {
        close_read();
        close_write();
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    void close_read() { drop(ends[0]); }
    void close_write() { drop(ends[1]); }
    static void drop(int& end) {
        if (end >= 0) ::close(end);
        end = -1;
    }
    int ends[2] = {-1, -1};
};

}  // namespace

ProgramOutcome run_program(const std::vector<std::string>& command, const std::string& input) {
    Pipe in;
    Pipe out;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in.ends[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, out.ends[1], 1);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_t child = -1;
    const int fault =
        ::posix_spawn(&child, words.front(), &actions, &attributes, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    ProgramOutcome spoken;
    if (fault != 0) return spoken;
    in.close_read();
    out.close_write();
    (void)!::write(in.ends[1], input.data(), input.size());
    in.close_write();
    char buffer[4096];
    for (ssize_t count = 0;
         (count = ::read(out.ends[0], static_cast<char*>(buffer), sizeof buffer)) > 0;)
        spoken.output.append(static_cast<char*>(buffer), static_cast<std::size_t>(count));
    int status = 0;
    if (::waitpid(child, &status, 0) == child && WIFEXITED(status))
        spoken.status = WEXITSTATUS(status);
    return spoken;
}

}  // namespace berth::host_agent
