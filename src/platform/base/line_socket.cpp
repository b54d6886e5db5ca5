#include "base/line_socket.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <stdexcept>

#include "base/descriptor.hpp"

namespace berth {
namespace {

constexpr std::size_t line_bytes_max = 4096;
constexpr int line_wait_ms = 10'000;
constexpr std::string_view good = "ok ";
constexpr std::string_view bad = "no ";

[[noreturn]] void fail(const std::string& path, std::string_view what) {
    throw std::runtime_error(fmt::format("{}: {}", path, what));
}

sockaddr_un place_of(const std::string& path) {
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    if (path.size() >= sizeof place.sun_path) fail(path, "is too long for a socket's name");
    path.copy(place.sun_path, path.size());
    return place;
}

const sockaddr* generic(const sockaddr_un& place) {
    return reinterpret_cast<const sockaddr*>(&place);
}

bool write_line(int to, std::string line) {
    for (char& letter : line)
        if (letter == '\n') letter = ' ';
    line += '\n';
    for (std::size_t sent = 0; sent < line.size();) {
        const ssize_t some = ::send(to, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
        if (some <= 0) return false;
        sent += static_cast<std::size_t>(some);
    }
    return true;
}

// Empty unless a whole line came in time; `wait_ms` of -1 waits for ever.
std::string read_line(int from, int wait_ms) {
    std::string line;
    char piece[512];
    while (line.size() < line_bytes_max) {
        pollfd ready{from, POLLIN, 0};
        if (::poll(&ready, 1, wait_ms) != 1) return "";
        const ssize_t some = ::recv(from, piece, sizeof piece, 0);
        if (some <= 0) return "";
        line.append(piece, static_cast<std::size_t>(some));
        if (const std::size_t end = line.find('\n'); end != line.npos) return line.substr(0, end);
    }
    return "";
}

}  // namespace

LineServer::LineServer(std::string path, std::function<std::string(const std::string&)> answer)
    : path_(std::move(path)), answer_(std::move(answer)) {
    const sockaddr_un place = place_of(path_);
    ::unlink(path_.c_str());
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // Nobody else may reach it, not even before its mode is set.
    const mode_t before = ::umask(0177);
    const bool is_bound = ::bind(listener_, generic(place), sizeof place) == 0;
    ::umask(before);
    if (!is_bound || ::listen(listener_, 16) != 0 || ::pipe(stop_) != 0) {
        ::close(listener_);
        fail(path_, "cannot be made as a socket");
    }
    thread_ = std::thread([this] { run(); });
}

LineServer::~LineServer() {
    ::close(stop_[1]);
    thread_.join();
    ::close(stop_[0]);
    ::close(listener_);
    ::unlink(path_.c_str());
}

void LineServer::run() {
    for (;;) {
        pollfd ready[2] = {{listener_, POLLIN, 0}, {stop_[0], POLLIN, 0}};
        ::poll(ready, 2, -1);
        if (ready[1].revents != 0) return;
        if ((ready[0].revents & POLLIN) == 0) continue;
        const Descriptor connection{::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)};
        if (connection.number() >= 0) serve(connection.number());
    }
}

void LineServer::serve(int connection) const {
    const std::string line = read_line(connection, line_wait_ms);
    if (line.empty()) return;
    std::string told;
    try {
        told = std::string(good) + answer_(line);
    } catch (const std::exception& error) {
        told = std::string(bad) + error.what();
    }
    write_line(connection, told);
}

std::string ask_line(const std::string& path, const std::string& line) {
    const sockaddr_un place = place_of(path);
    const Descriptor connection{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (::connect(connection.number(), generic(place), sizeof place) != 0)
        fail(path, "nobody listens there");
    if (!write_line(connection.number(), line)) fail(path, "the question was not taken");
    const std::string told = read_line(connection.number(), -1);
    if (told.starts_with(good)) return told.substr(good.size());
    if (told.starts_with(bad)) throw std::runtime_error(told.substr(bad.size()));
    fail(path, "no answer came");
}

}  // namespace berth
