#include "host_agent/program/control.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace berth::host_agent {
namespace {

constexpr std::size_t line_bytes_max = 4096;

// A socket's path may have 107 letters; the folder's is named by a descriptor, and so always fits.
class Place {
public:
    explicit Place(const std::string& path)
        : folder_(::open(std::filesystem::path(path).parent_path().c_str(),
                         O_PATH | O_DIRECTORY | O_CLOEXEC)) {
        address_.sun_family = AF_UNIX;
        const std::string text = "/proc/self/fd/" + std::to_string(folder_) + "/" +
                                 std::filesystem::path(path).filename().string();
        text.copy(static_cast<char*>(address_.sun_path), sizeof(address_.sun_path) - 1);
    }
    ~Place() { ::close(folder_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }

private:
    int folder_;
    sockaddr_un address_{};
};

std::string read_line(int handle) {
    std::string line;
    char letter = 0;
    while (line.size() < line_bytes_max && ::read(handle, &letter, 1) == 1 && letter != '\n')
        line += letter;
    return line;
}

}  // namespace

Control::Control(const std::string& path, Handler handler) : handler_(std::move(handler)) {
    std::filesystem::remove(path);
    const Place place(path);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener_ < 0 || ::bind(listener_, place.address(), sizeof(sockaddr_un)) != 0 ||
        ::chmod(path.c_str(), 0600) != 0 || ::listen(listener_, 4) != 0)
        throw std::runtime_error(path + ": cannot be listened on");
    thread_ = std::thread([this] { serve(); });
}

void Control::serve() {
    for (;;) {
        const int peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (peer < 0) {
            ::usleep(100'000);  // no descriptor was left: there will be one again
            continue;
        }
        const timeval patience{5, 0};
        ::setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        const std::string answer = handler_(read_line(peer)) + "\n";
        (void)!::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
        ::close(peer);
    }
}

std::optional<std::string> ask_agent(const std::string& path, const std::string& request) {
    if (!std::filesystem::exists(path)) return std::nullopt;
    const Place place(path);
    const int handle = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::optional<std::string> answer;
    if (::connect(handle, place.address(), sizeof(sockaddr_un)) == 0) {
        const std::string line = request + "\n";
        (void)!::send(handle, line.data(), line.size(), MSG_NOSIGNAL);
        answer.emplace();
        char buffer[4096];
        for (ssize_t count = 0;
             (count = ::read(handle, static_cast<char*>(buffer), sizeof buffer)) > 0;)
            answer->append(static_cast<char*>(buffer), static_cast<std::size_t>(count));
    }
    ::close(handle);
    return answer;
}

}  // namespace berth::host_agent
