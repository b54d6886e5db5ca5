#include "gate/siblings.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "base/random.hpp"

namespace berth::gate {
namespace {

constexpr std::string_view name_start = "calls-";
constexpr std::string_view name_end = ".sock";
constexpr std::size_t question_bytes = 37;  // a UUID and the end of its line
constexpr int look_ms = 200;                // how soon the end is noticed
constexpr int backlog = 64;

sockaddr_un unix_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) throw std::runtime_error(path + " is too long");
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

const sockaddr* plain(const sockaddr_un& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

Descriptor unix_socket() {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval wait{.tv_sec = 1, .tv_usec = 0};
    ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    ::setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    return socket;
}

bool send_all(int socket, std::string_view bytes) {
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
}

}  // namespace

Siblings::Siblings(const std::string& folder, Find find)
    : find_(std::move(find)),
      name_(fmt::format("{}{}-{}{}", name_start, ::getpid(), to_hex(SystemRandom().bytes(4)),
                        name_end)),
      folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      listener_(unix_socket()) {
    const sockaddr_un own = unix_address(path_of(name_));
    if (folder_.number() < 0 || ::bind(listener_.number(), plain(own), sizeof own) != 0 ||
        ::listen(listener_.number(), backlog) != 0)
        throw std::runtime_error(
            fmt::format("cannot listen in {}: {}", folder, std::strerror(errno)));
    thread_ = std::thread([this] { listen(); });
}

Siblings::~Siblings() {
    ending_ = true;
    thread_.join();
    ::unlinkat(folder_.number(), name_.c_str(), 0);
}

std::string Siblings::path_of(const std::string& name) const {
    return fmt::format("/proc/self/fd/{}/{}", folder_.number(), name);
}

void Siblings::listen() {
    while (!ending_) {
        pollfd entry{listener_.number(), POLLIN, 0};
        if (::poll(&entry, 1, look_ms) != 1) continue;
        Descriptor socket(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
        if (socket.number() >= 0) serve(std::move(socket));
    }
}

void Siblings::serve(Descriptor socket) {
    const timeval wait{.tv_sec = 1, .tv_usec = 0};
    ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    std::array<char, question_bytes> question{};
    if (::recv(socket.number(), question.data(), question.size(), MSG_WAITALL) !=
        static_cast<ssize_t>(question.size()))
        return;
    const auto call = parse_uuid({question.data(), question.size() - 1});
    if (!call) return;
    if (const std::shared_ptr<Answered> found = find_(CallId{*call}))
        if (send_all(socket.number(), "+")) found->join(http::Carrier(std::move(socket)));
}

http::Carrier Siblings::ask(const CallId& call) const {
    std::vector<std::string> others;
    std::error_code unreadable;
    for (const auto& entry : std::filesystem::directory_iterator(
             fmt::format("/proc/self/fd/{}", folder_.number()), unreadable)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(name_start) && name.ends_with(name_end) && name != name_)
            others.push_back(name);
    }
    for (const std::string& name : others) {
        Descriptor socket = unix_socket();
        const sockaddr_un other = unix_address(path_of(name));
        if (::connect(socket.number(), plain(other), sizeof other) != 0) {
            // Whoever made it was killed.
            if (errno == ECONNREFUSED) ::unlinkat(folder_.number(), name.c_str(), 0);
            continue;
        }
        char answer = 0;
        if (send_all(socket.number(), to_string(call) + "\n") &&
            ::recv(socket.number(), &answer, 1, 0) == 1 && answer == '+')
            return http::Carrier(std::move(socket));
    }
    return {};
}

}  // namespace berth::gate
