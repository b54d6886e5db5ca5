#include "bench/gate_machine.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "agent_protocol/signature.hpp"
#include "http/call_out.hpp"
#include "http/pump.hpp"

namespace berth::bench {
namespace {

http::Endpoint local(std::uint16_t port) {
    return {.address = *http::parse_address("127.0.0.1"), .port = port, .host = "gate.example"};
}

}  // namespace

rlim_t allow_many_files() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

int connect_from(const std::string& source, std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in from{};
    from.sin_family = AF_INET;
    ::inet_pton(AF_INET, source.c_str(), &from.sin_addr);
    sockaddr_in to = from;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (socket < 0 || ::bind(socket, reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0 ||
        ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
        throw std::runtime_error(std::string("cannot connect: ") + std::strerror(errno));
    const int on = 1;  // else each request waits 40 ms for the acknowledgement of the handshake
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
}

std::uint16_t free_tcp_port() {
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof own;
    if (::bind(socket.number(), reinterpret_cast<const sockaddr*>(&own), size) != 0 ||
        ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
        throw std::runtime_error("no free port");
    return ntohs(own.sin_port);
}

GateProcess::GateProcess() : folder_(kept_.path), server_key_(crypto::Secret(Bytes(32, 's'))) {
    identity_ = folder_.init({.host = "gate.example",
                              .link_port = free_tcp_port(),
                              .call_port = free_tcp_port(),
                              .ports = {gate_doors_from, gate_doors_to}},
                             SystemClock().now(), random_);
    tls_key_ = folder_.make_tls();
    folder_.keep_server_keys({{"k1", to_base64(server_key_.public_key().view())}});
    process_ = ::fork();
    if (process_ == 0) {
        const auto program =
            std::filesystem::read_symlink("/proc/self/exe").parent_path() / "berth-gate";
        if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(127);
        ::execl(program.c_str(), "berth-gate", "run", "--dir", kept_.path.c_str(), "--server",
                "http://127.0.0.1:9", "--listen", "127.0.0.1", "--metrics", "127.0.0.1:0",
                "--threads", "1", nullptr);
        ::_exit(127);
    }
    await();
}
GateProcess::~GateProcess() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
}

double GateProcess::resident_kib() const {
    std::ifstream file(fmt::format("/proc/{}/status", process_));
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("VmRSS:")) return std::stod(line.substr(6));
    throw std::runtime_error("the gate is gone");
}

std::string GateProcess::link_request(const Wish& wish) {
    const Time now = SystemClock().now();
    const MachineId machine = MachineId::make(now, random_);
    crypto::Ed25519Key key{crypto::Secret::make(random_)};
    agent_protocol::Ticket ticket;
    ticket.gate_id = identity_.gate_id;
    ticket.machine_id = machine;
    ticket.public_key = to_base64(key.public_key().view());
    ticket.fence = {1};
    ticket.serial = {1};
    ticket.doors.value.push_back({.door_id = agent_protocol::DoorId::make(now, random_),
                                  .port = {wish.port},
                                  .kind = wish.kind,
                                  .rate_bps = {0},
                                  .streams_max = {512}});
    ticket.expires_at = now + std::chrono::hours(1);
    const std::string body = agent_protocol::write_ticket(ticket, "k1", server_key_);
    http::Outbound request{.method = "POST",
                           .url = fmt::format("https://gate.example:{}/v1/link", link_port()),
                           .body = body};
    const std::string nonce = agent_protocol::make_nonce(random_);
    agent_protocol::RequestSigner(machine, std::move(key)).sign(request, {now, nonce});
    std::string text =
        fmt::format("POST /v1/link HTTP/1.1\r\nHost: gate.example:{}\r\nContent-Length: {}\r\n",
                    link_port(), body.size());
    for (const http::Headers::Field& field : request.headers)
        text += field.name + ": " + field.value + "\r\n";
    return text + "\r\n" + body;
}

void GateProcess::await() const {
    for (int i = 0; i < 500; ++i) {
        try {
            ::close(connect_from("127.0.0.1", call_port()));
            return;
        } catch (const std::exception&) {
            ::usleep(20'000);
        }
    }
    throw std::runtime_error("berth-gate does not start");
}

BenchLink::BenchLink(int socket, const Bytes& tls_key, const http::TlsContext& context,
                     const std::string& request)
    : socket_(socket), session_(context, socket, {"gate.example", tls_key}) {
    if (session_.shake_hands().status != http::Transfer::Status::done ||
        session_.write(request).status != http::Transfer::Status::done)
        throw std::runtime_error("no TLS");
    text_ = read_until("hello");
    if (!text_.starts_with("HTTP/1.1 200")) throw std::runtime_error("no link: " + text_);
    text_.clear();
}

std::string BenchLink::next_call() {
    const std::string mark = "\"call_id\":\"";
    while (true) {
        const std::size_t at = text_.find(mark);
        if (at != text_.npos && text_.find('\n', at) != text_.npos) {
            const std::string id = text_.substr(at + mark.size(), 36);
            text_.erase(0, text_.find('\n', at));
            return id;
        }
        if (!fill()) return "";
    }
}

bool BenchLink::fill() {
    std::array<char, http::TlsSession::record_bytes_max> piece;
    const http::Transfer transfer = session_.read(piece);
    if (transfer.status != http::Transfer::Status::done) return false;
    text_.append(piece.data(), transfer.bytes);
    return true;
}
std::string BenchLink::read_until(const std::string& mark) {
    while (text_.find(mark) == text_.npos)
        if (!fill()) break;
    return text_;
}

BenchMachine::BenchMachine(GateProcess& gate, const Places& places, const GateProcess::Wish& wish)
    : places_(places),
      link_(connect_from("127.0.0.1", places.link_port), gate.tls_key(), context_,
            gate.link_request(wish)),
      thread_([this] {
          for (std::string call = link_.next_call(); !call.empty(); call = link_.next_call())
              answer(call);
      }) {}
BenchMachine::~BenchMachine() {
    ::shutdown(link_.socket(), SHUT_RDWR);
    thread_.join();
}

// Both connections at the same time; whichever comes second joins them.
void BenchMachine::answer(const std::string& call) {
    struct Both {
        http::Carrier gate;
        http::Carrier own;
    };
    const auto both = std::make_shared<Both>();
    const auto& loop = loops_.loop();
    const auto joined = [both, loop] {
        if (both->gate && both->own)
            http::join(loop, std::move(both->gate), std::move(both->own), {});
    };
    http::call_out(loop,
                   {.endpoint = local(places_.call_port),
                    .target = "/v1/calls/" + call,
                    .switch_to = "berth-stream"},
                   [both, joined](http::Called called) {
                       both->gate = std::move(called.carrier);
                       joined();
                   });
    http::call_out(loop, {.endpoint = local(places_.local_port)},
                   [both, joined](http::Called called) {
                       both->own = std::move(called.carrier);
                       joined();
                   });
}

}  // namespace berth::bench
