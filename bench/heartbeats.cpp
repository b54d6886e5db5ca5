// What a heartbeat costs: heartbeats with telemetry, signed beforehand, over HTTP to a server that
// knows a thousand machines, against checking as many Ed25519 signatures and nothing else. Both are
// counted per second of processor time, so that neither the clients nor the neighbours count.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "agent_protocol/hashes.hpp"
#include "agent_protocol/signature.hpp"
#include "bench/measure.hpp"
#include "machines/machine.hpp"
#include "server/app.hpp"

namespace {

using namespace berth;
using namespace berth::agent_protocol;

constexpr int machines_total = 1'000;
constexpr int clients = 8;
constexpr int beats_per_round = 6'000;
constexpr int rounds = 3;
constexpr int verifications = 6'000;

const std::string telemetry =
    R"({"uptime_ms":"86400000","ram_used_bytes":"17179869184","ram_total_bytes":"68719476736",)"
    R"("disk_used_bytes":"107374182400","disk_total_bytes":"1099511627776","cpu_util_pct":12.5,)"
    R"("load_1m":1.25,"net_rx_mbps":4.2,"net_tx_mbps":1.1,"gpus":[{"pci_address":"0000:01:00.0",)"
    R"("util_pct":97,"memory_util_pct":41,"memory_used_bytes":"8589934592",)"
    R"("memory_total_bytes":"25757220864","temperature_c":63,"power_w":287.5,"power_limit_w":450,)"
    R"("sm_clock_mhz":2520,"mem_clock_mhz":10501,"fan_pct":55,"throttle":["sw_power_cap"]}]})";

crypto::Ed25519Key key_of(int machine) {
    std::string seed(32, '\0');
    seed.replace(0, 4, fmt::format("{:04}", machine));
    return crypto::Ed25519Key{crypto::Secret(seed)};
}

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}
double process_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
double thread_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::vector<MachineId> enrol_all(db::Database& database, const Clock& clock, Random& random) {
    std::vector<MachineId> ids;
    database.write([&](db::Transaction& tx) {
        for (int i = 0; i < machines_total; ++i) {
            machines::Machine machine;
            machine.machine_id = MachineId::make(clock.now(), random);
            machine.version = 1;
            machine.owner = AccountId::make(clock.now(), random);
            machine.enrolled_at = machine.changed_at = clock.now();
            machine.public_key = key_text(key_of(i).public_key());
            machine.agent_version = "1.0.0";
            machine.boot_id = "boot";
            machine.manifest_hash = sha256_hash("manifest");
            machine.offer_id = machines::OfferId::make(clock.now(), random);
            machines::add(tx, machine, "{}", {});
            ids.push_back(machine.machine_id);
        }
    });
    return ids;
}

// The bytes of a whole request.
std::string heartbeat(const RequestSigner& signer, std::uint16_t port, const Clock& clock,
                      Random& random) {
    const std::string authority = fmt::format("127.0.0.1:{}", port);
    const std::string path = "/api/v1/host-agent/heartbeat";
    const std::string body = fmt::format(
        R"({{"boot_id":"boot","fence":"1","manifest_hash":"{}","sent_at":"{}","host_mode":)"
        R"({{"mode":"dedicated","offerable":true,"reasons":[]}},"telemetry":{},"jobs":[]}})",
        sha256_hash("manifest"), to_rfc3339(clock.now()), telemetry);
    const SignatureFields fields = signer.sign({"POST", authority, path, ""}, body,
                                               {clock.now(), make_nonce(random)});
    return fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
                       "Content-Length: {}\r\nContent-Digest: {}\r\nSignature-Input: {}\r\n"
                       "Signature: {}\r\n\r\n{}",
                       path, authority, body.size(), fields.content_digest,
                       fields.signature_input, fields.signature, body);
}

int connect_to(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        throw std::runtime_error("cannot connect");
    return socket;
}

// One request after another on one connection. Answers are short and come in one piece.
void send_all(std::uint16_t port, const std::vector<std::string>& requests, std::size_t first,
              std::atomic<int>& refused) {
    const int socket = connect_to(port);
    std::array<char, 8192> answer{};
    for (std::size_t i = first; i < requests.size(); i += clients) {
        if (::write(socket, requests[i].data(), requests[i].size()) < 0) break;
        const ssize_t size = ::read(socket, answer.data(), answer.size());
        const std::string_view text(answer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
        if (!text.starts_with("HTTP/1.1 200")) ++refused;
    }
    ::close(socket);
}

// Heartbeats for each second of the server's processor time.
double measure(std::uint16_t port, const std::vector<std::string>& requests) {
    std::atomic<int> refused{0};
    std::atomic<double> client_seconds{0};
    const double before = process_seconds();
    std::vector<std::thread> threads;
    for (std::size_t client = 0; client < clients; ++client)
        threads.emplace_back([&, client] {
            send_all(port, requests, client, refused);
            double sum = client_seconds;
            while (!client_seconds.compare_exchange_weak(sum, sum + thread_seconds())) {
            }
        });
    for (std::thread& thread : threads) thread.join();
    const double spent = process_seconds() - before - client_seconds;
    if (refused > 0) throw std::runtime_error(fmt::format("{} were refused", refused.load()));
    return static_cast<double>(requests.size()) / spent;
}

double measure_verification() {
    const crypto::Ed25519Key key = key_of(0);
    const crypto::Ed25519PublicKey public_key = key.public_key();
    const std::string text(420, 'x');  // as long as what a heartbeat signs
    const Bytes signature = key.sign(text);
    const double before = thread_seconds();
    for (int i = 0; i < verifications; ++i)
        if (!public_key.verify(text, signature)) throw std::runtime_error("does not verify");
    return verifications / (thread_seconds() - before);
}

}  // namespace

int main() {
    const bench::Folder folder;
    settings::Sources sources;
    sources.flags = {{"listen", "127.0.0.1:0"},
                     {"db", "sqlite:" + folder.path + "/berth.db"},
                     {"secrets", folder.path + "/secrets"},
                     {"mail", "file:" + folder.path + "/mail"},
                     {"rate-heartbeats-per-minute", "1000000000"},
                     {"io-threads", "1"},
                     {"worker-threads", "0"},
                     {"log-level", "error"}};
    const SystemClock clock;
    SystemRandom random;
    set_log(Level::error);
    server::App app(server::load_settings(sources), clock, random);
    const auto machines = enrol_all(app.database(), clock, random);
    app.serve();

    std::vector<RequestSigner> signers;
    for (int i = 0; i < machines_total; ++i)
        signers.emplace_back(machines[static_cast<std::size_t>(i)], key_of(i));
    const auto batch = [&](int count) {
        std::vector<std::string> requests;
        for (int i = 0; i < count; ++i)
            requests.push_back(heartbeat(signers[static_cast<std::size_t>(i % machines_total)],
                                         app.port(), clock, random));
        return requests;
    };
    measure(app.port(), batch(machines_total));  // the first one of each says its mode
    std::this_thread::sleep_for(std::chrono::seconds(2));  // the next look takes that up
    measure(app.port(), batch(machines_total));

    std::vector<double> ours;
    std::vector<double> bare;
    for (int i = 0; i < rounds; ++i) {
        ours.push_back(measure(app.port(), batch(beats_per_round)));
        bare.push_back(measure_verification());
    }
    fmt::print("BENCH heartbeats ours={:.0f} baseline=ed25519-verify:{:.0f} ratio={:.2f}\n",
               bench::median(ours), bench::median(bare), bench::median(ours) / bench::median(bare));
}
