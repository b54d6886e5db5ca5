#include "base/talk.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <stdexcept>

extern char** environ;

namespace berth {
namespace {

constexpr std::size_t answer_bytes_max = std::size_t{4} << 20;

// A socket, since writing to one that nobody reads can be told not to raise a signal.
std::array<Descriptor, 2> socket_pair() {
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw std::runtime_error("no socket could be made for a program");
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

Talk::Talk(const std::vector<std::string>& arguments) {
    auto input = socket_pair();
    auto output = socket_pair();
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input[0].number(), 0);
    posix_spawn_file_actions_adddup2(&files, output[0].number(), 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    std::vector<char*> words;
    for (const std::string& each : arguments) words.push_back(const_cast<char*>(each.c_str()));
    words.push_back(nullptr);
    const int failed =
        posix_spawnp(&process_, words[0], &files, &attributes, words.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0) {
        process_ = -1;
        throw std::runtime_error(arguments[0] + ": " + ::strerror(failed));
    }
    input_ = std::move(input[1]);
    output_ = std::move(output[1]);
}

Talk::~Talk() {
    if (process_ < 0) return;
    ::kill(-process_, SIGKILL);
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
}

void Talk::say(const std::string& line) {
    const std::string all = line + '\n';
    for (std::size_t sent = 0; sent < all.size();) {
        const auto wrote =
            ::send(input_.number(), all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) throw std::runtime_error("a program that was asked something has ended");
        sent += static_cast<std::size_t>(wrote);
    }
}

std::string Talk::hear(std::chrono::milliseconds within) {
    const auto until = std::chrono::steady_clock::now() + within;
    while (true) {
        if (const std::size_t end = heard_.find('\n'); end != std::string::npos) {
            std::string line = heard_.substr(0, end);
            heard_.erase(0, end + 1);
            return line;
        }
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now())
                .count();
        if (left <= 0) throw std::runtime_error("a program did not answer in time");
        pollfd watched{output_.number(), POLLIN, 0};
        if (::poll(&watched, 1, static_cast<int>(left)) <= 0) continue;
        std::array<char, 65536> bytes;
        const auto got = ::read(output_.number(), bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) throw std::runtime_error("a program ended without an answer");
        heard_.append(bytes.data(), static_cast<std::size_t>(got));
        if (heard_.size() > answer_bytes_max)
            throw std::runtime_error("a program answers without end");
    }
}

}  // namespace berth
