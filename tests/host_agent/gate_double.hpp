// A gate, and the server that gives its doors, in raw bytes as docs/agent-protocol.md has them:
// both say what a test wants them to say, right or wrong.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "base/bytes.hpp"
#include "base/descriptor.hpp"
#include "base/ids.hpp"
#include "http/server.hpp"
#include "http/stream.hpp"
#include "http/tls_key.hpp"
#include "support/folder.hpp"
#include "support/raw_socket.hpp"

namespace berth::test {

inline constexpr std::chrono::seconds gate_patience{120};

inline std::string new_uuid() {
    SystemRandom random;
    return to_string(make_uuid(SystemClock().now(), random));
}

// A connection that came in, plain or with TLS.
class Line {
public:
    Line(Descriptor socket, const http::TlsContext* tls)
        : socket_(std::move(socket)), stream_(socket_.number(), tls) {
        ::fcntl(socket_.number(), F_SETFL, O_NONBLOCK);
    }

    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const http::Transfer sent = stream_.write(bytes, {});
            if (sent.status == http::Transfer::Status::done)
                bytes.remove_prefix(sent.bytes);
            else if (!wait_for(sent))
                return false;
        }
        return true;
    }
    // Up to and with the mark; what there is when the connection ends before.
    std::string until(std::string_view mark) {
        std::size_t at = 0;
        while ((at = ahead_.find(mark)) == std::string::npos)
            if (!fill()) return std::exchange(ahead_, {});
        std::string text = ahead_.substr(0, at + mark.size());
        ahead_.erase(0, text.size());
        return text;
    }
    std::string exactly(std::size_t bytes) {
        while (ahead_.size() < bytes)
            if (!fill()) break;
        std::string text = ahead_.substr(0, bytes);
        ahead_.erase(0, text.size());
        return text;
    }
    // Whether the other side ends it, in time.
    bool ends() {
        while (fill()) {
        }
        return is_ended_;
    }
    int socket() const { return socket_.number(); }
    bool is_open() {
        pollfd watched{socket_.number(), POLLIN, 0};
        while (::poll(&watched, 1, 0) > 0)
            if (!fill()) return false;
        return true;
    }

private:
    bool fill() {
        std::string room(http::TlsSession::record_bytes_max, '\0');
        for (;;) {
            const http::Transfer got = stream_.read(room);
            if (got.status == http::Transfer::Status::done) {
                ahead_.append(room, 0, got.bytes);
                return true;
            }
            if (!wait_for(got)) return false;
        }
    }
    bool wait_for(const http::Transfer& transfer) {
        using Status = http::Transfer::Status;
        is_ended_ = transfer.status == Status::finished || transfer.status == Status::closed;
        if (is_ended_) return false;
        const bool reads = transfer.status == Status::wants_read;
        pollfd watched{socket_.number(), static_cast<short>(reads ? POLLIN : POLLOUT), 0};
        return ::poll(&watched, 1, static_cast<int>(gate_patience / std::chrono::milliseconds(1))) >
               0;
    }

    Descriptor socket_;
    http::Stream stream_;
    std::string ahead_;
    bool is_ended_ = false;
};

// A port of loopback.
class Listener {
public:
    Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        const bool listens =
            ::bind(socket_.number(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
            ::listen(socket_.number(), 1024) == 0 &&
            ::getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&address), &size) == 0;
        if (!listens) throw std::runtime_error("no port");
        port_ = ntohs(address.sin_port);
    }
    std::uint16_t port() const { return port_; }
    // -1 when nobody came in time.
    int accept(std::chrono::milliseconds most) const {
        pollfd watched{socket_.number(), POLLIN, 0};
        if (::poll(&watched, 1, static_cast<int>(most.count())) <= 0) return -1;
        return ::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC);
    }
    support::RawSocket guest() const {
        const int socket = accept(gate_patience);
        if (socket < 0) throw std::runtime_error("nobody came");
        return support::RawSocket::adopt(socket);
    }
    bool has_guest() const {
        pollfd watched{socket_.number(), POLLIN, 0};
        return ::poll(&watched, 1, 0) > 0;
    }
    void close() { socket_.close(); }

private:
    Descriptor socket_;
    std::uint16_t port_ = 0;
};

class GateDouble {
public:
    struct Knock {
        std::string first_line;
        std::string head;
        std::string body;
        bool is_tls = false;
        int answered = 0;  // of requests that the double answers by itself
        std::chrono::steady_clock::time_point at;
        std::shared_ptr<Line> line;

        // One line of a link.
        bool say(const std::string& text) const {
            return line->send(fmt::format("{:x}\r\n{}\n\r\n", text.size() + 1, text));
        }
        bool say_hello(const std::string& link_id) const {
            return say(R"({"kind":"hello","link_id":")" + link_id + "\"}");
        }
        bool say_call(const std::string& call_id, const std::string& door_id) const {
            return say(fmt::format(R"({{"kind":"call","call_id":"{}","door_id":"{}"}})", call_id,
                                   door_id));
        }
        bool take_call(const std::string& leftover = "") const {
            return line->send(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                "Upgrade: berth-stream\r\n\r\n" +
                leftover);
        }
    };

    GateDouble()
        : key_(http::make_self_signed(folder_.path() + "/crt", folder_.path() + "/key")),
          tls_(folder_.path() + "/crt", folder_.path() + "/key") {
        ::signal(SIGPIPE, SIG_IGN);  // whoever goes away while it is spoken to
        threads_.emplace_back([this] { serve(links_, &tls_); });
        threads_.emplace_back([this] { serve(calls_, nullptr); });
    }
    ~GateDouble() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        // Each accept looks at it soon.
        for (std::thread& each : threads_) each.join();
        for (std::thread& each : readers_) each.join();
    }

    std::string key() const { return to_hex(key_); }
    std::uint16_t link_port() const { return links_.port(); }
    std::uint16_t call_port() const { return calls_.port(); }

    // The next request whose first line has these words, in the order in which they came.
    std::shared_ptr<Knock> next(const std::string& words) {
        std::unique_lock lock(mutex_);
        std::shared_ptr<Knock> found;
        changed_.wait_for(lock, gate_patience, [&] {
            const auto at = std::find_if(knocks_.begin(), knocks_.end(), [&](const auto& each) {
                return each->first_line.find(words) != std::string::npos;
            });
            if (at == knocks_.end()) return false;
            found = *at;
            knocks_.erase(at);
            return true;
        });
        if (!found) throw std::runtime_error("nobody asked for " + words);
        return found;
    }
    std::size_t waiting(const std::string& words) {
        const std::lock_guard lock(mutex_);
        return static_cast<std::size_t>(std::count_if(
            knocks_.begin(), knocks_.end(),
            [&](const auto& each) { return each->first_line.find(words) != std::string::npos; }));
    }

    std::atomic<bool> takes_plain = true;  // else plain calls are closed at once
    std::atomic<int> link_status = 200;    // what links are answered
    std::atomic<int> ticket_status = 204;  // and new tickets

private:
    void serve(const Listener& listener, const http::TlsContext* tls) {
        while (!is_over()) {
            const int socket = listener.accept(std::chrono::milliseconds(50));
            if (socket < 0) continue;
            auto line = std::make_shared<Line>(Descriptor(socket), tls);
            if (tls == nullptr && !takes_plain) continue;
            const std::lock_guard lock(mutex_);
            readers_.emplace_back([this, line, tls] { read(line, tls != nullptr); });
        }
    }
    bool is_over() {
        const std::lock_guard lock(mutex_);
        return ends_;
    }
    void read(const std::shared_ptr<Line>& line, bool is_tls) {
        auto knock = std::make_shared<Knock>();
        knock->head = line->until("\r\n\r\n");
        if (!knock->head.ends_with("\r\n\r\n")) return;
        knock->at = std::chrono::steady_clock::now();
        knock->first_line = knock->head.substr(0, knock->head.find("\r\n"));
        knock->is_tls = is_tls;
        knock->line = line;
        constexpr std::string_view length = "Content-Length: ";
        if (const std::size_t at = knock->head.find(length); at != std::string::npos)
            knock->body = line->exactly(std::stoul(knock->head.substr(at + length.size())));
        if (knock->first_line.starts_with("POST"))
            knock->answered = knock->first_line.starts_with("POST /v1/links/")
                                  ? ticket_status.load()
                                  : link_status.load();
        if (knock->first_line.starts_with("POST /v1/link ") && knock->answered == 200)
            line->send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
                "Transfer-Encoding: chunked\r\n\r\n");
        else if (knock->answered != 0)
            line->send(fmt::format("HTTP/1.1 {} x\r\n{}Connection: close\r\n\r\n", knock->answered,
                                   knock->answered == 204 ? "" : "Content-Length: 0\r\n"));
        {
            const std::lock_guard lock(mutex_);
            knocks_.push_back(std::move(knock));
        }
        changed_.notify_all();
    }

    TemporaryFolder folder_;
    Bytes key_;
    http::TlsContext tls_;
    Listener links_;
    Listener calls_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ends_ = false;
    std::vector<std::shared_ptr<Knock>> knocks_;
    std::list<std::thread> readers_;
    std::vector<std::thread> threads_;
};

// The answer to a request for doors.
struct GivenDoor {
    std::string id;
    std::string name;
    int port = 20017;
};
inline std::string doors_given(const GateDouble& gate, const std::string& gate_id,
                               const std::vector<GivenDoor>& doors, const std::string& ticket) {
    std::string list;
    for (const GivenDoor& door : doors)
        list += fmt::format(R"({}{{"door_id":"{}","name":"{}","port":{}}})",
                            list.empty() ? "" : ",", door.id, door.name, door.port);
    return fmt::format(
        R"({{"gate":{{"gate_id":"{}","host":"127.0.0.1","link_port":{},"call_port":{},)"
        R"("tls_key_sha256":"{}"}},"doors":[{}],"ticket":"{}",)"
        R"("expires_at":"2040-01-01T00:00:00.000000Z"}})",
        gate_id, gate.link_port(), gate.call_port(), gate.key(), list, ticket);
}
inline const std::string no_doors_given =
    R"({"gate":null,"doors":[],"ticket":"","expires_at":"2040-01-01T00:00:00.000000Z"})";

}  // namespace berth::test
