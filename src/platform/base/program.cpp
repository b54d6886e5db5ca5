#include "base/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/descriptor.hpp"

extern char** environ;

namespace berth {
namespace {

constexpr int not_started = 127;

struct Pipe {
    Descriptor read;
    Descriptor write;
};

bool open_pipe(Pipe& pipe) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    pipe.read = Descriptor(ends[0]);
    pipe.write = Descriptor(ends[1]);
    return true;
}

// The input whole, in memory: a program that does not read it cannot hold us up.
Descriptor open_input(const std::string& input) {
    Descriptor file(::memfd_create("input", MFD_CLOEXEC));
    if (file.number() < 0) return file;
    for (std::string_view rest = input; !rest.empty();) {
        const auto wrote = ::write(file.number(), rest.data(), rest.size());
        if (wrote < 0) return Descriptor();
        rest.remove_prefix(static_cast<std::size_t>(wrote));
    }
    ::lseek(file.number(), 0, SEEK_SET);
    return file;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (const auto& text : texts) list.push_back(const_cast<char*>(text.c_str()));
    list.push_back(nullptr);
    return list;
}

std::vector<std::string> environment_of(const ProgramCall& call) {
    auto all = call.environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const auto name = text.substr(0, text.find('=') + 1);
        const bool given = std::ranges::any_of(
            call.environment, [&](const auto& ours) { return ours.starts_with(name); });
        if (!given) all.emplace_back(text);
    }
    return all;
}

// Everything between the start of a program and its end.
class Run {
public:
    explicit Run(const ProgramCall& call) : call_(call) {}

    ProgramEnd to_its_end() {
        if (!start()) return std::move(end_);
        const auto until = Clock::now() + call_.deadline;
        while (out_.read.number() >= 0 || errors_.read.number() >= 0) {
            if (!pass_bytes(until)) break;
        }
        wait_until(until);
        return std::move(end_);
    }

private:
    using Clock = std::chrono::steady_clock;

    bool start() {
        const auto input = open_input(call_.input);
        if (input.number() < 0 || !open_pipe(out_) || !open_pipe(errors_)) return refuse(errno);
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, input.number(), 0);
        posix_spawn_file_actions_adddup2(&files, out_.write.number(), 1);
        posix_spawn_file_actions_adddup2(&files, errors_.write.number(), 2);
        // What the caller listens on or has open is not the program's.
        posix_spawn_file_actions_addclosefrom_np(&files, 3);
        if (!call_.folder.empty())
            posix_spawn_file_actions_addchdir_np(&files, call_.folder.c_str());
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
        const auto environment = environment_of(call_);
        const int failed =
            posix_spawnp(&process_, call_.arguments[0].c_str(), &files, &attributes,
                         pointers(call_.arguments).data(), pointers(environment).data());
        posix_spawn_file_actions_destroy(&files);
        posix_spawnattr_destroy(&attributes);
        out_.write.close();
        errors_.write.close();
        return failed == 0 || refuse(failed);
    }

    bool refuse(int reason) {
        end_.status = not_started;
        end_.errors = call_.arguments[0] + ": " + ::strerror(reason);
        return false;
    }

    // One wait for the program's streams; false when its time is over.
    bool pass_bytes(Clock::time_point until) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        if (left <= 0) return false;
        std::array<pollfd, 2> watched{
            {{out_.read.number(), POLLIN, 0}, {errors_.read.number(), POLLIN, 0}}};
        if (::poll(watched.data(), watched.size(), static_cast<int>(left)) < 0)
            return errno == EINTR;
        if (watched[0].revents != 0) take(out_.read, end_.output);
        if (watched[1].revents != 0) take(errors_.read, end_.errors);
        return true;
    }

    void take(Descriptor& from, std::string& into) const {
        std::array<char, 16384> bytes;
        const auto got = ::read(from.number(), bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR) return;
        if (got <= 0) return from.close();
        const auto room = call_.output_bytes_max - std::min(call_.output_bytes_max, into.size());
        into.append(bytes.data(), std::min(room, static_cast<std::size_t>(got)));
    }

    // The program may have closed its streams and still run.
    void wait_until(Clock::time_point until) {
        int status = 0;
        auto pause = std::chrono::microseconds(200);
        while (::waitpid(process_, &status, WNOHANG) == 0) {
            if (Clock::now() >= until) {
                end_.timed_out = true;
                ::kill(-process_, SIGKILL);
                ::waitpid(process_, &status, 0);
                break;
            }
            ::usleep(static_cast<useconds_t>(pause.count()));
            pause = std::min(pause * 2, std::chrono::microseconds(10'000));
        }
        end_.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }

    const ProgramCall& call_;
    Pipe out_;
    Pipe errors_;
    pid_t process_ = -1;
    ProgramEnd end_;
};

}  // namespace

ProgramEnd run_program(const ProgramCall& call) { return Run(call).to_its_end(); }

}  // namespace berth
