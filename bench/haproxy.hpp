// HAProxy in TCP mode with one thread and splicing, as the baseline of what joins two sockets.
// Splicing is asked for both ways: with splice-auto it guesses, and was seen to copy everything.
// Its pipes are as large as ours: with its usual 64 KiB it is a third slower.
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/measure.hpp"

namespace berth::bench {

class Haproxy {
public:
    Haproxy(std::uint16_t port, std::uint16_t behind) {
        const std::string file = kept_.path + "/haproxy.cfg";
        std::ofstream(file) << fmt::format(R"(
global
    nbthread 1
    maxconn 4096
    maxpipes 1024
    tune.pipesize 262144
defaults
    mode tcp
    option splice-request
    option splice-response
    timeout connect 10s
    timeout client 1m
    timeout server 1m
listen joined
    bind 127.0.0.1:{}
    server source 127.0.0.1:{}
)",
                                           port, behind);
        process_ = ::fork();
        if (process_ != 0) return;
        ::close_range(STDERR_FILENO + 1, ~0U, 0);  // has_spliced() counts its own pipes
        ::setenv("PATH", "/usr/local/sbin:/usr/sbin:/usr/bin:/bin", 1);
        ::execlp("haproxy", "haproxy", "-q", "-db", "-f", file.c_str(), nullptr);
        ::_exit(127);
    }
    ~Haproxy() {
        ::kill(process_, SIGTERM);
        ::waitpid(process_, nullptr, 0);
    }
    Haproxy(const Haproxy&) = delete;
    Haproxy& operator=(const Haproxy&) = delete;

    // Whether it has pipes at all: without them it copies, and would be no measure.
    bool has_spliced() const {
        std::size_t pipes = 0;
        for (const auto& each :
             std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", process_))) {
            std::error_code gone;
            const std::string to = std::filesystem::read_symlink(each.path(), gone).string();
            const int number = std::stoi(each.path().filename().string());
            if (number > STDERR_FILENO && to.starts_with("pipe:")) ++pipes;
        }
        return pipes >= 4;  // the ends of one to wake itself, and of one to splice through
    }

private:
    Folder kept_;
    pid_t process_ = -1;
};

}  // namespace berth::bench
