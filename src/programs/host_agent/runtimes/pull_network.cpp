#include "host_agent/runtimes/pull_network.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/letters.hpp"
#include "base/log.hpp"
#include "host_agent/runtimes/container_network.hpp"
#include "http/resolve.hpp"

namespace berth::host_agent {
namespace {

constexpr std::uint16_t proxy_port = 3128;  // nobody else is in there
constexpr std::size_t passages_max = 32;
constexpr std::size_t head_bytes_max = 4096;
constexpr std::size_t piece_bytes = 64 * 1024;
constexpr int head_max_ms = 10'000;
constexpr int dial_max_ms = 10'000;
constexpr int silence_max_ms = 120'000;

std::runtime_error trouble_with(const std::string& what) {
    return std::runtime_error(fmt::format("{}: {}", what, ::strerror(errno)));
}

sockaddr_in ipv4(in_addr address, std::uint16_t port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(port);
    out.sin_addr = address;
    return out;
}

// The loopback of a new namespace is down.
void raise_loopback() {
    const Descriptor any{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    ifreq request{};
    ::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (::ioctl(any.number(), SIOCSIFFLAGS, &request) != 0) throw trouble_with("no loopback");
}

Descriptor listen_on_loopback() {
    Descriptor listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    const sockaddr_in at = ipv4({htonl(INADDR_LOOPBACK)}, proxy_port);
    if (::bind(listener.number(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
        ::listen(listener.number(), 64) != 0)
        throw trouble_with("the proxy for images cannot listen");
    return listener;
}

// Waits for one of the two; false when it is time to end, or nothing came.
bool wait_for(int socket, short events, int ending, int most_ms) {
    std::array<pollfd, 2> watched{{{socket, events, 0}, {ending, POLLIN, 0}}};
    const int ready = ::poll(watched.data(), watched.size(), most_ms);
    return ready > 0 && watched[1].revents == 0;
}

bool send_all(int socket, std::string_view bytes, int ending) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
            continue;
        }
        if (errno != EAGAIN && errno != EINTR) return false;
        if (!wait_for(socket, POLLOUT, ending, silence_max_ms)) return false;
    }
    return true;
}

// Up to the empty line; empty when it does not come.
std::string read_head(int socket, int ending) {
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {
        std::array<char, head_bytes_max> buffer;
        if (head.size() >= head_bytes_max || !wait_for(socket, POLLIN, ending, head_max_ms))
            return {};
        const ssize_t count = ::recv(socket, buffer.data(), buffer.size(), 0);
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return {};
        if (count > 0) head.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return head;
}

struct Asked {
    std::string host;
    std::string port;
};

bool is_port(std::string_view text) {
    return !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_host_name(std::string_view text) {
    const auto allowed = [](char c) { return is_alphanumeric(c) || c == '.' || c == '-'; };
    return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), allowed);
}

// "CONNECT registry.example:443 HTTP/1.1"
std::optional<Asked> read_connect(const std::string& head) {
    constexpr std::string_view method = "CONNECT ";
    if (!head.starts_with(method)) return std::nullopt;
    const std::size_t end = head.find(' ', method.size());
    if (end == std::string::npos) return std::nullopt;
    const std::string target = head.substr(method.size(), end - method.size());
    const std::size_t colon = target.rfind(':');
    if (colon == std::string::npos) return std::nullopt;
    Asked asked{target.substr(0, colon), target.substr(colon + 1)};
    if (!is_host_name(asked.host) || !is_port(asked.port)) return std::nullopt;
    return asked;
}

Descriptor dial_address(const std::string& address, const std::string& port, int ending) {
    in_addr raw{};
    std::uint16_t number = 0;
    const bool sound =
        ::inet_pton(AF_INET, address.c_str(), &raw) == 1 &&
        std::from_chars(port.data(), port.data() + port.size(), number).ec == std::errc();
    if (!sound) return Descriptor{};
    Descriptor peer{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    const sockaddr_in to = ipv4(raw, number);
    if (::connect(peer.number(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0)
        return peer;
    if (errno != EINPROGRESS || !wait_for(peer.number(), POLLOUT, ending, dial_max_ms))
        return Descriptor{};
    int failed = 0;
    socklen_t size = sizeof failed;
    ::getsockopt(peer.number(), SOL_SOCKET, SO_ERROR, &failed, &size);
    return failed == 0 ? std::move(peer) : Descriptor{};
}

// What has come from one side goes to the other; gives how much it was: nothing when that one has
// no more to say, or the other does not listen.
std::optional<std::size_t> pass_piece(int from, int to, int ending) {
    std::array<char, piece_bytes> buffer;
    const ssize_t count = ::recv(from, buffer.data(), buffer.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (count <= 0) return std::nullopt;
    const auto size = static_cast<std::size_t>(count);
    return send_all(to, {buffer.data(), size}, ending) ? std::optional(size) : std::nullopt;
}

// Until both have said all, nobody says anything for long, or it is time to end.
void pass_on(int first, int second, int ending, const std::function<void(std::size_t)>& passed) {
    bool first_speaks = true;
    bool second_speaks = true;
    const auto pass = [&](int from, int to, bool& speaks) {
        const auto bytes = pass_piece(from, to, ending);
        if (bytes) return passed(*bytes);
        speaks = false;
        ::shutdown(to, SHUT_WR);
    };
    while (first_speaks || second_speaks) {
        std::array<pollfd, 3> watched{{{first_speaks ? first : -1, POLLIN, 0},
                                       {second_speaks ? second : -1, POLLIN, 0},
                                       {ending, POLLIN, 0}}};
        const int ready = ::poll(watched.data(), watched.size(), silence_max_ms);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0 || watched[2].revents != 0) return;
        if (watched[0].revents != 0) pass(first, second, first_speaks);
        if (watched[1].revents != 0) pass(second, first, second_speaks);
    }
}

}  // namespace

PinnedRegistries parse_registries(const std::string& text) {
    PinnedRegistries all;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string each = text.substr(at, end - at);
        const std::size_t sign = each.find('=');
        const std::string name = each.substr(0, sign);
        const std::string place = sign == std::string::npos ? "" : each.substr(sign + 1);
        const auto is_place = [](const std::string& from) {
            const std::size_t colon = from.rfind(':');
            return colon != std::string::npos && is_host_name(from.substr(0, colon)) &&
                   is_port(from.substr(colon + 1));
        };
        in_addr raw{};
        if (!is_place(name) || !is_place(place) ||
            ::inet_pton(AF_INET, place.substr(0, place.rfind(':')).c_str(), &raw) != 1)
            throw std::invalid_argument(
                "--allow-registry: must be NAME:PORT=ADDRESS:PORT, the address of IPv4");
        all[name] = place;
        at = end + 1;
    }
    return all;
}

bool may_be_dialled(const std::string& text) {
    const auto address = http::parse_address(text);
    if (!address || !http::is_public(*address)) return false;
    // A job has no IPv6 either, and the host's own networks of that kind are not known here.
    if (http::to_string(*address).find(':') != std::string::npos) return false;
    for (const std::string& network : neighbour_networks())
        if (const auto block = http::AddressBlock::parse(network);
            block && block->contains(*address))
            return false;
    return true;
}

struct PullNetwork::Passage {
    Descriptor client;
    std::atomic<bool> over = false;
    std::thread thread;

    ~Passage() {
        if (thread.joinable()) thread.join();
    }
};

PullNetwork::PullNetwork(PinnedRegistries registries, std::int64_t mbit)
    : registries_(std::move(registries)), mbit_(mbit), ending_(::eventfd(0, EFD_CLOEXEC)) {
    // The namespace is made by a thread that ends: ours stays where it is.
    std::async(std::launch::async, [this] { make_house(); }).get();
    accepting_ = std::thread([this] { accept_all(); });
}

PullNetwork::~PullNetwork() {
    ::eventfd_write(ending_.number(), 1);
    accepting_.join();
    passages_.clear();
}

void PullNetwork::make_house() {
    if (::unshare(CLONE_NEWNET) != 0) throw trouble_with("no network for images can be made");
    raise_loopback();
    listener_ = listen_on_loopback();
    house_ = Descriptor{::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)};
    if (house_.number() < 0) throw trouble_with("the network for images cannot be kept");
}

// A child is born into the namespace of the thread that starts it.
ToolOutcome PullNetwork::run(Tool tool) const {
    const std::string proxy = fmt::format("http://127.0.0.1:{}", proxy_port);
    for (const char* name : {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"})
        tool.environment[name] = proxy;
    for (const char* name : {"NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"})
        tool.environment[name] = "";
    return std::async(std::launch::async,
                      [&] {
                          if (::setns(house_.number(), CLONE_NEWNET) != 0) return ToolOutcome{};
                          return run_tool(tool);
                      })
        .get();
}

void PullNetwork::collect() {
    passages_.remove_if([](const Passage& passage) { return passage.over.load(); });
}

void PullNetwork::accept_all() {
    while (true) {
        std::array<pollfd, 2> watched{
            {{listener_.number(), POLLIN, 0}, {ending_.number(), POLLIN, 0}}};
        if (::poll(watched.data(), watched.size(), -1) < 0) continue;
        if (watched[1].revents != 0) return;
        Descriptor client{
            ::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
        if (client.number() < 0) continue;
        collect();
        if (passages_.size() >= passages_max) continue;
        Passage& passage = passages_.emplace_back();
        passage.client = std::move(client);
        passage.thread = std::thread([this, &passage] {
            try {
                serve(passage);
            } catch (const std::exception& error) {
                log(Level::warn, "image_proxy", {{"why", error.what()}});
            }
            passage.client.close();
            passage.over = true;
        });
    }
}

// Waits until what was passed on, by all passages together, would have come at the pace that there
// is. What is not read meanwhile waits at the other end.
void PullNetwork::keep_pace(std::size_t bytes) {
    if (mbit_ == 0) return;
    const auto takes = std::chrono::microseconds(static_cast<std::int64_t>(bytes) * 8 / mbit_);
    const auto now = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point until;
    {
        const std::lock_guard lock(pace_mutex_);
        until = paced_until_ = std::max(paced_until_, now) + takes;
    }
    pollfd ending{ending_.number(), POLLIN, 0};
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(until - now).count();
    if (ms > 0) ::poll(&ending, 1, static_cast<int>(ms));
}

void PullNetwork::serve(Passage& passage) {
    const int client = passage.client.number();
    const int ending = ending_.number();
    const auto refuse = [&](std::string_view status) {
        send_all(
            client,
            fmt::format("HTTP/1.1 {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status),
            ending);
    };
    const std::string head = read_head(client, ending);
    const auto asked = read_connect(head);
    if (!asked) return refuse("405 Method Not Allowed");
    const Descriptor registry = dial(asked->host, asked->port);
    if (registry.number() < 0) {
        log(Level::warn, "image_proxy_refused", {{"host", asked->host}, {"port", asked->port}});
        return refuse("403 Forbidden");
    }
    if (send_all(client, "HTTP/1.1 200 OK\r\n\r\n", ending))
        pass_on(client, registry.number(), ending, [this](std::size_t bytes) { keep_pace(bytes); });
}

// The address that was judged is the one that is dialled.
Descriptor PullNetwork::dial(const std::string& host, const std::string& port) const {
    const auto pinned = registries_.find(host + ":" + port);
    if (pinned != registries_.end()) {
        const std::size_t colon = pinned->second.rfind(':');
        return dial_address(pinned->second.substr(0, colon), pinned->second.substr(colon + 1),
                            ending_.number());
    }
    for (const http::Address& address : http::resolve(host, http::Reach::public_only).addresses) {
        const std::string text = http::to_string(address);
        if (!may_be_dialled(text)) continue;
        Descriptor peer = dial_address(text, port, ending_.number());
        if (peer.number() >= 0) return peer;
    }
    return Descriptor{};
}

}  // namespace berth::host_agent
