#include "gate/gate_double.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "crypto/hash.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

constexpr int doors_count = 8;
constexpr int wait_max_ms = 240'000;

int connect_to(std::uint16_t port, const std::string& source) {
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
    return socket;
}

}  // namespace

support::RawSocket knock_from(const std::string& source, std::uint16_t port) {
    return support::RawSocket::adopt(connect_to(port, source));
}

std::string uuid_text(int number) { return fmt::format("01990000-0000-7000-8000-{:012}", number); }

std::string member_of(const std::string& json, const std::string& name) {
    const std::string mark = "\"" + name + "\":\"";
    const std::size_t at = json.find(mark);
    if (at == json.npos) return "";
    return json.substr(at + mark.size(), json.find('"', at + mark.size()) - at - mark.size());
}

TlsSocket::TlsSocket(std::uint16_t port, const Bytes& key_sha256, const std::string& source)
    : socket_(connect_to(port, source)) {
    const http::Carrier blocking_no_more{Descriptor(::dup(socket_))};  // they share the flag
    session_ = std::make_unique<http::TlsSession>(context_, socket_,
                                                  http::TlsPeer{"127.0.0.1", key_sha256});
    http::Transfer transfer = session_->shake_hands();
    while (transfer.status != http::Transfer::Status::done) {
        if (transfer.status == http::Transfer::Status::closed)
            throw std::runtime_error("no TLS handshake");
        wait_for(transfer);
        transfer = session_->shake_hands();
    }
}

TlsSocket::TlsSocket(TlsSocket&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      context_(std::move(other.context_)),
      session_(std::move(other.session_)),
      buffer_(std::move(other.buffer_)) {}

TlsSocket::~TlsSocket() {
    if (socket_ >= 0) ::close(socket_);
}

void TlsSocket::wait_for(const http::Transfer& transfer) const {
    const bool room = transfer.status == http::Transfer::Status::wants_write;
    pollfd entry{socket_, static_cast<short>(room ? POLLOUT : POLLIN), 0};
    if (::poll(&entry, 1, wait_max_ms) != 1) throw std::runtime_error("nothing came");
}

void TlsSocket::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const http::Transfer transfer = session_->write(bytes);
        if (transfer.status == http::Transfer::Status::done)
            bytes.remove_prefix(transfer.bytes);
        else if (transfer.status == http::Transfer::Status::closed)
            throw std::runtime_error("the gate closed");
        else
            wait_for(transfer);
    }
}

bool TlsSocket::fill() {
    std::vector<char> room(http::TlsSession::record_bytes_max);
    while (true) {
        const http::Transfer transfer = session_->read(room);
        if (transfer.status == http::Transfer::Status::done) {
            buffer_.append(room.data(), transfer.bytes);
            return true;
        }
        if (transfer.status == http::Transfer::Status::closed ||
            transfer.status == http::Transfer::Status::finished)
            return false;
        wait_for(transfer);
    }
}

std::string TlsSocket::receive_until(std::string_view mark) {
    std::size_t at = buffer_.find(mark);
    while (at == buffer_.npos) {
        if (!fill()) return std::exchange(buffer_, {});
        at = buffer_.find(mark);
    }
    std::string text = buffer_.substr(0, at + mark.size());
    buffer_.erase(0, text.size());
    return text;
}

std::string TlsSocket::receive_all() {
    while (fill()) {
    }
    return std::exchange(buffer_, {});
}

ServerDouble::ServerDouble() : server_({}, *this) {
    order();
    server_.start();
}

void ServerDouble::handle(http::Request request, http::Reply reply) {
    const std::lock_guard lock(mutex_);
    http::Response response;
    response.status = request.path() == "/api/v1/gate/report" ? status_ : 404;
    if (response.status == 200) response.body = orders_;
    if (const auto work = std::exchange(meanwhile_, nullptr)) work();
    requests_.push_back(std::move(request));
    reply(std::move(response));
}

std::string ServerDouble::address() const {
    return fmt::format("http://127.0.0.1:{}", server_.port());
}

void ServerDouble::answer(std::string orders) {
    const std::lock_guard lock(mutex_);
    status_ = 200;
    orders_ = std::move(orders);
}

void ServerDouble::do_before_answer(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    meanwhile_ = std::move(work);
}

void ServerDouble::refuse(int status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
}

void ServerDouble::order(const std::string& members) {
    answer(fmt::format(R"({{"keys":[{{"key_id":"k1","public_key":"{}"}}],{}}})",
                       to_base64(key_of_letter('s').public_key().view()), members));
}

std::vector<http::Request> ServerDouble::requests() const {
    const std::lock_guard lock(mutex_);
    std::vector<http::Request> copies;
    for (const http::Request& each : requests_) {
        http::Request copy;
        copy.method = each.method;
        copy.target = each.target;
        copy.headers = each.headers;
        copy.body = each.body;
        copies.push_back(std::move(copy));
    }
    return copies;
}

http::Request ServerDouble::last() const { return std::move(requests().back()); }

int LinkEnd::status() {
    const std::string head = socket_.receive_until("\r\n\r\n");
    return head.size() < 12 ? 0 : std::stoi(head.substr(9, 3));
}

std::string LinkEnd::next_line() {
    while (lines_.find('\n') == lines_.npos && !over_) {
        const std::string size = socket_.receive_until("\r\n");
        const unsigned long bytes = size.empty() ? 0 : std::stoul(size, nullptr, 16);
        over_ = bytes == 0;
        std::string chunk;
        while (chunk.size() < bytes + 2 && !over_) {
            const std::string more = socket_.receive_until("\n");
            over_ = more.empty();
            chunk += more;
        }
        lines_ += chunk.substr(0, bytes);
    }
    const std::size_t end = lines_.find('\n');
    if (end == lines_.npos) return "";
    const std::string line = lines_.substr(0, end);
    lines_.erase(0, end + 1);
    if (member_of(line, "kind") == "hello") id_ = member_of(line, "link_id");
    return line;
}

std::string LinkEnd::next_word() {
    std::string line = next_line();
    while (member_of(line, "kind") == "ping") line = next_line();
    return line;
}

std::string LinkEnd::await_call() {
    const std::string line = next_word();
    return member_of(line, "kind") == "call" ? member_of(line, "call_id") : "";
}

GateWorld::GateWorld(Options options)
    : options_(options), first_port_(free_ports(doors_count + 2)) {
    const gate::Folder made(folder.path());
    made.init({.host = "gate.example",
               .link_port = link_port(),
               .call_port = call_port(),
               .ports = {door_port(0), door_port(doors_count - 1)}},
              clock.now(), random);
    tls_key_ = made.make_tls();
    gate = std::make_unique<gate::Gate>(gate_options(), clock, random, client);
    gate->start();
    gate->report_once();
}

GateWorld::~GateWorld() = default;

gate::GateOptions GateWorld::gate_options() const {
    gate::GateOptions options;
    options.folder = folder.path();
    options.reporter = {.server = server.address(),
                        .ca_file = "",
                        .every = Duration(0),
                        .answer_max = std::chrono::seconds(60)};
    options.board.address = "127.0.0.1";
    options.board.timings = options_.timings;
    options.board.limits = options_.limits;
    options.metrics_address = "127.0.0.1";
    options.clock_off = gate::HeardClock::Off::ignored;
    return options;
}

std::uint16_t GateWorld::link_port() const { return first_port_; }
std::uint16_t GateWorld::call_port() const { return static_cast<std::uint16_t>(first_port_ + 1); }
std::uint16_t GateWorld::door_port(int number) const {
    return static_cast<std::uint16_t>(first_port_ + 2 + number);
}

std::string GateWorld::ticket(const TicketText& text) {
    std::string doors;
    for (const DoorText& door : text.doors)
        doors += fmt::format(
            R"({}{{"door_id":"{}","kind":"{}","port":{},"rate_bps":{},"streams_max":{}}})",
            doors.empty() ? "" : ",", uuid_text(door.number), door.kind, door_port(door.port),
            door.rate_bps, door.streams_max);
    const Time expires = clock.now() + text.life.value_or(std::chrono::minutes(15));
    const std::string inner = fmt::format(
        R"({{"doors":[{}],"expires_at":"{}","fence":"{}","gate_id":"{}","machine_id":"{}",)"
        R"("public_key":"{}","serial":"{}"}})",
        doors, to_rfc3339(expires), text.fence, text.gate_id.empty() ? gate_id() : text.gate_id,
        uuid_text(text.machine), to_base64(key_of_letter(text.machine_key).public_key().view()),
        text.serial);
    return fmt::format(
        R"({{"key_id":"{}","signature":"{}","ticket":{}}})", text.key_id,
        to_base64(key_of_letter(text.server_key).sign("berth-gate-ticket\n" + inner)), inner);
}

std::string GateWorld::signed_request(const std::string& body, const SignedText& text) {
    const std::string host =
        text.host.empty() ? fmt::format("gate.example:{}", link_port()) : text.host;
    const std::string digest = "sha-256=:" + to_base64(crypto::sha256(body)) + ":";
    const std::string parameters = fmt::format(
        R"(("@method" "@authority" "@path" "@query" "content-digest");created={};nonce="{}";)"
        R"(keyid="{}";alg="ed25519";tag="{}")",
        clock.now().micros / 1'000'000 + text.created_off,
        text.nonce.empty() ? fresh_nonce() : text.nonce, uuid_text(text.machine), text.tag);
    const std::string base = fmt::format(
        "\"@method\": POST\n\"@authority\": {}\n\"@path\": {}\n\"@query\": ?\n"
        "\"content-digest\": {}\n\"@signature-params\": {}",
        host, text.path, digest, parameters);
    return fmt::format(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\nContent-Digest: {}\r\nSignature-Input: sig={}\r\n"
        "Signature: sig=:{}:\r\n\r\n{}",
        text.path, host, body.size(), digest, parameters,
        to_base64(key_of_letter(text.key).sign(base)), body);
}

int GateWorld::status_of(const std::string& request) const {
    TlsSocket socket = dial();
    socket.send(request);
    return LinkEnd(std::move(socket)).status();
}

LinkEnd GateWorld::link(const TicketText& text, const std::string& source) {
    TlsSocket socket(link_port(), tls_key_, source);
    socket.send(signed_request(ticket(text), {.machine = text.machine, .key = text.machine_key}));
    LinkEnd end(std::move(socket));
    const int status = end.status();
    if (status != 200) throw std::runtime_error(fmt::format("no link: {}", status));
    end.next_line();
    return end;
}

int GateWorld::renew(const LinkEnd& link, const TicketText& text) {
    return status_of(signed_request(ticket(text), {.path = "/v1/links/" + link.id() + "/ticket",
                                                   .machine = text.machine,
                                                   .key = text.machine_key}));
}

std::string GateWorld::call_request(const std::string& call_id) {
    return fmt::format(
        "GET /v1/calls/{} HTTP/1.1\r\nHost: gate\r\nConnection: Upgrade\r\n"
        "Upgrade: berth-stream\r\n\r\n",
        call_id);
}

support::RawSocket GateWorld::call(const std::string& call_id) const {
    support::RawSocket socket(call_port());
    socket.send(call_request(call_id));
    const std::string head = socket.receive_until("\r\n\r\n");
    if (!head.starts_with("HTTP/1.1 101 ")) throw std::runtime_error("no call: " + head);
    return socket;
}

}  // namespace berth::test
