// Events to 16 webhooks on four hosts, by couriers that keep places and a log in SQLite and judge
// the target each time, against a plain loop of libcurl in as many threads, which posts as many
// bytes over kept connections and keeps nothing.
#include <curl/curl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "accounts/store.hpp"
#include "bench/measure.hpp"
#include "delivery/couriers.hpp"
#include "delivery/signing.hpp"
#include "events/events.hpp"
#include "http/line_client.hpp"
#include "http/server.hpp"
#include "server/schema.hpp"
#include "tickets/told.hpp"

namespace {

using namespace berth;

constexpr int hooks = 16;
constexpr int hosts = 4;
constexpr int events_each = 500;
constexpr int rounds = 3;

class Taking final : public http::Handler {
public:
    void handle(http::Request, http::Reply reply) override { reply({.status = 204}); }
};

// Takes what is posted, in a process of its own.
class Receiver {
public:
    Receiver() {
        int ends[2];
        if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
        process_ = ::fork();
        if (process_ == 0) serve(ends[1]);
        ::close(ends[1]);
        if (::read(ends[0], &port_, sizeof port_) != sizeof port_)
            throw std::runtime_error("the receiver did not start");
        ::close(ends[0]);
    }
    ~Receiver() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;

    std::string url(int hook) const {
        return fmt::format("http://127.0.0.{}:{}/hook", 1 + hook % hosts, port_);
    }

private:
    [[noreturn]] void serve(int tell) {
        http::ServerOptions options;
        options.address = "0.0.0.0";
        options.port = 0;
        Taking handler;
        http::Server server(options, handler);
        server.start();
        const std::uint16_t port = server.port();
        if (::write(tell, &port, sizeof port) != sizeof port) ::_exit(1);
        while (true) ::pause();
    }

    pid_t process_ = 0;
    std::uint16_t port_ = 0;
};

double seconds_since(std::chrono::steady_clock::time_point began) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// A market with webhooks that are behind by all of their accounts' events.
void fill(db::Database& database, const crypto::Sealer& sealer, const Receiver& receiver,
          Random& random) {
    const Time now = SystemClock().now();
    for (int i = 0; i < hooks; ++i)
        database.write([&](db::Transaction& tx) {
            const auto account = AccountId::make(now, random);
            accounts::add_agent(tx, account, now);
            for (int event = 0; event < events_each; ++event)
                events::tell({tx, random, now}, tickets::ticket_answered, account, "t",
                             tickets::TicketFacts{tickets::TicketState::answered});
            delivery::WebhookRow row;
            row.webhook_id = delivery::WebhookId::make(now, random);
            row.account_id = account;
            row.url = receiver.url(i);
            row.sealed_secret = sealer.seal(
                {random.bytes(delivery::secret_bytes), delivery::secret_context(row.webhook_id)},
                random);
            row.created_at = row.updated_at = now;
            delivery::add_webhook(tx, row);
        });
}

double ours(const Receiver& receiver) {
    const bench::Folder folder;
    SystemRandom random;
    const SystemClock clock;
    const auto database = db::open("sqlite:" + folder.path + "/berth.db");
    db::migrate(*database, server::schema());
    const crypto::Sealer sealer{crypto::Secret(Bytes(32, 'k'))};
    fill(*database, sealer, receiver, random);
    const delivery::TargetRules rules{.reach = http::Reach::anywhere};
    http::LineClient client;
    delivery::Couriers couriers({sealer, rules, client, {}});
    couriers.connect(*database, clock, random);
    const auto began = std::chrono::steady_clock::now();
    couriers.start();
    while (couriers.totals().delivered < hooks * events_each) {
        if (seconds_since(began) > 120) throw std::runtime_error("not everything was delivered");
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    const double took = seconds_since(began);
    couriers.stop();
    return hooks * events_each / took;
}

std::size_t drop(char*, std::size_t, std::size_t count, void*) { return count; }

void post_all(const std::string& url, const std::string& body) {
    CURL* const handle = ::curl_easy_init();
    curl_slist* headers = nullptr;
    for (const char* line : {"Content-Type: application/json",
                             "Expect:", "webhook-id: 0198f2a0-7c11-7d52-8a2e-5f0c9b1d3e47",
                             "webhook-timestamp: 1700000000",
                             "webhook-signature: v1,Zuc4iGAIpQvrIugYzwgoI5KEOfRAP8/F+Fsj+o6BmXs="})
        headers = ::curl_slist_append(headers, line);
    ::curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
    ::curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    ::curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    ::curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.c_str());
    ::curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, drop);
    ::curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    for (int i = 0; i < events_each; ++i)
        if (::curl_easy_perform(handle) != CURLE_OK) std::abort();
    ::curl_slist_free_all(headers);
    ::curl_easy_cleanup(handle);
}

double plain(const Receiver& receiver) {
    const std::string body(300, 'x');
    const auto began = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int i = 0; i < hooks; ++i)
        threads.emplace_back([&, i] { post_all(receiver.url(i), body); });
    for (std::thread& thread : threads) thread.join();
    return hooks * events_each / seconds_since(began);
}

void measure() {
    const Receiver receiver;
    ::curl_global_init(CURL_GLOBAL_DEFAULT);
    std::vector<double> couriers;
    std::vector<double> loops;
    for (int round = 0; round < rounds; ++round) {
        couriers.push_back(ours(receiver));
        loops.push_back(plain(receiver));
    }
    bench::print("webhooks", couriers, "libcurl-loop", loops);
}

}  // namespace

int main() { return berth::bench::run("webhooks", measure); }
