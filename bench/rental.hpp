// A server with a running rental, in a process of its own: the program rental_server.
#pragma once

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "bench/measure.hpp"

namespace berth::bench {

class Rental {
public:
    // Its model is served by whoever listens on that port.
    explicit Rental(int engine_port) {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        if (::pipe(in.data()) != 0 || ::pipe(out.data()) != 0) throw std::runtime_error("no pipe");
        process_ = ::fork();
        if (process_ == 0) {
            ::dup2(in[0], 0);
            ::dup2(out[1], 1);
            for (const int each : {in[0], in[1], out[0], out[1]}) ::close(each);
            const auto program =
                std::filesystem::read_symlink("/proc/self/exe").parent_path() / "rental_server";
            ::execl(program.c_str(), "rental_server", fmt::format("engine={}", engine_port).c_str(),
                    "relay-streams-max=100000", "rate-relay-per-minute=1000000000", nullptr);
            ::_exit(127);
        }
        ::close(in[0]);
        ::close(out[1]);
        orders_ = in[1];
        std::string line;
        for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) line += c;
        ::close(out[0]);
        const auto member = [&](const std::string& name) {
            const std::size_t at = line.find("\"" + name + "\":") + name.size() + 3;
            const std::size_t from = line[at] == '"' ? at + 1 : at;
            return line.substr(from, line.find_first_of(",\"}", from) - from);
        };
        if (line.find("\"port\":") == line.npos)
            throw std::runtime_error("rental_server does not start");
        port = static_cast<std::uint16_t>(std::stoi(member("port")));
        path = "/api/v1/jobs/" + member("job_id") + "/openai/v1";
        key = member("key");
    }
    ~Rental() {
        ::close(orders_);
        ::waitpid(process_, nullptr, 0);
    }
    Rental(const Rental&) = delete;
    Rental& operator=(const Rental&) = delete;

    double resident_kib() const {
        std::ifstream status(fmt::format("/proc/{}/status", process_));
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("VmRSS:")) return std::atof(line.c_str() + 6);
        return 0;
    }

    std::uint16_t port = 0;
    std::string path;
    std::string key;

private:
    pid_t process_ = -1;
    int orders_ = -1;
};

}  // namespace berth::bench
