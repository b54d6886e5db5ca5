// What one idle keep-alive connection costs: a server in a process of its own, 10,000 connections
// that have each made one request, and the growth of its resident memory divided by their number.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "http/server.hpp"

namespace {

using namespace berth;

constexpr int connections = 10'000;
constexpr double goal_kib = 20;
constexpr int answer_wait_max_ms = 10'000;

class Hello final : public http::Handler {
public:
    void handle(http::Request, http::Reply reply) override {
        http::Response response;
        response.body = R"({"status":"ok"})";
        reply(std::move(response));
    }
};

void allow_files() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < connections + 100) throw std::runtime_error("too few open files allowed");
}

// The child tells its port and then serves until it is ended.
[[noreturn]] void serve(int tell) {
    Hello handler;
    http::ServerOptions options;
    options.idle_max = std::chrono::hours(1);
    http::Server server(options, handler);
    server.start();
    const std::uint16_t port = server.port();
    if (::write(tell, &port, sizeof port) != sizeof port) ::_exit(1);
    while (true) ::pause();
}

double resident_kib(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("VmRSS:")) return std::stod(line.substr(6));
    throw std::runtime_error("the server is gone");
}

int open_connection(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr generic{};
    std::memcpy(&generic, &to, sizeof generic);
    if (socket < 0 || ::connect(socket, &generic, sizeof to) != 0)
        throw std::runtime_error(std::string("cannot connect: ") + std::strerror(errno));
    return socket;
}

void request_once(int socket) {
    const std::string request =
        "GET /status HTTP/1.1\r\nHost: localhost\r\n"
        "User-Agent: idle\r\nAccept: application/json\r\n\r\n";
    if (::send(socket, request.data(), request.size(), 0) != static_cast<ssize_t>(request.size()))
        throw std::runtime_error("cannot send");
    pollfd entry{socket, POLLIN, 0};
    char answer[4096];
    if (::poll(&entry, 1, answer_wait_max_ms) != 1 || ::recv(socket, answer, sizeof answer, 0) <= 0)
        throw std::runtime_error("no answer");
}

double measure(std::uint16_t port, pid_t server) {
    std::vector<int> sockets;
    sockets.push_back(open_connection(port));  // what the first request costs is not per connection
    request_once(sockets.back());
    const double before = resident_kib(server);
    for (int i = 0; i < connections; ++i) {
        sockets.push_back(open_connection(port));
        request_once(sockets.back());
    }
    const double growth = resident_kib(server) - before;
    for (const int socket : sockets) ::close(socket);
    return growth / connections;
}

}  // namespace

int main() {
    try {
        allow_files();
        int ends[2];
        if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
        const pid_t server = ::fork();
        if (server == 0) serve(ends[1]);
        std::uint16_t port = 0;
        if (::read(ends[0], &port, sizeof port) != sizeof port)
            throw std::runtime_error("the server did not start");
        const double kib = measure(port, server);
        ::kill(server, SIGKILL);
        ::waitpid(server, nullptr, 0);
        std::printf("BENCH idle_connection_kib ours=%.2f baseline=goal:%.0f ratio=%.2f\n", kib,
                    goal_kib, goal_kib / kib);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "idle_connections: %s\n", error.what());
        return 1;
    }
}
