// nginx with one worker, as the baseline of what a server does with HTTP.
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/measure.hpp"

namespace berth::bench {

class Nginx {
public:
    // `server` is what stands in the server block of its configuration.
    explicit Nginx(const std::string& server) : folder_(kept_.path) {
        std::filesystem::permissions(folder_, std::filesystem::perms(0755));
        std::ofstream(folder_ / "nginx.conf") << fmt::format(R"(
            daemon off; worker_processes 1; pid {0}/pid; error_log {0}/error.log;
            events {{ worker_connections 4096; }}
            http {{
                access_log off; sendfile on; keepalive_requests 100000000;
                open_file_cache max=100; open_file_cache_valid 1h;
                client_body_temp_path {0}/a; proxy_temp_path {0}/b; fastcgi_temp_path {0}/c;
                uwsgi_temp_path {0}/d; scgi_temp_path {0}/e;
                types {{ application/json json; }}
                server {{ root {0}; {1} }}
            }})",
                                                             folder_.string(), server);
    }
    ~Nginx() {
        if (process_ <= 0) return;
        ::kill(process_, SIGTERM);
        ::waitpid(process_, nullptr, 0);
    }
    Nginx(const Nginx&) = delete;
    Nginx& operator=(const Nginx&) = delete;

    // A file that it serves.
    void put(const std::string& name, const std::string& bytes) const {
        std::ofstream(folder_ / name) << bytes;
    }

    void start() {
        process_ = ::fork();
        if (process_ != 0) return;
        const std::string file = (folder_ / "nginx.conf").string();
        ::setenv("PATH", "/usr/local/sbin:/usr/sbin:/usr/bin:/bin", 1);
        const std::string errors = (folder_ / "error.log").string();
        ::execlp("nginx", "nginx", "-c", file.c_str(), "-p", folder_.c_str(), "-e", errors.c_str(),
                 nullptr);
        ::_exit(127);
    }

private:
    Folder kept_;
    std::filesystem::path folder_;
    pid_t process_ = -1;
};

}  // namespace berth::bench
