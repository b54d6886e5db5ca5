// What a page costs the server's processor while 5,000 heartbeats, signed beforehand, and 100 edits
// of offers a second come in over HTTP, less what that load costs without readers, against what it
// costs at rest. The load runs in threads of this process, whose time is taken off; a phase ends
// when its last request is answered, so that a busy machine does not change how many there are.
#include <atomic>
#include <mutex>
#include <thread>

#include "accounts/store.hpp"
#include "bench/agents.hpp"
#include "bench/catalog_server.hpp"
#include "bench/service.hpp"
#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "server/app.hpp"

namespace {

using namespace berth;
using namespace std::chrono_literals;

constexpr int phase_seconds = 2;
constexpr std::size_t heartbeats_per_second = 5'000;
constexpr std::size_t edits_per_second = 100;
constexpr std::size_t connections = 4;  // for the heartbeats; one more is for the edits
constexpr int rounds = 5;

// Sends requests at a steady pace, each when the one before is answered.
double send(std::uint16_t port, const std::vector<std::string>& requests, double per_second,
            std::string_view expected) {
    bench::Connection connection(port);
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const std::chrono::duration<double> due(static_cast<double>(i) / per_second);
        std::this_thread::sleep_until(
            begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(due));
        const std::string answer = connection.ask(requests[i]);
        if (!answer.starts_with(expected)) throw std::runtime_error("refused: " + answer);
    }
    return bench::thread_seconds();
}

// The time of the service. It stands still when a phase takes long, on a machine that is busy with
// other things: what was signed beforehand does not expire, and no machine falls silent.
class PhaseClock final : public Clock {
public:
    Time now() const override {
        const std::lock_guard lock(mutex_);
        return at();
    }
    void begin_phase() {
        const std::lock_guard lock(mutex_);
        base_ = at();
        began_ = system_.now();
    }

private:
    static constexpr Duration phase_max = 20s;

    Time at() const { return base_ + std::min<Duration>(system_.now() - began_, phase_max); }

    const SystemClock system_{};
    mutable std::mutex mutex_;
    Time base_ = system_.now();
    Time began_ = base_;
};

class Market {
public:
    Market()
        : app_(server::load_settings(sources()), clock_, random_),
          seed_(app_.database(), bench::usual_offers, bench::Seed::Keys::real) {
        secret_ = crypto::make_token("ark_", random_);
        app_.database().write([&](db::Transaction& tx) {
            accounts::KeyRow key;
            key.id = accounts::KeyId::make(clock_.now(), random_);
            key.key_hash = crypto::sha256(secret_);
            key.account = seed_.owner();
            key.name = "bench";
            key.prefix = secret_.substr(0, 12);
            key.host = true;
            key.created_at = clock_.now();
            accounts::add_key(tx, key);
            // None falls silent between its turns.
            tx.run("UPDATE machine_health SET last_healthy_at = $1", clock_.now() + 100h);
        });
        app_.serve();
        for (std::size_t i = 0; i < seed_.machines().size(); ++i)
            signers_.emplace_back(seed_.machines()[i], bench::key_of(i));
        wait_for_pages();
    }

    // Seconds of processor time and pages of one phase.
    struct Cost {
        double cpu = 0;
        double pages = 0;
    };
    Cost phase(bool loaded, bool reading) {
        std::vector<std::vector<std::string>> batches;
        for (std::size_t i = 0; loaded && i < connections; ++i) batches.push_back(heartbeats());
        if (loaded) batches.push_back(edits());
        clock_.begin_phase();
        const double before = bench::process_seconds();
        std::atomic<double> clients = 0;
        std::atomic<bool> failed = false;
        std::vector<std::thread> threads;
        for (const auto& batch : batches)
            threads.emplace_back([&] {
                const bool beats = &batch != &batches.back();
                try {
                    const double spent =
                        send(app_.port(), batch, static_cast<double>(batch.size()) / phase_seconds,
                             beats ? "HTTP/1.1 200" : "HTTP/1.1 202");
                    double sum = clients;
                    while (!clients.compare_exchange_weak(sum, sum + spent)) {
                    }
                } catch (const std::exception& error) {
                    fmt::print(stderr, "{}\n", error.what());
                    failed = true;
                }
            });
        Cost cost;
        if (reading)
            cost.pages = phase_seconds *
                         bench::wrk_rate(fmt::format("-t1 -c64 -d{}s {}", phase_seconds, url()));
        for (std::thread& thread : threads) thread.join();
        if (failed) throw std::runtime_error("the load was refused");
        cost.cpu = bench::process_seconds() - before - clients;
        return cost;
    }
    std::string url() const {
        return fmt::format("http://127.0.0.1:{}/api/v1/offers", app_.port());
    }

private:
    settings::Sources sources() const {
        return bench::service_sources(folder_, {{"rate-heartbeats-per-minute", "1000000000"},
                                                {"rate-public-per-minute", "1000000000"},
                                                {"rate-account-per-minute", "1000000000"},
                                                {"worker-threads", "0"}});
    }

    void wait_for_pages() {
        constexpr int tries_max = 600;
        bench::Connection connection(app_.port());
        for (int i = 0; i < tries_max; ++i) {
            if (connection.ask("GET /api/v1/offers?limit=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                    .find("\"offer_id\"") != std::string::npos)
                return;
            std::this_thread::sleep_for(100ms);
        }
        throw std::runtime_error("the catalog stays empty");
    }

    std::vector<std::string> heartbeats() {
        std::vector<std::string> requests;
        for (std::size_t i = 0; i < heartbeats_per_second * phase_seconds / connections; ++i)
            requests.push_back(bench::heartbeat(signers_[heard_++ % signers_.size()], app_.port(),
                                                clock_.now(), random_));
        return requests;
    }
    // Each of another machine, whose offer is at its first version.
    std::vector<std::string> edits() {
        std::vector<std::string> requests;
        for (std::size_t i = 0; i < edits_per_second * phase_seconds; ++i) {
            const std::string body = fmt::format(
                R"({{"expected_version":"1","rate_micro_per_hour":"{}","included_disk_gib":100,)"
                R"("included_egress_gib":1000,"available_from":"{}","available_until":"{}"}})",
                100'000 + 7 * i, to_rfc3339(clock_.now() - 1h), to_rfc3339(clock_.now() + 1000h));
            requests.push_back(
                fmt::format("PATCH /api/v1/hosts/machines/{}/offer HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                            "Authorization: Bearer {}\r\nIdempotency-Key: {}\r\n"
                            "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                            to_string(seed_.machines().at(edited_++)), secret_,
                            to_string(make_uuid(clock_.now(), random_)), body.size(), body));
        }
        return requests;
    }

    bench::Folder folder_;
    PhaseClock clock_;
    SystemRandom random_;
    server::App app_;
    bench::Seed seed_;
    std::string secret_;
    std::vector<agent_protocol::RequestSigner> signers_;
    std::size_t heard_ = 0;
    std::size_t edited_ = 0;
};

void measure() {
    Market market;
    std::vector<double> at_rest;
    std::vector<double> in_churn;
    for (int round = 0; round < rounds; ++round) {
        const Market::Cost rest = market.phase(false, true);
        at_rest.push_back(1e6 * rest.cpu / rest.pages);
        const Market::Cost alone = market.phase(true, false);
        const Market::Cost both = market.phase(true, true);
        in_churn.push_back(1e6 * (both.cpu - alone.cpu) / both.pages);
    }
    fmt::print("BENCH catalog_churn ours={:.2f} baseline=at_rest:{:.2f} ratio={:.2f} {}\n",
               bench::median(in_churn), bench::median(at_rest),
               bench::median(at_rest) / bench::median(in_churn),
               bench::wrk_latencies("-t1 -c64 -d3s " + market.url()));
}

}  // namespace

int main() { return bench::run("catalog_churn", measure); }
