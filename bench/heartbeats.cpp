// What a heartbeat costs: heartbeats with telemetry, signed beforehand, over HTTP to a server that
// knows a thousand machines, against checking as many Ed25519 signatures and nothing else. Both are
// counted per second of processor time, so that neither the clients nor the neighbours count.
#include <atomic>
#include <thread>

#include "bench/agents.hpp"
#include "bench/service.hpp"
#include "machines/machine.hpp"
#include "server/app.hpp"

namespace {

using namespace berth;
using namespace berth::agent_protocol;
using bench::key_of;
using bench::process_seconds;
using bench::thread_seconds;

constexpr int machines_total = 1'000;
constexpr int clients = 8;
constexpr int beats_per_round = 6'000;
constexpr int rounds = 3;
constexpr int verifications = 6'000;

std::vector<MachineId> enroll_all(db::Database& database, const Clock& clock, Random& random) {
    std::vector<MachineId> ids;
    database.write([&](db::Transaction& tx) {
        for (std::size_t i = 0; i < machines_total; ++i) {
            machines::Machine machine;
            machine.machine_id = MachineId::make(clock.now(), random);
            machine.version = 1;
            machine.owner = AccountId::make(clock.now(), random);
            machine.enrolled_at = machine.changed_at = clock.now();
            machine.public_key = key_text(key_of(i).public_key());
            machine.agent_version = "1.0.0";
            machine.boot_id = bench::boot_id;
            machine.manifest_hash = bench::manifest_hash;
            machine.offer_id = machines::OfferId::make(clock.now(), random);
            machines::add(tx, machine, "{}", {});
            ids.push_back(machine.machine_id);
        }
    });
    return ids;
}

// One request after another on one connection.
void send_all(std::uint16_t port, const std::vector<std::string>& requests, std::size_t first,
              std::atomic<int>& refused) {
    bench::Connection connection(port);
    for (std::size_t i = first; i < requests.size(); i += clients)
        if (!connection.ask(requests[i]).starts_with("HTTP/1.1 200")) ++refused;
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
    const settings::Sources sources =
        bench::service_sources(folder, {{"rate-heartbeats-per-minute", "1000000000"},
                                        {"io-threads", "1"},
                                        {"worker-threads", "0"}});
    const SystemClock clock;
    SystemRandom random;
    set_log(Level::error);
    server::App app(server::load_settings(sources), clock, random);
    const auto machines = enroll_all(app.database(), clock, random);
    app.serve();

    std::vector<RequestSigner> signers;
    for (std::size_t i = 0; i < machines_total; ++i) signers.emplace_back(machines[i], key_of(i));
    const auto batch = [&](int count) {
        std::vector<std::string> requests;
        for (int i = 0; i < count; ++i)
            requests.push_back(
                bench::heartbeat(signers[static_cast<std::size_t>(i % machines_total)], app.port(),
                                 clock.now(), random));
        return requests;
    };
    measure(app.port(), batch(machines_total));            // the first one of each says its mode
    std::this_thread::sleep_for(std::chrono::seconds(2));  // the next look takes that up
    measure(app.port(), batch(machines_total));

    std::vector<double> ours;
    std::vector<double> bare;
    for (int i = 0; i < rounds; ++i) {
        ours.push_back(measure(app.port(), batch(beats_per_round)));
        bare.push_back(measure_verification());
    }
    bench::print("heartbeats", ours, "ed25519-verify", bare);
}
