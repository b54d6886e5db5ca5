#include "gate_world/line.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "gate_world/networks.hpp"

namespace berth::test {
namespace {

constexpr std::size_t packet_bytes_max = 65536;
constexpr std::size_t waiting_max = 8192;  // beyond that they are lost, as in any router

int open_end(const Network& network) {
    const Inside in(network);
    const int end = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (end < 0) throw std::runtime_error("there is no /dev/net/tun to make a line of");
    ifreq wish{};
    wish.ifr_flags = IFF_TUN | IFF_NO_PI;
    std::string("line").copy(wish.ifr_name, IFNAMSIZ - 1);
    if (::ioctl(end, TUNSETIFF, &wish) == 0) return end;
    ::close(end);
    throw std::runtime_error("the kernel makes no tun interface");
}

}  // namespace

Line::Line(const Network& one, const Network& other)
    : ends_{open_end(one), open_end(other)},
      ways_{{ends_[0], ends_[1], {}}, {ends_[1], ends_[0], {}}} {
    if (::pipe2(stop_, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    thread_ = std::thread([this] { work(); });
}

Line::~Line() {
    ::close(stop_[1]);
    thread_.join();
    for (const int each : {stop_[0], ends_[0], ends_[1]}) ::close(each);
}

void Line::work() {
    for (;;) {
        std::array<pollfd, 3> looked{
            {{ways_[0].from, POLLIN, 0}, {ways_[1].from, POLLIN, 0}, {stop_[0], POLLIN, 0}}};
        ::poll(looked.data(), looked.size(), next_wait_ms());
        if (looked[2].revents != 0) return;
        for (Way& way : ways_) {
            take(way);
            give(way);
        }
    }
}

int Line::next_wait_ms() const {
    Moment first = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (const Way& way : ways_)
        if (!way.waiting.empty()) first = std::min(first, way.waiting.front().due);
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(first - std::chrono::steady_clock::now());
    return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

void Line::take(Way& way) {
    std::array<char, packet_bytes_max> room;
    constexpr int at_once = 64;  // then the other way has its turn
    for (int i = 0; i < at_once; ++i) {
        const ssize_t size = ::read(way.from, room.data(), room.size());
        if (size <= 0) return;
        if (way.waiting.size() >= waiting_max) continue;
        way.waiting.push_back(
            {std::chrono::steady_clock::now() + std::chrono::milliseconds(delay_ms_),
             std::string(room.data(), static_cast<std::size_t>(size))});
    }
}

// In the order they came, also when the delay has become shorter since.
void Line::give(Way& way) {
    const Moment now = std::chrono::steady_clock::now();
    while (!way.waiting.empty() && way.waiting.front().due <= now) {
        const std::string& bytes = way.waiting.front().bytes;
        // One that the other end does not take is lost.
        if (::write(way.to, bytes.data(), bytes.size()) > 0) ++carried_;
        way.waiting.pop_front();
    }
}

}  // namespace berth::test
